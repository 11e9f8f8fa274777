"""Class priors and shares against the authors' programs, other algorithms and known mixtures."""

import dataclasses
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from dsgkit import priors
from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.linalg import solve_qp
from dsgkit.priors import (
    CANDIDATES,
    LAM_TOLERANCE,
    UNKNOWN_INTERVAL,
    PenL1Prior,
    checked_similar_prior,
    energy_distance_prior,
    km1_share,
    km2_share,
    penalised_l1_share,
    similar_prior,
    similar_prior_interval,
)


def load(name):
    with np.load(Path(__file__).parent / "oracles" / f"{name}.npz") as stored:
        return dict(stored)


# From labelled rows


def test_the_authors_penalised_l1_distances_are_reproduced():
    z = load("penl1cp_gauss_fixed")
    np.testing.assert_allclose(CANDIDATES, z["pl"], atol=1e-12)
    estimator = PenL1Prior(widths=z["sigma_list"].reshape(1), lams=z["lambda_list"].reshape(1))
    centers = z["xu"][z["center_index"].astype(int) - 1]
    distances = estimator.distances(z["xp"], z["xu"], centers)
    np.testing.assert_allclose(distances, z["pen"], rtol=1e-9)
    assert CANDIDATES[distances.argmin()] == pytest.approx(float(z["ph"]))


def test_cross_validation_chooses_width_and_lam_by_the_held_out_score(monkeypatch):
    """The score fold by fold, point by point, with the folds that the estimator draws."""
    rng = np.random.default_rng(0)
    P, U = rng.normal(1, 1, (12, 2)), rng.normal(0.5, 1.2, (20, 2))
    widths, lams, centers = np.array([0.05, 0.7, 4.0]), np.array([0.1, 1.0]), U[:6]
    drawn = []

    def members(n_rows, n_folds, seed):
        folds = np.random.default_rng(n_rows).permutation(n_rows) % n_folds
        drawn.append(folds)
        return (folds == np.arange(n_folds)[:, None]).astype(float)

    monkeypatch.setattr("dsgkit.priors._fold_members", members)
    got = PenL1Prior(widths=widths, lams=lams, n_folds=3).distances(P, U, centers)
    fold_p, fold_u = drawn

    def beta(prior, width, p, u):
        def phi(rows):
            return np.exp(-((rows[:, None] - centers) ** 2).sum(axis=2) / (2 * width**2))

        return prior * phi(p).mean(axis=0) - phi(u).mean(axis=0)

    def score(prior, width, lam):
        folds = [(P[fold_p != k], U[fold_u != k], P[fold_p == k], U[fold_u == k]) for k in range(3)]
        betas = [(beta(prior, width, p, u), beta(prior, width, *held)) for p, u, *held in folds]
        return -sum(np.maximum(0, trained) / lam @ held for trained, held in betas)

    for prior, distance in zip(CANDIDATES, got, strict=True):
        points = [(width, lam) for lam in lams for width in widths]
        width, lam = min(points, key=lambda point: score(prior, *point))
        b = beta(prior, width, P, U)
        expected = np.maximum(0, b) / lam @ b - prior + 1
        assert distance == pytest.approx(expected, rel=1e-9)


def mixture(prior, seed, n_positive=200, n_unlabeled=1000):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_unlabeled) < prior
    unlabeled = rng.normal(size=(n_unlabeled, 2)) + np.where(positive, 2.0, -2.0)[:, None]
    return *(rng.normal(size=(n_positive, 2)) + mean for mean in (2, -2)), unlabeled


@pytest.mark.parametrize("prior", [0.2, 0.5, 0.8])
def test_the_prior_of_a_separable_mixture_is_found(prior):
    P, N, U = mixture(prior, seed=int(10 * prior))
    assert PenL1Prior().estimate(P, U) == pytest.approx(prior, abs=0.11)
    assert energy_distance_prior(P, N, U) == pytest.approx(prior, abs=0.05)


def test_many_unlabelled_rows_are_sampled_by_the_seed_alone(monkeypatch):
    P, N, U = mixture(0.4, 0, 20, 3000)
    seen = []

    class Recorder(Rows):
        def __getitem__(self, key):
            seen.append(key)
            return super().__getitem__(key)

    monkeypatch.setattr("dsgkit.priors.MAX_ROWS", 500)
    assert PenL1Prior().estimate(P, Recorder(U)) == PenL1Prior().estimate(Rows(P), U)
    assert energy_distance_prior(P, N, Recorder(U)) == pytest.approx(0.4, abs=0.1)
    assert [len(np.unique(key)) for key in seen] == [500, 500]


def test_predicted_memory_is_what_an_estimate_allocates():
    P, _, U = mixture(0.4, 0, 20, 3000)
    PenL1Prior().estimate(P, U)
    tracemalloc.start()
    try:
        PenL1Prior().estimate(P, U)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert PenL1Prior().memory_needed(3000) == pytest.approx(peak, rel=0.2)


def test_the_authors_energy_distance_prior_is_reproduced_and_clipped():
    z = load("enecpe_moons")
    found = energy_distance_prior(z["xp"], z["xn"], z["xu"])
    assert found == pytest.approx(float(z["th"]), rel=1e-9)
    P, N, _ = mixture(0.3, 5, 30, 10)
    assert (energy_distance_prior(P, N, P + 3), energy_distance_prior(P, N, N - 3)) == (1, 0)


# From pairs


def component_and_mixture(share, seed, n=120):
    """Rows of a component, and of a mixture of it with something else."""
    rng = np.random.default_rng(seed)
    other = rng.random(n) > share
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 4.0 * other[:, None]


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr("dsgkit.priors.KM_ROWS", 60)


def test_the_authors_shares_are_found(monkeypatch):
    """To the program's 0.04 in lam; its slopes are differences, and its programs less exact."""
    monkeypatch.setattr("dsgkit.priors.KM_ROWS", 500)
    z = load("su_mpe_gauss_p07")
    S, U = z["xs"].reshape(-1, 2), z["xu"]
    means = priors._kernel_means(S, U, 0)
    expected = np.exp(-((U[0] - U[1]) ** 2).sum() / (2 * float(z["kernel_width"]) ** 2))
    assert means.gram[0, 1] == pytest.approx(expected, rel=1e-9)
    for slope, name in ((means.absolute_slope(), "km1"), (means.relative_slope(), "km2")):
        lam = 1 / (1 - float(z[name]))
        below, above = (means._distance(lam + sign * LAM_TOLERANCE)[1] for sign in (-1, 1))
        assert below < slope < above


def test_the_nearest_distribution_is_that_of_another_algorithm(few_rows):
    """Non-negative least squares, whose weights are made to add up to 1 by a heavy row."""
    means = priors._kernel_means(*component_and_mixture(0.6, 0), 0)
    weights = 3 * np.maximum(means.difference, 0) - 2 * np.maximum(-means.difference, 0)
    spectrum, vectors = np.linalg.eigh(means.gram)
    root = vectors * np.sqrt(np.maximum(spectrum, 0))
    heavy = np.vstack([root.T, np.full(len(weights), 1e4)])
    residual = weights - nnls(heavy, np.append(root.T @ weights, 1e4))[0]
    expected = np.sqrt(residual @ means.gram @ residual)
    for factor in (None, root.T):  # the program of a full matrix, and that of a factor
        either = dataclasses.replace(means, factor=factor)
        distance, derivative = either._distance(3.0)
        assert distance == pytest.approx(expected, rel=1e-4)
        difference = (either._distance(3.01)[0] - either._distance(2.99)[0]) / 0.02
        assert derivative == pytest.approx(difference, rel=1e-3)


def test_the_share_of_a_separate_component_is_found(few_rows):
    rows = component_and_mixture(0.3, 3)
    for estimate in (km1_share, km2_share, penalised_l1_share):
        assert estimate(*rows) == pytest.approx(0.3, abs=0.2)
    rows = component_and_mixture(0.6, 1, n=400)  # of which some are taken, by the seed alone
    first = km2_share(*rows, random_state=1)
    assert km2_share(*map(Rows, rows), random_state=1) == first == pytest.approx(0.6, abs=0.2)


P, N, U = mixture(0.4, 0, 20, 40)
ALIKE, NAN = np.ones((10, 2)), np.full((9, 2), np.nan)
NONE = sparse.csc_matrix((1, 1))
REFUSED = [
    (lambda: PenL1Prior().estimate(P[:1], U), DataError, "at least 2 positive"),
    (lambda: PenL1Prior().estimate(P, ALIKE), DataError, "median squared distance of rows is 0"),
    (lambda: PenL1Prior().estimate(P, NAN), DataError, "NaN or infinite"),
    (lambda: PenL1Prior().estimate(NAN, U), DataError, "NaN or infinite"),
    (lambda: energy_distance_prior(P, P, N), DataError, "positives and negatives are alike"),
    (lambda: km1_share(P[:1], U), DataError, "at least 2 rows of the component"),
    (lambda: km2_share(U, U), DataError, "are alike"),
    (lambda: km2_share(ALIKE[:5], ALIKE), DataError, "are alike"),
    (lambda: km2_share(NAN, U), DataError, "NaN or infinite"),
    (lambda: similar_prior_interval(NAN[None, :2], U), DataError, "NaN or infinite"),
    (lambda: similar_prior(P, U, method="x"), DataError, "one of km1, km2, penalised_l1, got 'x'"),
    (
        lambda: solve_qp(NONE, np.ones(1), (NONE, np.zeros(1)), (sparse.eye(1), np.zeros(1))),
        FitError,
        "no solution that can be computed: DualInfeasible",
    ),
]


@pytest.mark.parametrize(("estimate", "error", "text"), REFUSED)
def test_rows_that_tell_nothing_are_refused(estimate, error, text):
    with pytest.raises(error, match=text):
        estimate()


@pytest.mark.parametrize("prior", [0.55, 0.7, 0.85, 0.99])
def test_the_largest_shares_of_each_in_the_other_give_the_prior(prior, monkeypatch):
    """Of two classes the largest share of a mixture in another is the least ratio of weights."""
    q = prior**2 / (prior**2 + (1 - prior) ** 2)
    weights = {"pairs": np.array([q, 1 - q]), "rows": np.array([prior, 1 - prior])}
    largest = lambda component, mixture, **_: np.min(weights[mixture] / weights[component])  # noqa: E731
    monkeypatch.setattr(priors, "_SHARES", {"km2": largest})
    assert similar_prior("pairs", "rows") == pytest.approx(prior)


def of_near_classes(prior, n_pairs, n_rows, seed=0, shift=2.5):
    """Return pairs and unlabelled rows of two overlapping classes in three dimensions."""
    rng = np.random.default_rng(seed)
    of_pairs = rng.random((n_pairs, 1)) < prior**2 / (prior**2 + (1 - prior) ** 2)
    of_rows = rng.random(n_rows) < prior
    return [
        rng.normal(size=(*y.shape, 3)) + shift * y[..., None] * [1, 0, 0]
        for y in (of_pairs.repeat(2, axis=1), of_rows)
    ]


@pytest.mark.parametrize(("prior", "sign"), [(0.52, 1), (0.65, -1), (0.8, 1)])
def test_the_interval_holds_the_prior_of_overlapping_classes(prior, sign):
    """In 10 draws about 10 times; which class is the larger one does not matter."""
    intervals = []
    for seed in range(10):
        pairs, rows = of_near_classes(prior, 400, 1500, seed)
        intervals.append(similar_prior_interval(sign * pairs, sign * rows, random_state=seed))
    low, high = np.transpose(intervals)
    assert (low <= prior).sum() >= 8 and (high >= prior).sum() >= 8
    assert ((low >= 0.5) & (high <= 1)).all()
    assert prior > 0.7 or np.median(high - low) < 0.2
    assert np.median(low) == 0.5 if prior == 0.52 else np.median(low) > 0.53


def test_the_interval_gets_narrower_with_more_rows_and_is_wide_if_they_tell_nothing():
    few, many = (similar_prior_interval(*of_near_classes(0.7, n, 4 * n)) for n in (200, 3200))
    assert many[1] - many[0] < (few[1] - few[0]) / 2 and many[0] < 0.7 < many[1]
    rng = np.random.default_rng(0)
    pairs, rows = rng.normal(size=(40, 2, 3)), rng.normal(size=(100, 3))
    low, high = similar_prior_interval(pairs, rows)
    assert low == 0.5 and high > 0.6
    assert similar_prior_interval(np.ones((9, 2, 3)), np.ones((9, 3))) == UNKNOWN_INTERVAL
    assert similar_prior_interval(pairs[:3], rows) == UNKNOWN_INTERVAL


@pytest.mark.parametrize(("prior", "warns"), [(0.52, True), (0.7, False)])
def test_an_estimate_is_near_the_truth_and_told_where_one_half_is_possible(prior, warns):
    pairs, rows = of_near_classes(prior, 800, 3000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimate, (low, high) = checked_similar_prior(pairs, rows)
    assert estimate == pytest.approx(prior, abs=0.08)
    assert low <= prior <= high and high - low < 0.25
    assert [one.category for one in told] == [DsgWarning] * warns
    if warns:
        assert "its 95% confidence interval, 0.5 to" in str(told[0].message)
