"""Explicit features of closed forms: random ones, kernel values at centres, Nystrom's, inputs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.model import Expansion
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FitError
from dsgkit.exact.quadratic import Primal, grid_flops
from dsgkit.features import Blocks
from dsgkit.kernels import expansion_flops, finite_rows, kernel_named
from dsgkit.linalg import Array, eigh_memory

BLOCK_ROWS, BLOCK_ENTRIES, FEWEST_ROWS = 8192, 2**21, 64
"""Most rows and features of rows that are held at a time, but not fewer rows."""

SINGLE_PENALTY = 2.0**-22
"""Smallest penalty of float32 features: their sums of products err by 2^-24."""

DEPENDENT = 1e-12
"""Landmarks within this share of the largest kernel value from the span of others are left out."""


def random_features(blocks: Blocks) -> Primal:
    """Return block 0 of random features."""
    features = functools.partial(first_block, blocks)
    expansion = functools.partial(Expansion, None, 1.0, features)
    return Primal(features, expansion, BLOCK_ROWS, SINGLE_PENALTY)


def first_block(blocks: Blocks, rows: Any) -> NDArray[np.floating]:
    return blocks.transform(blocks.read(rows, slice(None)), 0)


def linear_features() -> Primal:
    """Return the inputs and a constant 1."""
    return Primal(with_constant, functools.partial(Expansion, None, 1.0, with_constant), BLOCK_ROWS)


def with_constant(rows: Any) -> Array:
    return np.column_stack([finite_rows(rows), np.ones(len(rows))])


def centres(kernel: str, sigma: float, centers: Array) -> Primal:
    """Return the kernel's values at centres, penalised by the norm of the coefficients."""
    gram = kernel_named(kernel).gram
    expansion = functools.partial(Expansion, kernel, sigma, centers, norm_of_coef=True)
    return Primal(lambda rows: gram(rows, centers, sigma), expansion, rows_at_once(len(centers)))


def rows_at_once(n_columns: int) -> int:
    return max(FEWEST_ROWS, BLOCK_ENTRIES // n_columns)


def landmarks(kernel: str, sigma: float, z: Array) -> Primal:
    """Return Nystrom features ``L^-1 k_z(x)`` with ``K_zz = L L'``, penalised by the kernel's norm.

    By pivoted Cholesky: landmarks within rounding of the span of others are left out.
    """
    gram = kernel_named(kernel).gram
    K = gram(z, z, sigma)
    largest = float(K.diagonal().max())
    if largest <= 0:
        raise FitError("the kernel is 0 at all landmarks: every function on them is 0")
    L, order, rank, _ = lapack.dpstrf(K, lower=1, tol=DEPENDENT * largest)
    L, order = np.asfortranarray(np.tril(L[:rank, :rank])), order[:rank] - 1
    chosen, ascending = z[order], np.argsort(order)
    solve = functools.partial(linalg.solve_triangular, L, lower=True, check_finite=False)

    def features(rows: Any) -> Array:
        values: Array = solve(gram(chosen, rows, sigma)).T
        return values

    def expansion(w: Array) -> Expansion:
        return Expansion(kernel, sigma, chosen[ascending], solve(w, trans=1)[ascending])

    return Primal(features, expansion, rows_at_once(rank))


def primal_cost(
    width: int,
    row_flops: float,
    n: Sizes,
    n_models: int,
    *,
    n_systems: int | None = None,
    single: bool = True,
) -> Cost:
    """Return the cost of `minimise` on explicit features of ``row_flops`` operations a row.

    Each model of a grid solves a system of the size of the labelled rows, or of ``n_systems``.
    Features are in single precision, and summed in double, or all in double.
    """
    labeled = n.labeled if n_systems is None else n_systems
    size, at_once = (4, BLOCK_ROWS) if single else (8, rows_at_once(width))
    solving, memory = width**3 / 3, (8 + 4 * single) * width**2 + 20 * labeled * width
    if n_models > 1:
        solving = grid_flops(width, labeled, n_models)
        memory = 8 * width**2 + eigh_memory(width) + 8 * width * (2 * labeled + n_models)
    n_rows, passes = n.labeled + n.unlabeled, 1 + n.pooled
    block = min(n_rows, at_once) * (size * width + 8 * n.inputs)
    return Cost(
        flops=passes * n_rows * (row_flops + width**2) + 2 * solving,
        memory=2**17 + memory + block,
        flops_per_row=row_flops + 4.0 * width,
    )


def centres_cost(n_centers: int, n: Sizes, n_models: int, *, landmarks: bool = False) -> Cost:
    """Return the cost of `minimise` on `centres`, or on `landmarks`."""
    p = n_centers
    row_flops = 2 * p * (2 * n.inputs + FUNCTION_FLOPS + p * landmarks)
    cost = primal_cost(p, row_flops + p**2, n, n_models, single=False)  # products in double
    memory = cost.memory + 8 * p * (3 * n.inputs + 2 * p * landmarks)
    return Cost(cost.flops, memory, expansion_flops(p, n.inputs))
