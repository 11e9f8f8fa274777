"""Shares in mixtures against the authors' program and known mixtures, and priors made of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

from dsgkit.data.rows import Rows
from dsgkit.errors import DataError, FitError
from dsgkit.priors import (
    kernel_means,
    km1_share,
    km2_share,
    penalised_l1_share,
    similar,
    similar_prior,
)
from dsgkit.priors.kernel_means import EPSILON
from dsgkit.qp import solve_qp

STORED = Path(__file__).parent / "oracles" / "su_mpe_gauss_p07.npz"


def mixture(share, seed, n=120):
    """Rows of a component, and of a mixture of it with something else."""
    rng = np.random.default_rng(seed)
    other = rng.random(n) > share
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 4.0 * other[:, None]


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(kernel_means, "MAX_ROWS", 60)


def test_the_authors_shares_are_found(monkeypatch):
    """To the program's 0.04 in lam; its slopes are differences, and its programs less exact."""
    monkeypatch.setattr(kernel_means, "MAX_ROWS", 500)
    with np.load(STORED) as z:
        S, U = z["xs"].reshape(-1, 2), z["xu"]
        means = kernel_means._kernel_means(S, U, 0)
        width = float(z["kernel_width"])
        expected = np.exp(-((U[0] - U[1]) ** 2).sum() / (2 * width**2))
        assert means.gram[0, 1] == pytest.approx(expected, rel=1e-9)
        for slope, name in ((means.absolute_slope(), "km1"), (means.relative_slope(), "km2")):
            lam = 1 / (1 - float(z[name]))
            below, above = (means._distance(lam + sign * EPSILON)[1] for sign in (-1, 1))
            assert below < slope < above


def test_the_nearest_distribution_is_that_of_another_algorithm(few_rows):
    """Non-negative least squares, whose weights are made to add up to 1 by a heavy row."""
    component, rows = mixture(0.6, 0)
    means = kernel_means._kernel_means(component, rows, 0)
    weights = 3 * np.maximum(means.difference, 0) - 2 * np.maximum(-means.difference, 0)
    n = len(weights)
    spectrum, vectors = np.linalg.eigh(means.gram)
    root = vectors * np.sqrt(np.maximum(spectrum, 0))
    v = nnls(np.vstack([root.T, np.full(n, 1e4)]), np.append(root.T @ weights, 1e4))[0]
    residual = weights - v
    expected = np.sqrt(residual @ means.gram @ residual)
    for factor in (None, root.T):  # the program of a full matrix, and that of a factor
        either = dataclasses.replace(means, factor=factor)
        distance, derivative = either._distance(3.0)
        assert distance == pytest.approx(expected, rel=1e-4)
        difference = (either._distance(3.01)[0] - either._distance(2.99)[0]) / 0.02
        assert derivative == pytest.approx(difference, rel=1e-3)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_share_of_a_separate_component_is_found(share, few_rows):
    component, rows = mixture(share, 3)
    for estimate in (km1_share, km2_share, penalised_l1_share):
        assert estimate(component, rows) == pytest.approx(share, abs=0.2)


def test_many_rows_are_sampled_by_the_seed_alone(few_rows):
    component, rows = mixture(0.5, 1, n=400)
    first = km2_share(component, rows, random_state=1)
    assert km2_share(Rows(component), Rows(rows), random_state=1) == first
    assert first == pytest.approx(0.5, abs=0.2)


def test_rows_without_a_share_are_refused():
    component, rows = mixture(0.5, 1, n=20)
    with pytest.raises(DataError, match="at least 2 rows of the component"):
        km1_share(component[:1], rows)
    with pytest.raises(DataError, match="are alike"):
        km2_share(rows, rows)
    with pytest.raises(DataError, match="are alike"):
        km2_share(np.ones((5, 2)), np.ones((9, 2)))
    with pytest.raises(DataError, match="NaN or infinite"):
        km2_share(component * np.nan, rows)
    with pytest.raises(DataError, match="method must be one of km1, km2, penalised_l1, got 'x'"):
        similar_prior(component, rows, method="x")


def of_separate_classes(prior, n, seed=0):
    """Return points of n pairs, and n unlabelled rows, of classes that do not meet."""
    rng = np.random.default_rng(seed)
    of_pairs = rng.random(n) < prior**2 / (prior**2 + (1 - prior) ** 2)
    positive = [of_pairs.repeat(2), rng.random(n) < prior]
    return [rng.normal(size=(len(y), 2)) + 8.0 * y[:, None] for y in positive]


@pytest.mark.parametrize("prior", [0.55, 0.7, 0.85, 0.99])
def test_the_largest_shares_of_each_in_the_other_give_the_prior(prior, monkeypatch):
    """Of two classes the largest share of a mixture in another is the least ratio of weights."""
    q = prior**2 / (prior**2 + (1 - prior) ** 2)
    weights = {"pairs": np.array([q, 1 - q]), "rows": np.array([prior, 1 - prior])}

    def largest(component, mixture, random_state):
        return np.min(weights[mixture] / weights[component])

    monkeypatch.setattr(similar, "_SHARES", {"km2": largest})
    assert similar_prior("pairs", "rows") == pytest.approx(prior)


@pytest.mark.parametrize("prior", [0.6, 0.7, 0.8])
def test_the_prior_of_classes_that_do_not_meet_is_found(prior):
    rows = of_separate_classes(prior, 800)
    assert similar_prior(*rows, method="penalised_l1") == pytest.approx(prior, abs=0.08)


def test_a_program_without_a_solution_is_an_error():
    from scipy import sparse

    none = sparse.csc_matrix((1, 1)), np.zeros(1)
    with pytest.raises(FitError, match="no solution that can be computed: DualInfeasible"):
        solve_qp(sparse.csc_matrix((1, 1)), np.ones(1), none, (sparse.eye(1), np.zeros(1)))
