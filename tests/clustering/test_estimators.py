"""Support vector clusterings by their public interface, and fuzzy C-means."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from dsgkit import BSGDLMOC, FSVC, SGDLMOC, BenHurSVC
from dsgkit.clustering.domain import gamma_of_neighbours
from dsgkit.clustering.fuzzy import FuzzyCMeans, centers_of, memberships_of
from dsgkit.errors import DataError, DsgWarning, FitError, MemoryLimitError
from dsgkit.estimators import catalogue
from tests.clustering.oracle import load
from tests.estimators.brute_force import kernel
from tests.estimators.datasets import iris, standardised_wine

MARGINS, SPHERES = (BSGDLMOC, SGDLMOC), (BenHurSVC, FSVC)
FOUND = [
    SGDLMOC(gamma=1),
    *(BSGDLMOC(gamma=1, budget=80, strategy=strategy) for strategy in ("removal", "pnn", "prn")),
    FSVC(gamma=1, C=0.1),
    BenHurSVC(gamma=1, C=0.1),
]
WITH_OUTLIERS = [
    SGDLMOC(1.0, 1.2, starts="all"),
    BSGDLMOC(1.0, 1.2, starts="all", budget=150),
    FSVC(1.0, 0.02),
    BenHurSVC(1.0, 0.02),
]


def three_groups(seed=0):
    noise, y = np.random.default_rng(seed).normal(size=(150, 2)), np.arange(150) % 3
    return 4 * np.eye(3, 2)[y] + 0.5 * noise, y


GROUPS, Y = three_groups()


@pytest.mark.parametrize("solver", FOUND)
def test_groups_apart_are_found(solver):
    model = clone(solver)
    labels = model.fit_predict(GROUPS)
    assert adjusted_rand_score(labels, Y) == 1 and model.n_clusters_ == 3
    if not isinstance(model, FSVC):  # whose balls are in random order
        np.testing.assert_array_equal(labels, Y)  # numbered as their rows come
    np.testing.assert_array_equal(model.predict(three_groups(seed=1)[0]), labels)
    assert not getattr(model, "mode_seeking_only_", False)


@pytest.mark.parametrize("starts", ["boundary", "all"])
def test_rows_take_the_cluster_of_their_start(starts):
    X = np.random.default_rng(5).normal(size=(300, 2))
    model = BSGDLMOC(6, 12, starts=starts).fit(X)
    f = kernel(X, model.support_vectors_, 6) @ model.dual_coef_ - 1
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-12)
    norm = model.dual_coef_ @ (model.decision_function(model.support_vectors_) + 1)
    objective = norm / 2 + 12 * np.maximum(0, -f).mean()
    assert model.diagnostics(X) == {"objective": pytest.approx(objective)}
    assert model.mass_ == pytest.approx(model.dual_coef_.sum())
    assert model.inside_ == np.mean(f >= 0)
    assert model.epsilon_ == pytest.approx(max(0.1, np.quantile(np.abs(f), 0.2)))
    assert model.n_clusters_ == len(set(model.labels_)) > 1
    begun = np.abs(f) <= model.epsilon_ if starts == "boundary" else np.full(300, True)
    assert model.n_boundary_ == begun.sum()
    of_start = model.labels_[begun][cdist(X, X[begun]).argmin(axis=1)]
    np.testing.assert_array_equal(model.labels_, of_start)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.equilibria_.shape == (len(model.equilibrium_labels_), 2)
    assert set(model.equilibrium_labels_) == set(range(model.n_clusters_))


@pytest.mark.parametrize("solver", WITH_OUTLIERS)
def test_clusters_are_those_that_rows_are_in(solver):
    X = np.concatenate([[[90.0, 0]], GROUPS, [[0, 90.0]]])
    every = clone(solver).fit(X)
    model = clone(solver).set_params(outliers=True).fit(X)
    assert model.labels_[0] == model.labels_[-1] == -1
    kept = set(model.labels_) - {-1}
    assert kept == set(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    margin = getattr(model, "epsilon_", 1e-7)
    np.testing.assert_array_equal(model.labels_ == -1, model.decision_function(X) < -margin)
    if isinstance(solver, BenHurSVC):
        inside = model.labels_ >= 0
        assert 0 < (~inside).sum() <= 1 / model.C
        of_nearest = model.labels_[inside][cdist(X, X[inside]).argmin(axis=1)]
        np.testing.assert_array_equal(every.labels_, of_nearest)
        np.testing.assert_array_equal(every.predict(X), of_nearest)
    else:
        assert 1 <= model.n_clusters_ < every.n_clusters_
        assert set(model.equilibrium_labels_) == kept | {-1}


def test_an_empty_domain_joins_nothing():
    model = SGDLMOC(C=1.0).fit(GROUPS)
    assert model.mode_seeking_only_
    assert model.inside_ == 0
    assert model.n_clusters_ == len(model.equilibria_)


@pytest.mark.parametrize(
    ("solver", "default"),
    [(BSGDLMOC(strategy="removal"), "paper"), (BSGDLMOC(), "epoch"), (SGDLMOC(), "epoch")],
)
def test_the_default_stop_is_that_of_the_strategy(solver, default):
    model, paper, epoch = (
        clone(solver).set_params(stop=stop).fit_domain(GROUPS) for stop in (None, "paper", "epoch")
    )
    assert model.n_iter_ == (paper if default == "paper" else epoch).n_iter_
    assert paper.n_iter_ + len(GROUPS) <= epoch.n_iter_ + 1


# Spheres


def test_the_sphere_and_the_graph_are_those_of_ben_hur():
    known = load("benhur_svc_grantbaker_moons_p0.1")
    X, gamma, C = known["X"], float(known["rbf_gamma"]), float(known["C"])
    assert not len(known["bsvs"]) and not known["components"].any()
    # with twice as many points, one of the few bridges is seen to leave the sphere
    for n_segment, n_clusters in ((10, 1), (20, 2)):
        model = BenHurSVC(gamma=gamma, C=C, n_segment=n_segment).fit(X)
        assert model.n_clusters_ == n_clusters
    assert model.squared_radius_ == pytest.approx(float(known["R2"]), abs=1e-6)
    np.testing.assert_array_equal(model.support_vectors_, X[known["svs"]])
    beta = model.dual_coef_ / model.dual_coef_.sum()
    np.testing.assert_allclose(beta, known["beta"][known["svs"]], atol=1e-5)
    assert model.inside_ == 1


@pytest.mark.parametrize(("gamma", "C"), [(0.5, 2.0), (4.0, 1.0), (1.0, 0.05), (32.0, 0.02)])
@pytest.mark.parametrize("solver", [BenHurSVC(), FSVC(), FSVC(share=0.2, random_state=3)])
def test_the_objective_is_that_of_the_dual_of_the_rows_seen(solver, gamma, C):
    X = GROUPS[:75]
    model = clone(solver).set_params(gamma=gamma, C=max(C, 1 / 15)).fit(X)
    beta = model.dual_coef_ / model.dual_coef_.sum()
    dual = 1 - beta @ kernel(model.support_vectors_, model.support_vectors_, gamma) @ beta
    assert model.diagnostics(X=X) == {"objective": pytest.approx(dual, rel=1e-6)}
    if isinstance(model, FSVC):
        assert len(model.support_vectors_) <= model.share * 75
        assert clone(model).set_params(radius=1e-9).fit(X).n_balls_ == 75
        assert clone(model).set_params(radius=1e9).fit(X).n_balls_ == 1


@pytest.mark.parametrize(("n", "C"), [(1, 4.0), (3, 1 / 3), (32, 2.0**-5), (49, 1 / 49)])
@pytest.mark.parametrize("solver", SPHERES)
def test_at_one_coefficient_per_row_the_centre_is_the_mean(solver, n, C):
    """Also if rounding takes C n below 1, as with 49 rows."""
    X = np.random.default_rng(n).normal(size=(n, 2))
    model = solver(gamma=0.7, C=C).fit(X)
    heights = kernel(X, X, 0.7).mean(axis=1)
    np.testing.assert_allclose(model.decision_function(X), heights / heights.max() - 1, atol=1e-12)
    mean_distances = 1 - 2 * heights + heights.mean()
    assert model.squared_radius_ == pytest.approx(mean_distances.min(), abs=1e-12)
    # the sphere ends at the row that is nearest to its centre
    assert model.inside_ == pytest.approx(1 / n)


# Mistakes and defaults


def fitted(X):
    return BenHurSVC(1.0).fit_domain(X)


@pytest.mark.parametrize(
    ("error", "text", "fit"),
    [
        (NotFittedError, "not fitted", lambda X: fitted(X).predict(X)),
        (NotFittedError, "not fitted", lambda X: BSGDLMOC().fit_clusters(X)),
        (NotFittedError, "not fitted", lambda X: BenHurSVC().diagnostics(X)),
        (MemoryLimitError, "GiB", lambda X: fitted(X).set_params(max_memory=1e-6).fit_clusters(X)),
        (DataError, "scale the features", lambda X: FSVC().fit(1e-160 * X)),
        (FitError, r"no row has \|f\| <= epsilon", lambda X: SGDLMOC(C=0.5, epsilon=0.1).fit(X)),
        (FitError, r"C must be at least 1/n = 0\.00667", lambda X: BenHurSVC(C=0.006).fit(X)),
        (DataError, "150 rows are more than max_rows", lambda X: BenHurSVC(max_rows=149).fit(X)),
        (FitError, "no row is in", lambda X: fitted(X).fit_clusters(X + 100)),
        (FitError, r"too large for gamma = 1e\+300", lambda X: BenHurSVC(1e300).fit(X)),
        (FitError, r"too large for gamma = 1e\+09", lambda X: FSVC(1e9).fit(X)),
    ],
)
def test_mistakes_have_clear_errors(error, text, fit):
    with pytest.raises(error, match=text):
        fit(GROUPS)


def test_spheres_take_large_gammas_and_far_rows():
    assert BenHurSVC(gamma=1e6, max_rows=150).fit(GROUPS).n_clusters_ == 150  # every row is one
    far = BenHurSVC(gamma=1.0).fit(np.concatenate([[[1e4, 0]], GROUPS]) + 1e6)
    assert far.n_clusters_ == BenHurSVC(gamma=1.0).fit(GROUPS).n_clusters_ + 1


@pytest.mark.parametrize(
    ("rows", "most"),
    [
        (make_moons(1000, noise=0.05, random_state=0), (0.9, 0.9, 0.9, 0.9)),
        (iris(), (0.45, 0.45, 0.45, 0.45)),
        (standardised_wine(), (0.4, 0.4, 0.25, 0.4)),
    ],
)
def test_defaults_find_clusters_in_scikit_learns_datasets_or_warn(rows, most):
    """Adjusted Rand indices are at least these, by solver."""
    X, y = rows
    for solver, least in zip((*MARGINS, *SPHERES), most, strict=True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = solver().fit(X)
        assert model.gamma_ == gamma_of_neighbours(X, 0.06)
        assert adjusted_rand_score(y, model.labels_) > least, solver
        too_few_or_many = not 1 < model.n_clusters_ <= np.sqrt(len(X))
        assert [one.category for one in told] == [DsgWarning] * too_few_or_many, solver


def test_a_warning_says_what_to_set_and_is_not_of_equal_or_few_rows_or_a_given_gamma():
    X = scale(load_breast_cancer().data)
    for solver, found in ((SGDLMOC, "one cluster"), (FSVC, "122 clusters")):
        with pytest.warns(DsgWarning, match=f"^{found} of 569 rows at the default gamma, ") as told:
            before = solver().fit(X).n_clusters_
        value = float(str(told[0].message).partition("set gamma=")[2].partition(",")[0])
        after = solver(gamma=value).fit(X).n_clusters_  # which no longer warns
        assert after > 1 if before == 1 else after < before / 2
    rows = np.random.default_rng(0).normal(size=(60, 9))
    BSGDLMOC().fit(np.ones((60, 2)))
    BenHurSVC().fit(rows[:49])
    FSVC(gamma=10).fit(rows)
    with pytest.warns(DsgWarning):
        BenHurSVC().fit(rows)


# Fuzzy C-means


@pytest.mark.parametrize("m", [1.2, 2.0, 3.5])
def test_a_step_is_that_of_the_textbook_s_equations(m):
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(4), size=7)
    centers = centers_of(X, u, m)
    expected = [np.average(X, axis=0, weights=u[:, k] ** m) for k in range(4)]
    np.testing.assert_allclose(centers, expected, rtol=1e-12)
    found = memberships_of(X, centers, m)
    for i, x in enumerate(X):
        d = np.linalg.norm(x - centers, axis=1)
        expected = [1 / sum((d[k] / d[j]) ** (2 / (m - 1)) for j in range(4)) for k in range(4)]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)
    centers = np.array([[0.0, 0], [3, 4], [3, 4]])  # a row that is one belongs to it alone
    found = memberships_of(centers[:2], centers, m)
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0.5, 0.5]])


def test_a_fit_is_a_fixed_point_that_lowers_the_objective():
    model = FuzzyCMeans(3, tol=1e-12, max_iter=2000).fit(GROUPS)
    assert model.n_iter_ < 2000
    assert adjusted_rand_score(model.labels_, Y) == 1
    centers = centers_of(GROUPS, model.memberships_, model.m)
    np.testing.assert_allclose(centers, model.cluster_centers_, atol=1e-10)
    np.testing.assert_allclose(model.memberships(GROUPS), model.memberships_, atol=1e-9)
    courses = [FuzzyCMeans(3, tol=0, max_iter=n).fit(GROUPS).objective_ for n in range(1, 12)]
    assert all(np.diff([*courses, model.objective_]) <= 1e-9)
    with pytest.raises(DataError, match="too few"):
        FuzzyCMeans(3).fit(GROUPS[:2])
    kept = catalogue.get("dsgkit.solvers.clustering.fuzzy_c_means:FuzzyCMeans")
    assert kept.load() is FuzzyCMeans  # under the name that kept results have
    # memberships are no function with a domain, for which pictures ask by this name
    assert not hasattr(model, "decision_function")
