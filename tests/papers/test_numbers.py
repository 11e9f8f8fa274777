"""Tests of exponents and of numbers against bounds, made up so that the verdict is known."""

import json

import numpy as np
import pytest

from dsgkit.papers.claims_text import evidence_row
from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import Case
from dsgkit.papers.verdicts import Point, merged
from tests.papers.conftest import by_dataset, judged

SIZES = (500, 2000, 5000)
SPREAD = (0.98, 0.99, 1.0, 1.01, 1.02)


def power(exponent, scale=1e-6, sizes=SIZES):
    return {n: [scale * n**exponent * s for s in SPREAD] for n in sizes}


GROWS = {"test": "grows", "a": "own", "measure": "fit", "interval": [1.7, 2.1]}
HALF = by_dataset(*[{"own": power(2)}] * 2, *[{"own": power(1)}] * 2)
FEW = {"own": power(2, sizes=SIZES[:2])}
SETTLED = {
    "own": {
        n: [{"times": {"fit": t}, "params": {"gamma": 0.0}} for t in values]
        + [{"times": {"fit": 1e-3}, "params": {"gamma": 1.0}}] * 9
        for n, values in power(2).items()
    }
}
MEMORY = {"measure": "peak_memory"}
ON_TOP = {"own": {n: [2**28 + n * n] * 5 for n in SIZES}, "other": {n: [2**28] * 5 for n in SIZES}}
NOT_ABOVE = ON_TOP | {"own": ON_TOP["own"] | {500: [2**28] * 5}}


@pytest.mark.parametrize(
    ("of", "more", "verdict", "exponent"),
    [
        ({"own": power(2)}, {}, "holds", 2),
        ({"own": power(1)}, {}, "does not hold", 1),
        ({"own": power(3)}, {"interval": [1.7, None]}, "holds", 3),
        ({"own": power(0)}, {"interval": [None, 0.1]}, "holds", 0),
        (HALF, {"in_part": "any"}, "holds in part: 2 of 4", 2),
        (FEW, {}, "not testable here: own: 2 of 3 sizes have 5 trials (codrna", None),
        (FEW, {"lengths": 2}, "holds", 2),
        ({"own": power(2)}, {"sizes": {"min": 1000}}, "not testable here", None),
        # without fits at some setting
        (SETTLED, {}, "does not hold", 0),
        (SETTLED, {"leave_out": {"gamma": 1}}, "holds", 2),
        # on top of what another solver takes; what is not above that does not count
        (ON_TOP, MEMORY, "does not hold", None),
        (ON_TOP, MEMORY | {"minus": "other"}, "holds", 2),
        (NOT_ABOVE, MEMORY | {"minus": "other"}, "not testable here: own: 2", None),
        (NOT_ABOVE, MEMORY | {"minus": "other", "lengths": 2}, "holds", 2),
    ],
)
def test_grows(judge, of, more, verdict, exponent):
    found, (point, *_) = judge(GROWS | more, of)
    assert str(found).startswith(verdict)
    if exponent is not None:
        assert point.estimate == pytest.approx(exponent, abs=1e-6)
        assert point.low <= point.estimate <= point.high


def test_time_grows_with_a_parameter_of_several_entries(made):
    lengths = (100, 200, 400)
    fits = {f"own_{t}": {2000: power(2, sizes=[t])[t]} for t in lengths}
    params = {f"own_{t}": {"n_iterations": t} for t in lengths}
    case = Case("codrna", made(fits, "fit", params=params))
    criterion = GROWS | {"a": list(fits), "axis": "n_iterations", "configs": ["x"]}
    found, (point,) = judged(criterion, Scope([case]))
    assert (str(found), point.estimate) == ("holds", pytest.approx(2))


LENGTHS = [16, 64, 256, 1024, 4096]
RATE = {"test": "rate", "study": "convergence", "x": "t", "y": "errors"}
RATE |= {"exponent": -1, "tolerance": 0.25}


def study(exponent, first=1.0):
    errors = [[scale * t**exponent for t in LENGTHS] for scale in (0.5, 1.5)]
    errors = np.array(errors)
    errors[:, 0] *= first
    return {"convergence": {"t": LENGTHS, "errors": errors.tolist()}}


NEAR = {"one_sided": True, "ends_below": 1e-3}


@pytest.mark.parametrize(
    ("numbers", "more", "verdict"),
    [
        (study(-1.0), {}, "holds"),
        (study(-1.2), {}, "holds"),
        (study(-0.5), {}, "does not hold"),
        (study(-2.0), {}, "does not hold"),
        (study(-2.0), {"one_sided": True}, "holds"),
        (study(-0.5), {"one_sided": True}, "does not hold"),
        (study(-1.0), {"study": "other"}, "not testable here: study other was not run"),
        ({"convergence": {"t": LENGTHS}}, {}, "not testable here: study convergence has no errors"),
        # short runs may be left out
        (study(-1.0, first=1e-3), {}, "does not hold"),
        (study(-1.0, first=1e-3), {"x_min": 64}, "holds"),
        (study(-1.0, first=1e-3), {"x_min": 1024}, "not testable here: 2 lengths"),
        # a rate is judged where the longest run is near
        (study(-1.0), NEAR, "holds"),
        (study(-3.0), NEAR, "holds"),
        (study(-0.5), NEAR | {"ends_below": 0.1}, "does not hold"),
        (study(-1.0), NEAR | {"ends_below": 1e-4},
         "not testable here: still 0.000244 at t 4,096, above 0.0001"),
        (study(0.5), NEAR | {"ends_below": 0.1},
         "not testable here: still 64 at t 4,096, above 0.1"),
    ],
)  # fmt: skip
def test_rate_of_a_study(numbers, more, verdict):
    of_json = json.loads(json.dumps(numbers))
    assert str(judged(RATE | more, Scope(studies=of_json))[0]).startswith(verdict)


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


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "holds"),
        ({"exponent": -2}, "does not hold"),
        ({"a": "other"}, "not testable here: no auc of other along 5 trainings"),
    ],
)
def test_rate_of_a_trace(judge, more, verdict):
    fits = traced({t: [1 / t] * 5 for t in LENGTHS}) | {"other": {2000: [0.9] * 5}}
    assert str(judge(OF_TRACE | more, fits)[0]).startswith(verdict)


WITHIN = {"test": "within", "a": "own", "measure": "auc", "interval": [0.8, 0.9]}
AROUND = WITHIN | {"interval": [-1, 1], "around": {"codrna": 2, "ijcnn1": 2}}
LARGE = WITHIN | {"measure": "fit", "sizes": {"min": 2000}, "in_part": "any"}
AT_EACH = by_dataset(*[{"own": {2000: [n] * 5}} for n in (2.0, 3.0, 8.0)])
DIAGNOSED = {"own": {2000: [{"diagnostics": {"objective": 1.5}}] * 5}}
RATIO = {"test": "ratio", "a": "own", "b": "other", "measure": "peak_memory"}
RATIO |= {"interval": [None, 0.5], "in_part": "any"}


def aucs(first):
    return {"own": {2000: [first, 0.82, 0.83, 0.84, 0.85]}}


def memory(own):
    values = ["diverged"] * 5 if own is None else [own * 2**20] * 5
    return {"own": {2000: values}, "other": {2000: [2 * 2**20] * 5}}


@pytest.mark.parametrize(
    ("criterion", "of", "verdict"),
    [
        (WITHIN | {"of": "each"}, aucs(0.81), "holds"),
        (WITHIN | {"of": "each"}, aucs(0.7), "does not hold"),
        (WITHIN | {"of": "mean"}, aucs(0.7), "holds"),
        (WITHIN | {"of": "mean"}, aucs(0.1), "does not hold"),
        (WITHIN | {"of": "median"}, aucs(0.1), "holds"),
        (WITHIN | {"of": "mean"}, {"own": {2000: [0.81] * 4}}, "not testable here"),
        # around a number of each dataset
        (AROUND | {"around": {"codrna": 2, "ijcnn1": 2, "skin": 7}}, AT_EACH, "holds"),
        (AROUND, AT_EACH, "not testable here: 2 of 3 datasets have enough results; nothing to be "
         "around (skin)"),
        # a time at large sizes
        (LARGE | {"interval": [None, 30]}, {"own": power(2)}, "holds"),
        (LARGE | {"interval": [None, 10]}, {"own": power(2)}, "holds in part: 4 of 8"),
        (WITHIN | {"measure": "objective", "interval": [1, 2]}, DIAGNOSED, "holds"),
        (WITHIN | {"measure": "risk"}, DIAGNOSED, "not testable here: own has no risk (codrna"),
        (RATIO, memory(1), "holds"),
        (RATIO, memory(3), "does not hold"),
        (RATIO, memory(None), "not testable here"),
        (RATIO, by_dataset(memory(1), memory(3), memory(3)), "holds in part: 1 of 3"),
    ],
)  # fmt: skip
def test_within_and_ratio(judge, criterion, of, verdict):
    assert str(judge(criterion, of)[0]).startswith(verdict)


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
        ({"number": "arms.1.gap", "at_most": 0}, {},
         "not testable here: study risks has no arms.1.gap (nothing at 1)"),
    ],
)  # fmt: skip
def test_identity(check, more, verdict):
    found, _ = judged(IDENTITY | more | {"checks": [check]}, Scope(studies=NUMBERS))
    assert str(found).startswith(verdict)


def test_numbers_of_a_list_are_told_together_where_they_agree_and_where_not():
    numbers = {"risks": {"gaps": [0.5, -1, 2, 0, 1], "one": 3}}
    checks = [{"number": "gaps", "at_least": 0}, {"number": "one", "at_least": 0}]
    _, points = judged(IDENTITY | {"checks": checks}, Scope(studies=numbers))
    rows = [[row[4], row[7], row[8]] for row in map(evidence_row, merged(points))]
    assert rows == [["0 to 2", "yes", "4 of 5 numbers"], ["-1", "no", "2 of 5"], ["3", "yes", ""]]


@pytest.mark.parametrize(
    ("unit", "texts"),
    [
        ("seconds", ["2 s", "90 s", "-1.5 s"]),
        ("bytes", ["2.0 MiB", "90.0 MiB", "-1.5 MiB"]),
        ("percent", ["2.00%", "90.00%", "-1.50%"]),
        ("", ["2", "90", "-1.5"]),
    ],
)
def test_evidence_has_the_unit_and_the_sign_of_its_values(unit, texts):
    factor = {"bytes": 2**20, "percent": 0.01}.get(unit, 1)
    a, b, change = (factor * value for value in (2, 90, -1.5))
    row = evidence_row(Point("flame", a_value=a, b_value=b, estimate=change, unit=unit))
    assert [row[4], row[5], row[6]] == texts
