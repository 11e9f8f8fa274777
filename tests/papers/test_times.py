"""Tests of speed on times whose verdict is known."""

import numpy as np
import pytest

from dsgkit.papers.criteria import interval_of, resampled_medians
from tests.papers.conftest import DATASETS, by_dataset

SLOW, FAST = [2.0, 2.1, 2.2, 2.3, 2.4], [1.0, 1.1, 1.2, 1.3, 1.4]
NOISY = [0.2, 5.0, 1.3, 9.0, 0.9]
QUICKEST, LATE = [0.1] * 5, ["timeout"] * 5
EVERY = "(codrna, ijcnn1, skin, dota2)"


def fits(own, other, **more):
    return {key: {2000: one} for key, one in ({"own": own, "other": other} | more).items()}


def timed(seconds, threads=1, slowdown=1.0):
    """The record of a fit that took some seconds, with what is known of its timing."""
    timing = {"threads": threads, "slowdown": slowdown, "disturbed": slowdown > 1.5}
    return {"times": {"fit": seconds}, "timing": timing}


def traced(*steps, **fields):
    """Return five fits with AUCs along training, of (seconds, AUC)."""
    trace = [{"iteration": i, "seconds": s, "auc": auc} for i, (s, auc) in enumerate(steps, 1)]
    return [{"auc": steps[-1][1], "times": {"fit": steps[-1][0]}, "trace": trace} | fields] * 5


FASTER = {"test": "faster", "a": "own", "b": "other"}
CROSSES = {"test": "crosses", "a": "own", "b": "other", "at_most": 5000}
AT_ONE = [{"times": {"fit": 1.0}, "params": {"gamma": 1}}]
ENDS = {"test": "ends", "a": "own", "b": "other"}
SOONER = {"test": "sooner", "a": "own", "b": "other", "measure": "auc"}

MOST = by_dataset(*[fits(FAST, SLOW)] * 3, fits(SLOW, FAST))
SMALL = {"own": {9000: FAST}, "other": {9000: SLOW}}
MIXED = by_dataset(SMALL, fits(SLOW, FAST), fits(SLOW, FAST), SMALL)


@pytest.mark.parametrize(
    ("of", "more", "verdict"),
    [
        (fits(FAST, SLOW), {}, "holds"),
        (fits(SLOW, FAST), {}, "does not hold"),
        (fits(FAST, NOISY), {}, "does not hold"),  # the interval of the ratio has 1 in it
        (fits(FAST, LATE), {}, "holds"),
        (fits(LATE, SLOW), {}, "does not hold"),
        (fits(LATE, LATE), {}, f"not testable here: both were stopped {EVERY}"),
        (fits(FAST[:4], SLOW[:4]), {}, f"not testable here: own: 4 trials {EVERY}"),
        # a search that was stopped says nothing of fits
        (
            fits(FAST, ["timeout while searching"] * 5),
            {},
            f"not testable here: other: 5 timeout while searching {EVERY}",
        ),
        # a factor has to be passed
        (fits(FAST, SLOW), {"factor": 1.8}, "holds"),
        (fits(FAST, SLOW), {"factor": 1.9}, "does not hold"),
        # a dataset on which it is slower may be outvoted, or leave a part
        (MOST, {}, "does not hold"),
        (MOST, {"holds": "more than half"}, "holds"),
        (MOST, {"in_part": "more than half"}, "holds in part: 3 of 4"),
        (
            fits(FAST, SLOW, third=QUICKEST),
            {"b": ["other", "third"]},
            "holds in part: 1 of 2 parts",
        ),
        # a claim about many rows is not about small datasets
        (MIXED, {"sizes": {"min": 5000}}, "holds"),
        (
            fits(FAST, SLOW),
            {"sizes": {"min": 5000}},
            "not testable here: no dataset has such a size",
        ),
    ],
)
def test_faster(judge, of, more, verdict):
    found, points = judge(FASTER | more, of)
    assert str(found) == verdict
    where = ["codrna", "dota2"] if of is MIXED else list(DATASETS)
    if verdict == "holds":
        assert [point.where for point in points] == where


def test_too_few_datasets_are_no_evidence(judge):
    found, _ = judge(FASTER, fits(FAST, SLOW), DATASETS[:2], missing=("skin", "dota2"))
    told = "not testable here: 2 of 4 datasets have enough results; no results (skin, dota2)"
    assert str(found) == told


def test_a_ratio_of_times_is_that_of_medians(judge):
    _, (point, *_) = judge(FASTER, fits(FAST, SLOW))
    assert (point.a_value, point.b_value) == (1.2, 2.2)
    assert point.estimate == pytest.approx(2.2 / 1.2)
    assert 1 < point.low < point.estimate < point.high


SLOWED = [timed(s, 2) for s in SLOW]
DISTURBED = timed(99.0, 2, 4.0)


@pytest.mark.parametrize(
    ("of", "more", "verdict", "value", "note"),
    [
        # a stopped fit took the time limit at least
        (fits(FAST, [3.0, 4.0, *LATE[:3]]), {}, "holds", 90, "other was stopped"),
        # of disturbed fits the processor time counts on one thread, and no time on several
        (
            fits(FAST, [timed(s, slowdown=4.0 if s < 2.2 else 1.0) for s in SLOW]),
            {},
            "holds",
            2.2,
            "2 of 10 disturbed: processor time",
        ),
        (
            fits([*FAST, 1.2], [*SLOWED, DISTURBED]),
            {},
            "holds",
            2.2,
            "1 of 12 disturbed: left out",
        ),
        (
            fits(FAST, [*SLOWED[1:], DISTURBED]),
            {},
            "not testable here",
            None,
            "other: 4 trials without those that were disturbed",
        ),
        # 90 s on the clock, where others took up to three times as long as on the processor
        (
            fits([timed(40.0, slowdown=n) for n in (1.0, 3.0, 2.0, 1.0, 1.0)], LATE),
            {},
            "does not hold",
            90 / 3,
            "other was stopped",
        ),
        (
            fits(FAST, [{"times": {"fit": t}, "params": {"gamma": 1.0}} for t in SLOW]),
            {"leave_out": {"gamma": 1}},
            "not testable here",
            None,
            "other: 0 trials without those at gamma = 1",
        ),
    ],
)
def test_which_times_count(judge, of, more, verdict, value, note):
    found, (point, *_) = judge(FASTER | more, of)
    assert str(found).startswith(verdict)
    assert note in point.note
    if value is None:
        assert point.counts is None
    else:
        assert point.b_value == pytest.approx(value)


def crossing(**other):
    sizes = (500, 2000, 5000)
    return {
        "own": dict.fromkeys(sizes, FAST),
        "other": {n: other.get(f"n{n}", SLOW) for n in sizes},
    }


@pytest.mark.parametrize(
    ("of", "more", "verdict"),
    [
        (crossing(), {"at_most": 500}, "holds"),
        (crossing(n500=QUICKEST), {"at_most": 2000}, "holds"),
        (crossing(n500=QUICKEST), {"at_most": 1000}, "does not hold"),
        # for good from 5,000 on only
        (crossing(n2000=QUICKEST), {"at_most": 2000}, "does not hold"),
        (crossing(n5000=QUICKEST), {}, "does not hold"),
        (crossing(n5000=LATE, n2000=QUICKEST), {}, "holds"),
        (
            crossing(n5000=QUICKEST),
            {"at_most": 10_000},
            "not testable here: not faster at 5,000, the largest size of both",
        ),
        (
            by_dataset(*[crossing()] * 3, crossing(n5000=QUICKEST)),
            {"in_part": "more than half"},
            "holds in part: 3 of 4",
        ),
    ],
)
def test_crosses(judge, of, more, verdict):
    assert str(judge(CROSSES | more, of)[0]).startswith(verdict)


@pytest.mark.parametrize(
    ("of", "more", "verdict"),
    [
        (fits(FAST, ["refused"] * 5), {}, "holds"),
        (fits(FAST, ["refused"] * 4 + ["out_of_memory"]), {}, "holds"),
        (fits(FAST, ["refused"] * 5), {"how": ["timeout"]}, "not testable here"),
        (fits(FAST, LATE), {"how": ["timeout"]}, "holds"),
        (fits(FAST, LATE), {}, "not testable here"),
        (fits(FAST, SLOW), {}, "does not hold"),
        # a trial that solves a smaller system says nothing
        (fits(FAST, AT_ONE + ["refused"] * 4), {}, "does not hold"),
        (fits(FAST, AT_ONE + ["refused"] * 4), {"leave_out": {"gamma": 1}}, "holds"),
        (fits(AT_ONE * 5, ["refused"] * 5), {"leave_out": {"gamma": 1}}, "holds"),
        (fits(FAST, AT_ONE * 5), {"leave_out": {"gamma": 1}}, "not testable here"),
        (
            fits(FAST, ["timeout while searching"] * 5),
            {"how": ["timeout"]},
            "not testable here: other: 5 timeout while searching (codrna",
        ),
        # what a config leaves out is no end
        (
            {"own": {500: FAST, 2000: FAST}, "other": {500: SLOW}},
            {},
            f"not testable here: other is left out {EVERY}",
        ),
        (
            by_dataset(*[fits(FAST, ["refused"] * 5)] * 2, *[fits(FAST, SLOW)] * 2),
            {"in_part": "any"},
            "holds in part: 2 of 4",
        ),
    ],
)
def test_ends(judge, of, more, verdict):
    assert str(judge(ENDS | more, of)[0]).startswith(verdict)


AT_ONCE = [{"auc": 0.9, "times": {"fit": 4.0}}] * 5
EARLY = traced((1, 0.89), (5, 0.95))
RACE = fits(traced((1, 0.9), (2, 0.9)), traced((1.5, 0.9), (3, 0.9)))
MEASURED, ON_A_BUSY_MACHINE = ({"timing": timed(1, 2, slow)["timing"]} for slow in (1.0, 4.0))


@pytest.mark.parametrize(
    ("of", "more", "verdict"),
    [
        (fits(EARLY, AT_ONCE), {"margin": 0.02}, "holds"),
        (fits(EARLY, AT_ONCE), {}, "does not hold"),
        (fits(traced((1, 0.89), (5, 0.89)), AT_ONCE), {}, "does not hold"),  # never
        (fits(EARLY, AT_ONCE), {"of": "better"}, "holds"),  # the other one never
        (RACE, {}, "holds"),
        (RACE, {"factor": 2.0}, "does not hold"),
        # whose mean is above what most of its trials reach
        (
            fits(traced((1, 0.5)), [{"auc": 0.5, "times": {"fit": 4.0}}] * 4 + AT_ONCE[:1]),
            {},
            "not testable here: to 0.58; never by either",
        ),
        (fits(EARLY, AT_ONCE), {"b": "absent"}, "not testable here: absent was not run"),
        (
            by_dataset(*[fits(traced((1, 0.9)), AT_ONCE)] * 3, fits(traced((5, 0.9)), AT_ONCE)),
            {"in_part": "any"},
            "holds in part: 3 of 4",
        ),
        # it says nothing of trainings most of which were disturbed
        (fits(traced((1, 0.9), **MEASURED), traced((9, 0.9), **ON_A_BUSY_MACHINE)), {}, "holds"),
        (
            fits(traced((1, 0.9), **ON_A_BUSY_MACHINE), traced((9, 0.9), **ON_A_BUSY_MACHINE)),
            {},
            "not testable here: 10 of 10 fits disturbed, timed on the wall",
        ),
    ],
)
def test_sooner(judge, of, more, verdict):
    assert str(judge(SOONER | more, of)[0]).startswith(verdict)


def test_the_interval_of_a_ratio_has_about_its_confidence():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        of_a, of_b = resampled_medians([rng.lognormal(mean, 0.3, 40) for mean in (0, 1)])
        low, high = interval_of(of_b / of_a)
        covered += low <= np.e <= high
    assert 88 <= covered <= 99
