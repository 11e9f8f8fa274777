"""Tests of values whose verdict is known, against SciPy where there is a p-value."""

import numpy as np
import pytest
from scipy import stats

from tests.papers.conftest import DATASETS

LOW = [0.80, 0.82, 0.81, 0.83, 0.79]


def plus(*differences):
    return [round(value + d, 6) for value, d in zip(LOW, differences, strict=True)]


SAME = plus(0.001, -0.001, 0.002, -0.002, 0.0)
HIGH = plus(0.05, 0.06, 0.05, 0.07, 0.04)
WIDE = plus(0.05, -0.06, 0.05, -0.06, 0.02)


def fits(own, other, n=2000, **more):
    return {"own": {n: own}, "other": {n: other}} | {key: {n: v} for key, v in more.items()}


def by_dataset(*of_each):
    return dict(zip(DATASETS, of_each, strict=False))


EQUAL = {"test": "equal", "a": "own", "b": "other", "measure": "auc", "margin": 0.01}


@pytest.mark.parametrize(
    "own, other, more, verdict, surely",
    [
        (SAME, LOW, {}, "holds", True),
        (WIDE, LOW, {}, "holds", False),  # the mean difference is 0, its interval is wide
        (HIGH, LOW, {}, "does not hold", False),
        (HIGH, LOW, {"one_sided": True}, "holds", True),
        (LOW, HIGH, {"one_sided": True}, "does not hold", False),
        (LOW, HIGH, {"one_sided": True, "better": "lower"}, "holds", True),
        (SAME[:4], LOW[:4], {}, "not testable here", False),
    ],
)
def test_equal(judge, own, other, more, verdict, surely):
    found, points = judge(EQUAL | more, fits(own, other))
    assert found.outcome == verdict
    assert [point.sure for point in points] == [surely] * 4


def test_the_interval_of_a_difference_is_that_of_two_one_sided_tests(judge):
    _, points = judge(EQUAL, fits(WIDE, LOW))
    test = stats.ttest_rel(WIDE, LOW)
    low, high = test.confidence_interval(0.9)
    assert points[0].estimate == pytest.approx(np.mean(WIDE) - np.mean(LOW))
    assert (points[0].low, points[0].high) == pytest.approx((low, high))


def test_equal_in_part(judge):
    of_each = by_dataset(*[fits(SAME, LOW)] * 2, *[fits(HIGH, LOW)] * 2)
    criterion = EQUAL | {"holds": "more than half", "in_part": 0.5}
    assert str(judge(criterion, of_each)[0]) == "holds in part: 2 of 4"


def test_trials_are_paired_by_their_number(judge):
    own = {"own": {2000: ["diverged", *HIGH[1:], 0.9]}, "other": {2000: [*LOW, 0.8]}}
    _, points = judge(EQUAL, own)
    assert points[0].estimate == pytest.approx(np.mean([*HIGH[1:], 0.9]) - np.mean([*LOW[1:], 0.8]))
    found, _ = judge(EQUAL, {"own": {2000: ["diverged", *HIGH[1:]]}, "other": {2000: LOW}})
    assert str(found).startswith("not testable here: own: 4 trials, 1 diverged")


BETTER = {"test": "better", "a": "own", "b": "other", "measure": "auc"}


@pytest.mark.parametrize(
    "own, other, more, verdict, note",
    [
        (HIGH, LOW, {}, "holds", "better"),
        (LOW, HIGH, {}, "does not hold", "worse"),
        (LOW, HIGH, {"better": "lower"}, "holds", "better"),
        (WIDE, LOW, {}, "does not hold", "undecided"),
        (HIGH, LOW, {"least": 0.1}, "does not hold", "undecided"),
        (LOW, LOW, {}, "does not hold", "undecided"),
    ],
)
def test_better(judge, own, other, more, verdict, note):
    found, points = judge(BETTER | more, fits(own, other))
    assert str(found) == verdict
    assert {point.note for point in points} == {note}


def test_errors_are_better_when_low(judge):
    found, _ = judge(BETTER | {"measure": "error"}, fits(LOW, HIGH))
    assert str(found) == "holds"


def test_p_values_are_adjusted_for_the_datasets(judge):
    slight = plus(0.01, 0.02, 0.0, 0.02, 0.01)
    of_each = by_dataset(fits(HIGH, LOW), *[fits(slight, LOW)] * 3)
    found, points = judge(BETTER | {"in_part": "any"}, of_each)
    p = stats.ttest_rel(slight, LOW).pvalue
    assert p < 0.05 < 3 * p
    assert points[1].p == pytest.approx(3 * p)
    assert points[0].p == pytest.approx(4 * stats.ttest_rel(HIGH, LOW).pvalue)
    assert str(found) == "holds in part: 1 of 4"


def test_a_lost_dataset_is_not_made_up_for(judge):
    of_each = by_dataset(*[fits(HIGH, LOW)] * 3, fits(LOW, HIGH))
    criterion = BETTER | {"holds": "more than half", "in_part": "any"}
    assert str(judge(criterion, of_each)[0]) == "holds in part: 3 of 4"


def test_better_needs_results_of_both(judge):
    found, _ = judge(BETTER | {"b": "third"}, fits(HIGH, LOW))
    assert str(found) == ("not testable here: third was not run (codrna, ijcnn1, skin, dota2)")


BEST = {"test": "best_of", "a": "own", "b": ["other", "third"], "measure": "auc"}


@pytest.mark.parametrize(
    "own, verdict",
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


def test_the_best_of_some_is_chosen_on_every_dataset(judge):
    criterion = EQUAL | {"b": {"best": ["other", "third"]}, "margin": 0.001}
    of_each = by_dataset(*[fits(HIGH, LOW, third=HIGH), fits(HIGH, HIGH, third=LOW)] * 2)
    assert str(judge(criterion, of_each)[0]) == "holds"


def test_rivals_are_met_where_all_have_results(judge):
    own, third = {500: LOW, 2000: HIGH}, {500: SAME, 2000: ["timeout"] * 5}
    fits_of = {"own": own, "other": {500: HIGH, 2000: SAME}, "third": third}
    found, points = judge(BEST, fits_of)
    assert (str(found), {point.size for point in points}) == ("does not hold", {500})
    third[500] = ["timeout"] * 5
    found, _ = judge(BEST, fits_of)
    assert str(found).startswith("not testable here: third: 5 timeout (codrna")
    # of the best of some, one that finished nowhere is not waited for
    found, _ = judge(BEST | {"test": "count"}, fits_of)
    assert str(found) == "holds"


COUNT = {"test": "count", "a": ["own", "second"], "b": ["other"], "measure": "auc"}


@pytest.mark.parametrize(
    "n_best, verdict",
    [(4, "holds"), (3, "holds"), (2, "holds in part: 2 of 4"), (1, "does not hold")],
)
def test_count(judge, n_best, verdict):
    good, bad = fits(LOW, SAME, second=LOW), fits(LOW, HIGH, second=LOW)  # a tie is good enough
    of_each = by_dataset(*[good] * n_best, *[bad] * (4 - n_best))
    found, points = judge(COUNT | {"holds": 3, "in_part": 2}, of_each)
    assert str(found) == verdict
    assert len(points) == 4


def test_a_stated_number_is_scaled_where_datasets_are_missing(judge):
    of_each = dict(list(by_dataset(*[fits(HIGH, LOW, second=LOW)] * 4).items())[:3])
    criterion = COUNT | {"holds": 4}
    assert str(judge(criterion, of_each, missing=("dota2",))[0]) == "holds"
    found, _ = judge(criterion, dict(list(of_each.items())[:2]), missing=("skin", "dota2"))
    assert found.outcome == "not testable here"
