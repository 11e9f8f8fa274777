"""The tests of claims on invented results whose verdict is known, and against SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dsgkit.experiment import frames
from dsgkit.experiment.runs import new_run
from dsgkit.papers.cases import Case
from dsgkit.papers.judge import Kept
from dsgkit.papers.tests import interval_of, resampled_medians
from dsgkit.published.bsgd_svc import METHODS, datasets, value
from dsgkit.tasks.measures import Measure, Published, PublishedFigure
from tests.papers.judged import DATASETS, by_dataset, judged, judged_runs, run_of, timed

EVERY = f"({', '.join(DATASETS)})"
NOT = "not testable here"
LOW = [0.80, 0.82, 0.81, 0.83, 0.79]
SLOW, FAST = [2.0, 2.1, 2.2, 2.3, 2.4], [1.0, 1.1, 1.2, 1.3, 1.4]
NOISY, QUICKEST, LATE = [0.2, 5.0, 1.3, 9.0, 0.9], [0.1] * 5, ["timeout"] * 5
LENGTHS, SIZES = [16, 64, 256, 1024, 4096], (500, 2000, 5000)


def plus(*differences):
    return [round(value + d, 6) for value, d in zip(LOW, differences, strict=True)]


SAME, LOWER = plus(0.001, -0.001, 0.002, -0.002, 0.0), plus(*[-0.01] * 5)
HIGH, WIDE = plus(0.05, 0.06, 0.05, 0.07, 0.04), plus(0.05, -0.06, 0.05, -0.06, 0.02)


def fits(own, other, **more):
    return {key: {2000: one} for key, one in ({"own": own, "other": other} | more).items()}


def compared(name, **more):
    return {"test": name, "a": "own", "b": "other", **more}


EQUAL = compared("equal", measure="auc", margin=0.01)
BETTER = compared("better", measure="auc")
BEST = compared("best_of", b={"best": ["other", "third"]}, measure="auc")
COUNT = compared("count", a={"best": ["own", "second"]}, measure="auc")
CHOSEN = by_dataset(*[fits(HIGH, LOW, third=HIGH), fits(HIGH, HIGH, third=LOW)] * 2)
TIE, WORSE = fits(LOW, SAME, second=LOW), fits(LOW, HIGH, second=LOW)
OF_VALUES = [
    (EQUAL, fits(SAME, LOW), "holds"),
    (EQUAL, fits(WIDE, LOW), "holds"),
    (EQUAL, fits(HIGH, LOW), "does not hold"),
    (EQUAL | {"one_sided": True}, fits(HIGH, LOW), "holds"),
    (EQUAL | {"one_sided": True}, fits(LOW, HIGH), "does not hold"),
    (EQUAL | {"one_sided": True, "better": "lower"}, fits(LOW, HIGH), "holds"),
    (EQUAL, fits(SAME[:4], LOW[:4]), f"{NOT}: own: 4 trials {EVERY}"),
    (EQUAL, fits(["diverged", *HIGH[1:]], LOW), f"{NOT}: own: 4 trials, 1 diverged"),
    (EQUAL, fits([*LOW, *LATE[:2]], [*LATE[:2], *LOW]), f"{NOT}: too few common trials"),
    # the best of some is chosen on every dataset
    (EQUAL | {"b": {"best": ["other", "third"]}, "margin": 0.001}, CHOSEN, "holds"),
    (BETTER, fits(HIGH, LOW), "holds"),
    (BETTER, fits(LOW, HIGH), "does not hold"),
    (BETTER | {"better": "lower"}, fits(LOW, HIGH), "holds"),
    (BETTER | {"measure": "error"}, fits(LOW, HIGH), "holds"),
    (BETTER, fits(WIDE, LOW), "undecided"),
    (BETTER, fits(LOW, LOW), "does not hold"),  # a gain that matters is excluded
    (BETTER, fits(SAME, LOW), "does not hold"),
    (BETTER | {"margin": 0.001}, fits(SAME, LOW), "undecided"),
    (BETTER, fits(plus(*[0.002] * 4, 0.0021), LOW), "does not hold"),  # significant, and small
    (BETTER | {"margin": 0.001}, fits(plus(*[0.002] * 4, 0.0021), LOW), "holds"),
    (BETTER | {"least": 0.1}, fits(HIGH, LOW), "does not hold"),
    (BETTER | {"b": "third"}, fits(HIGH, LOW), f"{NOT}: third was not run {EVERY}"),
    (BETTER, by_dataset(*[fits(HIGH, LOW)] * 3, fits(LOW, HIGH)), "holds in part (3 of 4)"),
    (BETTER, by_dataset(fits(HIGH, LOW), fits(LOW, HIGH), *[fits(WIDE, LOW)] * 2), "hardly"),
    (BEST, fits(HIGH, SAME, third=LOW), "holds"),
    (BEST, fits(LOWER, SAME, third=LOW), "does not hold"),
    (BEST, fits(SAME, SAME, third=LOW), "holds in part (2 of 4)"),  # a tie as printed is a half
    (BEST, fits(LOW[:3], SAME, third=LOW), NOT),
    (COUNT, TIE, "holds"),  # a tie is good enough
    (COUNT, by_dataset(*[TIE] * 2, *[WORSE] * 2), "holds in part (2 of 4)"),
]  # fmt: skip


def crossing(**other):
    slow = {n: other.get(f"n{n}", SLOW) for n in SIZES}
    return {"own": dict.fromkeys(SIZES, FAST), "other": slow}


def traced(*steps, **fields):
    """Return five fits with AUCs along training, of (seconds, AUC)."""
    trace = [{"iteration": i, "seconds": s, "auc": auc} for i, (s, auc) in enumerate(steps, 1)]
    end = {"scores": {"auc": steps[-1][1]}, "times": {"fit": steps[-1][0]}}
    return [end | {"trace": trace} | fields] * 5


FASTER, ENDS = compared("faster"), compared("ends", gib=80)
CROSSES = compared("crosses", at_most=5000)
SOONER = compared("sooner", measure="auc")
BIG = {"own": {9000: FAST}, "other": {9000: SLOW}}
AT_ONE = [{"times": {"fit": 1.0}, "params": {"gamma": 1}}]
NOT_AT_ONE = {"leave_out": {"gamma": 1}}
REFUSED = fits(FAST, ["refused"] * 5)
AT_ONCE = [{"scores": {"auc": 0.9}, "times": {"fit": 4.0}}] * 5
SELDOM = [{"scores": {"auc": 0.5}, "times": {"fit": 4.0}}] * 4 + AT_ONCE[:1]
EARLY = traced((1, 0.89), (5, 0.95))
MEASURED, BUSY = ({"timing": timed(1, 2, slow)["timing"]} for slow in (1.0, 4.0))
OF_TIMES = [
    (FASTER, fits(FAST, SLOW), "holds"),
    (FASTER, fits(SLOW, FAST), "does not hold"),
    (FASTER, fits(FAST, NOISY), "undecided"),  # the interval of the ratio has 1 in it
    (FASTER, fits(FAST, LATE), "holds"),
    (FASTER, fits(LATE, SLOW), "does not hold"),
    (FASTER, fits(LATE, LATE), f"{NOT}: both were stopped {EVERY}"),
    # a search that was stopped says nothing of fits
    (FASTER, fits(FAST, ["timeout while searching"] * 5),
     f"{NOT}: other: 5 timeout while searching {EVERY}"),
    (FASTER | {"factor": 1.8}, fits(FAST, SLOW), "holds"),
    (FASTER | {"factor": 1.9}, fits(FAST, SLOW), "undecided"),
    (FASTER | {"factor": 4}, fits(FAST, SLOW), "does not hold"),
    (FASTER | {"factor": 100}, fits(FAST, LATE), "undecided"),  # it took its limit at least
    # every pair must hold
    (FASTER | {"b": ["other", "third"]}, fits(FAST, SLOW, third=QUICKEST),
     "holds in part: 1 of 2 pairs hold"),
    # a claim about many rows is not about small datasets
    (FASTER | {"sizes": {"min": 5000}}, by_dataset(BIG, *[fits(SLOW, FAST)] * 2, BIG), "holds"),
    (FASTER | {"sizes": {"min": 5000}}, fits(FAST, SLOW), f"{NOT}: no dataset has such a size"),
    (CROSSES | {"at_most": 500}, crossing(), "holds"),
    (CROSSES | {"at_most": 2000}, crossing(n500=QUICKEST), "holds"),
    (CROSSES | {"at_most": 1000}, crossing(n500=QUICKEST), "undecided"),  # somewhere from 500 on
    (CROSSES | {"at_most": 2000}, crossing(n2000=QUICKEST), "does not hold"),  # from 5,000 on only
    (CROSSES, crossing(n5000=QUICKEST), "does not hold"),
    (CROSSES | {"at_most": 10_000}, crossing(n5000=QUICKEST),
     f"{NOT}: not faster at the largest common size"),
    (CROSSES, fits(LATE, LATE), f"{NOT}: both were stopped"),
    (ENDS, REFUSED, "holds"),
    (ENDS, fits(FAST, ["refused"] * 4 + ["out_of_memory"]), "holds"),
    (ENDS, fits(FAST, LATE), f"{NOT}: other: 5 timeout"),
    (ENDS, fits(FAST, SLOW), "does not hold"),
    (ENDS, fits(SLOW[:4], ["refused"] * 5), f"{NOT}: own: 4 trials"),
    # a trial that solves a smaller system says nothing
    (ENDS, fits(FAST, AT_ONE + ["refused"] * 4), "does not hold"),
    (ENDS | NOT_AT_ONE, fits(FAST, AT_ONE + ["refused"] * 4), "holds"),
    (ENDS | NOT_AT_ONE, fits(AT_ONE * 5, ["refused"] * 5), "holds"),
    # what a config leaves out is no end
    (ENDS, {"own": {500: FAST, 2000: FAST}, "other": {500: SLOW}},
     f"{NOT}: other is left out {EVERY}"),
    (SOONER | {"margin": 0.02}, fits(EARLY, AT_ONCE), "holds"),
    (SOONER, fits(EARLY, AT_ONCE), "does not hold"),
    (SOONER, fits(traced((1, 0.89), (5, 0.89)), AT_ONCE), "does not hold"),  # never
    (SOONER | {"of": "better"}, fits(EARLY, AT_ONCE), "holds"),  # the other one never
    (SOONER, fits(traced((1, 0.9), (2, 0.9)), traced((1.5, 0.9), (3, 0.9))), "holds"),
    # the mean is above what most of the trials reach
    (SOONER, fits(traced((1, 0.5)), SELDOM), f"{NOT}: never by either"),
    (SOONER, fits(AT_ONCE, AT_ONCE), f"{NOT}: no auc along training"),
    # it says nothing of trainings that were disturbed
    (SOONER, fits(traced((1, 0.9), **MEASURED), traced((9, 0.9), **MEASURED)), "holds"),
    (SOONER, fits(traced((1, 0.9), **MEASURED), traced((9, 0.9), **BUSY)), f"{NOT}: disturbed"),
]  # fmt: skip


def power(exponent, sizes=SIZES):
    spread = (0.98, 0.99, 1.0, 1.01, 1.02)
    return {n: [1e-6 * n**exponent * s for s in spread] for n in sizes}


def descent(exponent, scale=1.0, trials=5):
    """Return fits whose values along training fall like a power, at the larger of two sizes."""
    trace = [{"iteration": t, "seconds": t, "auc": scale * t**exponent} for t in LENGTHS]
    end = {"scores": {"auc": 0.5}, "trace": trace}
    return {"own": {500: [0.9] * 5, 2000: [end] * trials}, "other": {2000: [0.9] * 5}}


GROWS = {"test": "grows", "a": "own", "measure": "fit", "interval": [1.7, 2.1]}
MEMORY = GROWS | {"measure": "peak_memory"}
SETTLED = {
    n: [{"times": {"fit": t}, "params": {"gamma": 0.0}} for t in values]
    + [{"times": {"fit": 1e-3}, "params": {"gamma": 1}}] * 9
    for n, values in power(2).items()
}
ON_TOP = {"own": {n: [2**28 + n * n] * 5 for n in SIZES}, "other": {n: [2**28] * 5 for n in SIZES}}
NOT_ABOVE = ON_TOP | {"own": ON_TOP["own"] | {500: [2**28] * 5}}
ALONG = {"test": "traced_rate", "a": "own", "measure": "auc", "exponent": -1, "tolerance": 0.25}
NEAR = {"one_sided": True, "ends_below": 1e-3}
WITHIN = {"test": "within", "a": "own", "measure": "auc", "interval": [0.8, 0.9]}
AROUND = WITHIN | {"interval": [-1, 1], "around": {"codrna": 2, "ijcnn1": 2, "skin": 7}}
AT_EACH = by_dataset(*[{"own": {2000: [n] * 5}} for n in (2.0, 3.0, 8.0)])
DIAGNOSED = {"own": {2000: [{"diagnostics": {"objective": 1.5}}] * 5}}
RATIO = compared("ratio", measure="peak_memory", interval=[None, 0.5])
ONE, TWO, THREE = ([n, n, n, 9, 9] for n in (1, 2, 3))  # medians


def aucs(first):
    return {"own": {2000: [first, 0.82, 0.83, 0.84, 0.85]}}


OF_NUMBERS = [
    (GROWS, {"own": power(2)}, "holds"),
    (GROWS, {"own": power(1)}, "does not hold"),
    (GROWS | {"interval": [1.7, None]}, {"own": power(3)}, "holds"),
    (GROWS | {"interval": [None, 0.1]}, {"own": power(0)}, "holds"),
    (GROWS | {"a": ["own", "other"]}, {"own": power(2), "other": power(1)},
     "holds in part: 1 of 2 parts hold"),
    (GROWS, {"own": power(2, SIZES[:2])}, f"{NOT}: own: 2 of 3 sizes have 5 trials (codrna"),
    (GROWS | {"lengths": 2}, {"own": power(2, SIZES[:2])}, "holds"),
    (GROWS | {"sizes": {"min": 1000}}, {"own": power(2)}, NOT),
    (GROWS, {"own": SETTLED}, f"{NOT}: size 500 to 5,000, with an interval wider than 2"),
    # a wide interval may still exclude the claim
    (GROWS | {"interval": [None, -9]}, {"own": SETTLED}, "does not hold"),
    # 2.2 is outside, but not 2.05
    (GROWS, {"own": {n: [t * n**s for t, s in zip(of, (-0.1, 0, 0, 0, 0.1), strict=True)]
                     for n, of in power(2.2).items()}}, "undecided"),
    (GROWS | NOT_AT_ONE, {"own": SETTLED}, "holds"),
    # on top of what another solver takes; what is not above that does not count
    (MEMORY, ON_TOP, "does not hold"),
    (MEMORY | {"minus": "other"}, ON_TOP, "holds"),
    (MEMORY | {"minus": "other"}, NOT_ABOVE, f"{NOT}: own: 2 of 3"),
    (MEMORY | {"minus": "absent"}, ON_TOP, f"{NOT}: own: 0 of 3 sizes"),
    (ALONG, descent(-1), "holds"),
    (ALONG, descent(-2), "does not hold"),
    (ALONG, descent(-1, trials=4), f"{NOT}: no auc of own along 5 trainings"),
    (ALONG | {"a": "other"}, descent(-1), f"{NOT}: no auc of other along 5 trainings"),
    # runs that are still far cannot tell
    (ALONG | {"one_sided": True}, descent(-3, 1e13), "holds"),
    (ALONG | NEAR, descent(-3, 1e13), "undecided"),
    (WITHIN, aucs(0.7), "holds"),
    (WITHIN, aucs(0.1), "does not hold"),
    (WITHIN | {"of": "median"}, aucs(0.1), "holds"),
    (AROUND, AT_EACH, "holds"),
    (WITHIN | {"measure": "fit", "sizes": {"min": 2000}, "interval": [None, 10]},
     {"own": power(2)}, "holds in part (4 of 8)"),
    (WITHIN | {"measure": "objective", "interval": [1, 2]}, DIAGNOSED, "holds"),
    (WITHIN | {"measure": "risk"}, DIAGNOSED, f"{NOT}: own: 5 trials, of which 0 have a risk"),
    (RATIO, fits(ONE, TWO), "holds"),
    (RATIO, fits(THREE, TWO), "does not hold"),
    (RATIO, fits(["diverged"] * 5, TWO), NOT),
]  # fmt: skip


@pytest.mark.parametrize(("criterion", "of", "verdict"), OF_VALUES + OF_TIMES + OF_NUMBERS)
def test_verdicts_on_runs(criterion, of, verdict):
    found, _ = judged(criterion, of)
    assert found == verdict or (verdict.startswith(NOT) and found.startswith(verdict))


def test_a_small_significant_gain_says_so():
    _, points = judged(BETTER, fits(plus(*[0.002] * 4, 0.0021), LOW))
    assert {point.note for point in points} == {"significant, but below 0.01"}


@pytest.mark.parametrize("draws", ["labelled rows", ""])
def test_an_order_of_the_same_rows_is_no_sample(draws):
    run = run_of(fits(SAME, LOW), "auc", "codrna")
    run = replace(run, task=run.task.model_copy(update={"draws": draws}))
    _, [point] = judged_runs(EQUAL, {"codrna": run})
    assert (point.low is not None) == bool(draws)


def test_missing_datasets():
    found, _ = judged(FASTER, fits(FAST, SLOW), datasets=DATASETS[:2], missing=DATASETS[2:])
    told = "2 of 4 datasets have enough results; no results (skin, dota2)"
    assert found == f"{NOT}: {told}"


def study(exponent, first=1.0):
    """Return the errors of two seeds."""
    errors = np.array([[scale * t**exponent for t in LENGTHS] for scale in (0.5, 1.5)])
    errors[:, 0] *= first
    return {"t": LENGTHS, "errors": errors.tolist(), "gap": [0.1, -0.2], "arms": [{"one": 155}]}


RATE = {"test": "rate", "study": "of", "x": "t", "y": "errors", "exponent": -1, "tolerance": 0.25}
IDENTITY = {"test": "identity", "study": "of"}


def check(**bounds):
    return IDENTITY | {"checks": [bounds]}


@pytest.mark.parametrize(
    ("criterion", "numbers", "verdict"),
    [
        (RATE, study(-1.0), "holds"),
        (RATE, study(-0.5), "does not hold"),
        (RATE, study(-2.0), "does not hold"),
        (RATE | {"one_sided": True}, study(-2.0), "holds"),
        (RATE | {"one_sided": True}, study(-0.5), "does not hold"),
        (RATE | {"study": "other"}, study(-1.0), f"{NOT}: study other was not run"),
        (RATE | {"y": "none"}, study(-1.0), f"{NOT}: study of has no none (nothing at none)"),
        (RATE, study(-1.0, first=1e-3), "does not hold"),
        (RATE | {"x_min": 64}, study(-1.0, first=1e-3), "holds"),
        (RATE | {"x_min": 1024}, study(-1.0),
         f"{NOT}: 2 lengths; needs 3 with errors above 0 (of)"),
        # a run that is still far cannot tell
        (RATE | NEAR | {"ends_below": 1e-4}, study(-1.0), "undecided"),
        (check(number="arms.0.one", at_most=3600), study(-1), "holds"),
        (check(number="arms.0.one", at_least=156), study(-1), "does not hold"),
        (check(number="gap", at_most="arms.0.one"), study(-1), "holds"),
        (check(number="gap", at_least=0), study(-1), "holds in part (1 of 2)"),
        (check(number="arms.1.one", at_most=0), study(-1),
         f"{NOT}: study of has no arms.1.one (nothing at 1)"),
    ],
)  # fmt: skip
def test_verdicts_on_studies(criterion, numbers, verdict):
    assert judged(criterion, studies={"of": numbers})[0] == verdict


# --- numbers


def test_differences_have_the_interval_and_the_p_value_of_a_paired_t_test():
    _, (point, *_) = judged(EQUAL, fits(WIDE, LOW))
    interval = stats.ttest_rel(WIDE, LOW).confidence_interval(0.9)  # of two one-sided tests
    assert (point.a_value, point.b_value) == pytest.approx((np.mean(WIDE), np.mean(LOW)))
    assert point.estimate == pytest.approx(np.mean(WIDE) - np.mean(LOW))
    assert (point.low, point.high) == pytest.approx((interval.low, interval.high))
    # adjusted for the datasets
    slight = plus(0.01, 0.02, 0.0, 0.02, 0.01)
    _, points = judged(BETTER, by_dataset(fits(HIGH, LOW), *[fits(slight, LOW)] * 3))
    test = stats.ttest_rel(slight, LOW)
    interval = test.confidence_interval()
    assert test.pvalue < 0.05 < 3 * test.pvalue
    assert [point.counts for point in points] == [1, 0, 0, 0]
    assert points[1].p == pytest.approx(3 * test.pvalue)
    assert points[0].p == pytest.approx(4 * stats.ttest_rel(HIGH, LOW).pvalue)
    assert (points[1].low, points[1].high) == pytest.approx((interval.low, interval.high))
    assert [point.against for point in judged(BETTER, fits(LOW, HIGH))[1]] == [True] * 4
    # trials are paired by their number
    _, (point, *_) = judged(EQUAL, fits(["diverged", *HIGH[1:], 0.9], [*LOW, 0.8]))
    assert point.estimate == pytest.approx(np.mean([*HIGH[1:], 0.9]) - np.mean([*LOW[1:], 0.8]))


def scored(name, *values, **more):
    return [{"scores": {name: value, **more}} for value in values]


SKEWED = {"positive_true": 0.1}
LEARNT, NOT_LEARNT, WORSE_THAN_THAT = (
    scored("error", *[error + 0.001 * i for i in range(5)], **SKEWED)
    for error in (0.05, 0.093, 0.3)
)
ACCURATE, CONSTANT = (scored("accuracy", *[value] * 5) for value in (0.8, 0.7))


@pytest.mark.parametrize(
    ("measure", "of", "learnt"),
    [
        ("auc", fits([0.65] * 5, [0.72] * 5), True),
        ("auc", fits([0.65] * 5, [0.69] * 5), False),
        ("error", fits(LEARNT, WORSE_THAN_THAT), True),
        ("error", fits(NOT_LEARNT, WORSE_THAN_THAT), False),
        ("balanced_error", fits(*[scored("balanced_error", *[0.495] * 5)] * 2), False),
        ("accuracy", fits(ACCURATE, CONSTANT, majority_class=CONSTANT), True),
        ("accuracy", fits(CONSTANT, CONSTANT, majority_class=CONSTANT), False),
        ("accuracy", fits(CONSTANT, CONSTANT), True),  # nothing tells
        ("fit", fits(SLOW, SLOW, majority_class=SLOW), True),
    ],
)
def test_where_something_is_learnt(measure, of, learnt):
    criterion = compared("equal", measure=measure, margin=0.01)
    further = tuple(
        Measure(name, title=name, better="lower" if "error" in name else "higher")
        for name in ("error", "balanced_error", "accuracy")
    )
    _, found = judged(criterion, of, further=further)
    assert [point.learnt for point in found] == [learnt] * 4
    # one that is compared with a constant is not held to it beforehand
    if "majority_class" in of:
        _, found = judged(criterion | {"b": "majority_class"}, of, further=further)
        assert all(point.learnt for point in found)


def needing(*gib):
    return [{"status": "out_of_memory", "needed": one * 2**30} for one in gib]


@pytest.mark.parametrize(
    ("needed", "verdict"),
    [
        ([81] * 5, "holds"),
        ([81] * 4 + [79], "does not hold"),  # what this machine has does not count
        ([20] * 5, "does not hold"),
    ],
)
def test_memory_counts_by_what_is_planned(needed, verdict):
    found, points = judged(ENDS, fits(FAST, needing(*needed)))
    assert found == verdict
    assert all(f"planned {min(needed)} GiB" in point.note for point in points)


def test_rivals_are_met_where_all_have_results():
    third = {500: SAME, 2000: LATE}
    of = {"own": {500: LOW, 2000: HIGH}, "other": {500: HIGH, 2000: SAME}, "third": third}
    found, points = judged(BEST, of)
    assert (found, {point.size for point in points}) == ("does not hold", {500})
    third[500] = LATE
    assert judged(BEST, of)[0].startswith(f"{NOT}: third: 5 timeout (codrna")
    # of the best of some, one that finished nowhere is not waited for
    assert judged(BEST | {"test": "count"}, of)[0] == "holds"


def test_a_ratio_of_times_is_that_of_medians_with_a_bootstrap_interval():
    _, (point, *_) = judged(FASTER, fits(FAST, SLOW))
    assert (point.a_value, point.b_value, point.unit) == (1.2, 2.2, "seconds")
    assert point.estimate == pytest.approx(2.2 / 1.2)
    assert 1 < point.low < point.estimate < point.high
    rng, covered = np.random.default_rng(1), 0
    for _ in range(100):
        of_a, of_b = resampled_medians([rng.lognormal(mean, 0.3, 40) for mean in (0, 1)])
        low, high = interval_of(of_b / of_a)
        covered += low <= np.e <= high
    assert 88 <= covered <= 99
    assert interval_of(np.arange(1001)) == (25, 975)


SLOWED, DISTURBED = [timed(s, 2) for s in SLOW], timed(99.0, 2, 4.0)
ON_ONE_THREAD = [timed(s, slowdown=4.0 if s < 2.2 else 1.0) for s in SLOW]
UP_TO_THREEFOLD = [timed(40.0, slowdown=n) for n in (1.0, 3.0, 2.0, 1.0, 1.0)]


@pytest.mark.parametrize(
    ("of", "value", "note"),
    [
        # a stopped fit took the time limit at least
        (fits(FAST, [3.0, 4.0, *LATE[:3]]), 90, "other was stopped"),
        # of disturbed fits the processor time counts on one thread, and no time on several
        (fits(FAST, ON_ONE_THREAD), 2.2, ""),
        (fits([*FAST, 1.2], [*SLOWED, DISTURBED]), 2.2, ""),
        (fits(FAST, [*SLOWED[1:], DISTURBED]), None, "other: 5 trials, of which 4 have a fit"),
        # 90 s on the clock, where others took up to three times as long as on the processor
        (fits(UP_TO_THREEFOLD, LATE), 90 / 3, "other was stopped"),
        (fits(FAST, AT_ONE * 5), None, "other: 5 trials, of which 0 have a fit"),
    ],
)
def test_which_times_count(of, value, note):
    found, (point, *_) = judged(FASTER | NOT_AT_ONE, of)
    assert note in point.note
    assert point.b_value == (value and pytest.approx(value))
    lost = "undecided" if "stopped" in note else "does not hold"  # it took its limit at least
    won = value and point.a_value < value
    assert found.startswith("holds" if won else lost if value else NOT)


def test_exponents():
    for exponent in (0, 2):
        _, (point, *_) = judged(GROWS, {"own": power(exponent)})
        assert point.estimate == pytest.approx(exponent, abs=1e-6)
        assert point.low <= point.estimate <= point.high
    _, (point, *_) = judged(MEMORY | {"minus": "other"}, ON_TOP)
    assert (point.estimate, point.unit) == (pytest.approx(2), "bytes")


def test_time_grows_with_a_parameter_of_several_entries():
    of = {}
    for t, seconds in power(2, (100, 200, 400)).items():
        fields = [{"times": {"fit": s}, "params": {"n_iterations": t}} for s in seconds]
        of[f"own_{t}"] = {2000: fields}
    found, (point, *_) = judged(GROWS | {"a": [*of], "axis": "n_iterations"}, of)
    assert (found, point.estimate) == ("holds", pytest.approx(2))


# --- published tables

VARIANTS, BASELINES = [*METHODS[3:]], [*METHODS[:3]]


@pytest.mark.parametrize(
    ("measure", "good", "more", "verdict"),
    [
        ("purity", max, {"least": 12}, "holds"),
        ("purity", max, {"least": 12, "strictly": True}, "does not hold"),
        ("compactness", min, {"least": 11}, "holds"),
        ("davies_bouldin", min, {"least": 15}, "does not hold"),
        ("davies_bouldin", max, {"least": 15, "better": "higher"}, "holds"),
        ("training_seconds", min, {"least": 14}, "does not hold"),
    ],
)
def test_published(measure, good, more, verdict):
    criterion = compared("published", a=VARIANTS, b=BASELINES, measure=measure) | more
    found, (point,) = judged(criterion)
    assert found == verdict
    n = 0
    for name in datasets():
        a, b = (good(value(name, m, measure) for m in of) for of in (VARIANTS, BASELINES))
        n += good(a, b) == a and (a != b or "strictly" not in more)
    assert (point.a_value, point.b_value, point.counts) == (n, more["least"], n >= more["least"])


def reproduction(auc, error=0.2, flag="", trials=5, solver="own"):
    run = run_of({solver: {2000: [{"scores": {"auc": auc, "error": error}}] * trials}})
    figures = [
        PublishedFigure(solver=solver, measure=name, value=value, tolerance=0.05, flag=flag)
        for solver in ("own", "absent")
        for name, value in (("auc", 0.9), ("error", 0.2), ("purity", 0.1))
    ]
    published = Published(source="us", figures=tuple(figures))
    return replace(run, task=run.task.model_copy(update={"published": published}))


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (reproduction(0.846, 0.254), "holds"),  # rounding counts
        (reproduction(0.9, 0.26), "holds in part (2 of 3)"),
        (reproduction(0.9, flag="impossible"), f"{NOT}: 2 of 3 datasets have enough results; OWN:"),
        (reproduction(0.9, trials=4), f"{NOT}: 2 of 3 datasets have enough results; OWN: too few"),
        (reproduction(0.9, solver="x"), f"{NOT}: 2 of 3 datasets have enough results; no method"),
    ],
)
def test_reproduced(run, verdict):
    criterion = {"test": "reproduced", "measures": ["auc", "error"]}
    runs = {"codrna": reproduction(0.9), "ijcnn1": reproduction(0.9), "skin": run}
    assert judged_runs(criterion, runs)[0].startswith(verdict)


# --- which fits and runs count


def test_a_fit_counts_at_every_size_that_it_holds_at_and_one_to_come_nowhere():
    run = run_of({"own": {500: SAME, 2000: HIGH}, "other": {2000: LOW}}, "auc")
    cells = [
        (replace(cell, also_at=(500,)) if cell.solver == "other" else cell, record)
        for cell, record in run.cells
    ]
    to_come = replace(cells[0][0], key="x", solver="third", at={"unlabeled": 9000})
    fits = frames.fits_of([*cells, (to_come, None)], ())
    run = new_run(run.folder, run.experiment, run.task, {}, fits)
    case = Case("codrna", run)
    assert case.sizes == [500, 2000]
    assert case.ended("third", 2000) == "third is left out"
    for size, own in ((500, SAME), (2000, HIGH)):
        verdict, (point,) = judged_runs(
            EQUAL | {"sizes": {"min": size, "max": size}}, {"codrna": run}
        )
        assert (point.size, point.a_value) == (size, pytest.approx(np.mean(own)))
        assert verdict == ("holds" if size == 500 else "does not hold")


def test_the_first_profile_with_results_counts():
    run = run_of({"own": {2000: [0.5]}})
    empty = replace(run, fits=run.fits.assign(status=""))
    kept = Kept({"x-reference": empty, "x": run, "y-wide": run})
    assert kept.find("x", ["reference", "", "quick"]) is run
    assert kept.find("x", ["reference"]) is kept.find("y", ["reference", ""]) is None
