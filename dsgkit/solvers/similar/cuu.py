"""CUU: stochastic gradient on the corrected similar-unlabelled risk, over explicit functions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.engine.clock import Clock
from dsgkit.linalg import Array
from dsgkit.objectives.similar_risks import SimilarUnlabeled
from dsgkit.solvers.common import (
    Delta,
    Lam,
    Leak,
    LinearOrKernel,
    MaxMemory,
    Prior,
    RandomState,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import SIMILAR_PAIRS, with_example
from dsgkit.solvers.parameters import COUNT, PER_MODEL, POSITIVE, Range, Smoother
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.trainers.on_basis import DescentOnBasis
from dsgkit.trainers.training import Constant, Function

Observer = Callable[[int, float, Any], None]


@with_example(SIMILAR_PAIRS, "lam=0.01, prior=0.8, n_centers=200")
class CUU(SimilarRiskEstimator):
    """Classifier by stochastic gradients on the similar-unlabelled risk, corrected below 0.

    Minimises ``lam/2 ||w||^2 + delta(r1) + delta(r2)`` over functions ``f(x) = sum_c w_c k(x, c)``,
    whose centres c are all training points, or some of them; r1 and r2 estimate the risk of each
    class, which is never negative (`dsgkit.objectives.similar_unlabeled`). Lu et al. [1]_ state the
    method for two unlabelled sets; as in the comparison of Shi et al. [2]_, similar points are one
    set and unlabelled rows the other.

    An iteration draws ``batch_size`` similar points and as many unlabelled rows, each in passes of
    a new random order, and needs their kernel values with all centres. If the kernel matrix of all
    rows takes at most 256 MiB, it is computed once and kept in single precision: an iteration costs
    O(batch_size n_centers). Otherwise every iteration computes its part,
    O(batch_size n_centers n_inputs), in blocks, for Gaussian and dot product kernels in single
    precision.

    References
    ----------
    .. [1] Lu, Zhang, Niu & Sugiyama, "Mitigating overfitting in supervised classification from two
       unlabeled datasets: a consistent risk correction approach", AISTATS 2020.
    .. [2] Shi et al., "Triply stochastic gradient method for large-scale nonlinear similar
       unlabeled classification", Machine Learning 2021.
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=3, per_model=15)

    lam: Annotated[
        Lam, Doc("Weight of the regulariser ``lam/2 ||w||^2``, of a linear function's bias too.")
    ] = 0.001
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    prior: Prior = "estimate"
    loss: Annotated[
        Literal["squared", "logistic"], Doc("``(t z - 1)^2/4`` or ``log(1 + exp(-t z))``.")
    ] = "squared"
    delta: Delta = "abs"
    leak: Leak = -0.5
    step: Annotated[
        Literal["measured", "paper"],
        Doc(
            "``theta/(lam + s L)``, where L is the largest eigenvalue of "
            "``Phi_U'Phi_U/n_U`` on at most 800 rows and s is 1/2, or 1/4 with the "
            "logistic loss; or ``theta/sqrt(n_iterations)``."
        ),
    ] = "measured"
    theta: Annotated[
        float, POSITIVE, PER_MODEL, Smoother("smaller"), Doc("Length of the steps.")
    ] = 1.0
    momentum: Annotated[
        float, Range(0, 1, open_high=True), Doc("Momentum of the heavy ball method.")
    ] = 0.0
    batch_size: Annotated[
        int | None, COUNT, Doc("Rows of each of the two batches; None takes all.")
    ] = 1000
    n_iterations: Annotated[int, COUNT, Doc("Iterations.")] = 100
    n_centers: Annotated[
        int | None, COUNT, Doc("Random training points as centres; None takes all.")
    ] = None
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    coef_: Array = fitted(
        "Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_centers,)",
    )
    centers_: Array = fitted(
        "Centres of a kernel; if they are all training points, the unlabelled rows come first.",
        "(n_centers, n_inputs)",
    )
    corrected_: float = fitted(
        "Share of the iterations in which r1 or r2 of the batch was below 0."
    )
    n_iter_: int = fitted("Iterations.")

    def fit_observed(
        self, X_similar: Any, X_unlabeled: Any, *, at: Sequence[int], observe: Observer
    ) -> Self:
        """Fit as `fit` does, and call ``observe`` at some iterations; see `TSGSU.fit_observed`."""
        clock = Clock(at, observe)
        clock.check(int(self.n_iterations))

        def watch(t: int, function: Callable[[], Function]) -> None:
            clock.after(t, lambda: self._with_function(function()))

        self._fit_by(
            X_similar, X_unlabeled, lambda given: self._trainer().fit_watched(given, watch)
        )
        return self

    def _with_function(self, function: Function) -> Self:
        """Return a copy of this estimator with another function."""
        other = copy.copy(self)
        other._function = function
        return other

    def _risk(self) -> SimilarUnlabeled:
        return SimilarUnlabeled(self.prior_, self.delta, self.leak, self.loss)

    def _trainer(self) -> DescentOnBasis:
        return DescentOnBasis(
            self.kernel,
            self._sigma,
            None if self.n_centers is None else int(self.n_centers),
            self.loss,
            self.step == "measured",
            self.momentum,
            None if self.batch_size is None else int(self.batch_size),
            int(self.n_iterations),
            int(self.random_state),
        )

    def _step(self) -> Constant:
        return Constant(self.theta)
