"""Class priors against the authors' programs, a plain re-implementation and known mixtures."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dsgkit.data.rows import Rows
from dsgkit.errors import DataError
from dsgkit.priors import CANDIDATES, PenL1Prior, energy_distance_prior

ORACLES = Path(__file__).parent / "oracles"


def load(name):
    with np.load(ORACLES / f"{name}.npz") as stored:
        return dict(stored)


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

    monkeypatch.setattr("dsgkit.priors.labeled._fold_members", members)
    got = PenL1Prior(widths=widths, lams=lams, n_folds=3).distances(P, U, centers)
    fold_p, fold_u = drawn

    def beta(prior, width, p, u):
        def phi(rows):
            return np.exp(-((rows[:, None] - centers) ** 2).sum(axis=2) / (2 * width**2))

        return prior * phi(p).mean(axis=0) - phi(u).mean(axis=0)

    for prior, distance in zip(CANDIDATES, got, strict=True):
        scores = {
            (width, lam): -sum(
                np.maximum(0, beta(prior, width, P[fold_p != k], U[fold_u != k]))
                / lam
                @ beta(prior, width, P[fold_p == k], U[fold_u == k])
                for k in range(3)
            )
            for lam in lams
            for width in widths
        }
        width, lam = min(scores, key=scores.get)
        b = beta(prior, width, P, U)
        expected = np.maximum(0, b) / lam @ b - prior + 1
        assert distance == pytest.approx(expected, rel=1e-9)


def mixture(prior, seed, n_positive=200, n_unlabeled=1000):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_unlabeled) < prior
    unlabeled = rng.normal(size=(n_unlabeled, 2)) + np.where(positive, 2.0, -2.0)[:, None]
    return (
        rng.normal(size=(n_positive, 2)) + 2,
        rng.normal(size=(n_positive, 2)) - 2,
        unlabeled,
    )


@pytest.mark.parametrize("prior", [0.2, 0.5, 0.8])
def test_the_prior_of_a_separable_mixture_is_found(prior):
    P, N, U = mixture(prior, seed=int(10 * prior))
    assert PenL1Prior().estimate(P, U) == pytest.approx(prior, abs=0.11)
    assert energy_distance_prior(P, N, U) == pytest.approx(prior, abs=0.05)


def test_the_estimate_depends_on_the_seed_alone():
    P, _, U = mixture(0.4, 0, 20, 400)
    first = PenL1Prior(random_state=1)
    assert first.estimate(P, U) == first.estimate(Rows(P), U.astype(np.float32)[:])


def test_many_unlabelled_rows_are_sampled(monkeypatch):
    P, N, U = mixture(0.4, 0, 20, 3000)
    seen = []

    class Recorder(Rows):
        def __getitem__(self, key):
            seen.append(key)
            return super().__getitem__(key)

    monkeypatch.setattr("dsgkit.priors.labeled.MAX_ROWS", 500)
    PenL1Prior().estimate(P, Recorder(U))
    assert energy_distance_prior(P, N, Recorder(U)) == pytest.approx(0.4, abs=0.1)
    assert [len(np.unique(key)) for key in seen] == [500, 500]


def test_a_sample_takes_no_memory_of_all_rows(monkeypatch):
    monkeypatch.setattr("dsgkit.priors.labeled.MAX_ROWS", 50)
    P, N, _ = mixture(0.4, 0, 20, 10)
    endless = Rows(np.broadcast_to(np.float32(1), (10**8, 2)))
    energy_distance_prior(P, N, endless)
    tracemalloc.start()
    try:
        energy_distance_prior(P, N, endless)
        assert tracemalloc.get_traced_memory()[1] < 2**18
    finally:
        tracemalloc.stop()


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


def test_too_few_or_equal_rows_are_refused():
    P, _, U = mixture(0.4, 0, 5, 40)
    with pytest.raises(DataError, match="at least 2 positive"):
        PenL1Prior().estimate(P[:1], U)
    with pytest.raises(DataError, match="median squared distance of rows is 0"):
        PenL1Prior().estimate(P, np.ones((10, 2)))


def test_the_authors_energy_distance_prior_is_reproduced():
    z = load("enecpe_moons")
    assert energy_distance_prior(z["xp"], z["xn"], z["xu"]) == pytest.approx(
        float(z["th"]), rel=1e-9
    )


def test_energy_distance_is_clipped_and_refuses_equal_classes():
    P, N, _ = mixture(0.3, 5, 30, 10)
    assert energy_distance_prior(P, N, P + 3) == 1
    assert energy_distance_prior(P, N, N - 3) == 0
    with pytest.raises(DataError, match="positives and negatives are alike"):
        energy_distance_prior(P, P, N)


def test_rows_that_are_not_finite_are_told():
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.random((20, 2)), rng.random((30, 2))
    unlabeled[4, 1] = np.nan
    with pytest.raises(DataError, match="features hold NaN or infinite values"):
        PenL1Prior().estimate(positive, unlabeled)
    with pytest.raises(DataError, match="features hold NaN or infinite values"):
        PenL1Prior().estimate(unlabeled, positive)
