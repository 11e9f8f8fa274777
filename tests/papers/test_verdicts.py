"""From points to verdicts, and from the verdicts on parts to that on a claim."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dsgkit.papers.judge import (
    Outcome,
    Verdict,
    combined,
    judged,
    on_scale,
    over_datasets,
    untestable,
)
from dsgkit.papers.tests import GAIN, Point


def verdict(outcome, yes, no=0, n=3):
    return Verdict(outcome, yes, n, (), no, yes, n)


HOLDS, IN_PART = verdict(Outcome.HOLDS, 3), verdict(Outcome.IN_PART, 2, 1)
FAILS, HARDLY = verdict(Outcome.FAILS, 0, 3), verdict(Outcome.HARDLY, 1, 1)
UNDECIDED, OPEN = verdict(Outcome.UNDECIDED, 0), untestable("no results")


def points(yes=0, no=0, open=0, tie=0, learnt=True):
    """Return points on datasets of their own."""
    each = [(1, False)] * yes + [(0, True)] * no + [(0, False)] * open + [(0.5, True)] * tie
    return [
        Point(f"data{i}", counts=float(one), against=against, learnt=learnt)
        for i, (one, against) in enumerate(each)
    ]


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (points(yes=8, no=2), "holds (8 of 10)"),
        (points(yes=7, no=1), "holds (7 of 8)"),
        (points(yes=7, no=3), "holds in part (7 of 10)"),
        (points(yes=5, no=5), "holds in part (5 of 10)"),
        (points(yes=4, no=5, open=1), "does not hold (4 of 10, 5 against)"),
        (points(no=2, open=2), "does not hold (0 of 4, 2 against)"),
        (points(yes=1, no=3, open=22), "undecided (1 of 26, 3 against)"),
        (points(yes=4, no=1, open=5), "hardly (4 of 10, 1 against)"),
        (points(yes=4, tie=2), "holds (5 of 6)"),  # a tie is half of each
        (points(tie=4), "holds in part (2 of 4)"),
        # points at which nothing is learnt count apart
        (points(yes=2, no=2) + points(yes=9, learnt=False),
         "holds in part (2 of 4 where something is learnt; 11 of 13 in all)"),
        (points(yes=1, open=3) + points(no=9, learnt=False),
         "undecided (1 of 4 where something is learnt, 0 against; 1 of 13 in all)"),
        (points(yes=4, no=1) + points(no=9, learnt=False),
         "holds (4 of 5 where something is learnt; 4 of 14 in all)"),
        (points(yes=4, no=1, open=5) + points(yes=9, learnt=False),
         "hardly (4 of 10 where something is learnt, 1 against; 13 of 19 in all)"),
        (points(yes=1, no=4) + points(yes=9, learnt=False),
         "does not hold (1 of 5 where something is learnt; 10 of 14 in all)"),
        (points(yes=9, learnt=False), "undecided (nothing is learnt in any of 9)"),
        # points without evidence do not count
        ([*points(yes=4), Point("x")], "holds (4 of 4)"),
        ([Point("x", note="no results")], "not testable here: no results (x)"),
    ],
)  # fmt: skip
def test_one_scale(evidence, told):
    assert str(judged(evidence, 0)) == told


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_more_support_never_makes_a_verdict_worse(yes, no, open):
    ranks = [Outcome.FAILS, Outcome.UNDECIDED, Outcome.HARDLY, Outcome.IN_PART, Outcome.HOLDS]
    n = yes + no + open
    if open:
        before, after = on_scale(yes, no, n), on_scale(yes + 1, no, n)
        assert ranks.index(after) >= ranks.index(before)
        assert ranks.index(on_scale(yes, no + 1, n)) <= max(ranks.index(before), 2)
    if n:
        assert (on_scale(yes, no, n) is Outcome.HOLDS) == (yes / n >= 0.8)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([HOLDS, HOLDS], "holds (6 of 6)"),
        ([FAILS, FAILS], "does not hold (0 of 6)"),
        ([HOLDS, FAILS], "holds in part: 1 of 2 pairs hold (3 of 6)"),
        ([HOLDS, UNDECIDED], "holds in part: 1 of 2 pairs hold (3 of 6, 0 against)"),
        ([IN_PART, FAILS], "holds in part: 1 of 2 pairs hold in part (2 of 6)"),
        ([HOLDS, IN_PART, FAILS], "holds in part: 1 of 3 pairs hold (5 of 9)"),
        ([IN_PART, IN_PART], "holds in part (4 of 6)"),
        ([HOLDS, OPEN], "not testable here: 1 of 2 pairs hold; no results"),
        ([FAILS, OPEN], "does not hold: 1 of 2 pairs do not hold, 1 not testable (0 of 3)"),
        # by the sum of their points most cannot tell
        (
            [verdict(Outcome.FAILS, 0, 2, 4), UNDECIDED],
            "does not hold: 1 of 2 pairs do not hold (0 of 7, 2 against)",
        ),
        (
            [verdict(Outcome.FAILS, 0, 0, 2), verdict(Outcome.FAILS, 0, 2, 4)],
            "does not hold: 2 of 2 pairs do not hold (0 of 6, 2 against)",
        ),
        ([HOLDS, FAILS, OPEN], "holds in part: 1 of 3 pairs hold, 1 not testable (3 of 6)"),
        ([OPEN, OPEN], "not testable here: no results"),
        ([IN_PART], "holds in part (2 of 3)"),
        ([UNDECIDED, UNDECIDED], "undecided (0 of 6, 0 against)"),
        ([FAILS, UNDECIDED, HARDLY], "does not hold: 1 of 3 pairs do not hold (1 of 9, 4 against)"),
        ([HARDLY, UNDECIDED], "hardly: 1 of 2 pairs hardly hold (1 of 6, 1 against)"),
    ],
)
def test_all_parts_must_hold(parts, told):
    assert str(combined(parts, "pairs")) == told


@pytest.mark.parametrize(
    ("evidence", "n_claimed", "told"),
    [
        ([*points(yes=3), Point("x")], 4, "holds"),
        (points(yes=2), 2, "holds"),
        ([*points(yes=1), Point("x")], 2, "not testable here"),  # of two datasets both are needed
    ],
)
def test_how_many_must_be_tested(evidence, n_claimed, told):
    assert str(judged(evidence, n_claimed)).startswith(told)


def gains(*of_datasets):
    """Return points that cannot tell, with the gains on each dataset."""
    every = [(f"data{i}", gain) for i, several in enumerate(of_datasets) for gain in several]
    return [Point(where, counts=0.0, estimate=gain, of=GAIN) for where, gain in every]


LOSSES = [[-one] for one in (0.02, 0.031, 0.024, 0.0002, 0.0011, 0.0027, 0.0014)]


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        # one loss outweighs in the mean, but not in the ranks
        (gains(*[[0.01 + i / 1000] for i in range(7)], [-9.0]), "undecided (0 of 8, 0 against)"),
        (gains(*LOSSES), "does not hold (0 of 7, 0 against)"),
        # four of seven support it, so it holds in part, whatever the losses are
        ([replace(one, counts=float(i < 4)) for i, one in enumerate(gains(*LOSSES))],
         "holds in part (4 of 7, 0 against)"),
        # three support it and one contradicts it: it would hardly hold
        ([replace(one, counts=float(i < 3), against=i == 3)
          for i, one in enumerate(gains(*LOSSES))], "does not hold (3 of 7, 1 against)"),
        # datasets at which nothing is learnt show nothing
        ([replace(one, learnt=i < 2) for i, one in enumerate(gains(*LOSSES))],
         "undecided (0 of 2 where something is learnt, 0 against; 0 of 7 in all)"),
        # as few as five cannot be significant
        (gains(*LOSSES[:5]), "undecided (0 of 5, 0 against)"),
    ],
)  # fmt: skip
def test_losses_over_datasets_contradict_a_claim(evidence, told):
    assert str(judged(evidence, 0)) == told


def test_few_datasets_where_something_is_learnt_are_named():
    of_two = judged([*points(yes=2), *points(yes=6, learnt=False)[2:]], 7)
    told = "holds (2 of 2 where something is learnt, on 2 datasets; 6 of 6 in all)"
    assert str(of_two) == told
    # of several parts, those of any of them
    of_third = judged([*points(yes=6, learnt=False)[:5], replace(points(yes=6)[5])], 7)
    assert str(combined([of_two, of_third])) == (
        "holds (3 of 3 where something is learnt; 12 of 12 in all)"
    )


def test_the_test_that_judges_leaves_out_datasets_where_nothing_is_learnt():
    found = judged([replace(one, learnt=i < 2) for i, one in enumerate(gains(*LOSSES))], 7)
    assert (found.over.datasets, found.over_all.datasets) == (2, 7)
    assert judged(gains(*LOSSES), 7).over_all is None


def test_the_test_over_datasets_takes_a_mean_of_each():
    differences = [0.02, 0.031, 0.024, 0.0002, 0.0011, 0.0027, 0.0014]
    sizes = [(one - 0.01, one + 0.01) for one in differences]
    found = over_datasets(gains(*sizes))
    assert (found.gains, found.datasets) == (7, 7)
    assert found.p == pytest.approx(2 / 2**7)  # of all signs, only these and their opposite
    assert found.mean == pytest.approx(np.mean(differences))
    assert str(judged(gains(*sizes), 7)) == "undecided (0 of 14, 0 against)"
    # the opposite is shown where it is significant
    opposite = judged(gains(*[[-one] for one in differences]), 7)
    assert str(opposite) == "does not hold (0 of 7, 0 against)"
    assert opposite.over.p < 0.05 and opposite.over.gains == 0
    # a few datasets can show nothing by their signs
    few = over_datasets(gains(*[[one] for one in differences[:5]]))
    assert few.p == pytest.approx(stats.binomtest(5, 5).pvalue) and few.p > 0.05
    mixed = [0.1, -0.2, 0.3, -0.4, 0.5, 0.6, 0.0]
    found = over_datasets(gains(*[[one] for one in mixed]))
    assert found.p == pytest.approx(stats.wilcoxon(mixed[:-1]).pvalue)
    assert over_datasets(gains([0.1])) is over_datasets(points(yes=3)) is None
