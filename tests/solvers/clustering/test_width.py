"""The kernel's width by numbers of neighbours, and what clusterings find with it by default."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import entropy, gmean
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from dsgkit import BSGDLMOC, FSVC, SGDLMOC, BenHurSVC
from dsgkit.data.dataset import Rows
from dsgkit.errors import DsgWarning
from dsgkit.solvers.clustering.width import MAX_ROWS, gamma_of_neighbours
from tests.solvers.datasets import iris, standardised_wine

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("rows", [RNG.normal(size=(200, 3)), RNG.random((150, 1)) ** 3])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_rows_have_the_share_of_neighbours_by_perplexity(rows, share):
    gamma = gamma_of_neighbours(rows, share, rows.var(axis=0).sum())
    squares = cdist(rows, rows, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    counts = np.exp(entropy(np.exp(-gamma * squares), axis=1))
    assert gmean(counts) == pytest.approx(share * len(rows), rel=1e-6)


def test_the_width_has_the_unit_of_the_rows_whatever_they_are_kept_in():
    rows = RNG.normal(size=(MAX_ROWS + 300, 4)) + 7
    gamma = gamma_of_neighbours(rows, 0.05, 3.0)
    assert gamma_of_neighbours(5 * rows, 0.05, 3.0) == pytest.approx(gamma / 25, rel=1e-6)
    assert gamma_of_neighbours(Rows(rows), 0.05, 4.0) == pytest.approx(gamma, rel=1e-6)


def test_equal_rows_are_not_neighbours_and_few_rows_have_a_width():
    rows = RNG.normal(size=(50, 2))
    gamma = gamma_of_neighbours(rows, 0.2, 1.0)
    assert gamma_of_neighbours(rows.repeat(2, axis=0), 0.2, 1.0) == pytest.approx(gamma, rel=1e-6)
    assert gamma_of_neighbours(np.array([[0.0], [1.0]] * 9), 0.05, 0.25) > 0
    for n in (1, 2, 3, 6):
        assert 0 < gamma_of_neighbours(rows[:n], 0.05, 1.0) < np.inf


def moons():
    return make_moons(1000, noise=0.05, random_state=0)


def circles():
    return make_circles(1000, factor=0.5, noise=0.05, random_state=0)


def blobs():
    return make_blobs(500, centers=5, cluster_std=0.6, random_state=0)


def anisotropic():
    X, y = make_blobs(500, random_state=170)
    return X @ [[0.6, -0.6], [-0.4, 0.8]], y


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


LEAST = {
    moons: (0.9, 0.9, 0.9, 0.9),
    circles: (0.6, 0.6, 0.9, 0.6),
    blobs: (0.7, 0.7, 0.7, 0.5),
    anisotropic: (0.85, 0.85, 0.85, 0.85),
    iris: (0.45, 0.45, 0.45, 0.45),
    standardised_wine: (0.4, 0.4, 0.25, 0.4),
    cancer: (0.2, None, None, None),
}
"""Adjusted Rand indices that defaults have at least, by solver; None where a warning is all."""


@pytest.mark.parametrize("load", LEAST)
def test_defaults_find_clusters_in_scikit_learns_datasets_or_warn(load):
    X, y = load()
    for solver, least in zip((BSGDLMOC, SGDLMOC, BenHurSVC, FSVC), LEAST[load], strict=True):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = solver().fit(X)
        assert least is None or adjusted_rand_score(y, model.labels_) > least, solver
        too_few_or_many = not 1 < model.n_clusters_ <= np.sqrt(len(X))
        assert [one.category for one in told] == [DsgWarning] * too_few_or_many, solver
        assert least is not None or told, solver


@pytest.mark.parametrize(("solver", "found"), [(SGDLMOC, "one cluster"), (FSVC, "122 clusters")])
def test_a_warning_says_what_to_set(solver, found):
    X, y = cancer()
    with pytest.warns(DsgWarning, match=rf"^{found} of 569 rows at the default gamma, ") as told:
        before = solver().fit(X)
    value = float(str(told[0].message).partition("set gamma=")[2].partition(",")[0])
    after = solver(gamma=value).fit(X)  # which no longer warns
    if found == "one cluster":
        assert after.n_clusters_ > 1 and adjusted_rand_score(y, after.labels_) > 0.4
    else:
        assert after.n_clusters_ < before.n_clusters_ / 2


def test_no_warning_is_of_equal_rows_a_few_rows_or_a_gamma_that_was_given():
    X, _ = cancer()
    for model, rows in (
        (BSGDLMOC(), np.ones((30, 2))),
        (BenHurSVC(), RNG.normal(size=(40, 9))),
        (SGDLMOC(gamma=0.01), X),
        (FSVC(gamma=10), X[:100]),
    ):
        assert clone(model).fit(rows).n_clusters_ >= 1
