"""Shares in mixtures against the authors' program and known mixtures, and priors made of them."""

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale, scale

from dsgkit import SUSL
from dsgkit.data.rows import Rows
from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.numerics.qp import solve_qp
from dsgkit.priors import (
    checked_similar_prior,
    kernel_means,
    km1_share,
    km2_share,
    penalised_l1_share,
    similar,
    similar_prior,
    similar_prior_interval,
)
from dsgkit.priors.kernel_means import LAM_TOLERANCE
from dsgkit.priors.pair_moments import UNKNOWN_INTERVAL

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
            below, above = (means._distance(lam + sign * LAM_TOLERANCE)[1] for sign in (-1, 1))
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


def test_the_share_of_a_separate_component_is_found(few_rows):
    component, rows = mixture(0.3, 3)
    for estimate in (km1_share, km2_share, penalised_l1_share):
        assert estimate(component, rows) == pytest.approx(0.3, abs=0.2)
    component, rows = mixture(0.6, 1, n=400)  # of which some are taken, by the seed alone
    first = km2_share(component, rows, random_state=1)
    assert km2_share(Rows(component), Rows(rows), random_state=1) == first
    assert first == pytest.approx(0.6, abs=0.2)


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


@pytest.mark.parametrize("prior", [0.55, 0.7, 0.85, 0.99])
def test_the_largest_shares_of_each_in_the_other_give_the_prior(prior, monkeypatch):
    """Of two classes the largest share of a mixture in another is the least ratio of weights."""
    q = prior**2 / (prior**2 + (1 - prior) ** 2)
    weights = {"pairs": np.array([q, 1 - q]), "rows": np.array([prior, 1 - prior])}

    def largest(component, mixture, random_state):
        return np.min(weights[mixture] / weights[component])

    monkeypatch.setattr(similar, "_SHARES", {"km2": largest})
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
    if prior < 0.7:
        assert np.median(high - low) < 0.2
    assert np.median(low) == 0.5 if prior == 0.52 else np.median(low) > 0.53


def test_the_interval_gets_narrower_with_more_rows():
    few, many = (similar_prior_interval(*of_near_classes(0.7, n, 4 * n)) for n in (200, 3200))
    assert many[1] - many[0] < (few[1] - few[0]) / 2
    assert many[0] < 0.7 < many[1]


def test_pairs_that_tell_nothing_leave_the_prior_unknown():
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(40, 2, 3)), rng.normal(size=(100, 3))
    low, high = similar_prior_interval(*alike)
    assert low == 0.5 and high > 0.6
    assert similar_prior_interval(np.ones((9, 2, 3)), np.ones((9, 3))) == UNKNOWN_INTERVAL
    assert similar_prior_interval(alike[0][:3], alike[1]) == UNKNOWN_INTERVAL
    with pytest.raises(DataError, match="NaN or infinite"):
        similar_prior_interval(alike[0] * np.nan, alike[1])


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
        assert str(told[0].message).startswith(
            "800 pairs and 3000 unlabelled rows do not determine the prior of the larger class: "
            f"its 95% confidence interval, 0.5 to {high:.3g}, includes 1/2, and the fit uses "
            f"{estimate:.3g}; set prior to the share of the class 1"
        )


@pytest.mark.parametrize("scaling", [minmax_scale, scale])
def test_without_a_prior_breast_cancer_is_learnt_nearly_as_well_as_with_it(scaling):
    """Of the rows .63 are of the larger class."""
    X, y = load_breast_cancer(return_X_y=True)
    X, larger = scaling(X), np.where(y == 1, 1, -1)
    errors, accuracy = [], {"estimate": [], 0.63: []}
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        points = order[:240].reshape(-1, 2)
        pairs = X[points[y[points[:, 0]] == y[points[:, 1]]]]
        rest = order[240:]
        for prior, found in accuracy.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DsgWarning)
                model = SUSL(prior=prior).fit(pairs, X[rest])
            found.append(model.score(X[rest], larger[rest]))
            if prior == "estimate":
                errors.append(abs(model.prior_ - 0.63))
    assert np.mean(errors) < 0.08
    assert np.mean(accuracy["estimate"]) > max(0.75, np.mean(accuracy[0.63]) - 0.05)


def test_a_program_without_a_solution_is_an_error():
    from scipy import sparse

    none = sparse.csc_matrix((1, 1)), np.zeros(1)
    with pytest.raises(FitError, match="no solution that can be computed: DualInfeasible"):
        solve_qp(sparse.csc_matrix((1, 1)), np.ones(1), none, (sparse.eye(1), np.zeros(1)))
