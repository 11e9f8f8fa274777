"""Tests of values whose verdict is known, against SciPy where there is a p-value."""

import numpy as np
import pytest
from scipy import stats

from tests.papers.conftest import by_dataset

LOW = [0.80, 0.82, 0.81, 0.83, 0.79]


def plus(*differences):
    return [round(value + d, 6) for value, d in zip(LOW, differences, strict=True)]


SAME = plus(0.001, -0.001, 0.002, -0.002, 0.0)
HIGH = plus(0.05, 0.06, 0.05, 0.07, 0.04)
WIDE = plus(0.05, -0.06, 0.05, -0.06, 0.02)


def fits(own, other, **more):
    return {key: {2000: v} for key, v in ({"own": own, "other": other} | more).items()}


EQUAL = {"test": "equal", "a": "own", "b": "other", "measure": "auc", "margin": 0.01}
HALF = by_dataset(*[fits(SAME, LOW)] * 2, *[fits(HIGH, LOW)] * 2)
CHOSEN = by_dataset(*[fits(HIGH, LOW, third=HIGH), fits(HIGH, HIGH, third=LOW)] * 2)


@pytest.mark.parametrize(
    ("of", "more", "verdict", "surely"),
    [
        (fits(SAME, LOW), {}, "holds", True),
        (fits(WIDE, LOW), {}, "holds", False),  # the mean difference is 0, its interval is wide
        (fits(HIGH, LOW), {}, "does not hold", False),
        (fits(HIGH, LOW), {"one_sided": True}, "holds", True),
        (fits(LOW, HIGH), {"one_sided": True}, "does not hold", False),
        (fits(LOW, HIGH), {"one_sided": True, "better": "lower"}, "holds", True),
        (fits(SAME[:4], LOW[:4]), {}, "not testable here", False),
        (fits(["diverged", *HIGH[1:]], LOW), {}, "not testable here: own: 4 trials, 1 div", False),
        (HALF, {"holds": "more than half", "in_part": 0.5}, "holds in part: 2 of 4", None),
        # the best of some is chosen on every dataset
        (CHOSEN, {"b": {"best": ["other", "third"]}, "margin": 0.001}, "holds", True),
    ],
)
def test_equal(judge, of, more, verdict, surely):
    found, points = judge(EQUAL | more, of)
    assert str(found).startswith(verdict)
    if surely is not None:
        assert [point.sure for point in points] == [surely] * 4


def test_the_interval_of_a_difference_is_that_of_two_one_sided_tests(judge):
    _, points = judge(EQUAL, fits(WIDE, LOW))
    low, high = stats.ttest_rel(WIDE, LOW).confidence_interval(0.9)
    assert points[0].estimate == pytest.approx(np.mean(WIDE) - np.mean(LOW))
    assert (points[0].low, points[0].high) == pytest.approx((low, high))


@pytest.mark.parametrize(("measure", "unit"), [("auc", ""), ("error", "percent")])
def test_values_are_printed_in_the_unit_of_their_measure(judge, measure, unit):
    _, points = judge(EQUAL | {"measure": measure}, fits(SAME, LOW))
    assert {point.unit for point in points} == {unit}


def test_trials_are_paired_by_their_number(judge):
    _, points = judge(EQUAL, fits(["diverged", *HIGH[1:], 0.9], [*LOW, 0.8]))
    assert points[0].estimate == pytest.approx(np.mean([*HIGH[1:], 0.9]) - np.mean([*LOW[1:], 0.8]))


BETTER = {"test": "better", "a": "own", "b": "other", "measure": "auc"}


@pytest.mark.parametrize(
    ("of", "more", "verdict", "note"),
    [
        (fits(HIGH, LOW), {}, "holds", "better"),
        (fits(LOW, HIGH), {}, "does not hold", "worse"),
        (fits(LOW, HIGH), {"better": "lower"}, "holds", "better"),
        (fits(LOW, HIGH), {"measure": "error"}, "holds", "better"),
        (fits(WIDE, LOW), {}, "does not hold", "undecided"),
        (fits(HIGH, LOW), {"least": 0.1}, "does not hold", "undecided"),
        (fits(LOW, LOW), {}, "does not hold", "undecided"),
        (fits(HIGH, LOW), {"b": "third"},
         "not testable here: third was not run (codrna, ijcnn1, skin, dota2)", "third was not run"),
        # a lost dataset is not made up for
        (by_dataset(*[fits(HIGH, LOW)] * 3, fits(LOW, HIGH)),
         {"holds": "more than half", "in_part": "any"}, "holds in part: 3 of 4", None),
    ],
)  # fmt: skip
def test_better(judge, of, more, verdict, note):
    found, points = judge(BETTER | more, of)
    assert str(found) == verdict
    assert note is None or {point.note for point in points} == {note}


def test_p_values_are_adjusted_for_the_datasets(judge):
    slight = plus(0.01, 0.02, 0.0, 0.02, 0.01)
    of_each = by_dataset(fits(HIGH, LOW), *[fits(slight, LOW)] * 3)
    found, points = judge(BETTER | {"in_part": "any"}, of_each)
    p = stats.ttest_rel(slight, LOW).pvalue
    assert p < 0.05 < 3 * p
    assert points[1].p == pytest.approx(3 * p)
    assert points[0].p == pytest.approx(4 * stats.ttest_rel(HIGH, LOW).pvalue)
    assert str(found) == "holds in part: 1 of 4"


BEST = {"test": "best_of", "a": "own", "b": ["other", "third"], "measure": "auc"}


@pytest.mark.parametrize(
    ("own", "verdict"),
    [
        (HIGH, "holds"),
        (plus(*[-0.01] * 5), "does not hold"),
        (SAME, "holds in part: 2 of 4"),  # its mean prints like the others', a half each
        (LOW[:3], "not testable here"),
    ],
)
def test_best_of(judge, own, verdict):
    found, points = judge(BEST | {"in_part": 0.5}, fits(own, SAME, third=LOW))
    assert str(found).startswith(verdict)
    assert {point.b for point in points} == {"best of other, third"}


def test_rivals_are_met_where_all_have_results(judge):
    third = {500: SAME, 2000: ["timeout"] * 5}
    of = {"own": {500: LOW, 2000: HIGH}, "other": {500: HIGH, 2000: SAME}, "third": third}
    found, points = judge(BEST, of)
    assert (str(found), {point.size for point in points}) == ("does not hold", {500})
    third[500] = ["timeout"] * 5
    assert str(judge(BEST, of)[0]).startswith("not testable here: third: 5 timeout (codrna")
    # of the best of some, one that finished nowhere is not waited for
    assert str(judge(BEST | {"test": "count"}, of)[0]) == "holds"


COUNT = {"test": "count", "a": ["own", "second"], "b": ["other"], "measure": "auc"}


@pytest.mark.parametrize(
    ("n_best", "more", "missing", "verdict"),
    [
        (4, {"in_part": 2}, (), "holds"),
        (3, {"in_part": 2}, (), "holds"),
        (2, {"in_part": 2}, (), "holds in part: 2 of 4"),
        (1, {"in_part": 2}, (), "does not hold"),
        # a stated number is scaled where datasets are missing
        (3, {"holds": 4}, ("dota2",), "holds"),
        (2, {"holds": 4}, ("skin", "dota2"), "not testable here"),
    ],
)
def test_count(judge, n_best, more, missing, verdict):
    good, bad = fits(LOW, SAME, second=LOW), fits(LOW, HIGH, second=LOW)  # a tie is good enough
    of_each = by_dataset(*[good] * n_best, *[bad] * (4 - n_best - len(missing)))
    found, points = judge(COUNT | {"holds": 3} | more, of_each, missing=missing)
    assert str(found).startswith(verdict)
    assert len([point for point in points if point.counts is not None]) == 4 - len(missing)
