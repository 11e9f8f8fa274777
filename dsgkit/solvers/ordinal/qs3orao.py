"""QS3ORAO: quadruply stochastic gradients for ordinal regression AUC (Shi et al., AAAI 2020)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.objectives.ordinal_auc import open_cuts
from dsgkit.objectives.risks import OrdinalAUC
from dsgkit.solvers.block_functions import StochasticEstimator
from dsgkit.solvers.common import (
    T0,
    FeaturesPerIteration,
    Frequencies,
    GammaPerCut,
    KernelName,
    Lam,
    PassIterations,
    RandomState,
    Sigma,
    ThetaLam,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.blocks import Streaming
from dsgkit.trainers.training import Decreasing, Function, Training


@with_example(ORDERED)
class QS3ORAO(StochasticEstimator, QuadraticRiskEstimator, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by quadruply stochastic functional gradients.

    Minimises the mean over the cuts between the classes of the semi-supervised AUC risk of
    `QSGS2AUC`, plus ``lam/2 ||f||^2``, over the functions of the Gaussian kernel
    ``exp(-sigma ||x - x'||^2)``; then places thresholds on the values of the function. Each
    iteration draws a batch of every class, one of unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). With two classes it is QSG-S2AUC. Memory is O(T m),
    whatever the number of rows.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.
    """

    version: ClassVar[int] = 2
    _exact: ClassVar[type[ExactS2OR]] = ExactS2OR
    pace: ClassVar[Pace] = Pace(training=3, per_model=4)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Annotated[
        int, COUNT, Doc("Rows of each class, and unlabelled rows, per iteration.")
    ] = 256
    n_features: FeaturesPerIteration = 256
    frequencies: Frequencies = "independent"
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"
    unlabeled_label: UnlabeledLabel = -1

    n_cuts_: int = fitted("Cuts in the objective's mean: those with training rows on both sides.")

    def _risk(self) -> OrdinalAUC:
        return OrdinalAUC.of(self.gamma)

    def _trainer(self) -> Streaming:
        n_iterations = None if self.n_iterations is None else int(self.n_iterations)
        return Streaming(self._random_features(), int(self.batch_size), n_iterations)

    def _step(self) -> Decreasing:
        return Decreasing(self.theta_lam, self.t0)

    def _keep(self, function: Function, training: Training) -> None:
        super()._keep(function, training)
        self.n_cuts_ = int(open_cuts(training.counts[0]).sum())
