"""Hessians with respect to the coefficients of one block of features, and Newton steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from dsgkit.engine.problem import Problem
from dsgkit.linalg import EIGH_FLOPS, Array, eigh
from dsgkit.risks.pairwise import Form, source_weights

SMALL_SYSTEM = 300  # overhead of a model's system of labelled rows, in matrix-vector products


class Moments(NamedTuple):
    """Sums over rows: of ``Phi'Phi`` (lower triangle, None if not needed) and of the features."""

    gram: Array | None
    total: Array
    n_rows: int

    def less(self, other: Moments) -> Moments:
        gram = None if self.gram is None or other.gram is None else self.gram - other.gram
        return Moments(gram, self.total - other.total, self.n_rows - other.n_rows)


def solve(matrix: Array, mu: float, right: Array) -> Array:
    """Return ``(H + mu I)^-1 right``, NaN if singular to rounding; overwrites H."""
    np.einsum("ii->i", matrix)[:] += mu
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return np.full_like(right, np.nan)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


class Shared:
    """Hessians of quadratic losses, each formed once for all models that share it."""

    by_rows = False

    def __init__(self, problem: Problem, form: Form, mu: Array, width: int) -> None:
        self.form, self.mu, self.pool = form, mu, problem.pool
        self.needs_gram = (form.diagonal != 0).any(axis=0)
        self.groups: dict[Any, list[int]] = {}  # by pool and form, then by mu
        for g, k in enumerate(problem.pool):
            key = int(k), form.diagonal[g].tobytes(), form.cross[g].tobytes(), float(mu[g])
            self.groups.setdefault(key, []).append(g)
        self.flops = len(self.groups) * width**3 / 3

    def solve(self, moments: list[list[Moments]], features: Any, gradient: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding."""
        solution, hessians = np.empty_like(gradient), {}
        for key, models in self.groups.items():
            if key[:3] not in hessians:
                hessians[key[:3]] = self._hessian(models[0], moments[key[0]])
            matrix = hessians[key[:3]].copy(order="F")
            solution[:, models] = solve(matrix, key[3], gradient[:, models])
        return solution

    def _hessian(self, model: int, sources: list[Moments]) -> Array:
        """Return the lower triangle of the second derivative of a loss, in Fortran order."""
        width = len(sources[0].total)
        hessian = np.zeros((width, width), order="F")
        means = np.zeros((width, len(sources)), order="F")
        for k, (weight, source) in enumerate(zip(self.form.diagonal[model], sources, strict=True)):
            if source.n_rows:
                means[:, k] = source.total / source.n_rows
                if weight and source.gram is not None:
                    hessian += (2 * weight / source.n_rows) * source.gram
        S = self.form.cross[model]
        if S.any():
            settings = {"beta": 1.0, "c": hessian, "lower": 1, "overwrite_c": 1}
            hessian = blas.dsyr2k(1.0, means, means @ S, **settings)
        return hessian


class ByRows:
    """Hessians of many models from one eigendecomposition, if labelled rows are few.

    In the eigenbasis of ``Phi_u'Phi_u`` of a shared batch, ``N = mu I + 2 d_u Phi_u'Phi_u / n_u``
    is diagonal, whatever mu and d_u. The rest of a Hessian is ``R'J R`` with the features R of the
    labelled rows and, last, the mean of the unlabelled ones; so, with ``P = R N^-1 R'`` for all
    folds,

        (N + R'J R)^-1 g = N^-1 [ g - R'J (I + P J)^-1 R N^-1 g ].
    """

    by_rows = True

    def __init__(self, problem: Problem, form: Form, mu: Array, width: int) -> None:
        p, n_labeled = problem, len(problem.data.X)
        self.form, self.pool = form, p.pool
        self.needs_gram = np.zeros(form.diagonal.shape[1], bool)
        self.needs_gram[-1] = (form.diagonal[:, -1] != 0).any()
        self.rows = []  # of each pool: rows of R, their sources, W, whose columns compute means
        for k in range(len(p.pools)):
            own = [by_pool[k] for by_pool in p.by_source]
            rows = np.concatenate([*own, [n_labeled]]).astype(np.int64)
            source = np.repeat(np.arange(len(own) + 1), [*map(len, own), 1])
            self.rows.append((rows, source, source_weights(source, len(own) + 1)))
        batch = p.pool if p.pools_u is not None else np.zeros(p.n_models, np.int64)
        self.shared: dict[int, dict[tuple[float, float], list[int]]] = {}
        for g in range(p.n_models):
            shared = self.shared.setdefault(int(batch[g]), {})
            shared.setdefault((float(mu[g]), float(form.diagonal[g, -1])), []).append(g)
        n_rows, n_shared = n_labeled + 1, sum(map(len, self.shared.values()))
        self.flops = (
            len(self.shared) * EIGH_FLOPS * width**3
            + n_shared * 2.0 * n_rows**2 * width
            + p.n_models * n_rows**2 * (n_rows / 3 + SMALL_SYSTEM)
        )

    def solve(self, moments: list[list[Moments]], features: Any, gradient: Array) -> Array:
        """Return ``H^-1`` times the gradient of each model, NaN where H is singular to rounding."""
        solution = np.empty_like(gradient)
        for shared in self.shared.values():
            members = [g for models in shared.values() for g in models]
            unlabeled = moments[self.pool[members[0]]][-1]
            R = np.vstack([features, unlabeled.total / unlabeled.n_rows])
            if unlabeled.gram is None:
                spectrum = np.zeros(len(unlabeled.total))
                solution[:, members] = self._by_mu(shared, R, spectrum, gradient[:, members])
                continue
            spectrum, vectors = eigh(np.asfortranarray(unlabeled.gram / unlabeled.n_rows))
            g = vectors.T @ gradient[:, members]
            solution[:, members] = vectors @ self._by_mu(shared, R @ vectors, spectrum, g)
        return solution

    def _by_mu(self, shared: Any, R: Array, spectrum: Array, gradient: Array) -> Array:
        """Return the solutions in the eigenbasis, in the order of ``shared``."""
        out, first = np.empty_like(gradient), 0
        for (mu, weight), models in shared.items():
            columns = slice(first, first + len(models))
            first += len(models)
            N = (mu + 2 * weight * spectrum)[:, None]
            g = gradient[:, columns] / N
            scaled = R / np.sqrt(N.T)
            P, z = scaled @ scaled.T, R @ g
            y = np.zeros_like(z)
            for column, model in enumerate(models):
                rows = self.rows[self.pool[model]][0]
                y[rows, column] = self._within(model, P[np.ix_(rows, rows)], z[rows, column])
            out[:, columns] = g - (R.T @ y) / N
        return out

    def _within(self, model: int, P: Array, z: Array) -> Array:
        """Return ``J (I + P J)^-1 z`` with ``J = diag(d) + W S W'``, at the rows of a model's pool.

        Without the second term the system has the symmetric form ``I + sqrt(d) P sqrt(d)``; the
        second term has the rank of W and enters through ``s = W'x``.
        """
        _, source, W = self.rows[self.pool[model]]
        S = 2 * self.form.cross[model]
        d = 2 * self.form.diagonal[model][source] * W[:, :-1].sum(axis=1)
        root = np.sqrt(d)
        A = P * root
        A *= root[:, None]
        np.einsum("ii->i", A)[:] += 1
        right = np.empty((len(z), 1 + len(S)))
        right[:, 0], right[:, 1:] = z, P @ W
        # LAPACK, as the checks of `linalg.cho_factor` take as long as these small systems
        factor, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return np.full(len(z), np.nan)
        solved, _ = lapack.dpotrs(factor, root[:, None] * right, lower=1)
        right -= P @ (root[:, None] * solved)
        projected = W.T @ right
        s = np.linalg.solve(np.eye(len(S)) + projected[:, 1:] @ S, projected[:, 0])
        x = right[:, 0] - right[:, 1:] @ (S @ s)
        return np.asarray(d * x + W @ (S @ s))
