"""Minimisers of quadratic risks, in closed form: one factorisation for all models of a problem.

A `Form` is ``z'M z - 2 v'z`` of the values z at the labelled rows and at the unlabelled ones (u),
with ``M = diag(W d) + W S W'`` and ``v = W q``, where W averages the rows of a source. With
features Phi and a penalty ``l ||f||^2``, let ``N = l I + c Phi_u'Phi_u`` with ``c = d_u/n_u``. Let
R have the features of the labelled rows and, last, those of the mean unlabelled row, and let
``P = R N^-1 R'``. The minimiser is ``f(x) = phi(x)' N^-1 R' z``, where ``(I + J P) z = W q`` and
``J = diag(W d) + W S W'`` without the unlabelled d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Data, Problem, Rows, Sizes, take
from dsgkit.errors import FitError, IndefiniteError
from dsgkit.kernels import expansion_flops, expansion_memory, finite_rows, kernel_named
from dsgkit.linalg import EIGH_FLOPS, Array, eigh, eigh_memory, row_blocks, training_rows
from dsgkit.risks.pairwise import Form, source_weights
from dsgkit.system.machine import single_blas_thread

SLOW_EIGH = 1.7  # of small systems, measured on one thread of a machine in use
SINGULAR = "the system is singular to rounding; take a larger lam"
INDEFINITE = (
    "the quadratic risk has no minimum: eta > 0 suits a prior of at most 1/2, eta < 0 one of at"
    " least 1/2; take eta nearer to 0 or a larger lam"
)

Setting = tuple[float, float]
"""The penalty l, and the weight c of an unlabelled row: they define N."""


def minimise(problem: Problem, space: Any, penalties: Array) -> Expansion:
    """Return the minimisers of all models; in a grid, NaN for a model without a solution.

    The space of the functions is a `Primal` or a `Dual`. One model costs one Cholesky
    factorisation. Models with the same unlabelled rows share one: an eigendecomposition, if they
    differ in the penalty or in the weight of an unlabelled row. Each then costs a system of the
    size of its labelled rows.
    """
    data, form = problem.data, problem.loss.form
    if problem.n_models == 1 and len(problem.pools[0]) == len(data.codes):
        return space.solve(data, take(form, 0), float(penalties[0]))
    labeled, weighed = _Labeled.of(problem), _weighs_unlabeled(form)
    prepared = space.prepare(data, labeled, weighed)
    coef = None
    for pools, rows_u in _groups(problem):
        models = np.flatnonzero(np.isin(problem.pool, pools))
        n_u = len(rows_u) if weighed else 0
        settings: dict[Setting, list[int]] = {}
        for g in models.tolist():
            setting = float(penalties[g]), float(form.diagonal[g, -1]) / max(1, n_u)
            settings.setdefault(setting, []).append(g)
        try:
            system = space.system(data, prepared, rows_u[:n_u], list(settings))
        except FitError:  # with one setting, its matrix is factorised here
            continue
        with single_blas_thread():  # at hundreds of rows, a second thread does not pay
            for setting, members in settings.items():
                if setting[0] >= space.smallest_penalty:
                    _solve(system, setting, labeled, problem, members)
        if coef is None:
            coef = np.full((system.width, problem.n_models), np.nan)
        system.write(coef)
    if coef is None:
        return Expansion(None, 1.0, constant, np.full((1, problem.n_models), np.nan))
    return space.function(data, coef)


def _groups(problem: Problem) -> list[tuple[Any, Rows]]:
    """Return pools that have the same unlabelled rows, and these rows."""
    if problem.pools_u is None:
        return [(range(len(problem.pools)), np.arange(len(problem.data.U)))]
    return [([pool], rows) for pool, rows in enumerate(problem.pools_u)]


def _solve(
    system: Any, setting: Setting, labeled: _Labeled, problem: Problem, models: list[int]
) -> None:
    """Solve for z of all models of one setting; if labelled rows enter by means, it is W q."""
    P: Any = None if labeled.weights is not None else system.response(*setting)
    for g in models:
        at, W = labeled.members[problem.pool[g]]
        form, z = take(problem.loss.form, g), np.zeros(labeled.n_rows + 1)
        z[at] = W @ form.linear if P is None else _reduced(P[np.ix_(at, at)], W, form)
        system.keep(g, *setting, z)


def small_solve(P: Array, d: Array, W: Array, S: Array, q: Array) -> Array:
    """Return z of ``(I + J P) z = W q`` with ``J = diag(d) + W S W'``, for d >= 0 and P >= 0.

    Rows without squares (d = 0) are solved first; for the others ``I + diag(d) P`` is similar to a
    symmetric matrix. Products with P, which a small penalty makes large, would cancel: ``P Y``
    comes from the equation. P is overwritten if all d > 0.
    """
    own = d > 0
    root: Array = np.sqrt(d)[own, None]
    every = bool(own.all())
    A = P if every else P[np.ix_(own, own)]
    A *= root
    A *= root.T
    np.einsum("ii->i", A)[:] += 1
    right = W[own] / root
    if not every:
        right -= root * (P[np.ix_(own, ~own)] @ W[~own])
    Y = W.copy()
    factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    Y[own] = root * linalg.cho_solve(factor, right, check_finite=False)
    PY = np.empty_like(Y)
    PY[own] = (W[own] - Y[own]) / root**2
    PY[~own] = P[~own] @ Y
    B = W.T @ PY
    inner: Any = np.linalg.solve(np.eye(len(S)) + B @ S, B @ q)
    return Y @ (q - S @ inner)


def _reduced(P: Array, W: Array, form: Form) -> Array:
    """Return z at a pool's rows and the mean unlabelled row; NaN if the risk has no minimum."""
    d = W @ np.append(form.diagonal[:-1], 0)
    if _convex(form):
        try:
            return small_solve(P, d, W, form.cross, form.linear)
        except linalg.LinAlgError:
            return np.full(len(P), np.nan)
    J = np.diag(d) + W @ form.cross @ W.T
    spectrum, vectors = np.linalg.eigh(P)
    root = vectors * np.sqrt(np.maximum(spectrum, 0))
    if np.linalg.eigvalsh(root.T @ J @ root)[0] <= -1:  # so has N + R'J R one <= 0
        return np.full(len(P), np.nan)
    z: Any = np.linalg.solve(np.eye(len(P)) + J @ P, W @ form.linear)
    return z


def _convex(form: Form) -> bool:
    """Return whether d >= 0: the other part of M is a sum of squared differences of means."""
    return bool((form.diagonal >= 0).all())


def _weighs_unlabeled(form: Form) -> bool:
    parts = form.diagonal[..., -1], form.linear[..., -1], form.cross[..., -1, :]
    return any(np.any(part) for part in parts)


class _Labeled(NamedTuple):
    """The labelled part of R: all rows or, if only their means matter, those of every pool.

    Attributes
    ----------
    weights : ndarray of shape (n_labeled, n_rows), or None
        Weights of the labelled rows in the means.
    members : list of (int array, ndarray)
        For each pool, its rows of R with the mean unlabelled row, and their W.
    n_rows : int
    """

    weights: Array | None
    members: list[tuple[Rows, Array]]
    n_rows: int

    @classmethod
    def of(cls, problem: Problem) -> _Labeled:
        codes, k, form = problem.data.codes, problem.data.n_sources, problem.loss.form
        own = [(rows, source_weights(codes[rows], k)) for rows in problem.pools]
        if form.diagonal[:, :-1].any() or form.cross.any():
            members = [(np.append(rows, len(codes)), linalg.block_diag(W, 1.0)) for rows, W in own]
            return cls(None, members, len(codes))
        weights, n_rows = np.zeros((len(codes), len(own), k)), k * len(own)
        for pool, (rows, W) in enumerate(own):
            weights[rows, pool] = W
        means = np.arange(n_rows).reshape(-1, k)
        members = [(np.append(at, n_rows), np.eye(k + 1)) for at in means]
        return cls(weights.reshape(len(codes), -1), members, n_rows)


class _Shifted:
    """``(l I + c A)^-1 = back scale half``, by Cholesky for one (l, c), else from eigenvalues."""

    def __init__(self, A: Array, settings: list[Setting]) -> None:
        self._factor: Array | None = None
        if len(settings) > 1:
            self._spectrum, self._vectors = eigh(A)
            return
        ((penalty, weight),) = settings
        A *= weight
        np.einsum("ii->i", A)[:] += penalty
        try:
            self._factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)[0]
        except linalg.LinAlgError:
            raise FitError(SINGULAR) from None

    def half(self, B: Array) -> Array:
        if self._factor is None:
            return self._vectors.T @ B
        half: Array = linalg.solve_triangular(self._factor, B, lower=True, check_finite=False)
        return half

    def back(self, B: Array) -> Array:
        if self._factor is None:
            return self._vectors @ B
        back: Array = linalg.solve_triangular(
            self._factor, B, lower=True, trans=1, check_finite=False
        )
        return back

    def scale(self, penalty: float, weight: float) -> Any:
        return np.ones(1) if self._factor is not None else 1 / (penalty + weight * self._spectrum)


@dataclass(frozen=True)
class Primal:
    """Functions of explicit features, penalised by the norm of their coefficients.

    Attributes
    ----------
    features : callable
        Maps rows to features, shape (n, p).
    expansion : callable
        Maps coefficients of shape (p, G) to functions.
    block_rows : int
        Rows whose features are held at a time.
    smallest_penalty : float
        Below, the system is singular to rounding.
    """

    features: Callable[[Any], NDArray[np.floating]]
    expansion: Callable[[Array], Expansion]
    block_rows: int
    smallest_penalty: float = 0.0

    def function(self, data: Data, coef: Array) -> Expansion:
        return self.expansion(coef)

    def solve(self, data: Data, form: Form, penalty: float) -> Expansion:
        """Solve ``(l I + Phi'M Phi) w = Phi'v`` of one model, in O(n p^2 + p^3)."""
        if penalty < self.smallest_penalty:
            raise FitError(SINGULAR)
        matrix, mean = None, np.zeros(1)
        if _weighs_unlabeled(form):
            matrix, total = self.moments(data.U)
            matrix *= form.diagonal[-1] / len(data.U)
            mean = total / len(data.U)
        means, matrix = self._add_labeled(data, form, matrix)
        T = np.column_stack([means, np.zeros(len(matrix)) + mean])
        matrix = blas.dsyr2k(0.5, T, T @ form.cross, beta=1.0, c=matrix, lower=1, overwrite_c=1)
        np.einsum("ii->i", matrix)[:] += penalty
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise (FitError(SINGULAR) if _convex(form) else IndefiniteError(INDEFINITE)) from None
        coef = linalg.cho_solve(factor, T @ form.linear, check_finite=False)
        return self.function(data, coef[:, None])

    def _add_labeled(self, data: Data, form: Form, matrix: Any) -> tuple[Array, Array]:
        """Return the mean features of the sources; add the squares at labelled rows.

        Labelled rows are few and may carry all of the matrix: their sums are double. float32
        features depend on the rows beside them, so that those of all sources are computed at once.
        """
        W, means = source_weights(data.codes, data.n_sources), np.zeros(1)
        counts = data.counts
        for block in row_blocks(len(data.X), self.block_rows):
            Phi = self.features(data.X[block]).astype(np.float64, copy=False)
            means = means + Phi.T @ W[block]
            if matrix is None:
                matrix = np.zeros((Phi.shape[1], Phi.shape[1]), order="F")
            for source in np.flatnonzero(form.diagonal[:-1]):
                rows, d = data.codes[block] == source, form.diagonal[source] / counts[source]
                if rows.any():
                    matrix = blas.dsyrk(d, Phi[rows].T, beta=1.0, c=matrix, lower=1, overwrite_c=1)
        return means, matrix

    def moments(self, X: Any) -> tuple[Array, Array]:
        """Return ``Phi'Phi`` (lower triangle) and the sum of features at rows, block by block."""
        gram, total = None, np.zeros(1)
        for block in row_blocks(len(X), self.block_rows):
            Phi = self.features(X[block])
            total = total + Phi.sum(axis=0, dtype=np.float64)
            if gram is None:
                gram = np.zeros((Phi.shape[1], Phi.shape[1]), order="F")
            if Phi.dtype == np.float64:
                gram = blas.dsyrk(1.0, Phi.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            else:
                gram += blas.ssyrk(1.0, Phi.T, lower=1)
            del Phi  # before the next block is allocated
        assert gram is not None
        return gram, total

    def prepare(self, data: Data, labeled: _Labeled, weighed: bool) -> tuple[Array, Any]:
        """Return the labelled part of R, and the moments of all unlabelled rows."""
        if labeled.weights is None:
            R = self.features(data.X[:]).astype(np.float64, copy=False)
        else:
            R = np.zeros(1)
            for block in row_blocks(len(data.X), self.block_rows):
                R = R + labeled.weights[block].T @ self.features(data.X[block])
        return R, self.moments(data.U) if weighed else None

    def system(
        self, data: Data, prepared: Any, rows_u: Rows, settings: list[Setting]
    ) -> _PrimalSystem:
        """Return the system of the models that use these unlabelled rows."""
        R, known = prepared
        gram, total = np.zeros((R.shape[1], R.shape[1]), order="F"), np.zeros(R.shape[1])
        if known:  # the moments of all rows, less those of the others
            gram, total = known[0].copy(order="F"), known[1]
            others = training_rows(rows_u, len(data.U))
            if len(others):
                less, less_total = self.moments(data.U[others])
                gram, total = np.subtract(gram, less, out=gram), total - less_total
        return _PrimalSystem(np.vstack([R, total / max(1, len(rows_u))]), gram, settings)


class _PrimalSystem:
    """The system of ``f = phi(.)' N^-1 R' z``."""

    def __init__(self, R: Array, gram: Array, settings: list[Setting]) -> None:
        self.width = R.shape[1]
        self._shifted = _Shifted(gram, settings)
        self._half = self._shifted.half(R.T)
        self._kept: list[tuple[int, Array]] = []

    def response(self, penalty: float, weight: float) -> Array:
        return (self._half.T * self._shifted.scale(penalty, weight)) @ self._half

    def keep(self, model: int, penalty: float, weight: float, z: Array) -> None:
        self._kept.append((model, self._shifted.scale(penalty, weight) * (self._half @ z)))

    def write(self, coef: Array) -> None:
        """Write the coefficients of all kept models to their columns."""
        if self._kept:
            models, halves = zip(*self._kept, strict=True)
            coef[:, models] = self._shifted.back(np.column_stack(halves))


@dataclass(frozen=True)
class Dual:
    """All functions of a kernel, penalised by its norm: expansions at labelled, unlabelled rows."""

    kernel: str
    sigma: float
    smallest_penalty: ClassVar[float] = 0.0

    def gram(self, A: Any, B: Any) -> Array:
        return kernel_named(self.kernel).gram(A, B, self.sigma)

    def function(self, data: Data, coef: Array) -> Expansion:
        n, parts = len(data.X), [data.X[:]]
        if len(coef) > n and data.U is data.X:  # rows of both tables have one coefficient
            coef = coef[:n] + coef[n:]
        elif len(coef) > n:
            parts.append(data.U[:])
        centers = np.concatenate(parts).astype(np.float64, copy=False)
        return Expansion(self.kernel, self.sigma, centers, coef)

    def solve(self, data: Data, form: Form, penalty: float) -> Expansion:
        """Solve the system of one model with all rows in R and ``P = K/l``, in O(n^3)."""
        if not form.diagonal[:-1].any() and not form.cross.any():
            return self._solve_by_means(data, form, penalty)
        used = np.arange(len(data.U) if _weighs_unlabeled(form) else 0)
        centers = np.concatenate([data.X[:], data.U[used]]).astype(np.float64, copy=False)
        own = source_weights(data.codes, data.n_sources)
        W = linalg.block_diag(own, np.full((len(used), 1), 1 / max(1, len(used))))
        P = self.gram(centers, centers)
        P /= penalty
        try:
            z = small_solve(P, W @ form.diagonal, W, form.cross, form.linear)
        except linalg.LinAlgError:
            raise FitError(SINGULAR) from None
        return Expansion(self.kernel, self.sigma, centers, z[:, None] / penalty)

    def _solve_by_means(self, data: Data, form: Form, penalty: float) -> Expansion:
        """Solve the same if labelled rows enter by their means: the matrix of U suffices."""
        weights, rows = source_weights(data.codes, data.n_sources), np.arange(len(data.U))
        setting = penalty, float(form.diagonal[-1]) / len(rows)
        system = _DualSystem(self, data, weights, rows, [setting])
        system.keep(0, *setting, form.linear)
        coef = np.empty((system.width, 1))
        system.write(coef)
        return self.function(data, coef)

    def prepare(self, data: Data, labeled: _Labeled, weighed: bool) -> Array | None:
        return labeled.weights

    def system(
        self, data: Data, weights: Array | None, rows_u: Rows, settings: list[Setting]
    ) -> _DualSystem:
        return _DualSystem(self, data, weights, rows_u, settings)


class _DualSystem:
    """The system of ``f = (k(., R) z - c k(., U) (l I + c K)^-1 K_uR z)/l``.

    The mean unlabelled row is in the span of U, so its part needs no difference.
    """

    def __init__(
        self,
        space: Dual,
        data: Data,
        weights: Array | None,
        rows_u: Rows,
        settings: list[Setting],
    ) -> None:
        self._space, self._X = space, np.asarray(data.X[:], np.float64)
        self._weights, self._places = weights, len(self._X) + rows_u
        self.width = len(self._X) + (len(data.U) if len(rows_u) else 0)
        self._shifted: _Shifted | None = None
        self._kept: list[tuple[int, Array, Any]] = []
        if not len(rows_u):
            return
        U = np.asarray(data.U[rows_u], np.float64)
        if weights is None:
            cross = space.gram(U, self._X)
        else:
            cross = kernel_named(space.kernel).expansion(U, self._X, weights, space.sigma)
        K = space.gram(U, U)
        mean = K.mean(axis=0)
        self._shifted = _Shifted(K.T, settings)
        halves = self._shifted.half(np.column_stack([cross, mean, np.full(len(U), 1 / len(U))]))
        self._half, self._half_mean, self._ones = halves[:, :-2], halves[:, -2], halves[:, -1]

    @cached_property
    def _gram(self) -> Array:
        return self._space.gram(self._X, self._X)

    def response(self, penalty: float, weight: float) -> Array:
        r = len(self._gram)
        P = np.zeros((r + 1, r + 1))
        P[:r, :r] = self._gram / penalty
        if self._shifted is not None:
            scale = self._shifted.scale(penalty, weight)
            P[:r, :r] -= (self._half.T * (weight / penalty * scale)) @ self._half
            P[r, :r] = P[:r, r] = self._half.T @ (scale * self._ones)
            P[r, r] = self._half_mean @ (scale * self._ones)
        return P

    def keep(self, model: int, penalty: float, weight: float, z: Array) -> None:
        at_rows, half = z[:-1] / penalty, None
        if self._shifted is not None:
            half = self._ones * z[-1] - self._half @ (weight * at_rows)
            half = self._shifted.scale(penalty, weight) * half
        at_labeled = at_rows if self._weights is None else self._weights @ at_rows
        self._kept.append((model, at_labeled, half))

    def write(self, coef: Array) -> None:
        """Write the coefficients of all kept models to their columns."""
        if not self._kept:
            return
        models, at_labeled, halves = zip(*self._kept, strict=True)
        coef[:, models] = 0
        coef[: len(self._X), models] = np.column_stack(at_labeled)
        if self._shifted is not None:
            solved = self._shifted.back(np.column_stack(halves))
            coef[np.ix_(self._places, models)] = solved


def constant(rows: Any) -> Array:
    """Return 1 at every row, shape (n, 1)."""
    return np.ones((len(finite_rows(rows)), 1))


def dual_cost(n: Sizes, n_rows: int, n_models: int, *, by_means: bool = False) -> Cost:
    """Return the cost of `minimise` with a matrix of ``n_rows`` rows; other rows enter by means."""
    centers = n.unlabeled + n.labeled if by_means else n_rows
    order, labeled = (n_rows, 1) if by_means else (n_rows - n.labeled, n.labeled)
    rows = 8 * centers * (4 * n.inputs + 30)
    solving, memory = n_rows**3 / 3, 8 * n_rows**2 + rows
    if n_models > 1:
        solving = grid_flops(order, labeled, n_models)
        memory = eigh_memory(order) + 8 * order * (4 * labeled + 3 * n_models) + rows
    building = n_rows * (n_rows + 2 * (centers - n_rows)) * (n.inputs + FUNCTION_FLOPS / 2)
    return Cost(
        flops=2 * (building + solving),
        memory=2**17 + max(memory, expansion_memory(centers, n.inputs) + rows),
        flops_per_row=expansion_flops(centers, n.inputs),
    )


def grid_flops(n: int, n_labeled: int, n_models: int) -> float:
    systems = n_models * n_labeled**2 * (n_labeled + n / 2)
    return SLOW_EIGH * EIGH_FLOPS * n**3 + 2 * n_labeled * n**2 + systems
