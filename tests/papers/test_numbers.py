"""Tests of exponents and of numbers against bounds, made up so that the verdict is known."""

import json

import numpy as np
import pytest

from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import Case
from tests.papers.conftest import DATASETS, judged

SIZES = (500, 2000, 5000)
SPREAD = (0.98, 0.99, 1.0, 1.01, 1.02)


def power(exponent, scale=1e-6, sizes=SIZES):
    return {n: [scale * n**exponent * s for s in SPREAD] for n in sizes}


def by_dataset(*of_each):
    return dict(zip(DATASETS, of_each, strict=False))


GROWS = {"test": "grows", "a": "own", "measure": "fit", "interval": [1.7, 2.1]}


@pytest.mark.parametrize(
    "exponent, interval, verdict",
    [
        (2.0, [1.7, 2.1], "holds"),
        (1.0, [1.7, 2.1], "does not hold"),
        (3.0, [1.7, None], "holds"),
        (0.0, [None, 0.1], "holds"),
    ],
)
def test_grows(judge, exponent, interval, verdict):
    found, points = judge(GROWS | {"interval": interval}, {"own": power(exponent)})
    assert str(found) == verdict
    assert points[0].estimate == pytest.approx(exponent)
    assert points[0].low <= points[0].estimate <= points[0].high


def test_grows_in_part_and_needs_sizes(judge):
    of_each = by_dataset(*[{"own": power(2)}] * 2, *[{"own": power(1)}] * 2)
    assert str(judge(GROWS | {"in_part": "any"}, of_each)[0]) == "holds in part: 2 of 4"
    few = {"own": power(2, sizes=SIZES[:2])}
    found, _ = judge(GROWS, few)
    assert str(found).startswith("not testable here: own: 2 of 3 sizes have 5 trials (codrna")
    assert str(judge(GROWS | {"lengths": 2}, few)[0]) == "holds"
    assert str(judge(GROWS | {"sizes": {"min": 1000}}, {"own": power(2)})[0])[:3] == "not"


def test_growth_without_fits_at_some_setting(judge):
    fits = {
        n: [{"times": {"fit": t}, "params": {"gamma": 0.0}} for t in values]
        + [{"times": {"fit": 1e-3}, "params": {"gamma": 1.0}}] * 9
        for n, values in power(2).items()
    }
    assert str(judge(GROWS, {"own": fits})[0]) == "does not hold"
    assert str(judge(GROWS | {"leave_out": {"gamma": 1}}, {"own": fits})[0]) == "holds"


def test_memory_grows_on_top_of_that_of_another_solver(judge):
    base = dict.fromkeys(SIZES, [2**28] * 5)
    own = {n: [2**28 + n * n for _ in range(5)] for n in SIZES}
    criterion = GROWS | {"measure": "peak_memory", "minus": "other"}
    found, points = judge(criterion, {"own": own, "other": base})
    assert str(found) == "holds"
    assert points[0].estimate == pytest.approx(2)
    assert str(judge(GROWS | {"measure": "peak_memory"}, {"own": own})[0]) == "does not hold"
    own[500] = base[500]  # not above: it does not count
    assert str(judge(criterion, {"own": own, "other": base})[0]).startswith(
        "not testable here: own: 2"
    )
    assert str(judge(criterion | {"lengths": 2}, {"own": own, "other": base})[0]) == "holds"


def test_time_grows_with_a_parameter_of_several_entries(made):
    lengths = (100, 200, 400)
    fits = {f"own_{t}": {2000: power(2, sizes=[t])[t]} for t in lengths}
    params = {f"own_{t}": {"n_iterations": t} for t in lengths}
    case = Case("codrna", made(fits, "fit", params=params))
    criterion = GROWS | {"a": list(fits), "axis": "n_iterations", "configs": ["x"]}
    found, points = judged(criterion, Scope([case]))
    assert str(found) == "holds"
    assert (len(points), points[0].estimate) == (1, pytest.approx(2))


LENGTHS = [16, 64, 256, 1024, 4096]
RATE = {"test": "rate", "study": "convergence", "x": "t", "y": "errors"}
RATE |= {"exponent": -1, "tolerance": 0.25}


def study(exponent, first=1.0):
    errors = [[scale * t**exponent for t in LENGTHS] for scale in (0.5, 1.5)]
    errors = np.array(errors)
    errors[:, 0] *= first
    return {"convergence": {"t": LENGTHS, "errors": errors.tolist()}}


@pytest.mark.parametrize(
    "exponent, more, verdict",
    [
        (-1.0, {}, "holds"),
        (-1.2, {}, "holds"),
        (-0.5, {}, "does not hold"),
        (-2.0, {}, "does not hold"),
        (-2.0, {"one_sided": True}, "holds"),
        (-0.5, {"one_sided": True}, "does not hold"),
        (-1.0, {"study": "other"}, "not testable here: study other was not run"),
    ],
)
def test_rate_of_a_study(exponent, more, verdict):
    found, _ = judged(RATE | more, Scope(studies=study(exponent)))
    assert str(found) == verdict


def test_short_runs_may_be_left_out_of_a_rate():
    scope = Scope(studies=study(-1.0, first=1e-3))
    assert str(judged(RATE, scope)[0]) == "does not hold"
    assert str(judged(RATE | {"x_min": 64}, scope)[0]) == "holds"
    assert str(judged(RATE | {"x_min": 1024}, scope)[0]).startswith("not testable here: 2 lengths")


@pytest.mark.parametrize(
    "exponent, ends_below, verdict",
    [
        (-1.0, 1e-3, "holds"),
        (-3.0, 1e-3, "holds"),
        (-0.5, 0.1, "does not hold"),
        (-1.0, 1e-4, "not testable here: still 0.000244 at t 4,096, above 0.0001"),
        (0.5, 0.1, "not testable here: still 64 at t 4,096, above 0.1"),
    ],
)
def test_a_rate_is_judged_where_the_longest_run_is_near(exponent, ends_below, verdict):
    criterion = RATE | {"one_sided": True, "ends_below": ends_below}
    assert str(judged(criterion, Scope(studies=study(exponent)))[0]).startswith(verdict)


def test_runs_that_are_still_far_do_not_count_for_a_rate(judge):
    near, slow, far = (traced(power(e, scale, LENGTHS)) for e, scale in TRANSIENTS)
    criterion = OF_TRACE | {"one_sided": True, "ends_below": 0.1, "in_part": "any"}
    assert str(judge(criterion, by_dataset(near, near, near, far))[0]).startswith("holds")
    found, points = judge(criterion, by_dataset(near, near, slow, far))
    assert str(found).startswith("holds in part: 2 of 3")
    assert [point.counts for point in points] == [1.0, 1.0, 0.0, None]
    assert str(judge(criterion, by_dataset(far, far, far, far))[0]).startswith("not testable here")
    assert (
        str(judge(criterion | {"ends_below": None}, by_dataset(far, far, far, far))[0]) == "holds"
    )


TRANSIENTS = ((-1.0, 1.0), (-0.5, 1.0), (-3.0, 1e13))
"""Exponents and scales: as the theory has it, too slow, and from far away."""

OF_TRACE = RATE | {"study": None, "x": None, "y": None, "a": "own", "measure": "auc"}


def traced(values):
    """Return trials with a measure along training, from its values at each length."""
    of_each = [
        [{"iteration": t, "seconds": 0.1 * t, "auc": one[i]} for t, one in values.items()]
        for i in range(len(SPREAD))
    ]
    return {"own": {2000: [{"auc": trace[-1]["auc"], "trace": trace} for trace in of_each]}}


def test_rate_of_a_trace(judge):
    fits = traced({t: [1 / t] * 5 for t in LENGTHS}) | {"other": {2000: [0.9] * 5}}
    criterion = OF_TRACE
    assert str(judge(criterion, fits)[0]) == "holds"
    assert str(judge(criterion | {"exponent": -2}, fits)[0]) == "does not hold"
    found, _ = judge(criterion | {"a": "other"}, fits)
    assert str(found).startswith("not testable here: no auc of other along 5 trainings")


WITHIN = {"test": "within", "a": "own", "measure": "auc", "interval": [0.8, 0.9]}


@pytest.mark.parametrize(
    "values, of, verdict",
    [
        ([0.81, 0.82, 0.83, 0.84, 0.85], "each", "holds"),
        ([0.7, 0.82, 0.83, 0.84, 0.85], "each", "does not hold"),
        ([0.7, 0.82, 0.83, 0.84, 0.85], "mean", "holds"),
        ([0.1, 0.82, 0.83, 0.84, 0.85], "mean", "does not hold"),
        ([0.1, 0.82, 0.83, 0.84, 0.85], "median", "holds"),
        ([0.81] * 4, "mean", "not testable here"),
    ],
)
def test_within(judge, values, of, verdict):
    assert judge(WITHIN | {"of": of}, {"own": {2000: values}})[0].outcome == verdict


def test_within_limits_around_a_number_of_each_dataset(judge):
    fits = by_dataset(*[{"own": {2000: [n] * 5}} for n in (2.0, 3.0, 8.0)])
    criterion = WITHIN | {"interval": [-1, 1], "around": {"codrna": 2, "ijcnn1": 2, "skin": 7}}
    assert str(judge(criterion, fits)[0]) == "holds"
    found, _ = judge(criterion | {"around": {"codrna": 2, "ijcnn1": 2}}, fits)
    assert str(found).endswith("nothing to be around (skin)")


def test_a_time_within_a_limit_at_large_sizes(judge):
    criterion = {"test": "within", "a": "own", "measure": "fit", "sizes": {"min": 2000}}
    criterion |= {"interval": [None, 30], "in_part": "any"}
    assert str(judge(criterion, {"own": power(2)})[0]) == "holds"
    found, _ = judge(criterion | {"interval": [None, 10]}, {"own": power(2)})
    assert str(found) == "holds in part: 4 of 8"


def test_a_diagnostic_can_be_judged(judge):
    fits = {"own": {2000: [{"diagnostics": {"objective": 1.5}}] * 5}}
    criterion = WITHIN | {"measure": "objective", "interval": [1, 2]}
    assert str(judge(criterion, fits)[0]) == "holds"
    found, _ = judge(criterion | {"measure": "risk"}, fits)
    assert str(found).startswith("not testable here: own has no risk (codrna")


RATIO = {"test": "ratio", "a": "own", "b": "other", "measure": "peak_memory"}
RATIO |= {"interval": [None, 0.5]}


@pytest.mark.parametrize(
    "own, verdict", [(1, "holds"), (3, "does not hold"), (None, "not testable here")]
)
def test_ratio(judge, own, verdict):
    values = ["diverged"] * 5 if own is None else [own * 2**20] * 5
    found, _ = judge(RATIO, {"own": {2000: values}, "other": {2000: [2 * 2**20] * 5}})
    assert found.outcome == verdict


def test_ratio_in_part(judge):
    small = {"own": {2000: [2**18] * 5}, "other": {2000: [2**20] * 5}}
    large = {"own": {2000: [2**20] * 5}, "other": {2000: [2**20] * 5}}
    found, _ = judge(RATIO | {"in_part": "any"}, by_dataset(small, large, large))
    assert str(found) == "holds in part: 1 of 3"


IDENTITY = {"test": "identity", "study": "risks"}
NUMBERS = {"risks": {"arms": [{"gap": [0.1, -0.2], "error": [0.2, 0.1]}], "seconds": 155}}


@pytest.mark.parametrize(
    "check, more, verdict",
    [
        ({"number": "seconds", "at_most": 3600}, {}, "holds"),
        ({"number": "seconds", "at_least": 156.0}, {}, "does not hold"),
        ({"number": "arms.0.gap", "at_most": "arms.0.error"}, {}, "holds"),
        ({"number": "arms.0.gap", "at_least": 0}, {"in_part": "any"}, "holds in part: 1 of 2"),
        ({"number": "seconds", "at_most": 1}, {"study": "none"}, "not testable here: study none"),
    ],
)
def test_identity(check, more, verdict):
    found, _ = judged(IDENTITY | more | {"checks": [check]}, Scope(studies=NUMBERS))
    assert str(found).startswith(verdict)


def test_a_number_that_a_study_does_not_have_leaves_the_claim_open():
    criterion = IDENTITY | {"checks": [{"number": "arms.1.gap", "at_most": 0}]}
    verdict, points = judged(criterion, Scope(studies=NUMBERS))
    assert str(verdict) == "not testable here: study risks has no arms.1.gap (nothing at 1)"
    assert points == []


def test_studies_are_as_json_has_them():
    scope = Scope(studies=json.loads(json.dumps(study(-1.0))))
    assert str(judged(RATE, scope)[0]) == "holds"
