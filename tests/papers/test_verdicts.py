"""From points to verdicts, and from the verdicts on parts to that on a claim."""

import pytest

from dsgkit.papers.verdicts import Outcome, Point, Verdict, combined, judged, meets, untestable

HOLDS, FAILS = Verdict(Outcome.HOLDS, 3, 3), Verdict(Outcome.FAILS, 0, 3)
IN_PART, OPEN = Verdict(Outcome.IN_PART, 2, 3), untestable("no results")


def points(*counts):
    return [Point(f"data{i}", counts=one) for i, one in enumerate(counts)]


@pytest.mark.parametrize(
    "bar, counts, claimed, met",
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
    "parts, verdict",
    [
        ([HOLDS, HOLDS], "holds"),
        ([FAILS, FAILS], "does not hold"),
        ([HOLDS, FAILS], "holds in part: 1 of 2 parts"),
        ([IN_PART, FAILS], "holds in part: 2 of 6"),
        ([IN_PART, IN_PART], "holds in part: 4 of 6"),
        ([HOLDS, OPEN], "not testable here: 1 of 2 parts hold; no results"),
        ([FAILS, OPEN], "does not hold"),
        ([OPEN, OPEN], "not testable here: no results"),
    ],
)
def test_a_claim_holds_if_all_its_parts_do(parts, verdict):
    assert str(combined(parts)) == verdict


def test_a_claim_of_one_part_is_as_that_part():
    part = Verdict(Outcome.IN_PART, 5, 9, parts=(1, 3))
    assert combined([part]) is part


@pytest.mark.parametrize(
    ("counts", "n_claimed", "verdict"),
    [
        ((1, 1, 1, None), 4, "holds"),  # points without evidence do not count against a claim
        ((1, 1), 2, "holds"),
        ((1, None), 2, "not testable here"),  # of two datasets both are needed
    ],
)
def test_how_many_must_be_tested(counts, n_claimed, verdict):
    found = judged(points(*counts), "all", None, n_claimed)
    assert str(found).startswith(verdict)
    assert verdict != "holds" or found.tested == sum(one is not None for one in counts)
