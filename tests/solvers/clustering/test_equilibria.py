"""Equilibria, and which of them segments join."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from dsgkit.solvers.clustering import equilibria, many_columns, segments
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.equilibria import (
    MAX_STEPS,
    TOLERANCE,
    by_first,
    find_equilibria,
    merge,
    trajectories,
)
from dsgkit.solvers.clustering.kernel_values import exponential
from dsgkit.solvers.clustering.segments import connected
from tests.solvers.clustering.oracle import load, rows_and_domain

TOOLBOX = {
    "msctoolbox_ringg_2_SMSC": 11,
    "msctoolbox_moons_1_FMSC": 10,
    "svctoolbox_ringg_2_SEPCG": 11,
}


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1


@pytest.mark.parametrize("name", TOOLBOX)
def test_equilibria_and_labels_are_those_of_the_toolboxes(name, monkeypatch):
    monkeypatch.setattr(equilibria, "BLOCK_TRAJECTORIES", 50)  # blocks are no part of the result
    stored = load(name)
    X, domain = rows_and_domain(stored)
    found = find_equilibria(domain, X, np.arange(len(X)))
    assert len(found.points) == TOOLBOX[name]
    assert found.n_unconverged == 0
    labels = connected(domain, found.points, 11)[found.which]
    expected = [stored["loc"].T]
    if "labels_fixedpoint" in stored:
        assert same_partition(labels, stored["labels_fixedpoint"])
        expected.append(stored["equilibria_fixedpoint"])
    if not name.endswith("FMSC"):  # which clusters balls, not rows
        assert same_partition(labels, stored["lab"])
    for points in expected:
        distances = np.linalg.norm(found.points[:, None] - points, axis=2)
        assert distances.min(axis=1).max() < 5e-4
        assert distances.min(axis=0).max() < 5e-4


def test_a_complete_graph_is_that_of_the_svc_toolbox():
    stored = load("svctoolbox_moons_1_CG")
    X, domain = rows_and_domain(stored)
    inside = domain.values(X) >= -1e-7
    assert same_partition(connected(domain, X, 11)[inside], stored["lab"][inside])


def random_domain(seed, n_inputs=2, n=12, level=0.5):
    rng = np.random.default_rng(seed)
    coefficients = rng.uniform(0.2, 0.8, n)
    return Domain(2 * rng.normal(size=(n, n_inputs)), coefficients, 0.9, level)


def step(domain, x):
    exponents = -domain.gamma * ((domain.support_vectors - x) ** 2).sum(axis=1)
    weights = domain.coefficients * np.exp(exponents - exponents.max())
    return weights @ domain.support_vectors / weights.sum()


def test_trajectories_are_those_of_the_map():
    domain = random_domain(0, n_inputs=3)
    starts = 3 * np.random.default_rng(1).normal(size=(40, 3))
    starts[0] = 1e4  # where every kernel value is 0
    kept = starts.copy()
    ends, n_steps = trajectories(domain, starts, TOLERANCE)
    np.testing.assert_array_equal(starts, kept)
    for x, end, length in zip(starts, ends, n_steps, strict=True):
        path = [x]
        while len(path) < 2 or np.linalg.norm(path[-1] - path[-2]) > TOLERANCE * domain.width:
            path.append(step(domain, path[-1]))
        assert len(path) - 1 == length
        np.testing.assert_allclose(end, path[-1], atol=1e-9)


def test_trajectories_that_do_not_converge_are_counted():
    slow = Domain(np.array([[0.0], [2.0]]), np.array([1.0, 1.0]), 0.5)  # flat: the map is 4th order
    _, n_steps = trajectories(slow, np.array([[0.8]]), 1e-9)
    assert n_steps.tolist() == [-MAX_STEPS]
    negative = Domain(np.array([[0.0], [2.0]]), np.array([1.0, -0.9]), 0.5)
    starts = np.array([[9.0], [0.0], [0.1], [3.0]])
    found = find_equilibria(negative, starts, np.array([1, 2, 3]))
    assert found.n_unconverged == 1
    assert found.which.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(found.points[1], [3.0])


def test_trajectories_by_products_are_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    vectors, starts = 50 + rng.normal(size=(90, 33)), 50 + rng.normal(size=(150, 33))
    starts[5] = 900.0  # far from all vectors
    coefficients = rng.random(90)
    coefficients[:30] *= -0.05
    domain = Domain(vectors, coefficients, 0.02)
    starts[6] = vectors[:30].mean(axis=0)
    found, n_steps = trajectories(domain, starts, TOLERANCE)
    monkeypatch.setattr(many_columns, "MIN_INPUTS", 34)
    expected, n_expected = trajectories(domain, starts, TOLERANCE)
    np.testing.assert_array_equal(n_steps, n_expected)
    assert len(set(n_steps)) > 3
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    # a sum that is not positive has no next point
    domain = Domain(vectors, -coefficients, 0.02)
    _, n_expected = trajectories(domain, starts, TOLERANCE)
    monkeypatch.setattr(many_columns, "MIN_INPUTS", 33)
    ends, n_steps = trajectories(domain, starts, TOLERANCE)
    np.testing.assert_array_equal(n_steps, n_expected)
    np.testing.assert_allclose(ends[n_steps == -1], starts[n_steps == -1], rtol=1e-15)
    assert (n_steps == -1).any()


def test_merging_is_single_linkage_of_cells():
    rng = np.random.default_rng(0)
    for n_inputs in (1, 2, 7):
        centers = rng.normal(size=(9, n_inputs))
        points = np.repeat(centers, 50, axis=0) + 1e-3 * rng.normal(size=(450, n_inputs))
        points = np.concatenate([points, points[:30]])[rng.permutation(480)]
        numbers = merge(points, 1e-3, 0.02)
        expected = fcluster(linkage(points), 0.02, "distance")
        np.testing.assert_array_equal(numbers, by_first(expected))


def test_many_equal_points_are_merged_at_once():
    points = np.repeat([[0.0, 1.0], [-0.0, 2.0]], 200_000, axis=0)
    assert np.bincount(merge(points, 0.01, 0.05)).tolist() == [200_000, 200_000]


def joined_by_hand(domain, points, n_segment):
    """Return the components of all pairs, by a search from every point."""
    shares = np.linspace(0, 1, n_segment)[:, None]
    n = len(points)
    edges = np.eye(n, dtype=bool)
    for i, j in itertools.permutations(range(n), 2):
        segment = points[i] + shares * (points[j] - points[i])
        edges[i, j] = (domain.values(segment) >= 0).all()
    for _ in range(n):
        edges = edges @ edges
    return by_first(np.array([np.flatnonzero(row)[0] for row in edges]))


@pytest.mark.parametrize("level", [0.1, 0.4, 0.6, 2.0])
def test_clusters_are_components_of_all_pairs(level, monkeypatch):
    monkeypatch.setattr(segments, "BLOCK_PAIRS", 50)
    monkeypatch.setattr(segments, "N_NEIGHBORS", 2)
    for seed in range(3):
        domain = random_domain(seed, level=level)
        points = 2 * np.random.default_rng(seed).normal(size=(30, 2))
        points = np.concatenate([points, domain.support_vectors])
        found = connected(domain, points, 20)
        np.testing.assert_array_equal(found, joined_by_hand(domain, points, 20))
        if level == 2.0:  # nothing is inside
            assert len(set(found)) == len(points)


def test_the_exponential_is_the_library_s():
    x = -np.concatenate([np.geomspace(1e-20, 600, 3000), [0.0]])
    found, expected = np.array([exponential(v) for v in x]), np.exp(x)
    assert (np.abs(found - expected) <= 2 * np.spacing(expected)).all()
    assert exponential(-1e300) == exponential(-600.0) > 0  # far below all that matters
