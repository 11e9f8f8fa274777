"""How the number of support vectors is kept to a budget."""

import numpy as np
import pytest

from dsgkit.solvers.clustering.budget import (
    RANDOM,
    REMOVAL,
    SINGULAR_DISTANCE,
    Support,
    add,
    apply,
    maintenance,
    projection,
)
from tests.solvers.brute_force import kernel
from tests.solvers.clustering.oracle import load


def support_of(points, coefficients):
    support = Support.empty(points.shape[1], len(points))
    for row, (x, coefficient) in enumerate(zip(points, coefficients, strict=True)):
        assert add(support, row, x, coefficient)
    return support


def planned(support, strategy, gamma=1.0, n_neighbors=5, seed=0):
    words = np.random.default_rng(seed).integers(2**64, size=n_neighbors, dtype=np.uint64)
    places, changes = np.empty(n_neighbors + 1, np.int64), np.empty(n_neighbors + 1)
    scratch = np.empty(len(support.rows))
    n = maintenance(support, strategy, gamma, words, places, changes, scratch)
    return places[:n], changes[:n]


def test_removal_is_that_of_the_reference_program():
    """Its decay rounds, so that coefficients that are equal but for this tell what goes."""
    stored = load("nbsgd_removal")
    X, y, perm = stored["X"], stored["y"], stored["perm"]
    n, gamma, lam = len(X), float(stored["gamma"]), float(stored["lam"])
    chances = iter(stored["uniforms"])
    budget, n_removals = int(stored["BB_init"]), 0
    support = Support.empty(2, 100)
    add(support, 0, X[perm[0]], 0.0)
    for t in range(1, n + 1):
        size = support.size[0]
        coefficients = support.coefficients[:size]
        if t > 1:
            coefficients -= coefficients / t
        x = X[perm[t % n]]
        value = coefficients @ np.exp(-gamma * ((support.points[:, :size].T - x) ** 2).sum(axis=1))
        label = y[perm[t % n]]
        if label * value < 1:
            add(support, t % n, x, label / (lam * t))
            if support.size[0] > budget:
                if next(chances) < 1 - stored["beta_frac"] * n / t:
                    budget += 1
                else:
                    apply(support, *planned(support, REMOVAL))
                    n_removals += 1
    size = support.size[0]
    np.testing.assert_array_equal(support.rows[:size], stored["support_index_in_perm"])
    np.testing.assert_array_equal(support.coefficients[:size], stored["alpha"])
    assert n_removals == stored["maintenance"]


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-6])
def test_projection_onto_equal_vectors_is_that_onto_one(gap):
    points = np.array([[0.5, 0], [0, 0], [gap, 0], [0, 0], [1, 0], [1, gap]])
    found = np.empty(5)
    projection(points.T.copy(), np.arange(6), 1.0, found)
    K = kernel(points, points, 1.0)
    few = np.linalg.solve(K[np.ix_([1, 4], [1, 4])], K[[1, 4], 0])
    np.testing.assert_allclose([found[:3].sum(), found[3:].sum()], few, atol=10 * SINGULAR_DISTANCE)
    assert np.abs(found).max() < 1
    rest = K[0, 0] - 2 * found @ K[1:, 0] + found @ K[1:, 1:] @ found
    assert rest == pytest.approx(K[0, 0] - few @ K[[1, 4], 0], abs=10 * SINGULAR_DISTANCE)


def test_random_neighbors_are_different_and_equally_likely():
    support = support_of(np.arange(8.0)[:, None], [3, 3, 3, 1, 3, 3, 3, 3])
    counts = np.zeros(8)
    for seed in range(700):
        places, _ = planned(support, RANDOM, n_neighbors=3, seed=seed)
        assert places[0] == 3
        assert len(set(places)) == 4
        counts[places[1:]] += 1
    assert counts[3] == 0
    np.testing.assert_allclose(counts[counts > 0], 300, atol=4 * np.sqrt(300 * 4 / 7))


def test_rows_that_come_again_add_up_and_room_grows():
    support = Support.empty(1, 1)
    assert add(support, 7, np.array([0.5]), 1.0)
    assert not add(support, 7, np.array([0.5]), 1.0)
    assert support.coefficients[0] == 2
    larger = support.with_room_for(2)
    assert add(larger, 8, np.array([1.5]), 1.0)
    assert larger.rows[:2].tolist() == [7, 8]
    assert larger.with_room_for(0) is larger
