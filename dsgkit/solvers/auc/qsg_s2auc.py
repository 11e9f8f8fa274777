"""QSG-S2AUC: quadruply stochastic gradients for semi-supervised AUC (Shi et al., IJCAI 2019)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.solvers.auc.base import SemiSupervisedAUCMinimiser
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.block_functions import StochasticEstimator
from dsgkit.solvers.common import (
    T0,
    FeaturesPerIteration,
    Frequencies,
    Gamma,
    KernelName,
    PassIterations,
    RandomState,
    ThetaLam,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.blocks import Streaming
from dsgkit.trainers.training import Decreasing


@with_example(RANKING)
class QSGS2AUC(
    SemiSupervisedAUCMinimiser, StochasticEstimator, QuadraticRiskEstimator, PairwiseAUCEstimator
):
    """Semi-supervised AUC maximisation by quadruply stochastic functional gradients.

    Minimises ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) + lam/2 ||f||^2`` with the squared
    pairwise loss over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Each
    iteration draws a batch of positive, negative and unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). Memory is O(T m), whatever the number of rows.

    References
    ----------
    .. [1] Shi, Gu, Li, Geng & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised AUC optimization", IJCAI 2019.
    """

    version: ClassVar[int] = 2
    _exact: ClassVar[type[SAMULT]] = SAMULT
    pace: ClassVar[Pace] = Pace(training=1.6, per_model=2)

    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: Annotated[int, COUNT, Doc("Triplets per iteration.")] = 256
    n_features: FeaturesPerIteration = 256
    frequencies: Frequencies = "independent"
    n_iterations: PassIterations = None
    theta_lam: ThetaLam = 1.5
    t0: T0 = "stable"
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    def _trainer(self) -> Streaming:
        n_iterations = None if self.n_iterations is None else int(self.n_iterations)
        return Streaming(self._random_features(), int(self.batch_size), n_iterations)

    def _step(self) -> Decreasing:
        return Decreasing(self.theta_lam, self.t0)
