"""Training over basis functions by descent on the corrected similar-unlabelled risk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.curvature import UNLABELED_ROWS
from dsgkit.errors import DivergedError, FitError
from dsgkit.kernels import expansion_flops, finite_rows
from dsgkit.linalg import Array, row_blocks, spaced
from dsgkit.objectives.similar_unlabeled import slopes_below
from dsgkit.random import draw_in_passes
from dsgkit.seeds import derive_seed
from dsgkit.system.progress import part, report
from dsgkit.trainers.basis import (
    BLOCK_ENTRIES,
    Basis,
    Kept,
    can_be_kept,
    kept_values,
    kernel_basis,
    kernel_curvature,
    linear_basis,
    linear_curvature,
)
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.descent import Descent, Step
from dsgkit.trainers.linear import BLOCK_ROWS, Inputs, LinearFunction
from dsgkit.trainers.panels import PANEL_ROWS
from dsgkit.trainers.training import Folds, Function, Sizes, Trainer, Training

Watch = Callable[[int, Callable[[], Function]], None]
"""Called with an iteration and a callable that returns the function after it."""

SIMILAR, UNLABELED, CENTERS = range(3)
"""Numbers of the sources, which seed their draws."""

USUAL_FOLDS = 5
"""Folds that a grid is assumed to have: each has its own kernel values."""

FLOPS_PER_KERNEL_VALUE = 6.0
"""Operations per model and kernel value: one product for f, two for the gradients."""

BYTES_PER_INPUT, BYTES_PER_MODEL = 30, 100
"""Bytes per centre: of its copies, and of its coefficients, gradients and their summands."""

CURVATURES = {"squared": 0.5, "logistic": 0.25}
"""The largest second derivative of each loss: the Hessian of the uncorrected risk is at most that
times ``Phi_U'Phi_U/n_U``, as the losses of similar points differ by a linear function."""

MAX_KEPT_BYTES = 2**28
"""Largest kernel matrix, in bytes, that is computed once and kept."""

_NO_DECAY = "theta is too large: a step of {eta:.3g} at lam={lam:g} leaves nothing of earlier ones"


@dataclass(frozen=True)
class Descended:
    """A function, its number of iterations, and the share of them with r1 or r2 below 0."""

    function: Function
    n_iter: int
    corrected: float

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator."""
        return {**self.function.attributes, "n_iter_": self.n_iter, "corrected_": self.corrected}

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``."""
        return self.function.values(X)

    def squared_norm(self) -> float:
        """Return the squared norm of the coefficients."""
        return self.function.squared_norm()


@dataclass(frozen=True)
class DescentOnBasis(Trainer):
    """Stochastic gradients of `SimilarUnlabeled` risks, over linear functions or expansions.

    An iteration needs the kernel of a batch with all centres. A kernel matrix of at most
    `MAX_KEPT_BYTES` is computed once and kept. The penalty is the norm of the coefficients, and
    steps are those of `Constant`.

    Attributes
    ----------
    kernel : str
        "linear" uses the inputs and a constant 1.
    n_centers : int or None
        Random rows as centres; None takes all.
    loss : str
        Loss of the risks.
    measured : bool
        If true, steps use the measured curvature; else they are ``theta / sqrt(n_iterations)``.
    momentum : float
        Heavy-ball momentum.
    batch_size : int or None
        Rows of each kind in an iteration; None takes all.
    """

    kernel: str
    sigma: float
    n_centers: int | None
    loss: str
    measured: bool
    momentum: float
    batch_size: int | None
    n_iterations: int
    random_state: int

    def fit(self, training: Training) -> Descended:
        """Train the one model of a training; see `Trainer`."""
        return self.fit_watched(training, lambda t, function: None)

    def fit_watched(self, training: Training, watch: Watch) -> Descended:
        """Train as `fit` does, and call ``watch`` after every iteration."""
        S, U = training.X, training.unlabeled(0)
        centers = self._centers(S, U)
        (eta,) = self._steps(training, centers, U)
        if eta * training.lam[0] >= 1:
            raise FitError(_NO_DECAY.format(eta=eta, lam=training.lam[0]))
        n_corrected, W = 0, np.empty(0)
        for t, done in enumerate(self._descend(training, [0], eta[None], centers, S, U), 1):
            n_corrected += int(done.r1[0] < 0 or done.r2[0] < 0)
            W = done.W[:, 0]
            watch(t, partial(self._function, centers, W))
            report(t / self.n_iterations)
        if not np.isfinite(W).all():
            for block in row_blocks(len(U), BLOCK_ROWS):
                finite_rows(U[block])
            raise DivergedError("the iterations diverged: take a smaller theta")
        function = self._function(centers, W)
        return Descended(function, self.n_iterations, n_corrected / self.n_iterations)

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point; those of a fold are trained together."""
        t = training
        at_labeled, at_unlabeled = t.nan_values()
        for number, fold in enumerate(folds):
            S, U = t.X[t.pools[number]], t.unlabeled(number)
            with part(number / len(folds), (number + 1) / len(folds)):
                centers = self._centers(S, U)
                function = self._function(centers, self._coefficients(t, centers, S, U))
            at_labeled[:, fold.labeled] = function.values(t.X[fold.labeled]).T
            if fold.unlabeled is not None:
                at_unlabeled[:, fold.unlabeled] = function.values(t.X_unlabeled[fold.unlabeled]).T
        return at_labeled, at_unlabeled

    @property
    def _linear(self) -> bool:
        return self.kernel == "linear"

    def _function(self, centers: Array, W: Array) -> Function:
        """Return the function of coefficients; a 2-D array has a function per column."""
        if self._linear:
            return LinearFunction(Inputs(), W)
        return Expansion(self.kernel, self.sigma, centers, W, norm_of_coef=True)

    def _coefficients(self, training: Training, centers: Array, S: Array, U: Any) -> Array:
        """Return the coefficients of every point, a column each; NaN where training fails."""
        t, n_points = training, len(training.penalties)
        steps = self._steps(t, centers, U)
        possible = np.flatnonzero(steps * t.lam[:n_points] < 1)
        W = np.full((self._n_functions(S.shape[1], len(centers)), n_points), np.nan)
        if len(possible):
            last = W[:, possible]
            iterations = self._descend(t, possible, steps[possible], centers, S, U)
            for number, done in enumerate(iterations, 1):
                last = done.W
                report(number / self.n_iterations)
            W[:, possible] = np.where(np.isfinite(last).all(axis=0), last, np.nan)
        return W

    def _centers(self, S: Array, U: Any) -> Array:
        """Return the centres of a kernel; an empty array for linear functions."""
        n = len(U) + len(S)
        if self._linear:
            return np.empty((0, S.shape[1]))
        if self.n_centers is None or self.n_centers >= n:
            return np.vstack([U[:], S]).astype(np.float64, copy=False)
        seed = derive_seed(self.random_state, "cuu", "centers")
        rows = np.sort(draw_in_passes(seed, CENTERS, 0, 1, self.n_centers, n)[0])
        chosen = U[rows[rows < len(U)]], S[rows[rows >= len(U)] - len(U)]
        return np.vstack(chosen).astype(np.float64, copy=False)

    def _steps(self, training: Training, centers: Array, U: Any) -> Array:
        """Return the step size of every point."""
        theta = np.array([float(step.theta) for step in training.steps])
        if not self.measured:
            return theta / math.sqrt(self.n_iterations)
        rows = finite_rows(spaced(U, UNLABELED_ROWS))
        if self._linear:
            largest = linear_curvature(rows)
        else:
            largest = kernel_curvature(rows, self.kernel, centers, self.sigma)
        return theta / (training.lam[: len(theta)] + CURVATURES[self.loss] * largest)

    def _descend(
        self, training: Training, points: Any, eta: Array, centers: Array, S: Array, U: Any
    ) -> Iterator[Step]:
        """Train points together, and yield every step."""
        risks: list[Any] = [training.risks[point][0] for point in points]
        descent = Descent(
            lam=training.lam[points],
            eta=eta,
            prior=np.array([risk.prior for risk in risks]),
            below=slopes_below([risk.delta for risk in risks], [risk.leak for risk in risks]),
            loss=self.loss,
            momentum=self.momentum,
        )
        start = np.zeros((self._n_functions(S.shape[1], len(centers)), len(risks)))
        tables: list[Any] = [S, U]
        basis: Basis = self._basis(centers)
        if self._keeps(len(S), len(U), len(start)) and self._can_keep(centers):
            tables = [kept_values(self.kernel, centers, self.sigma, X) for X in tables]
            basis = Kept()
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is checked at the end
            yield from descent.run(basis, self._batches(*tables), start)

    def _can_keep(self, centers: Array) -> bool:
        return can_be_kept(self.kernel, centers, self.sigma)

    def _keeps(self, n_points: int, n_unlabeled: int, n_functions: int) -> bool:
        """Return whether the kernel matrix is small enough to be kept."""
        return not self._linear and 4 * (n_points + n_unlabeled) * n_functions <= MAX_KEPT_BYTES

    def _basis(self, centers: Array) -> Basis:
        if self._linear:
            return linear_basis()
        return kernel_basis(self.kernel, centers, self.sigma)

    def _batches(self, S: Array, U: Any) -> Iterator[tuple[Array, Any]]:
        """Yield the similar points and unlabelled rows of every iteration."""
        if self.batch_size is None:
            yield from itertools.repeat((S, U[:]), self.n_iterations)
            return
        counts = len(S), len(U)
        for t in range(self.n_iterations):
            similar, unlabeled = (
                np.sort(
                    draw_in_passes(self.random_state, source, t, 1, self._batch(count), count)[0]
                )
                for source, count in ((SIMILAR, counts[0]), (UNLABELED, counts[1]))
            )
            yield S[similar], U[unlabeled]

    def _batch(self, count: int) -> int:
        """Return the batch size for ``count`` rows."""
        return count if self.batch_size is None else min(self.batch_size, count)

    def _n_functions(self, n_inputs: int, n_centers: int) -> int:
        return n_inputs + 1 if self._linear else n_centers

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of a fit, or of a grid on folds."""
        n_inputs, n_points = sizes.n_inputs, sizes.n_labeled + sizes.n_unlabeled
        most = n_points if self.n_centers is None else min(self.n_centers, n_points)
        n_functions = self._n_functions(n_inputs, most)
        drawn = self._batch(sizes.n_labeled) + self._batch(sizes.n_unlabeled)
        keeps = self._keeps(sizes.n_labeled, sizes.n_unlabeled, n_functions)
        passes = min(n_models, USUAL_FOLDS)
        kernel_flops = 0.0 if self._linear else 2.0 * n_inputs + FUNCTION_FLOPS
        evaluated = n_points if keeps else self.n_iterations * drawn
        combined = self.n_iterations * drawn * FLOPS_PER_KERNEL_VALUE * n_models
        measuring = 8 * UNLABELED_ROWS * (min(BLOCK_ROWS, n_functions) + 3 * UNLABELED_ROWS)
        held = max(4 * PANEL_ROWS * n_functions, 5 * 8 * min(BLOCK_ENTRIES, drawn * n_functions))
        return Cost(
            flops=n_functions * (evaluated * passes * kernel_flops + combined),
            memory=max(measuring, held)
            + keeps * 4 * (n_points + drawn) * n_functions
            + n_functions * (BYTES_PER_INPUT * n_inputs + BYTES_PER_MODEL * n_models),
            flops_per_row=4.0 * n_functions
            if self._linear
            else expansion_flops(n_functions, n_inputs),
        )
