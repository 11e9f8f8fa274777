"""TSGSU: triply stochastic gradients for similar-unlabelled learning (Shi et al., 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.objectives.similar_risks import SimilarUnlabeled
from dsgkit.solvers.block_functions import BlockFunctionEstimator, Observer, observed_training
from dsgkit.solvers.common import (
    Delta,
    FeaturesPerIteration,
    Frequencies,
    KernelName,
    Lam,
    Leak,
    MaxMemory,
    Prior,
    RandomState,
    Theta,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import SIMILAR_PAIRS, with_example
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.system.progress import Stopwatch
from dsgkit.trainers.blocks import Streaming
from dsgkit.trainers.steps import ConstantSteps
from dsgkit.trainers.training import Constant, Function, Training


@with_example(SIMILAR_PAIRS, "prior=0.8, n_features=100")
class TSGSU(BlockFunctionEstimator, SimilarRiskEstimator):
    """Similar-unlabelled learning by triply stochastic functional gradients.

    Minimises ``delta(r1) + delta(r2) + lam/2 ||f||^2`` over the functions of a kernel, by default
    ``exp(-sigma ||x - x'||^2)``, where with ``l(z, t) = (t z - 1)^2/4`` and
    ``pi_S = pi^2 + (1 - pi)^2``

    ``r1 = [pi_S mean_S l(f, +1) - (1 - pi) mean_U l(f, +1)] / (2 pi - 1)``
    ``r2 = [pi mean_U l(f, -1) - pi_S mean_S l(f, -1)] / (2 pi - 1)``

    estimate the contributions of the two classes to the risk; S are the points of all pairs, U the
    unlabelled rows. Neither is below 0 in expectation, but an estimate may be: there the correction
    function delta reverses or stops the descent (Eq. 8 of [1]_). Without it, the risk is that of
    `SUSL`.

    Each iteration draws a batch of points of pairs, one of unlabelled rows and a new block of m
    random frequencies; delta' is evaluated at the batch's r1 and r2 (Algorithm 1 of [1]_). Time is
    O(b m d T^2 / 2), memory O(m T), whatever the number of rows.

    See Also
    --------
    SUSL : The minimiser without correction, in closed form.

    Notes
    -----
    The rate O(1/sqrt(T)) that Theorem 1 of [1]_ prints does not follow from its proof: divided by
    ``eta T``, the middle term of Eq. 29 leaves a constant multiple of theta, not of
    ``theta^2/sqrt(T)``. Two captions contradict the text: Table 4 is of the benchmark datasets, not
    of high-dimensional ones, and Figure 4, of 10,000 unlabelled rows, says that SUSL and SUDH are
    missing for want of memory, with which Table 5 has results for as many.

    References
    ----------
    .. [1] Shi, Gu, Li, Deng & Huang, "Triply stochastic gradient method for large-scale nonlinear
       similar unlabeled classification", Machine Learning 110, 2021.
    """

    pace: ClassVar[Pace] = Pace(training=2.5, per_model=5)

    lam: Lam = 0.001
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Delta = "abs"
    leak: Leak = -0.5
    step: Annotated[
        Literal["measured", "paper"],
        Doc(
            "``theta / (lam + L/2)``, where L is the largest eigenvalue of the kernel "
            "matrix of (800) unlabelled rows over their number, or ``theta / sqrt(T)``. "
            "A step of ``1 / lam`` or more is refused."
        ),
    ] = "measured"
    theta: Theta = 1.0
    tail: Annotated[
        Literal["average", "last", "decay"],
        Doc(
            "The mean of the functions over the last half of the iterations, the last "
            "function (the paper's), or the last one with steps that fall linearly to "
            "0. The mean depends least on lam and sigma; if T is so small that the "
            "bias dominates, the last function is nearer to the minimum."
        ),
    ] = "average"
    batch_size: Annotated[int, COUNT, Doc("Rows b of each of the two batches.")] = 1000
    n_features: FeaturesPerIteration = 1000
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[int, COUNT, Doc("Iterations T.")] = 100
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    corrected_: float = fitted(
        "Share of the batches in which r1 or r2 was below 0, so that a correction acts."
    )
    n_iter_: int = fitted("Iterations made.")

    def fit_observed(
        self, X_similar: Any, X_unlabeled: Any, *, at: Sequence[int], observe: Observer
    ) -> Self:
        """Fit as `fit` does, and call ``observe`` with the function at some iterations.

        Parameters
        ----------
        X_similar, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within 1..n_iterations.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of these iterations: with the
            time of the fit so far, without that of observing, and a copy of the function, which
            has ``decision_function``. With ``tail="average"`` this is the mean of the functions
            over the last half of the t iterations.

        Raises
        ------
        ValueError
            If ``at`` is not ascending or beyond the iterations.
        """
        stopwatch = Stopwatch()

        def train(training: Training) -> Function:
            run = observed_training(self, stopwatch, at, observe)
            return self._trainer().fit_by(training, run)

        self._fit_by(X_similar, X_unlabeled, train)
        return self

    def _risk(self) -> SimilarUnlabeled:
        return SimilarUnlabeled(self.prior_, self.delta, self.leak)

    def _trainer(self) -> Streaming:
        return Streaming(
            self._random_features(),
            int(self.batch_size),
            int(self.n_iterations),
            steps=ConstantSteps(measured=self.step == "measured", fading=self.tail == "decay"),
            in_passes=True,
            average=self.tail == "average",
        )

    def _step(self) -> Constant:
        return Constant(self.theta)

    def _keep(self, function: Function, training: Training) -> None:
        super()._keep(function, training)
        self.corrected_ = float(training.on_batches.negative[0] / self.n_iter_)
