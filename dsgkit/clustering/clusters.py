"""Clusters of rows by the geometry of a domain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from dsgkit.clustering.domain import Domain
from dsgkit.clustering.geometry import (
    SURFACE,
    Labels,
    by_first,
    connected,
    find_equilibria,
    labels_of_nearest,
)
from dsgkit.errors import FitError
from dsgkit.linalg import Array
from dsgkit.seeds import derive_seed
from dsgkit.system.jit import fast
from dsgkit.system.progress import part

MIN_EPSILON, BOUNDARY_SHARE = 0.1, 0.2
"""Least epsilon and share of boundary rows by default."""


class Clusters(NamedTuple):
    """Clusters of rows, numbered from 0 on, and what finds those of new rows."""

    labels: Labels  # of the rows; -1 for rows in none
    tree: cKDTree  # of the rows whose clusters new rows take
    known: Labels  # their clusters; -1 for dropped ones, which have no rows
    margin: float  # rows with f below -margin are outside
    attributes: dict[str, Any]  # fitted attributes of the estimator by name


def by_boundary(
    domain: Domain, X: Any, epsilon: float | None, starts: str, n_segment: int, outliers: bool
) -> Clusters:
    """Return clusters by the equilibria of boundary rows; see `BSGDLMOC`."""
    f = domain.values(X)
    if epsilon is None:
        epsilon = max(MIN_EPSILON, float(np.quantile(np.abs(f), BOUNDARY_SHARE)))
    begins = np.abs(f) <= epsilon if starts == "boundary" else np.full(len(f), True)
    if not begins.any():
        raise FitError(
            f"no row has |f| <= epsilon = {epsilon:g}, so that no trajectory can start: the "
            f"smallest |f| is {np.abs(f).min():.3g}; take a larger epsilon, or None to fit it "
            "to the rows"
        )
    boundary, others = np.flatnonzero(begins), np.flatnonzero(~begins)
    points = np.asarray(X[boundary], np.float64)
    with part(0, 0.5):
        found, which, n_unconverged = find_equilibria(domain, points)
    with part(0.5, 0.7):
        of_equilibria = connected(domain, found, n_segment)
    known, tree = of_equilibria[which], cKDTree(points)
    labels = np.empty(len(f), np.int64)
    labels[boundary] = known
    with part(0.7, 1):
        labels[others] = labels_of_nearest(tree, known, X, others)
    if outliers:
        labels[f < -epsilon] = -1
    labels, numbers = without_empty_clusters(labels, int(of_equilibria.max()) + 1)
    highest = max(f.max(), domain.values(found).max())
    attributes = {
        "equilibria_": found,
        "equilibrium_labels_": numbers[of_equilibria],
        "n_boundary_": len(boundary),
        "n_unconverged_": n_unconverged,
        "mode_seeking_only_": bool(highest < 0),
        "inside_": float(np.mean(f >= 0)),
        "epsilon_": float(epsilon),
    }
    return Clusters(labels, tree, numbers[known], float(epsilon), attributes)


def by_pairs(domain: Domain, X: Array, n_segment: int, outliers: bool) -> Clusters:
    """Return clusters of rows joined by segments inside the domain; see `BenHurSVC`."""
    joined = connected(domain, X, n_segment, most_exponents=len(X) ** 2)
    inside = domain.values(X) >= -SURFACE
    if not inside.any():
        raise FitError(
            "no row is inside the sphere: take the rows of fit_domain, or a smaller gamma"
        )
    known, tree = by_first(joined[inside]), cKDTree(X[inside])
    labels = np.full(len(X), -1)
    labels[inside] = known
    if not outliers:
        labels[~inside] = labels_of_nearest(tree, known, X, np.flatnonzero(~inside))
    return Clusters(labels, tree, known, SURFACE, {"inside_": float(inside.mean())})


def by_balls(
    domain: Domain, X: Array, radius: float, n_segment: int, outliers: bool, seed: int
) -> Clusters:
    """Return clusters by the equilibria of the centres of balls; see `FSVC`."""
    order = random_order(seed, "cover", len(X))
    with part(0, 0.3):
        centers, balls = cover(X, order, radius * domain.width)
    with part(0.3, 0.85):
        found, which, n_unconverged = find_equilibria(domain, X[centers])
    with part(0.85, 1):
        of_equilibria = connected(domain, found, n_segment)
    of_balls = of_equilibria[which]
    labels = of_balls[balls]
    outside = domain.values(X) < -SURFACE
    if outliers:
        labels[outside] = -1
    labels, numbers = without_empty_clusters(labels, int(of_equilibria.max()) + 1)
    attributes = {
        "equilibria_": found,
        "equilibrium_labels_": numbers[of_equilibria],
        "n_balls_": len(centers),
        "n_unconverged_": n_unconverged,
        "inside_": float(1 - outside.mean()),
    }
    return Clusters(labels, cKDTree(X[centers]), numbers[of_balls], SURFACE, attributes)


def without_empty_clusters(labels: Labels, n_clusters: int) -> tuple[Labels, Labels]:
    """Drop clusters without rows; return the new labels, and the new number of each old cluster."""
    has_rows = np.bincount(labels[labels >= 0], minlength=n_clusters) > 0
    numbers = np.where(has_rows, np.cumsum(has_rows) - 1, -1)
    return np.where(labels >= 0, numbers[labels], -1), numbers


def random_order(seed: int, purpose: str, n_rows: int) -> Labels:
    """Return positions of rows in a random order, which depends on seed and purpose."""
    return np.random.default_rng(derive_seed(seed, purpose)).permutation(n_rows)


@fast
def cover(X, order, radius):  # type: ignore[no-untyped-def]
    """Cover rows with balls around some of them.

    In the given order, rows become centres unless an earlier ball covers them. Returns the centres'
    positions, shape (m,), and the first ball that covers each row, shape (n,).
    """
    centers, balls = np.empty(len(X), np.int64), np.empty(len(X), np.int64)
    count = 0
    for row in order:
        ball = 0
        while ball < count:
            square = 0.0
            for column in range(X.shape[1]):
                square += (X[row, column] - X[centers[ball], column]) ** 2
            if square <= radius * radius:
                break
            ball += 1
        if ball == count:
            centers[count] = row
            count += 1
        balls[row] = ball
    return centers[:count], balls
