"""CUU: stochastic gradient on the corrected similar-unlabelled risk, over explicit functions."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.engine.checkpoints import Checkpoints
from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import expansion_flops
from dsgkit.kernels.panels import PANEL_ROWS
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.numerics.rows import spaced, training_rows
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective, slopes_below
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers.common import (
    Delta,
    Lam,
    Leak,
    LinearOrKernel,
    MaxMemory,
    Prior,
    RandomState,
    Sigma,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import check_finite
from dsgkit.solvers.parameters import COUNT, PER_MODEL, POSITIVE, Range, Smoother
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.base import PairFolds, points_of, without
from dsgkit.solvers.similar.basis import (
    BLOCK_ENTRIES,
    Basis,
    Descent,
    Kept,
    can_be_kept,
    kept_values,
    kernel_basis,
    kernel_curvature,
    linear_basis,
    linear_curvature,
)
from dsgkit.solvers.similar.curvature import SAMPLE_ROWS
from dsgkit.solvers.similar.explicit_features import PenalisedSUEstimator, with_one
from dsgkit.solvers.similar.quadratic import BLOCK_ROWS, evaluate
from dsgkit.system.progress import part, report
from dsgkit.text.errors import DataError, DivergedError

Array = NDArray[np.float64]
Observer = Callable[[int, float, Any], None]

SIMILAR, UNLABELED, CENTERS = range(3)
"""Numbers of the sources that rows are drawn from."""

USUAL_FOLDS = 5
"""Folds that a grid is taken to have: their kernel values are not the same."""

FLOPS_PER_KERNEL_VALUE = 6.0
"""Operations of a model per kernel value: one product for f, two for the gradients."""

BYTES_PER_INPUT, BYTES_PER_MODEL = 30, 100
"""Bytes of a centre: its copies, and its coefficients, gradients and their summands."""

CURVATURES = {"squared": 0.5, "logistic": 0.25}
"""The largest second derivative of each loss: the Hessian of the uncorrected risk is at most that
times ``Phi_U'Phi_U/n_U``, as the losses of similar points differ by a linear function."""

MAX_KEPT_BYTES = 2**28
"""Bytes of kernel values at all rows, up to which they are computed once and kept."""

_NO_DECAY = "theta is too large: a step of {eta:.3g} at lam={lam:g} leaves nothing of earlier ones"


class CUU(WithSigma, PenalisedSUEstimator):
    """Classifier by stochastic gradient on the similar-unlabelled risk, corrected below 0.

    Minimises ``lam/2 ||w||^2 + delta(r1) + delta(r2)`` over functions ``f(x) = sum_c w_c k(x, c)``,
    whose centres c are all training points, or some of them; r1 and r2 estimate the risk of each
    class, which is never negative (`dsgkit.objectives.similar_unlabeled`). The method of Lu et
    al. [1]_, stated for two unlabelled sets, as Shi et al. [2]_ compare with it: similar points
    are one set, unlabelled rows the other.

    An iteration draws ``batch_size`` similar points and as many unlabelled rows, each in passes of
    a new random order, and needs their kernel with all centres. Of at most 256 MiB the kernel
    matrix of all rows is computed once and kept in single precision, and an iteration costs
    O(batch_size n_centers). Else an iteration computes it, O(batch_size n_centers n_inputs), and
    only a part of a batch is held, for Gaussian and dot product kernels in single precision.

    References
    ----------
    .. [1] Lu, Zhang, Niu & Sugiyama, "Mitigating overfitting in supervised classification from two
       unlabeled datasets: a consistent risk correction approach", AISTATS 2020.
    .. [2] Shi et al., "Triply stochastic gradient method for large-scale nonlinear similar
       unlabeled classification", Machine Learning 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit.solvers.similar.cuu import CUU
    >>> rng = np.random.default_rng(0)
    >>> y = np.where(rng.random(2000) < 0.8, 1, -1)
    >>> X = (rng.normal(size=(2000, 2)) + 1.5 * y[:, None]) / 6 + 0.5
    >>> same = y[:1000:2] == y[1:1000:2]
    >>> pairs = X[:1000].reshape(500, 2, 2)[same]
    >>> model = CUU(lam=0.01, prior=0.8, n_centers=200).fit(pairs, X[1000:])
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=3, per_model=15)

    lam: Annotated[
        Lam, Doc("Weight of the regulariser ``lam/2 ||w||^2``, of a linear function's bias too.")
    ] = 0.001
    sigma: Sigma = "scale"
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
            "``theta/(lam + s L)``, L being the largest eigenvalue of "
            "``Phi_U'Phi_U/n_U`` on at most 800 rows and s 1/2, or 1/4 with the "
            "logistic loss; or ``theta/sqrt(n_iterations)``."
        ),
    ] = "measured"
    theta: Annotated[
        float, POSITIVE, PER_MODEL, Smoother("smaller"), Doc("Length of the steps.")
    ] = 1.0
    momentum: Annotated[float, Range(0, 1, open_high=True), Doc("Of the heavy ball.")] = 0.0
    batch_size: Annotated[int | None, COUNT, Doc("None takes all rows in every iteration.")] = 1000
    n_iterations: Annotated[int, COUNT, Doc("Iterations.")] = 100
    n_centers: Annotated[
        int | None, COUNT, Doc("Random training points as centres; None takes all.")
    ] = None
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    coef_: Array = fitted(
        "Coefficients of the inputs and last the bias, or of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_centers,)",
    )
    centers_: Array = fitted(
        "Of a kernel; if they are all training points, the unlabelled rows come first.",
        "(n_centers, n_inputs)",
    )
    corrected_: float = fitted(
        "Share of the iterations in which r1 or r2 of the batch was below 0."
    )
    n_iter_: int = fitted("Iterations.")

    def fit_observed(
        self, X_similar: Any, X_unlabeled: Any, *, at: Sequence[int], observe: Observer
    ) -> Self:
        """Fit as `fit` does, and show the function along the way.

        Parameters
        ----------
        X_similar, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within 1..n_iterations.
        observe : callable
            ``observe(t, seconds, function)`` is called after the iterations ``at`` with the seconds
            that training has taken so far, and the function: it has a ``decision_function``.
        """
        checkpoints = Checkpoints(at, observe, int(self.n_iterations))  # its clock starts here
        S, U = self._training(X_similar, X_unlabeled)
        with self._settled(S, U):
            self._train(S, U, checkpoints)
        return self

    @property
    def _linear(self) -> bool:
        return self.kernel == "linear"

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        self._train(S, X_unlabeled, Checkpoints((), None, int(self.n_iterations)))

    def _train(self, S: Array, X_unlabeled: Any, checkpoints: Checkpoints) -> None:
        counts = {"n_similar": len(S) // 2, "n_unlabeled": len(X_unlabeled)}
        self._check_memory(self.cost(S.shape[1], **counts))
        centers = self._centers(S, X_unlabeled)
        (eta,) = self._steps([self], centers, X_unlabeled)
        if eta * self.lam >= 1:
            raise DataError(_NO_DECAY.format(eta=eta, lam=self.lam))
        corrected = 0
        for t, done in enumerate(self._descend([self], [eta], centers, S, X_unlabeled), 1):
            corrected += int(done.r1[0] < 0 or done.r2[0] < 0)
            self.centers_, self.coef_ = centers, done.W[:, 0]
            checkpoints.after(t, lambda: copy.copy(self))
            report(t / self.n_iterations)
        if not np.isfinite(self.coef_).all():
            del self.coef_
            check_finite(X_unlabeled)
            raise DivergedError("the iterations diverged: take a smaller theta")
        self.corrected_, self.n_iter_ = corrected / self.n_iterations, int(self.n_iterations)

    def _objective(self) -> SimilarUnlabeledObjective:
        prior, leak = np.array([[self.prior_], [self.leak]])
        return SimilarUnlabeledObjective(prior, [self.delta], leak, self.loss)

    def _squared_norm(self) -> float:
        return float(self.coef_ @ self.coef_)

    def _centers(self, S: Array, X_unlabeled: Any) -> Array:
        """Return the centres of a kernel; none of linear functions."""
        n = len(X_unlabeled) + len(S)
        if self._linear:
            return np.empty((0, S.shape[1]))
        if self.n_centers is None or self.n_centers >= n:
            return np.vstack([X_unlabeled[:], S]).astype(np.float64, copy=False)
        seed = derive_seed(self.random_state, "cuu", "centers")
        rows = np.sort(draw_in_passes(seed, CENTERS, 0, 1, self.n_centers, n)[0])
        of_similar = rows[rows >= len(X_unlabeled)] - len(X_unlabeled)
        chosen = X_unlabeled[rows[rows < len(X_unlabeled)]], S[of_similar]
        return np.vstack(chosen).astype(np.float64, copy=False)

    def _steps(self, models: Sequence[Self], centers: Array, X_unlabeled: Any) -> list[float]:
        """Return the lengths of the steps of models."""
        if self.step == "paper":
            return [model.theta / math.sqrt(self.n_iterations) for model in models]
        rows = np.asarray(spaced(X_unlabeled, SAMPLE_ROWS), np.float64)
        check_finite(rows)
        if self._linear:
            largest = linear_curvature(rows)
        else:
            largest = kernel_curvature(rows, self.kernel, centers, self._sigma)
        bound = CURVATURES[self.loss] * largest
        return [model.theta / (model.lam + bound) for model in models]

    def _descend(
        self,
        models: Sequence[Self],
        eta: Sequence[float],
        centers: Array,
        S: Array,
        X_unlabeled: Any,
    ) -> Iterator[Any]:
        """Yield the steps of models that are trained together."""
        descent = Descent(
            lam=np.array([model.lam for model in models], float),
            eta=np.array(eta),
            prior=np.array([model.prior_ for model in models]),
            below=slopes_below([m.delta for m in models], [m.leak for m in models]),
            loss=self.loss,
            momentum=self.momentum,
        )
        start = np.zeros((self._n_functions(S.shape[1], len(centers)), len(models)))
        tables: list[Any] = [S, X_unlabeled]
        basis: Basis = self._basis(centers)
        if self._keeps(len(S), len(X_unlabeled), len(start)) and self._can_keep(centers):
            tables = [kept_values(self.kernel, centers, self._sigma, X) for X in tables]
            basis = Kept()
        batches = self._batches(*tables)
        with np.errstate(over="ignore", invalid="ignore"):  # diverging models show in the end
            yield from descent.run(basis, batches, start)

    def _can_keep(self, centers: Array) -> bool:
        return can_be_kept(self.kernel, centers, self._sigma)

    def _keeps(self, n_points: int, n_unlabeled: int, n_functions: int) -> bool:
        """Return whether kernel values at all rows are few enough."""
        return not self._linear and 4 * (n_points + n_unlabeled) * n_functions <= MAX_KEPT_BYTES

    def _basis(self, centers: Array) -> Basis:
        if self._linear:
            return linear_basis()
        return kernel_basis(self.kernel, centers, self._sigma)

    def _batches(self, S: Array, X_unlabeled: Any) -> Iterator[tuple[Array, Any]]:
        """Yield similar points and unlabelled rows of every iteration."""
        n_iterations, seed = int(self.n_iterations), int(self.random_state)
        if self.batch_size is None:
            yield from itertools.repeat((S, X_unlabeled[:]), n_iterations)
            return
        counts = len(S), len(X_unlabeled)
        for t in range(n_iterations):
            similar, unlabeled = (
                np.sort(draw_in_passes(seed, source, t, 1, self._batch(count), count)[0])
                for source, count in ((SIMILAR, counts[0]), (UNLABELED, counts[1]))
            )
            yield S[similar], X_unlabeled[unlabeled]

    def _batch(self, count: int) -> int:
        """Return how many of so many rows an iteration takes."""
        return count if self.batch_size is None else min(int(self.batch_size), count)

    def _fold_values(
        self, models: Sequence[Self], pairs: Array, X_unlabeled: Any, folds: PairFolds
    ) -> Iterator[tuple[Array, Array]]:
        first = models[0]
        counts = {"n_similar": len(pairs), "n_unlabeled": len(X_unlabeled)}
        first._check_memory(first.cost(pairs.shape[2], n_models=len(models) + 1, **counts))
        for number, (held_pairs, held_rows) in enumerate(folds):
            S = without(pairs, held_pairs)
            U = X_unlabeled[training_rows(held_rows, len(X_unlabeled))]
            with part(number / len(folds), (number + 1) / len(folds)):
                centers, W = first._trained_together(models, S, U)
            similar, unlabeled = (
                first._evaluate(rows, centers, W).T
                for rows in (points_of(pairs[held_pairs]), X_unlabeled[held_rows])
            )
            yield similar, unlabeled

    def _trained_together(
        self, models: Sequence[Self], S: Array, X_unlabeled: Any
    ) -> tuple[Array, Array]:
        """Return centres, and coefficients of a model to a column; NaN of those without any."""
        centers = self._centers(S, X_unlabeled)
        steps = self._steps(models, centers, X_unlabeled)
        possible = [eta * model.lam < 1 for eta, model in zip(steps, models, strict=True)]
        W = np.full((self._n_functions(S.shape[1], len(centers)), len(models)), np.nan)
        if any(possible):
            chosen = list(itertools.compress(models, possible))
            eta = list(itertools.compress(steps, possible))
            found = W[:, possible]
            for t, done in enumerate(self._descend(chosen, eta, centers, S, X_unlabeled), 1):
                found = done.W
                report(t / self.n_iterations)
            W[:, possible] = np.where(np.isfinite(found).all(axis=0), found, np.nan)
        return centers, W

    def _n_functions(self, n_inputs: int, n_centers: int) -> int:
        return n_inputs + 1 if self._linear else n_centers

    def _evaluate(self, X: Any, centers: Array, W: Array) -> Array:
        if self._linear:
            return evaluate(with_one, X, W)
        return kernel_named(self.kernel).expansion(X, centers, W, self._sigma)

    def _values(self, X: Any) -> Array:
        return self._evaluate(X, self.centers_, self.coef_)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, or a grid on folds.

        Parameters
        ----------
        n_inputs, n_models : int
            As in `Estimator.cost`.
        n_similar, n_unlabeled : int
            Pairs and rows.
        """
        n_points = 2 * n_similar + n_unlabeled
        most = n_points if self.n_centers is None else min(int(self.n_centers), n_points)
        n_functions = self._n_functions(n_inputs, most)
        drawn = self._batch(2 * n_similar) + self._batch(n_unlabeled)
        keeps = self._keeps(2 * n_similar, n_unlabeled, n_functions)
        passes = min(n_models, USUAL_FOLDS)
        of_kernel = 0.0 if self._linear else 2.0 * n_inputs + FUNCTION_FLOPS
        evaluated = n_points if keeps else self.n_iterations * drawn
        combined = self.n_iterations * drawn * FLOPS_PER_KERNEL_VALUE * n_models
        measuring = 8 * SAMPLE_ROWS * (min(BLOCK_ROWS, n_functions) + 3 * SAMPLE_ROWS)
        held = max(4 * PANEL_ROWS * n_functions, 5 * 8 * min(BLOCK_ENTRIES, drawn * n_functions))
        return Cost(
            flops=n_functions * (evaluated * passes * of_kernel + combined),
            memory=max(measuring, held)
            + keeps * 4 * (n_points + drawn) * n_functions
            + n_functions * (BYTES_PER_INPUT * n_inputs + BYTES_PER_MODEL * n_models),
            flops_per_row=4.0 * n_functions
            if self._linear
            else expansion_flops(n_functions, n_inputs),
        )
