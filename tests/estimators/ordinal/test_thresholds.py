"""Rules of thresholds against brute force and another optimiser, and the AUCs of cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from dsgkit.estimators import thresholds as rules
from dsgkit.risks.pairwise import above_cuts
from dsgkit.tasks.metrics import cut_aucs

# tenths, so that there are ties, and breakpoints of the hinge that coincide
rows = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays(np.int64, n, elements=st.integers(-30, 30)).map(lambda v: v / 10),
        arrays(np.int64, n, elements=st.integers(0, 3)),
    )
)


def noisy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, n)
    return codes + rng.normal(size=n), codes


def ascending(thresholds):
    return bool((thresholds[:-1] <= thresholds[1:]).all())


def classes(values, thresholds):
    return (values[:, None] > thresholds).sum(axis=1)


@settings(max_examples=60)
@given(rows)
def test_hinge_is_the_middle_of_its_optima_and_absolute_has_the_least_error(problem):
    values, codes = problem
    above, grid = above_cuts(codes, 4), np.arange(-90, 91) / 20  # breakpoints are tenths
    least, levels = 0, [-np.inf, *np.unique(values)]
    for got, cut in zip(rules.hinge(values, above), above.T, strict=True):
        least += min(np.sum((values > b) != cut) for b in levels)
        if cut.any() and not cut.all():
            margins = np.where(cut, 1, -1) * (values - grid[:, None])
            losses = np.maximum(0, 1 - margins).sum(axis=1)
            optima = grid[losses <= min(losses) + 1e-9]
            assert got == pytest.approx((optima[0] + optima[-1]) / 2)
    absolute = rules.absolute(values, above)
    assert ascending(absolute) and abs(classes(values, absolute) - codes).sum() == least


@pytest.mark.filterwarnings("ignore:Desired error:RuntimeWarning")
@pytest.mark.parametrize("seed", range(3))
def test_logistic_is_the_optimum_of_another_optimiser(seed):
    values, codes = noisy(seed=seed)
    above = above_cuts(codes, 4)

    def loss(x):
        margin = np.where(above, 1, -1) * (np.exp(x[0]) * (values[:, None] - x[1:]))
        penalty = rules._SLOPE_PENALTY / 2 * (np.exp(x[0]) * values.std()) ** 2
        return np.mean(np.log1p(np.exp(-margin)).sum(axis=1)) + penalty

    expected = minimize(loss, [0.0, 0.0, 1.0, 2.0], tol=1e-12).x[1:]
    np.testing.assert_allclose(rules.logistic(values, above), expected, atol=1e-4)


@settings(max_examples=40)
@given(
    st.sampled_from(["logistic", "absolute", "share"]),
    rows,
    st.floats(-3, 3).map(lambda e: 10**e),
    st.floats(-50, 50),
)
def test_classes_do_not_change_with_the_scale_and_the_origin(rule, problem, factor, offset):
    values, codes = problem
    moved, above = factor * values + offset, above_cuts(codes, 4)
    sides = 1 - above.mean(axis=0) if rule == "share" else above
    before, after = (getattr(rules, rule)(f, sides) for f in (values, moved))
    # a value on a threshold may fall to either side by rounding
    near = abs(values[:, None] - before).min(axis=1) < 1e-6
    assert ascending(before) and ascending(after)
    np.testing.assert_array_equal(classes(values, before)[~near], classes(moved, after)[~near])


@pytest.mark.parametrize("values", [np.zeros(9), np.full(9, 0.1), -np.arange(9.0)])
def test_values_that_say_nothing_or_the_opposite_give_the_median_class(values):
    codes = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    thresholds = rules.logistic(values, above_cuts(codes, 4))
    np.testing.assert_array_equal(classes(values, thresholds), 1)


@pytest.mark.parametrize("rule", rules.SUPERVISED)
def test_classes_without_rows_are_never_predicted(rule):
    values, codes = noisy(200)
    for present in ((codes > 0) & (codes < 3), codes != 1):
        got = rules.SUPERVISED[rule](values[present], above_cuts(codes[present], 4))
        b = np.concatenate([[-np.inf], got, [np.inf]])
        empty = [i for i in range(4) if b[i] == pytest.approx(b[i + 1], abs=1e-5)]
        assert empty == sorted({*range(4)} - {*codes[present]})


def test_shares_of_some_rows_are_below():
    values = np.random.default_rng(0).permutation(100) / 7
    thresholds = rules.share(values, np.array([0.0, 0.25, 0.906, 1.0]))
    np.testing.assert_array_equal((values[:, None] < thresholds).sum(axis=0), [0, 25, 91, 100])
    assert thresholds[1] == pytest.approx(24.5 / 7)


@given(rows)
def test_aucs_of_the_cuts_are_those_of_scikit_learn(problem):
    """Of one function and of one per cut; with one side empty there is none."""
    values, codes = problem
    for columns in ([values] * 3, [values, -values, np.round(values**2, 6)]):
        given_values = values if columns[1] is values else np.column_stack(columns)
        for cut, auc in enumerate(cut_aucs(codes, given_values, 4)):
            two = codes.min() <= cut < codes.max()
            assert auc == (pytest.approx(roc_auc_score(codes > cut, columns[cut])) if two else None)


def test_values_that_differ_by_rounding_are_ties():
    values = np.array([0.3, 0.1 + 0.2, 0.7, 0.7 - 1e-16, 0.9])
    assert cut_aucs([0, 1, 0, 1, 2], values, 3) == [pytest.approx(4 / 6), 1.0]
