"""From points to verdicts, and from the verdicts on parts to that on a claim."""

import pytest

from dsgkit.papers.judge import Outcome, Verdict, combined, judged, meets, untestable
from dsgkit.papers.tests import Point

HOLDS, FAILS = Verdict(Outcome.HOLDS, 3, 3), Verdict(Outcome.FAILS, 0, 3)
IN_PART, OPEN = Verdict(Outcome.IN_PART, 2, 3), untestable("no results")


def points(*counts, against=False):
    return [Point(f"data{i}", counts=one, against=against) for i, one in enumerate(counts)]


@pytest.mark.parametrize(
    ("bar", "counts", "claimed", "met"),
    [
        ("all", (1, 1, 1), 3, True),
        ("all", (1, 1, 0.5), 3, False),
        ("any", (0, 0, 1), 3, True),
        ("any", (0, 0, 0), 3, False),
        ("more than half", (1, 1, 0, 0), 4, False),
        ("more than half", (1, 1, 0.5, 0), 4, True),
        (3, (1, 1, 1, 0), 4, True),
        (3, (1, 1, 0, 0), 4, False),
        (12, (1, 1, 1, 1, 0), 15, True),  # 12 of 15 are 4 of 5
        (12, (1, 1, 1, 0, 0), 15, False),
        (0.75, (1, 1, 1, 0), 4, True),
        (0.8, (1, 1, 1, 0), 4, False),
    ],
)
def test_how_many_must_count(bar, counts, claimed, met):
    assert meets(bar, points(*counts), claimed) == met


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([HOLDS, HOLDS], "holds (6 of 6)"),
        ([FAILS, FAILS], "does not hold (0 of 6)"),
        ([HOLDS, FAILS], "holds in part: 1 of 2 pairs (3 of 6)"),
        ([IN_PART, FAILS], "holds in part: 1 of 2 pairs (2 of 6)"),
        ([HOLDS, IN_PART, FAILS], "holds in part: 1 of 3 pairs (5 of 9)"),
        ([IN_PART, IN_PART], "holds in part (4 of 6)"),
        ([HOLDS, OPEN], "not testable here: 1 of 2 pairs hold; no results"),
        ([FAILS, OPEN], "does not hold (0 of 3)"),
        ([OPEN, OPEN], "not testable here: no results"),
        ([IN_PART], "holds in part (2 of 3)"),
    ],
)
def test_all_parts_must_hold(parts, verdict):
    assert str(combined(parts, "pairs")) == verdict


@pytest.mark.parametrize(
    ("evidence", "n_claimed", "verdict"),
    [
        (points(1, 1, 1, None), 4, "holds"),  # points without evidence do not count against it
        (points(1, 1), 2, "holds"),
        (points(1, None), 2, "not testable here"),  # of two datasets both are needed
        ([*points(1, 1, 1), *points(0, against=True)], 3, "does not hold"),
    ],
)
def test_how_many_must_be_tested(evidence, n_claimed, verdict):
    assert str(judged(evidence, "more than half", None, n_claimed)).startswith(verdict)
