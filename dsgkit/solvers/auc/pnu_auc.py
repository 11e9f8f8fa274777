"""PNU-AUC: semi-supervised AUC maximisation with a class prior, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal

from typing_extensions import Doc

from dsgkit.costs import Cost, Pace
from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import POSITIVE
from dsgkit.objectives.risks import PriorAUC, Risk
from dsgkit.priors import PenL1Prior
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, RandomState, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.minimise import Pools
from dsgkit.solvers.parameters import COUNT, PER_MODEL, Range
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.explicit_features import OnCenters
from dsgkit.trainers.training import Function, Given, Training


@with_example(RANKING)
class PNUAUC(QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Minimiser of the PNU-AUC risk over kernel expansions at centres.

    ``f(x) = sum_j w_j k(x, c_j)``, by default with ``k(x, c) = exp(-sigma ||x - c||^2)``, minimises
    ``R(f) + lam ||w||^2``, where R is ``(1 - eta) R_PN + eta R_PU`` for ``eta >= 0`` and
    ``(1 + eta) R_PN - eta R_NU`` for ``eta < 0``. R_PU and R_NU estimate the supervised risk from
    positives (negatives) and unlabelled rows, for which they need the class prior. With every row
    as a centre a fit costs O(n^3) time and 8 n^2 bytes.

    R has a minimum for ``eta >= 0`` if the prior is at most 1/2, and for ``eta <= 0`` if it is at
    least 1/2. Otherwise it may have none, and the fit ends in `IndefiniteError`.

    References
    ----------
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)

    lam: Annotated[
        Lam, Doc("Weight of the regulariser, which is the squared norm of the coefficients.")
    ] = 0.125
    eta: Annotated[float, Range(-1, 1), PER_MODEL, Doc("Weight eta; 0 is the supervised risk.")] = (
        0.0
    )
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[
        float | Literal["penl1"],
        Range(0, 1, open_low=True, open_high=True),
        Doc('Share of positives among the unlabelled rows; "penl1" estimates it (`PenL1Prior`).'),
    ] = "penl1"
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc(
            "Random rows used as centres; None uses every labelled and "
            "unlabelled row, as the papers do. The authors' program has 200 by default."
        ),
    ] = None
    max_memory: MaxMemory = None
    random_state: Annotated[
        RandomState, Doc('Seed of the centres and of the folds of "penl1".')
    ] = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("Centres of the basis functions.", "(n_centers, n_inputs)")
    prior_: float = fitted("The prior, given or estimated.")
    coef_: Array = fitted("Coefficients of the centres.", "(n_centers,)")

    def _risks(self, given: Given, pools: Pools) -> list[Risk]:
        priors = self._priors(given, pools)
        return [PriorAUC(self.eta, prior) for prior in priors]

    def _priors(self, given: Given, pools: Pools) -> list[float]:
        """Return one prior per pool: the given one, or an estimate from the pool's positives."""
        if self.prior != "penl1":
            return [self.prior] * len(pools)
        estimator = PenL1Prior(random_state=int(self.random_state))
        positive = [pool[given.codes[pool] == POSITIVE] for pool in pools]
        return [estimator.estimate(given.X[rows], given.X_unlabeled) for rows in positive]

    def _keep(self, function: Function, training: Training) -> None:
        super()._keep(function, training)
        risk: Any = training.risks[0][0]
        self.prior_ = risk.prior

    def _penalty(self) -> float:
        return self.lam

    def _trainer(self) -> OnCenters:
        n_centers = None if self.n_centers is None else int(self.n_centers)
        return OnCenters(self.kernel, self._sigma, n_centers, int(self.random_state))

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return the cost of the trainer, with the memory of the prior's estimate; see the base."""
        counts = {"n_labeled": n_labeled, "n_unlabeled": n_unlabeled, "n_cuts": n_cuts}
        cost = super().cost(n_inputs, n_models=n_models, **counts)
        if self.prior != "penl1":
            return cost
        return replace(cost, memory=max(cost.memory, PenL1Prior().memory_needed(n_unlabeled)))
