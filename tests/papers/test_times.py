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


NOT_SEARCHED = fits(FAST, ["timeout while searching"] * 5)
FASTER_CASES = [
    (fits(FAST, SLOW), {}, "holds"),
    (fits(SLOW, FAST), {}, "does not hold"),
    (fits(FAST, NOISY), {}, "does not hold"),  # the interval of the ratio has 1 in it
    (fits(FAST, LATE), {}, "holds"),
    (fits(LATE, SLOW), {}, "does not hold"),
    (fits(LATE, LATE), {}, f"not testable here: both were stopped {EVERY}"),
    (fits(FAST[:4], SLOW[:4]), {}, f"not testable here: own: 4 trials {EVERY}"),
    # a search that was stopped says nothing of fits
    (NOT_SEARCHED, {}, f"not testable here: other: 5 timeout while searching {EVERY}"),
    # a factor has to be passed
    (fits(FAST, SLOW), {"factor": 1.8}, "holds"),
    (fits(FAST, SLOW), {"factor": 1.9}, "does not hold"),
    # a dataset on which it is slower may be outvoted, or leave a part
    (MOST, {}, "does not hold"),
    (MOST, {"holds": "more than half"}, "holds"),
    (MOST, {"in_part": "more than half"}, "holds in part: 3 of 4"),
    (fits(FAST, SLOW, third=QUICKEST), {"b": ["other", "third"]}, "holds in part: 1 of 2 parts"),
    # a claim about many rows is not about small datasets
    (MIXED, {"sizes": {"min": 5000}}, "holds"),
    (fits(FAST, SLOW), {"sizes": {"min": 5000}}, "not testable here: no dataset has such a size"),
]


@pytest.mark.parametrize(("of", "more", "verdict"), FASTER_CASES)
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
    assert (point.a_value, point.b_value, point.unit) == (1.2, 2.2, "seconds")
    assert point.estimate == pytest.approx(2.2 / 1.2)
    assert 1 < point.low < point.estimate < point.high


SLOWED = [timed(s, 2) for s in SLOW]
DISTURBED = timed(99.0, 2, 4.0)


ON_ONE_THREAD = [timed(s, slowdown=4.0 if s < 2.2 else 1.0) for s in SLOW]
SLOWED_UP_TO_THREEFOLD = [timed(40.0, slowdown=n) for n in (1.0, 3.0, 2.0, 1.0, 1.0)]
AT_GAMMA_1 = [{"times": {"fit": t}, "params": {"gamma": 1.0}} for t in SLOW]
COUNTED = [
    # a stopped fit took the time limit at least
    (fits(FAST, [3.0, 4.0, *LATE[:3]]), {}, 90, "other was stopped"),
    # of disturbed fits the processor time counts on one thread, and no time on several
    (fits(FAST, ON_ONE_THREAD), {}, 2.2, "2 of 10 disturbed: processor time"),
    (fits([*FAST, 1.2], [*SLOWED, DISTURBED]), {}, 2.2, "1 of 12 disturbed: left out"),
    (fits(FAST, [*SLOWED[1:], DISTURBED]), {}, None,
     "other: 4 trials without those that were disturbed"),
    # 90 s on the clock, where others took up to three times as long as on the processor
    (fits(SLOWED_UP_TO_THREEFOLD, LATE), {}, 90 / 3, "other was stopped"),
    (fits(FAST, AT_GAMMA_1), {"leave_out": {"gamma": 1}}, None,
     "other: 0 trials without those at gamma = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("of", "more", "value", "note"), COUNTED)
def test_which_times_count(judge, of, more, value, note):
    found, (point, *_) = judge(FASTER | more, of)
    assert note in point.note
    if value is None:
        assert str(found).startswith("not testable here") and point.counts is None
    else:
        assert point.b_value == pytest.approx(value)
        assert str(found) == ("holds" if point.a_value < value else "does not hold")


def crossing(**other):
    sizes = (500, 2000, 5000)
    return {
        "own": dict.fromkeys(sizes, FAST),
        "other": {n: other.get(f"n{n}", SLOW) for n in sizes},
    }


REFUSED = fits(FAST, ["refused"] * 5)
ONE_AT_ONE = fits(FAST, AT_ONE + ["refused"] * 4)
AT_ONCE = [{"auc": 0.9, "times": {"fit": 4.0}}] * 5
SELDOM = [{"auc": 0.5, "times": {"fit": 4.0}}] * 4 + AT_ONCE[:1]
EARLY = traced((1, 0.89), (5, 0.95))
RACE = fits(traced((1, 0.9), (2, 0.9)), traced((1.5, 0.9), (3, 0.9)))
MEASURED, BUSY = ({"timing": timed(1, 2, slow)["timing"]} for slow in (1.0, 4.0))
CASES = [
    (CROSSES | {"at_most": 500}, crossing(), "holds"),
    (CROSSES | {"at_most": 2000}, crossing(n500=QUICKEST), "holds"),
    (CROSSES | {"at_most": 1000}, crossing(n500=QUICKEST), "does not hold"),
    # for good from 5,000 on only
    (CROSSES | {"at_most": 2000}, crossing(n2000=QUICKEST), "does not hold"),
    (CROSSES, crossing(n5000=QUICKEST), "does not hold"),
    (CROSSES, crossing(n5000=LATE, n2000=QUICKEST), "holds"),
    (CROSSES | {"at_most": 10_000}, crossing(n5000=QUICKEST),
     "not testable here: not faster at 5,000, the largest size of both"),
    (CROSSES | {"in_part": "more than half"},
     by_dataset(*[crossing()] * 3, crossing(n5000=QUICKEST)), "holds in part: 3 of 4"),
    (ENDS, REFUSED, "holds"),
    (ENDS, fits(FAST, ["refused"] * 4 + ["out_of_memory"]), "holds"),
    (ENDS | {"how": ["timeout"]}, REFUSED, "not testable here"),
    (ENDS | {"how": ["timeout"]}, fits(FAST, LATE), "holds"),
    (ENDS, fits(FAST, LATE), "not testable here"),
    (ENDS, fits(FAST, SLOW), "does not hold"),
    # a trial that solves a smaller system says nothing
    (ENDS, ONE_AT_ONE, "does not hold"),
    (ENDS | {"leave_out": {"gamma": 1}}, ONE_AT_ONE, "holds"),
    (ENDS | {"leave_out": {"gamma": 1}}, fits(AT_ONE * 5, ["refused"] * 5), "holds"),
    (ENDS | {"leave_out": {"gamma": 1}}, fits(FAST, AT_ONE * 5), "not testable here"),
    (ENDS | {"how": ["timeout"]}, NOT_SEARCHED,
     "not testable here: other: 5 timeout while searching (codrna"),
    # what a config leaves out is no end
    (ENDS, {"own": {500: FAST, 2000: FAST}, "other": {500: SLOW}},
     f"not testable here: other is left out {EVERY}"),
    (ENDS | {"in_part": "any"}, by_dataset(*[REFUSED] * 2, *[fits(FAST, SLOW)] * 2),
     "holds in part: 2 of 4"),
    (SOONER | {"margin": 0.02}, fits(EARLY, AT_ONCE), "holds"),
    (SOONER, fits(EARLY, AT_ONCE), "does not hold"),
    (SOONER, fits(traced((1, 0.89), (5, 0.89)), AT_ONCE), "does not hold"),  # never
    (SOONER | {"of": "better"}, fits(EARLY, AT_ONCE), "holds"),  # the other one never
    (SOONER, RACE, "holds"),
    (SOONER | {"factor": 2.0}, RACE, "does not hold"),
    # the mean is above what most of the trials reach
    (SOONER, fits(traced((1, 0.5)), SELDOM), "not testable here: to 0.58; never by either"),
    (SOONER | {"b": "absent"}, fits(EARLY, AT_ONCE), "not testable here: absent was not run"),
    (SOONER | {"in_part": "any"},
     by_dataset(*[fits(traced((1, 0.9)), AT_ONCE)] * 3, fits(traced((5, 0.9)), AT_ONCE)),
     "holds in part: 3 of 4"),
    # it says nothing of trainings most of which were disturbed
    (SOONER, fits(traced((1, 0.9), **MEASURED), traced((9, 0.9), **BUSY)), "holds"),
    (SOONER, fits(traced((1, 0.9), **BUSY), traced((9, 0.9), **BUSY)),
     "not testable here: 10 of 10 fits disturbed, timed on the wall"),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "of", "verdict"), CASES)
def test_crosses_ends_and_sooner(judge, criterion, of, verdict):
    assert str(judge(criterion, of)[0]).startswith(verdict)


def test_the_interval_of_a_ratio_has_about_its_confidence():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        of_a, of_b = resampled_medians([rng.lognormal(mean, 0.3, 40) for mean in (0, 1)])
        low, high = interval_of(of_b / of_a)
        covered += low <= np.e <= high
    assert 88 <= covered <= 99
