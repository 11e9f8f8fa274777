"""TSGSU-P: similar-unlabelled learning by block-preconditioned steps."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.objectives.similar_risks import SimilarUnlabeled
from dsgkit.solvers.block_functions import SweepsEstimator
from dsgkit.solvers.common import (
    Delta,
    FeaturesPerBlock,
    Frequencies,
    KernelName,
    Leak,
    MaxMemory,
    NBlocks,
    NSweeps,
    Prior,
    RandomState,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import SIMILAR_PAIRS, with_example
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.trainers.training import Function, Training


@with_example(SIMILAR_PAIRS, "prior=0.8, n_features=64, n_blocks=4")
class TSGSUP(SweepsEstimator, SimilarRiskEstimator):
    """Similar-unlabelled learning by block-preconditioned steps.

    Minimises the objective of `TSGSU`, ``delta(r1) + delta(r2) + lam/2 ||f||^2``, over the same
    functions: blocks of random frequencies from a seed. While a step of `TSGSU` is a number, here
    it is the inverse of the block's Hessian of the risk without correction, on a batch of the
    points of all pairs and some unlabelled rows; the gradient is the corrected one. Without
    correction and with all unlabelled rows in a batch, sweeps converge to the minimiser over the
    ``n_blocks n_features`` frequencies (`RFFSUSL`).

    See Also
    --------
    TSGSU : The same objective by the steps of the paper.
    SUSL : The minimiser without correction, in closed form.
    """

    pace: ClassVar[Pace] = Pace(training=2.5, per_model=5)

    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Annotated[
        Delta,
        Doc(
            "Correction function: the absolute value (the paper's), ``max(0, r)``, a "
            "line of slope ``leak`` below 0, or none, the default: full steps on "
            "corrected gradients can end far from the minimiser."
        ),
    ] = "none"
    leak: Leak = -0.5
    batch_size: Annotated[
        int, COUNT, Doc("Unlabelled rows per step; the points of all pairs are in every batch.")
    ] = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    corrected_: float = fitted(
        "Share of the batches in which r1 or r2 was below 0, so that a correction acts."
    )

    def _risk(self) -> SimilarUnlabeled:
        return SimilarUnlabeled(self.prior_, self.delta, self.leak)

    def _keep(self, function: Function, training: Training) -> None:
        super()._keep(function, training)
        negative = training.on_batches.negative[0]
        self.corrected_ = float(negative / (self.n_blocks * self.n_sweeps))
