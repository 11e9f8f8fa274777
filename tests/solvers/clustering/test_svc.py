"""Ben-Hur's clustering and the fast one, against reference programs and definitions."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dsgkit.errors import DataError, FitError
from dsgkit.solvers.clustering.domain import Domain
from dsgkit.solvers.clustering.ends import EndExponents
from dsgkit.solvers.clustering.equilibria import find_equilibria
from dsgkit.solvers.clustering.fsvc import FSVC, cover
from dsgkit.solvers.clustering.hypersphere import enclosing_sphere
from dsgkit.solvers.clustering.segments import connected, joined_pairs
from dsgkit.solvers.clustering.svc import BenHurSVC
from tests.solvers.brute_force import kernel

ORACLES = Path(__file__).parents[2] / "oracles"


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(
        [25, 25, 25], centers=[[0, 0], [4, 0], [0, 4]], cluster_std=0.6, random_state=1
    )


def test_the_sphere_and_the_graph_are_those_of_ben_hur():
    known = np.load(ORACLES / "benhur_svc_grantbaker_moons_p0.1.npz")
    X, gamma, C = known["X"], float(known["rbf_gamma"]), float(known["C"])
    sphere = enclosing_sphere(X, gamma, C)
    assert sphere.squared_radius == pytest.approx(float(known["R2"]), abs=1e-6)
    np.testing.assert_array_equal(sphere.support, known["svs"])
    np.testing.assert_allclose(sphere.beta, known["beta"][known["svs"]], atol=1e-5)
    assert not sphere.bounded.any() and not len(known["bsvs"])
    domain = Domain(X[sphere.support], sphere.beta, gamma, sphere.level)
    pairs = np.column_stack(np.triu_indices(len(X), 1))
    joined = joined_pairs(domain, X, pairs, np.arange(10) / 11)
    expected = known["adj"][tuple(pairs.T)] == 1
    # where the first point is on the sphere, its last bit has decided for the whole segment
    support = known["svs"]
    refused = np.array([not expected[pairs[:, 0] == a].any() for a in range(len(X))])
    decided = ~(np.isin(pairs[:, 0], support) & refused[pairs[:, 0]])
    np.testing.assert_array_equal(joined[decided], expected[decided])
    assert decided.mean() > 0.9
    # with twice as many points, one of the few bridges is seen to leave the sphere
    for n_segment, n_clusters in ((10, 1), (20, 2)):
        model = BenHurSVC(gamma=gamma, C=C, n_segment=n_segment).fit(X)
        assert model.n_clusters_ == n_clusters
    assert not known["components"].any()


@pytest.mark.parametrize(("gamma", "C"), [(0.5, 2.0), (4.0, 1.0), (1.0, 0.05), (32.0, 0.02)])
@pytest.mark.parametrize("solver", [BenHurSVC(), FSVC(), FSVC(share=0.2, random_state=3)])
def test_the_objective_is_that_of_the_dual_of_the_rows_seen(blobs, solver, gamma, C):
    X = blobs[0]
    model = clone(solver).set_params(gamma=gamma, C=max(C, 1 / 15)).fit(X)
    beta = model.dual_coef_ / model.dual_coef_.sum()
    dual = 1 - beta @ kernel(model.support_vectors_, model.support_vectors_, gamma) @ beta
    assert model.diagnostics(X=X) == {"objective": pytest.approx(dual, rel=1e-6)}


@pytest.mark.parametrize(("gamma", "C"), [(0.5, 1.0), (4.0, 1.0), (1.0, 0.05), (32.0, 0.02)])
def test_clusters_are_the_components_of_the_complete_graph(blobs, gamma, C):
    X = blobs[0]
    model = BenHurSVC(gamma=gamma, C=C, outliers=True).fit(X)
    inside = model.decision_function(X) >= -1e-7
    assert (model.labels_ >= 0).tolist() == inside.tolist()
    assert (~inside).sum() <= 1 / C and (C < 1 or inside.all())
    A = X[inside]
    shares = np.linspace(0, 1, 20)[:, None]
    points = A[:, None, None] + shares * (A - A[:, None])[:, :, None]
    values = model.decision_function(points.reshape(-1, 2)).reshape(points.shape[:3])
    expected = connected_components(values.min(axis=2) >= -1e-7)[1]
    np.testing.assert_array_equal(model.labels_[inside], expected)
    whole = BenHurSVC(gamma=gamma, C=C).fit(X)
    nearest = cdist(X[~inside], X[inside]).argmin(axis=1)
    np.testing.assert_array_equal(whole.labels_[~inside], expected[nearest])
    np.testing.assert_array_equal(whole.predict(X), whole.labels_)


@pytest.mark.parametrize(("n", "C"), [(1, 4.0), (3, 1 / 3), (32, 2.0**-5), (49, 1 / 49)])
@pytest.mark.parametrize("solver", [BenHurSVC, FSVC])
def test_at_one_coefficient_per_row_the_centre_is_the_mean(solver, n, C):
    # 49 * (1 / 49) is below 1
    X = np.random.default_rng(n).normal(size=(n, 2))
    model = solver(gamma=0.7, C=C).fit(X)
    heights = np.exp(-0.7 * cdist(X, X, "sqeuclidean")).mean(axis=1)
    np.testing.assert_allclose(model.decision_function(X), heights / heights.max() - 1, atol=1e-12)
    mean_distances = 1 - 2 * heights + heights.mean()
    assert model.squared_radius_ == pytest.approx(mean_distances.min(), abs=1e-12)
    # the sphere ends at the row that is nearest to its centre
    assert model.inside_ == pytest.approx(1 / n)
    if n > 1:
        near = solver(gamma=0.7, C=C * (1 + 1e-7)).fit(X)
        assert model.squared_radius_ == pytest.approx(near.squared_radius_, rel=1e-5)


def test_what_a_sphere_cannot_do_is_said(blobs):
    with pytest.raises(FitError, match=r"C must be at least 1/n = 0\.0133"):
        BenHurSVC(C=0.01).fit(blobs[0])
    with pytest.raises(DataError, match="75 rows are more than max_rows = 70"):
        BenHurSVC(max_rows=70).fit(blobs[0])
    with pytest.raises(FitError, match="no row is inside the sphere"):
        BenHurSVC(gamma=1.0).fit_domain(blobs[0]).fit_clusters(blobs[0] + 100)
    # every row is a cluster
    assert BenHurSVC(gamma=1e300).fit(blobs[0]).n_clusters_ == 75


def test_balls_equilibria_and_clusters_are_those_of_the_toolbox():
    known = np.load(ORACLES / "msctoolbox_moons_1_FMSC.npz")
    X, alpha = known["tin"], known["alpha"]
    centers = cdist(known["cen"], X).argmin(axis=1)
    order = np.concatenate([centers, np.setdiff1d(np.arange(len(X)), centers)])
    found, balls = cover(X, order, float(known["R1"]))
    np.testing.assert_array_equal(found, centers)
    gamma = float(known["rbf_gamma"])
    norm = alpha @ np.exp(-gamma * cdist(X, X, "sqeuclidean")) @ alpha
    support = alpha > 0
    domain = Domain(X[support], alpha[support], gamma, (1 + norm - float(known["r"])) / 2)
    equilibria = find_equilibria(domain, X, centers)
    distances = cdist(equilibria.points, known["loc"].T)
    assert len(equilibria.points) == 10 and distances.min(axis=1).max() < 5e-4
    of_balls = distances.argmin(axis=1)[equilibria.which]
    np.testing.assert_array_equal(of_balls + 1, known["ml"])
    labels = connected(domain, equilibria.points, 11)[equilibria.which][balls]
    assert adjusted_rand_score(labels, known["lab"]) == 1


def test_the_fast_clustering_finds_what_is_apart(blobs):
    X, y = blobs
    model = FSVC(gamma=0.5, C=0.1, share=0.8).fit(X)
    assert model.n_clusters_ == 3 and adjusted_rand_score(model.labels_, y) == 1
    assert len(model.support_vectors_) <= 60 and 3 <= model.n_balls_ < len(X)
    np.testing.assert_array_equal(model.labels_, FSVC(gamma=0.5, C=0.1, share=0.8).fit_predict(X))
    np.testing.assert_array_equal(model.predict(X + 1e-3), model.labels_)
    assert (FSVC(gamma=0.5, C=0.1, outliers=True).fit(X).labels_ == -1).sum() <= 10
    centers, balls = cover(X, np.arange(len(X))[::-1], 0.7)
    distances = cdist(X, X[centers])
    np.testing.assert_array_equal(balls, (distances <= 0.7).argmax(axis=1))
    assert distances[np.arange(len(X)), balls].max() <= 0.7


def test_the_ends_tell_what_the_points_of_a_segment_do(blobs):
    X = blobs[0]
    pairs = np.column_stack(np.triu_indices(len(X), 1))
    shares = np.linspace(0, 1, 20)
    for gamma in (0.3, 8.0):
        model = BenHurSVC(gamma=gamma, C=1).fit(X)
        domain = Domain(model.support_vectors_, model.dual_coef_, gamma)
        joined = joined_pairs(domain, X, pairs, shares)
        assert 0.01 < joined.mean() < 0.9
        ends = EndExponents(domain, X)
        np.testing.assert_array_equal(ends.joined(pairs, shares, 1 - 1e-7), joined)


@pytest.mark.parametrize("far", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("solver", [BenHurSVC, FSVC])
def test_a_far_row_moves_nothing_else(blobs, solver, far):
    X = np.concatenate([[[far, 0]], blobs[0] + 1e5])
    model = solver(gamma=1.0).fit(X)
    distances = cdist(X, model.support_vectors_, "sqeuclidean")
    expected = np.exp(-distances) @ model.dual_coef_ - 1
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    alone = solver(gamma=1.0).fit(X[1:])
    assert model.n_clusters_ == alone.n_clusters_ + 1
