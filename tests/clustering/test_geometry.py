"""Equilibria, which of them segments join, nearest points, and the kernel's width."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import entropy, gmean
from sklearn.metrics import adjusted_rand_score

from dsgkit.clustering import geometry
from dsgkit.clustering.clusters import cover
from dsgkit.clustering.domain import WIDTH_ROWS, Domain, exponential, gamma_of_neighbours
from dsgkit.data.dataset import Rows
from tests.clustering.oracle import load, rows_and_domain

RNG = np.random.default_rng(0)
TOOLBOX = {
    "msctoolbox_ringg_2_SMSC": 11,
    "msctoolbox_moons_1_FMSC": 10,
    "svctoolbox_ringg_2_SEPCG": 11,
}


@pytest.mark.parametrize("name", TOOLBOX)
def test_equilibria_and_labels_are_those_of_the_toolboxes(name, monkeypatch):
    monkeypatch.setattr(geometry, "BLOCK_TRAJECTORIES", 50)  # blocks are no part of the result
    stored = load(name)
    X, domain = rows_and_domain(stored)
    found, which, n_lost = geometry.find_equilibria(domain, X)
    assert (len(found), n_lost) == (TOOLBOX[name], 0)
    labels = geometry.connected(domain, found, 11)[which]
    expected = [stored["loc"].T]
    if "labels_fixedpoint" in stored:
        assert adjusted_rand_score(labels, stored["labels_fixedpoint"]) == 1
        expected.append(stored["equilibria_fixedpoint"])
    if not name.endswith("FMSC"):  # which clusters balls, not rows
        assert adjusted_rand_score(labels, stored["lab"]) == 1
    for points in expected:
        distances = cdist(found, points)
        assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) < 5e-4


def test_balls_equilibria_and_clusters_are_those_of_the_toolbox():
    known = load("msctoolbox_moons_1_FMSC")
    X, alpha, gamma = known["tin"], known["alpha"], float(known["rbf_gamma"])
    centers = cdist(known["cen"], X).argmin(axis=1)
    order = np.concatenate([centers, np.setdiff1d(np.arange(len(X)), centers)])
    found, balls = cover(X, order, float(known["R1"]))
    np.testing.assert_array_equal(found, centers)
    distances = cdist(X, X[centers])
    np.testing.assert_array_equal(balls, (distances <= known["R1"]).argmax(axis=1))
    norm = alpha @ np.exp(-gamma * cdist(X, X, "sqeuclidean")) @ alpha
    support = alpha > 0
    domain = Domain(X[support], alpha[support], gamma, (1 + norm - float(known["r"])) / 2)
    points, which, _ = geometry.find_equilibria(domain, X[centers])
    distances = cdist(points, known["loc"].T)
    assert len(points) == 10 and distances.min(axis=1).max() < 5e-4
    np.testing.assert_array_equal(distances.argmin(axis=1)[which] + 1, known["ml"])
    assert (
        adjusted_rand_score(geometry.connected(domain, points, 11)[which][balls], known["lab"]) == 1
    )


def test_a_complete_graph_is_that_of_the_svc_toolbox():
    stored = load("svctoolbox_moons_1_CG")
    X, domain = rows_and_domain(stored)
    inside = domain.values(X) >= -1e-7
    assert (
        adjusted_rand_score(geometry.connected(domain, X, 11)[inside], stored["lab"][inside]) == 1
    )


def step(domain, x):
    exponents = -domain.gamma * ((domain.support_vectors - x) ** 2).sum(axis=1)
    weights = domain.coefficients * np.exp(exponents - exponents.max())
    return weights @ domain.support_vectors / weights.sum()


@pytest.mark.parametrize("n_inputs", [3, geometry.PRODUCT_INPUTS])
def test_trajectories_are_those_of_the_map(n_inputs, monkeypatch):
    rng = np.random.default_rng(0)
    vectors, coefficients = 50 + rng.normal(size=(40, n_inputs)), rng.uniform(0.2, 0.8, 40)
    domain = Domain(vectors, coefficients, 0.9 / n_inputs)
    starts = 50 + 2 * rng.normal(size=(40, n_inputs))
    starts[0] = 1e4  # where every kernel value is 0
    monkeypatch.setattr(geometry, "PRODUCT_ENTRIES", 40 * 16)  # blocks of 16 points
    ends, converged = geometry.trajectories(domain, starts.copy(), geometry.TOLERANCE)
    assert converged.all()
    for x, end in zip(starts, ends, strict=True):
        before, x = x, step(domain, x)
        while np.linalg.norm(x - before) > geometry.TOLERANCE * domain.width:
            before, x = x, step(domain, x)
        np.testing.assert_allclose(end, x, atol=1e-9)


@pytest.mark.parametrize("n_inputs", [1, geometry.PRODUCT_INPUTS])
def test_trajectories_that_do_not_converge_are_counted(n_inputs):
    def line(*x):
        return np.eye(1, n_inputs) * np.array(x)[:, None]

    flat = Domain(line(0.0, 2.0), np.array([1.0, 1.0]), 0.5)  # there the map is of 4th order
    assert geometry.trajectories(flat, line(0.8), 1e-7)[1].tolist() == [False]
    negative = Domain(line(0.0, 2.0), np.array([1.0, -0.9]), 0.5)
    found, which, n_lost = geometry.find_equilibria(negative, line(0.0, 0.1, 3.0))
    assert n_lost == 1
    assert which.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found[1], line(3.0)[0], rtol=1e-15)


def test_far_vectors_are_followed_from_differences():
    vectors = np.random.default_rng(0).normal(size=(30, 40))
    vectors[:15] += 1e8
    ends, converged = geometry.trajectories(
        Domain(vectors, np.ones(30), 1.0), vectors + 1e-3, geometry.TOLERANCE
    )
    assert converged.all()
    np.testing.assert_allclose(ends, vectors, atol=1e-2)


def test_merging_is_single_linkage_of_cells():
    rng = np.random.default_rng(0)
    for n_inputs in (1, 2, 7):
        points = np.repeat(rng.normal(size=(9, n_inputs)), 50, axis=0)
        points += 1e-3 * rng.normal(size=points.shape)
        points = np.concatenate([points, points[:30]])[rng.permutation(480)]
        expected = fcluster(linkage(points), 0.02, "distance")
        np.testing.assert_array_equal(
            geometry.merge(points, 1e-3, 0.02), geometry.by_first(expected)
        )
    points = np.repeat([[0.0, 1.0], [-0.0, 2.0]], 200_000, axis=0)  # merged at once
    assert np.bincount(geometry.merge(points, 0.01, 0.05)).tolist() == [200_000, 200_000]


def joined_by_hand(domain, points, n_segment):
    """Return the components of the graph of all pairs."""
    shares, edges = np.linspace(0, 1, n_segment)[:, None], np.zeros((len(points), len(points)))
    for i, j in itertools.permutations(range(len(points)), 2):
        segment = points[i] + shares * (points[j] - points[i])
        edges[i, j] = (domain.values(segment) >= 0).all()
    return geometry.by_first(connected_components(edges)[1])


@pytest.mark.parametrize("least", [0.2, -0.2])
@pytest.mark.parametrize("level", [0.1, 0.4, 0.6, 2.0])
def test_clusters_are_components_of_all_pairs(level, least, monkeypatch):
    """Also where coefficients are negative, or exponents at the ends would take much memory."""
    monkeypatch.setattr(geometry, "BLOCK_PAIRS", 50)
    monkeypatch.setattr(geometry, "N_NEIGHBORS", 2)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        vectors, points = 2 * rng.normal(size=(300, 2)), 2 * rng.normal(size=(30, 2))
        coefficients = rng.uniform(least, 0.8, 300)
        coefficients[12:] *= 1e-3
        domain = Domain(vectors, coefficients, 0.9, level)
        points = np.concatenate([points, vectors[:12]])
        expected = joined_by_hand(domain, points, 20)
        for most in (10**6, 0):
            np.testing.assert_array_equal(geometry.connected(domain, points, 20, most), expected)


def test_the_exponential_is_the_library_s():
    x = -np.concatenate([np.geomspace(1e-20, 600, 3000), [0.0]])
    found, expected = np.array([exponential(v) for v in x]), np.exp(x)
    assert (np.abs(found - expected) <= 2 * np.spacing(expected)).all()
    assert exponential(-1e300) == exponential(-600.0) > 0  # far below all that matters


@pytest.mark.parametrize("apart", [0.0, 2.0**40])
@pytest.mark.parametrize("n_inputs", [1, 20, geometry.PRODUCT_INPUTS])
@pytest.mark.parametrize("n_points", [1, 33, 700])
def test_labels_are_those_of_the_first_of_the_nearest(n_points, n_inputs, apart, monkeypatch):
    """Many points are equally near: rows and shifts are whole numbers, so distances are exact."""
    monkeypatch.setattr(geometry, "BLOCK_TRAJECTORIES", 300)
    monkeypatch.setattr(geometry, "PRODUCT_ENTRIES", 70 * n_points)
    rng, rows = np.random.default_rng(n_points), np.arange(1000)[::-1]
    points = rng.integers(5, size=(n_points, n_inputs)).astype(float)
    X = rng.integers(-2, 13, size=(1000, n_inputs)) / 2
    for some in (points, X):
        some[::2, 0] += apart
    nearest = cdist(X, points, "sqeuclidean").argmin(axis=1)
    for labels in (rng.integers(4, size=n_points), np.full(n_points, 3)):
        found = geometry.labels_of_nearest(cKDTree(points), labels, X, rows)
        np.testing.assert_array_equal(found, labels[nearest][rows])


# The kernel's width

SPREAD, SKEWED, FEW = RNG.normal(size=(200, 3)), RNG.random((150, 1)) ** 3, RNG.random((6, 2))


@pytest.mark.parametrize("rows", [SPREAD, SPREAD.repeat(2, axis=0), 9 * SPREAD + 1e4, SKEWED, FEW])
def test_rows_have_the_share_of_neighbours_by_perplexity(rows):
    """At least 7 neighbours, at most half of the rows; equal rows are none."""
    squares = cdist(rows, rows, "sqeuclidean")
    squares[squares == 0] = np.inf
    for share in (0.001, 0.05, 0.3):
        counts = np.exp(entropy(np.exp(-gamma_of_neighbours(rows, share) * squares), axis=1))
        expected = min(max(share * len(rows), 7), len(rows) / 2)
        assert gmean(counts) == pytest.approx(expected, rel=1e-6)


def test_some_of_many_rows_give_the_width_and_equal_rows_1():
    rows = RNG.normal(size=(WIDTH_ROWS + 300, 4)) + 7
    gamma = gamma_of_neighbours(rows, 0.05)
    ordered = rows[np.argsort(np.abs(rows - 7).sum(axis=1))]
    assert gamma_of_neighbours(Rows(ordered), 0.05) == pytest.approx(gamma, rel=0.1)
    assert gamma_of_neighbours(np.array([[0.0], [1.0]] * 9), 0.05) > 0
    assert gamma_of_neighbours(rows[:1], 0.05) == gamma_of_neighbours(np.ones((9, 2)), 0.05) == 1
