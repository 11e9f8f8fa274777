"""The similar-unlabelled risk with the double hinge loss, as a quadratic program (SU-DH)."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.problem import Sizes
from dsgkit.linalg import Array, solve_qp

USUAL_ITERATIONS = 25
"""Usual iterations of the interior-point method."""


def double_hinge(Phi: Array, slope: Array, lam: float, max_seconds: float | None = None) -> Array:
    """Return the w that minimises ``lam/2 ||w||^2 + slope'w + mean_i max(0, (1 + z_i)/2, z_i)``.

    The variables are w, ``z = Phi w`` (so that the dense Phi enters once) and upper bounds xi on
    the maxima. The program has the sum over rows: with the mean the solver stops early for small
    lam (2^-24, with 1,000 rows of ten columns: at 57% of the minimum, which is negative).
    """
    n, p = Phi.shape
    identity, zero = sparse.eye(n), sparse.csc_matrix((n, n))
    quadratic = sparse.block_diag([n * lam * sparse.eye(p), sparse.csc_matrix((2 * n, 2 * n))])
    linear = np.concatenate([n * slope, np.zeros(n), np.ones(n)])
    equal = sparse.hstack([sparse.csc_matrix(Phi), -identity, zero])
    below = sparse.vstack(  # (1 + z)/2 <= xi, z <= xi, 0 <= xi
        [sparse.hstack([factor * identity, -identity]) for factor in (0.5, 1.0, 0.0)]
    )
    at_most = sparse.hstack([sparse.csc_matrix((3 * n, p)), below]), np.repeat([-0.5, 0.0, 0.0], n)
    # dense: a thirteenth of the time at n = p = 1,000, as Phi is dense
    solution = solve_qp(
        quadratic, linear, (equal, np.zeros(n)), at_most, max_seconds=max_seconds, dense=True
    )
    return solution[:p]


def whitening(gram: Array) -> Array:
    """Return W with ``W'gram W = I``, without the eigenvectors lost in rounding."""
    spectrum, vectors = linalg.eigh(gram, check_finite=False)
    kept = spectrum > 1e-10 * spectrum[-1]
    whitened: Array = vectors[:, kept] / np.sqrt(spectrum[kept])
    return whitened


def double_hinge_cost(p: int, n: Sizes, n_models: int, *, linear: bool) -> Cost:
    """Return the cost of programs with p features, one after the other; bytes as measured."""
    features = 0.0 if linear else p * (n.inputs + FUNCTION_FLOPS / 2 + p)
    solving = USUAL_ITERATIONS * (p**2 + 100 * p)
    flops = n_models * 2 * n.unlabeled * (features + solving)
    memory = n.unlabeled * (200 * p + 5000) + 32 * p**2
    return Cost(flops, memory, 2.0 * p * (1 if linear else n.inputs + FUNCTION_FLOPS))
