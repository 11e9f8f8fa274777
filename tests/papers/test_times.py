"""Tests of speed on times whose verdict is known."""

import numpy as np
import pytest

from dsgkit.papers.criteria import interval_of, resampled_medians
from tests.papers.conftest import DATASETS

SLOW, FAST = [2.0, 2.1, 2.2, 2.3, 2.4], [1.0, 1.1, 1.2, 1.3, 1.4]
NOISY = [0.2, 5.0, 1.3, 9.0, 0.9]
FASTER = {"test": "faster", "a": "own", "b": "other"}


def fits(own, other):
    return {"own": {2000: own}, "other": {2000: other}}


def by_dataset(*of_each):
    return dict(zip(DATASETS, of_each, strict=False))


@pytest.mark.parametrize(
    "own, other, verdict",
    [
        (FAST, SLOW, "holds"),
        (SLOW, FAST, "does not hold"),
        (FAST, NOISY, "does not hold"),  # the interval of the ratio has 1 in it
        (FAST, ["timeout"] * 5, "holds"),
        (["timeout"] * 5, SLOW, "does not hold"),
    ],
)
def test_faster(judge, own, other, verdict):
    found, points = judge(FASTER, fits(own, other))
    assert str(found) == verdict
    assert [point.where for point in points] == list(DATASETS)


def test_a_ratio_of_times_is_that_of_medians(judge):
    _, points = judge(FASTER, fits(FAST, SLOW))
    assert (points[0].a_value, points[0].b_value) == (1.2, 2.2)
    assert points[0].estimate == pytest.approx(2.2 / 1.2)
    assert 1 < points[0].low < points[0].estimate < points[0].high


def test_a_stopped_fit_took_the_time_limit_at_least(judge):
    _, points = judge(FASTER, fits(FAST, [3.0, 4.0, "timeout", "timeout", "timeout"]))
    assert points[0].b_value == 90
    assert "other was stopped" in points[0].note


def test_a_search_that_was_stopped_says_nothing_of_fits(judge):
    for criterion in (FASTER, ENDS | {"how": ["timeout"]}):
        found, _ = judge(criterion, fits(FAST, ["timeout while searching"] * 5))
        assert str(found).startswith("not testable here: other: 5 timeout while searching (codrna")


def test_a_claim_about_many_rows_is_not_about_small_datasets(judge):
    small, large = fits(SLOW, FAST), {"own": {9000: FAST}, "other": {9000: SLOW}}
    many = FASTER | {"sizes": {"min": 5000}}
    found, points = judge(many, by_dataset(large, small, small, large))
    assert str(found) == "holds"
    assert [point.where for point in points] == ["codrna", "dota2"]
    found, _ = judge(many, fits(FAST, SLOW))
    assert str(found) == "not testable here: no dataset has such a size"


def timed(seconds, threads=1, slowdown=1.0):
    """The record of a fit that took some seconds, with what is known of its timing."""
    timing = {"threads": threads, "slowdown": slowdown, "disturbed": slowdown > 1.5}
    return {"times": {"fit": seconds}, "timing": timing}


def test_of_disturbed_fits_the_processor_time_counts(judge):
    slowed = [timed(seconds, slowdown=4.0 if seconds < 2.2 else 1.0) for seconds in SLOW]
    found, points = judge(FASTER, fits(FAST, slowed))
    assert str(found) == "holds"
    assert (points[0].b_value, points[0].note) == (
        2.2,
        "2 of 10 disturbed: processor time",
    )


def test_the_wall_time_of_disturbed_fits_does_not_count(judge):
    slowed = [timed(s, 2) for s in SLOW] + [timed(99.0, 2, 4.0)]
    found, points = judge(FASTER, fits([*FAST, 1.2], slowed))
    assert str(found) == "holds"
    assert (points[0].b_value, points[0].note) == (2.2, "1 of 12 disturbed: left out")
    found, points = judge(FASTER, fits(FAST, slowed[1:]))
    assert str(found).startswith("not testable here")
    assert points[0].note == "other: 4 trials without those that were disturbed"


def test_of_a_stopped_fit_on_a_busy_machine_the_processor_time_is_at_least_a_share(judge):
    """90 s on the clock, where others took up to three times as long as on the processor."""
    slowed = [timed(40.0, slowdown=n) for n in (1.0, 3.0, 2.0, 1.0, 1.0)]
    found, points = judge(FASTER, fits(slowed, ["timeout"] * 5))
    assert points[0].b_value == 90 / 3
    assert str(found) == "does not hold"


def test_two_stopped_fits_say_nothing(judge):
    found, _ = judge(FASTER, fits(["timeout"] * 5, ["timeout"] * 5))
    assert str(found) == "not testable here: both were stopped (codrna, ijcnn1, skin, dota2)"


def test_faster_in_part_on_more_than_half(judge):
    fits_of = by_dataset(*[fits(FAST, SLOW)] * 3, fits(SLOW, FAST))
    found, _ = judge(FASTER | {"in_part": "more than half"}, fits_of)
    assert str(found) == "holds in part: 3 of 4"


def test_a_dataset_on_which_it_is_slower_is_outvoted(judge):
    fits_of = by_dataset(*[fits(FAST, SLOW)] * 3, fits(SLOW, FAST))
    assert str(judge(FASTER | {"holds": "more than half"}, fits_of)[0]) == "holds"


def test_faster_than_one_of_two_is_in_part(judge):
    sizes = {"own": {2000: FAST}, "other": {2000: SLOW}, "third": {2000: [0.1] * 5}}
    found, _ = judge(FASTER | {"b": ["other", "third"]}, sizes)
    assert str(found) == "holds in part: 1 of 2 parts"


def test_too_few_trials_or_datasets_are_no_evidence(judge):
    found, _ = judge(FASTER, fits(FAST[:4], SLOW[:4]))
    assert str(found) == "not testable here: own: 4 trials (codrna, ijcnn1, skin, dota2)"
    found, _ = judge(FASTER, fits(FAST, SLOW), DATASETS[:2], missing=("skin", "dota2"))
    assert str(found) == (
        "not testable here: 2 of 4 datasets have enough results; no results (skin, dota2)"
    )


def test_a_factor_has_to_be_passed(judge):
    assert str(judge(FASTER | {"factor": 1.8}, fits(FAST, SLOW))[0]) == "holds"
    assert str(judge(FASTER | {"factor": 1.9}, fits(FAST, SLOW))[0]) == "does not hold"


def test_fits_with_some_setting_are_left_out(judge):
    settled = [{"times": {"fit": t}, "params": {"gamma": 1.0}} for t in SLOW]
    _, points = judge(FASTER | {"leave_out": {"gamma": 1}}, fits(FAST, settled))
    assert points[0].counts is None
    assert points[0].note == "other: 0 trials without those at gamma = 1"


CROSSES = {"test": "crosses", "a": "own", "b": "other", "at_most": 5000}


def crossing(**other):
    sizes = (500, 2000, 5000)
    return {
        "own": dict.fromkeys(sizes, FAST),
        "other": {n: other.get(f"n{n}", SLOW) for n in sizes},
    }


@pytest.mark.parametrize(
    "other, at_most, verdict",
    [
        ({}, 500, "holds"),
        ({"n500": [0.1] * 5}, 2000, "holds"),
        ({"n500": [0.1] * 5}, 1000, "does not hold"),
        ({"n2000": [0.1] * 5}, 2000, "does not hold"),  # for good from 5,000 on only
        ({"n5000": [0.1] * 5}, 5000, "does not hold"),
        ({"n5000": ["timeout"] * 5, "n2000": [0.1] * 5}, 5000, "holds"),
    ],
)
def test_crosses(judge, other, at_most, verdict):
    found, _ = judge(CROSSES | {"at_most": at_most}, crossing(**other))
    assert str(found) == verdict


def test_crossing_beyond_what_was_run_is_open(judge):
    found, _ = judge(CROSSES | {"at_most": 10000}, crossing(n5000=[0.1] * 5))
    assert str(found).startswith("not testable here: not faster at 5,000, the largest size of both")


def test_crosses_in_part(judge):
    of_each = [crossing()] * 3 + [crossing(n5000=[0.1] * 5)]
    found, _ = judge(CROSSES | {"in_part": "more than half"}, by_dataset(*of_each))
    assert str(found) == "holds in part: 3 of 4"


ENDS = {"test": "ends", "a": "own", "b": "other"}


@pytest.mark.parametrize(
    "other, how, verdict",
    [
        (["refused"] * 5, None, "holds"),
        (["refused"] * 4 + ["out_of_memory"], None, "holds"),
        (["refused"] * 5, ["timeout"], "not testable here"),
        (["timeout"] * 5, ["timeout"], "holds"),
        (["timeout"] * 5, None, "not testable here"),
        (SLOW, None, "does not hold"),
    ],
)
def test_ends(judge, other, how, verdict):
    criterion = ENDS | ({"how": how} if how else {})
    found, _ = judge(criterion, fits(FAST, other))
    assert found.outcome == verdict


def test_what_a_config_leaves_out_is_no_end(judge):
    found, _ = judge(ENDS, {"own": {500: FAST, 2000: FAST}, "other": {500: SLOW}})
    assert str(found) == ("not testable here: other is left out (codrna, ijcnn1, skin, dota2)")


def test_ends_in_part(judge):
    of_each = [fits(FAST, ["refused"] * 5)] * 2 + [fits(FAST, SLOW)] * 2
    assert str(judge(ENDS | {"in_part": "any"}, by_dataset(*of_each))[0]) == "holds in part: 2 of 4"


SOONER = {"test": "sooner", "a": "own", "b": "other", "measure": "auc"}


def traced(*steps):
    """Return five fits with AUCs along training, of (seconds, AUC)."""
    trace = [
        {"iteration": 10 * (i + 1), "seconds": seconds, "auc": auc}
        for i, (seconds, auc) in enumerate(steps)
    ]
    fit = {"auc": steps[-1][1], "times": {"fit": steps[-1][0]}, "trace": trace}
    return [fit] * 5


AT_ONCE = [{"auc": 0.9, "times": {"fit": 4.0}}] * 5


@pytest.mark.parametrize(
    "own, other, more, verdict",
    [
        (traced((1, 0.89), (5, 0.95)), AT_ONCE, {"margin": 0.02}, "holds"),
        (traced((1, 0.89), (5, 0.95)), AT_ONCE, {}, "does not hold"),
        (traced((1, 0.89), (5, 0.89)), AT_ONCE, {}, "does not hold"),  # never
        (traced((1, 0.89), (5, 0.95)), AT_ONCE, {"of": "better"}, "holds"),  # b never
        (traced((1, 0.9), (2, 0.9)), traced((1.5, 0.9), (3, 0.9)), {}, "holds"),
        (
            traced((1, 0.9), (2, 0.9)),
            traced((1.5, 0.9), (3, 0.9)),
            {"factor": 2.0},
            "does not hold",
        ),
    ],
)
def test_sooner(judge, own, other, more, verdict):
    assert str(judge(SOONER | more, fits(own, other))[0]) == verdict


def test_sooner_says_nothing_of_trainings_most_of_which_were_disturbed(judge):
    early = [fit | {"timing": timed(1)["timing"]} for fit in traced((1, 0.9), (5, 0.9))]
    late = [fit | {"timing": timed(1, 2, slowdown=4.0)["timing"]} for fit in traced((9, 0.9))]
    assert str(judge(SOONER, fits(early, late))[0]) == "holds"
    found, _ = judge(SOONER, fits(late, late))
    assert str(found).startswith("not testable here: 10 of 10 fits disturbed, timed on the wall")


def test_sooner_in_part_and_without_results(judge):
    early, late = traced((1, 0.9), (5, 0.9)), traced((5, 0.9), (6, 0.9))
    of_each = by_dataset(*[fits(early, AT_ONCE)] * 3, fits(late, AT_ONCE))
    found, _ = judge(SOONER | {"in_part": "any"}, of_each)
    assert str(found) == "holds in part: 3 of 4"
    found, _ = judge(SOONER | {"b": "absent"}, fits(early, AT_ONCE))
    assert str(found).startswith("not testable here: absent was not run")


def test_the_interval_of_a_ratio_has_about_its_confidence():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        a, b = rng.lognormal(0, 0.3, 40), rng.lognormal(1, 0.3, 40)
        of_a, of_b = resampled_medians([a, b])
        low, high = interval_of(of_b / of_a)
        covered += low <= np.e <= high
    assert 88 <= covered <= 99
