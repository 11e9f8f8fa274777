"""TSGSU: triply stochastic gradients for similar-unlabelled learning (Shi et al., 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.engine import (
    ConstantStep,
    DSGModel,
    LinearStep,
    Problem,
    Source,
    TableSize,
    train,
    train_in_passes,
    train_values,
    training_cost,
)
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Cost, Pace
from dsgkit.numerics.rows import spaced
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective
from dsgkit.solvers.block_functions import Observer, finite_models, observed_training
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
    Sigma,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, PER_MODEL, POSITIVE, Smoother
from dsgkit.solvers.similar.curvature import SAMPLE_ROWS, largest_eigenvalue
from dsgkit.solvers.similar.pools import Pools
from dsgkit.solvers.similar.together import TogetherSUEstimator, Values
from dsgkit.system.stopwatch import Stopwatch
from dsgkit.text.errors import DataError, DivergedError

Array = NDArray[np.float64]


class TSGSU(TogetherSUEstimator):
    """Similar-unlabelled learning by triply stochastic functional gradients.

    Minimises ``delta(r1) + delta(r2) + lam/2 ||f||^2`` over the functions of a kernel, by default
    ``exp(-sigma ||x - x'||^2)``, where with ``l(z, t) = (t z - 1)^2/4`` and
    ``pi_S = pi^2 + (1 - pi)^2``

    ``r1 = [pi_S mean_S l(f, +1) - (1 - pi) mean_U l(f, +1)] / (2 pi - 1)``
    ``r2 = [pi mean_U l(f, -1) - pi_S mean_S l(f, -1)] / (2 pi - 1)``

    estimate what the two classes add to the risk, S being the points of all pairs and U the
    unlabelled rows. Neither is below 0 in expectation, but an estimate may be: there the correction
    function delta turns or stops the descent (Eq. 8 of [1]_). Without it, the risk is that of
    `SUSL`.

    Each iteration draws a batch of points of pairs, one of unlabelled rows and a new block of m
    random frequencies; delta' is that of the batch's own r1 and r2 (Algorithm 1 of [1]_). Time is
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

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit.solvers.similar.tsgsu import TSGSU
    >>> rng = np.random.default_rng(0)
    >>> y = np.where(rng.random(2000) < 0.8, 1, -1)
    >>> X = (rng.normal(size=(2000, 2)) + 1.5 * y[:, None]) / 6 + 0.5
    >>> same = y[:1000:2] == y[1:1000:2]
    >>> pairs = X[:1000].reshape(500, 2, 2)[same]
    >>> model = TSGSU(prior=0.8, n_features=100).fit(pairs, X[1000:])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2.5, per_model=5)

    lam: Lam = 0.001
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Delta = "abs"
    leak: Leak = -0.5
    step: Annotated[
        Literal["measured", "paper"],
        Doc(
            "``theta / (lam + L/2)``, L being the largest eigenvalue of the kernel "
            "matrix of (800) unlabelled rows over their number, or ``theta / sqrt(T)``. "
            "A step of ``1 / lam`` or more is refused."
        ),
    ] = "measured"
    theta: Annotated[
        float, POSITIVE, PER_MODEL, Smoother("smaller"), Doc("Factor of the step.")
    ] = 1.0
    tail: Annotated[
        Literal["average", "last", "decay"],
        Doc(
            "The mean of the functions after the last half of the iterations, the last "
            "function (the paper's), or the last one with steps that fall to 0 on a "
            "line. The mean depends least on lam and sigma; where T is too small for "
            "the bias, the last function is nearer to the minimum."
        ),
    ] = "average"
    batch_size: Annotated[int, COUNT, Doc("Rows b of each of the two batches.")] = 1000
    n_features: FeaturesPerIteration = 1000
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[int, COUNT, Doc("Iterations T.")] = 100
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    n_iter_: int = fitted("Iterations made.")

    def fit_observed(
        self, X_similar: Any, X_unlabeled: Any, *, at: Sequence[int], observe: Observer
    ) -> Self:
        """Fit as `fit` does, and show the function on the way.

        Parameters
        ----------
        X_similar, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within 1..n_iterations.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of them, with what the fit has
            taken so far, without what observing takes, and a function of its own that has
            ``decision_function``: with ``tail="average"`` the mean of the functions after the last
            half of the t iterations.

        Raises
        ------
        ValueError
            If ``at`` does not ascend within the iterations.
        """
        stopwatch = Stopwatch()
        S, X_unlabeled = self._training(X_similar, X_unlabeled)
        trained = observed_training(self, stopwatch, at, observe)
        with self._settled(S, X_unlabeled):
            self._fit(S, X_unlabeled, trained)
        return self

    def _fit(
        self, S: Array, X_unlabeled: Any, trained: Callable[[Problem], DSGModel] = train
    ) -> None:
        self._check_memory(self._cost(len(S), len(X_unlabeled), S.shape[1], 1, "model"))
        check_projections(S, self._sigma, self.kernel)
        problem = _problem([self], S, X_unlabeled)
        if np.isnan(problem.step(1)[0]).any():
            raise DataError(
                f"theta={self.theta:g} makes a step of 1/lam or more with lam={self.lam:g}, which "
                "is no descent: lower theta"
            )
        model = trained(problem)
        objective: Any = problem.objective
        if not finite_models(model).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise DivergedError(
                f"diverged with theta={self.theta:g}: the steps are too long; lower theta, or set "
                "step='measured'"
            )
        self.model_ = model
        self.n_iter_ = int(self.n_iterations)
        self.corrected_ = float(objective.negative[0] / self.n_iter_)

    def _train_models(self, models: Sequence[Self], S: Array, X_unlabeled: Any) -> list[DSGModel]:
        return train_in_passes(_problem(models, S, X_unlabeled))

    def _train_values(
        self, models: Sequence[Self], S: Array, X_unlabeled: Any, pools: Sequence[Pools]
    ) -> Values:
        return train_values(_problem(models, S, X_unlabeled, pools))

    def _cost(
        self,
        n_points: int,
        n_unlabeled: int,
        n_inputs: int,
        n_models: int,
        result: Literal["model", "models", "values"],
    ) -> Cost:
        return training_cost(
            self._features(),
            n_inputs,
            [TableSize(n, in_pools=result == "values") for n in (n_points, n_unlabeled)],
            batch_size=int(self.batch_size),
            n_iterations=int(self.n_iterations),
            n_models=n_models,
            result=result,
            average=self.tail == "average",
        )


def _problem(
    models: Sequence[TSGSU], S: Array, X_unlabeled: Any, pools: Sequence[Pools] | None = None
) -> Problem:
    """Return the problem of training every model on all rows, or on the rows of every pool.

    Parameters
    ----------
    models : sequence of TSGSU
        With a prior; they agree in what is not per model.
    S : ndarray of shape (n_points, n_inputs)
    X_unlabeled : rows
    pools : sequence of (int array, int array), optional
        Positions of points and of unlabelled rows; a model for each of ``models``, pool by pool.
    """
    shared = models[0]
    if pools is None:
        sources = [Source(0, in_passes=True), Source(1, in_passes=True)]
        eta = _steps(models, X_unlabeled)
        n_pools = 1
    else:
        sources = [Source(k, [pool[k] for pool in pools], in_passes=True) for k in (0, 1)]
        eta = np.concatenate([_steps(models, X_unlabeled[_sample(rows)]) for _, rows in pools])
        n_pools = len(pools)
    everywhere = [model for _ in range(n_pools) for model in models]
    lam, prior, leak = np.array([(m.lam, m.prior_, m.leak) for m in everywhere], np.float64).T
    n_iterations = int(shared.n_iterations)
    decays = shared.tail == "decay"
    return Problem(
        tables=[S, X_unlabeled],
        sources=sources,
        objective=SimilarUnlabeledObjective(prior, [m.delta for m in everywhere], leak),
        step=LinearStep(eta, lam, n_iterations) if decays else ConstantStep(eta, lam),
        features=shared._features(),
        n_iterations=n_iterations,
        batch_size=int(shared.batch_size),
        group=np.repeat(np.arange(n_pools), len(models)),
        average=shared.tail == "average",
    )


def _sample(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the positions of unlabelled rows whose curvature is measured."""
    sample: NDArray[np.int64] = spaced(rows, SAMPLE_ROWS)
    return sample


def _steps(models: Sequence[TSGSU], X_unlabeled: Any) -> Array:
    """Return the (first) step of each model; NaN, with which it diverges, for 1/lam or more."""
    shared = models[0]
    theta, lam = np.array([(model.theta, model.lam) for model in models], np.float64).T
    if shared.step == "paper":
        eta = theta / math.sqrt(shared.n_iterations)
    else:
        eta = theta / (lam + largest_eigenvalue(X_unlabeled, shared._sigma, shared.kernel) / 2)
    allowed: Array = np.where(eta * lam < 1, eta, np.nan)
    return allowed
