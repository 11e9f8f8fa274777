"""Contrasts and gains: against scipy, and Holm's correction by its definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dsgkit.report.stats import contrast, gains, holm
from dsgkit.report.tables import gain_table
from tests.report.runs import AUC, ERROR, make_run

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_paired_contrasts_are_those_of_scipy(n):
    a, b = RNG.normal(size=(2, n))
    found, expected = contrast(a, b), stats.ttest_rel(b, a)
    interval = expected.confidence_interval()
    assert found.difference == pytest.approx((b - a).mean())
    assert found.p == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.interval == pytest.approx((interval.low, interval.high), rel=1e-9)


@pytest.mark.parametrize("n", [(2, 3), (5, 5), (3, 10)])
def test_unpaired_contrasts_are_welchs(n):
    a, b = (RNG.normal(size=one) * scale for one, scale in zip(n, (1, 3), strict=True))
    found, expected = contrast(a, b, paired=False), stats.ttest_ind(b, a, equal_var=False)
    interval = expected.confidence_interval()
    assert found.p == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.interval == pytest.approx((interval.low, interval.high), rel=1e-9)


def shares_different(ratio, *, shared, difference=0.0, n_datasets=2000, n_trials=10):
    """Return the share of made-up datasets whose trials differ significantly.

    A trial's difference is the true one, an effect of the dataset, which all its trials share,
    with the variance ``shared``, and noise with the variance 1.
    """
    random = np.random.default_rng(0)
    trials = random.normal(size=(n_datasets, n_trials))
    trials += difference + np.sqrt(shared) * random.normal(size=(n_datasets, 1))
    zero = np.zeros(n_trials)
    return np.mean([contrast(zero, one, ratio=ratio).p < 0.05 for one in trials])


def test_a_ratio_corrects_for_rows_that_trials_share():
    """The mean of J trials has the variance 1/J + ratio, if a dataset's effect has the ratio's."""
    assert shares_different(0.0, shared=2.0) > 0.5
    assert shares_different(2.0, shared=2.0) == pytest.approx(0.05, abs=0.015)
    assert shares_different(2.0, shared=0.5) < 0.01  # valid, if the ratio is too large
    assert shares_different(2.0, shared=2.0, difference=5.0) > 0.8
    assert shares_different(2.0, shared=2.0, difference=1.0) < 0.2
    a, b = RNG.normal(size=(2, 5))
    plain, corrected = contrast(a, b), contrast(a, b, ratio=2.0)
    assert corrected.difference == plain.difference
    widths = [np.ptp(one.interval) for one in (plain, corrected)]
    assert widths[1] / widths[0] == pytest.approx(np.sqrt((1 / 5 + 2) / (1 / 5)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0.1, 0.2], [0.1, 0.2], (0, None, None, True)),
        ([0.1 + 0.2, 0.5], [0.3, 0.5], (0, None, None, True)),  # equal up to rounding
        ([0.5], [0.7], (0.2, None, None, False)),
        ([0.5, 0.6], [0.7, 0.8], (0.2, (0.2, 0.2), None, False)),  # nothing varies
    ],
)
def test_without_variation_there_is_no_test(a, b, expected):
    found = contrast(np.array(a), np.array(b))
    assert found.difference == pytest.approx(expected[0], abs=1e-12)
    assert found.interval == (expected[1] and pytest.approx(expected[1]))
    assert (found.p, found.same) == expected[2:]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_holm_rejects_step_by_step(p_values):
    """At any level those are rejected that the step-down procedure rejects."""
    adjusted = holm(p_values)
    tested = sorted(p for p in p_values if p is not None)
    for level in (0.01, 0.05, 0.3):
        steps = [p <= level / (len(tested) - i) for i, p in enumerate(tested)]
        rejected = tested[: len(list(itertools.takewhile(bool, steps)))]
        found = [
            p for p, own in zip(p_values, adjusted, strict=True) if own is not None and own <= level
        ]
        assert sorted(found) == pytest.approx(rejected) or any(
            abs(p * (len(tested) - i) - level) < 1e-12 for i, p in enumerate(tested)
        )
    assert [own is None for own in adjusted] == [p is None for p in p_values]


@pytest.mark.parametrize("about", [{"draws": ""}, {"inference": "new_rows"}])
def test_gains_that_trials_cannot_show_are_not_tested(about):
    a, b = [0.9, 0.8, 0.95], [0.7, 0.6, 0.65]
    run = make_run(a=a, b=b, solvers={"a": {"against": "b"}}, **about)
    (gain,) = gains([run], AUC)
    assert (gain.contrast.p, gain.holm, gain.significant) == (None, None, False)
    expected = None if "draws" in about else contrast(*map(np.array, (b, a)), ratio=2.0).interval
    assert gain.contrast.interval == expected
    # nor do they count among the tests of others
    tested = make_run("t", a=[0.9, 0.8, 0.7], b=[0.8, 0.75, 0.7], solvers={"a": {"against": "b"}})
    (both, alone) = (gains(several, AUC)[-1].holm for several in ([run, tested], [tested]))
    assert both == alone


AGAINST = {"a": {"against": "c"}, "b": {"against": "c"}}


@pytest.mark.parametrize(("measure", "sign"), [(AUC, 1), (ERROR, -1)])
def test_gains_are_above_0_where_better_and_tested_at_the_largest_size_only(measure, sign):
    a, b = {500: [0.9, 0.8, 0.95], 1000: [0.92, 0.9, 0.91]}, {500: [0.7, 0.6, 0.65]}
    c = {500: [0.8, 0.7, 0.85], 1000: [0.8, 0.75, 0.83]}
    run = make_run(measure=measure, a=a, b=b, c=c, solvers=AGAINST)
    found = gains([run], measure)
    assert [(gain.name, gain.size) for gain in found] == [("A", 500), ("A", 1000), ("B", 500)]
    for gain, one in zip(found, (a[500], a[1000], b[500]), strict=True):
        np.testing.assert_allclose(gain.b - gain.a, sign * np.subtract(one, c[gain.size]))
    last = [stats.ttest_rel(one, c[n]).pvalue for one, n in ((a[1000], 1000), (b[500], 500))]
    assert [found[0].holm, *holm(last)] == pytest.approx([None, found[1].holm, found[2].holm])


def test_gains_are_over_trials_that_both_finished_and_wait_for_those_to_come():
    values = {"a": [0.9, 0.8001, None], "b": [0.7, 0.6, 0.7]}
    run = make_run(**values, solvers={"a": {"against": "b"}})
    (gain,) = gains([run], AUC)
    assert not any(layout.has_best for layout in gain_table([run]).layouts)
    np.testing.assert_allclose(gain.b - gain.a, [0.2, 0.2001])


def test_solvers_that_do_not_use_the_swept_rows_make_one_pair():
    run = make_run(
        a={1000: [0.9, 0.8]}, b={1000: [0.7, 0.7]}, also_at=[500], solvers={"a": {"against": "b"}}
    )
    assert [gain.size for gain in gains([run], AUC)] == [1000]
