"""Class priors against the authors' program, a loop in words and known mixtures."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.linalg import solve_qp
from dsgkit.priors import (
    CANDIDATES,
    UNKNOWN_INTERVAL,
    PenL1Prior,
    checked_similar_prior,
    similar_prior_interval,
)
from tests.clustering.oracle import load
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import kernel


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
    widths, lams, centers = np.geomspace(0.05, 4, 40), np.array([0.1, 1.0]), U[:6]
    folds = [rng.permutation(len(rows)) % 3 for rows in (P, U)]
    members = iter([(fold == np.arange(3)[:, None]).astype(float) for fold in folds])
    monkeypatch.setattr("dsgkit.priors._fold_members", lambda *_: next(members))
    got = PenL1Prior(widths=widths, lams=lams, n_folds=3).distances(P, U, centers)

    def beta(prior, width, p, u):
        mean_p, mean_u = (kernel(part, centers, 0.5 / width**2).mean(axis=0) for part in (p, u))
        return prior * mean_p - mean_u

    def score(prior, width, lam):
        total = 0
        for p, u in ([fold == k for fold in folds] for k in range(3)):
            trained = np.maximum(0, beta(prior, width, P[~p], U[~u])) / lam
            total += trained @ beta(prior, width, P[p], U[u])
        return total

    for prior, distance in zip(CANDIDATES, got, strict=True):
        points = [(width, lam) for lam in lams for width in widths]
        width, lam = max(points, key=lambda point: score(prior, *point))
        b = beta(prior, width, P, U)
        assert distance == pytest.approx(np.maximum(0, b) / lam @ b - prior + 1, rel=1e-9)


def mixture(prior, seed, n_positive=200, n_unlabeled=1000):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_unlabeled) < prior
    unlabeled = rng.normal(size=(n_unlabeled, 2)) + np.where(positive, 2.0, -2.0)[:, None]
    return rng.normal(size=(n_positive, 2)) + 2, unlabeled


@pytest.mark.parametrize("prior", [0.2, 0.5, 0.8])
def test_the_prior_of_a_separable_mixture_is_found(prior):
    P, U = mixture(prior, seed=int(10 * prior))
    assert PenL1Prior().estimate(P, U) == pytest.approx(prior, abs=0.11)


def test_many_unlabelled_rows_are_sampled_and_memory_is_as_predicted(monkeypatch):
    (P, U), seen = mixture(0.4, 0, 20, 3000), []
    peak = peak_of(lambda: PenL1Prior().estimate(P, U))
    assert PenL1Prior().memory_needed(3000) == pytest.approx(peak, rel=0.2)

    class Recorder(Rows):
        def __getitem__(self, key):
            seen.append(key)
            return super().__getitem__(key)

    monkeypatch.setattr("dsgkit.priors.MAX_ROWS", 500)
    assert PenL1Prior().estimate(P, Recorder(U)) == PenL1Prior().estimate(Rows(P), U)
    assert [len(np.unique(key)) for key in seen] == [500]
    assert PenL1Prior().memory_needed(3000) == PenL1Prior().memory_needed(500)


P, U = mixture(0.4, 0, 20, 40)
ALIKE, NAN, NUMBERS = np.ones((10, 2)), np.full((9, 2), np.nan), "NaN or infinite"
NONE = sparse.csc_matrix((1, 1))
REFUSED = [
    (lambda: PenL1Prior().estimate(P[:1], U), DataError, "at least 2 positive"),
    (lambda: PenL1Prior().estimate(P, ALIKE), DataError, "median squared distance of rows is 0"),
    (lambda: PenL1Prior().estimate(P, NAN), DataError, NUMBERS),
    (lambda: PenL1Prior().estimate(NAN, U), DataError, NUMBERS),
    (lambda: similar_prior_interval(NAN[None, :2], U), DataError, NUMBERS),
    (lambda: similar_prior_interval(np.zeros((9, 2, 2)), NAN), DataError, NUMBERS),
    (lambda: solve_qp(NONE, [1.0], (NONE, [0.0]), (sparse.eye(1), [0.0])), FitError, "DualInf"),
]


@pytest.mark.parametrize(("estimate", "error", "text"), REFUSED)
def test_rows_that_tell_nothing_are_refused(estimate, error, text):
    with pytest.raises(error, match=text):
        estimate()


def of_near_classes(prior, n_pairs, n_rows, seed=0):
    """Return pairs and unlabelled rows of two overlapping classes in three dimensions."""
    rng = np.random.default_rng(seed)
    of_pairs = rng.random((n_pairs, 1)) < prior**2 / (prior**2 + (1 - prior) ** 2)
    of_rows = rng.random(n_rows) < prior
    return [
        rng.normal(size=(*y.shape, 3)) + 2.5 * y[..., None] * [1, 0, 0]
        for y in (of_pairs.repeat(2, axis=1), of_rows)
    ]


@pytest.mark.parametrize(("prior", "sign"), [(0.52, 1), (0.65, -1), (0.8, 1)])
def test_the_interval_holds_the_prior_of_overlapping_classes(prior, sign):
    """In 10 draws about 10 times; which class is the larger one does not matter."""
    draws = [of_near_classes(prior, 400, 1500, seed) for seed in range(10)]
    low, high = np.transpose([similar_prior_interval(sign * S, sign * U) for S, U in draws])
    assert (low <= prior).sum() >= 8 and (high >= prior).sum() >= 8
    assert ((low >= 0.5) & (high <= 1)).all()
    assert prior > 0.7 or np.median(high - low) < 0.2
    assert np.median(low) == 0.5 if prior == 0.52 else np.median(low) > 0.53
    told = pytest.warns(DsgWarning, match="its 95% confidence interval, 0.5 to")
    pairs, rows = of_near_classes(prior, 800, 3000)
    with told if prior == 0.52 else nullcontext():
        estimate, interval = checked_similar_prior(pairs, rows)
    assert interval == similar_prior_interval(pairs, rows)
    assert estimate == sum(interval) / 2 == pytest.approx(prior, abs=0.08)


def test_the_interval_gets_narrower_with_more_rows_and_is_wide_if_they_tell_nothing():
    few, many = (similar_prior_interval(*of_near_classes(0.7, n, 4 * n)) for n in (200, 3200))
    assert many[1] - many[0] < (few[1] - few[0]) / 2 and many[0] < 0.7 < many[1]
    # of few pairs, where the variance of their mean matters; as it was first computed
    few = similar_prior_interval(*of_near_classes(0.7, 40, 120))
    assert few == pytest.approx((0.5, 0.949))
    rng = np.random.default_rng(0)
    pairs, rows = rng.normal(size=(40, 2, 3)), rng.normal(size=(100, 3))
    low, high = similar_prior_interval(pairs, rows)
    assert low == 0.5 and high > 0.6
    for S, U in ((np.ones((9, 2, 3)), np.ones((9, 3))), (pairs[:3], rows)):
        assert similar_prior_interval(S, U) == UNKNOWN_INTERVAL
