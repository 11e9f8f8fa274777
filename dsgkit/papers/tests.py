"""The tests of claims: from a criterion and results on its datasets to points of evidence.

A point is one comparison, such as of two solvers on one dataset at one size, and whether it
supports the claim. `dsgkit.papers.schema` has the settings of each test.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.linalg import Array
from dsgkit.papers.cases import Case, Sample, lack, sample, stopped
from dsgkit.papers.schema import Best, Range, Side
from dsgkit.published import bsgd_svc
from dsgkit.report.numbers import SHORTEST_TIME, counted
from dsgkit.report.stats import LEVEL, contrast, holm
from dsgkit.tasks.measures import PublishedFigure

N_RESAMPLES = 2000  # of bootstrap intervals over trials
MIN_LENGTHS = 3  # of a rate
NO_MEMORY = {"refused", "out of memory"}  # endings, planned or met

Contender = tuple[str, ...]  # the keys of a solver, or of several of which the best counts
Studies = Mapping[str, Any]  # the numbers that studies have written
Fields = dict[str, Any]  # of a point


@dataclass(frozen=True)
class Point:
    """One comparison, and whether it supports the claim."""

    where: str  # the dataset, config or study
    a: str = ""  # the compared solvers or names; b is empty without a comparison
    b: str = ""
    counts: float | None = None  # 1 if it supports the claim, 0.5 for a tie; None without evidence
    size: int = 0  # 0 without a sweep
    a_value: float | None = None
    b_value: float | None = None
    estimate: float | None = None  # the judged number, of the kind `of`, such as "ratio"
    low: float | None = None  # its interval
    high: float | None = None
    of: str = ""
    p: float | None = None  # adjusted
    against: bool = False  # whether it contradicts the claim, whatever the other points
    sure: bool = False  # whether it supports the claim significantly
    note: str = ""  # why it does not count, or another remark
    unit: str = ""  # of both values: "seconds", "bytes", "percent"


# --- who is compared with whom, and at which sizes


def contenders(side: Side) -> list[Contender]:
    """Return the contenders of a side: each solver, or the best of several as one."""
    return [tuple(side.best)] if isinstance(side, Best) else [(key,) for key in side]


def together(side: Side) -> list[Contender]:
    """Return all solvers of a side as one contender."""
    return [tuple(key for keys in contenders(side) for key in keys)]


def named(keys: Contender) -> str:
    return keys[0] if len(keys) == 1 else f"best of {', '.join(keys)}"


def chosen_sizes(sizes: Any, both: Sequence[int]) -> list[int]:
    """Return which sizes to judge, of those with enough trials of every contender, ascending."""
    if sizes == "every" or both == [0]:
        return [*both]
    if sizes == "largest":
        return [*both[-1:]]
    if isinstance(sizes, Range):
        return [n for n in both if sizes.min <= n <= (sizes.max or n)]
    return [*sizes]


def common_sizes(case: Case, needed: Sequence[Contender], c: Any) -> list[int]:
    """Return the sizes to judge, at which every contender has enough trials.

    Of the best of several, those without enough trials at any size are not waited for.
    """
    common = {*case.sizes}
    for keys in needed:
        enough = [
            {n for n in case.sizes if len(sample(case, key, n, c)) >= c.trials} for key in keys
        ]
        common = common.intersection(*([*filter(None, enough)] or [set()]))
    return chosen_sizes(c.sizes, sorted(common))


def best(case: Case, keys: Contender, size: int, c: Any) -> Sample:
    """Return the values of a contender's best solver, among those with enough trials."""
    samples = [sample(case, key, size, c) for key in keys]
    enough = [one for one in samples if len(one) >= c.trials]
    if not enough:
        return samples[0]
    return max(enough, key=lambda one: sign(case, c) * centre(case, one, c))


def sign(case: Case, c: Any) -> int:
    """Return 1 if high values are good, else -1."""
    measure = case.measure(c.measure)
    return 1 if (c.better or (measure and measure.better)) == "higher" else -1


def centre(case: Case, one: Sample, c: Any) -> float:
    """Return the median of times, else the mean, as tables do."""
    return one.median if case.is_time(c.measure) else one.mean


def compared(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Return a point per pair, dataset and size, by the function for one such comparison."""
    sides = [contenders(side) for side in (c.a, getattr(c, "b", None)) if side is not None]
    if c.test in ("count", "best_of"):
        sides = [contenders(c.a) if c.test == "best_of" else together(c.a), together(c.b)]
    points = []
    for pair in itertools.product(*sides):
        of_cases = [[*at_sizes(case, pair, c)] for case in cases]
        if c.test == "crosses":
            of_cases = [[crossing(several, c)] for several in of_cases]
        several = [point for one in of_cases for point in one]
        points += by_holm(several, c) if c.test == "better" else several
    return points


def at_sizes(case: Case, pair: Sequence[Contender], c: Any) -> Iterator[Point]:
    """Yield the points of a pair on one dataset, or a single point with the reason for none."""
    needed = [(key,) for keys in pair for key in keys] if c.test == "best_of" else pair
    sizes = common_sizes(case, needed, c)
    a, b = [*map(named, pair), ""][:2]
    for size in sizes or case.sizes[:1]:
        point = Point(case.name, a, b, size=size if sizes else 0, unit=unit(case, c))
        lacking = [keys for keys in needed if len(best(case, keys, size, c)) < c.trials]
        samples = [best(case, keys, size, c) for keys in pair]
        if lacking or not sizes:
            notes = [lack(case, key, size, c) for keys in lacking[:1] for key in keys]
            yield replace(point, note=joined(*notes) or "no common size")
        elif len(paired(*samples)[0]) < c.trials:
            yield replace(point, note="too few common trials")
        else:
            fields = COMPARISONS[c.test](case, *samples, c)
            several = any(len(keys) > 1 for keys in pair)
            chosen = " against ".join(one.key for one in samples) if several else ""
            notes = [chosen, fields.pop("note", ""), disturbances(case, samples, c)]
            yield replace(point, note=joined(*notes), **fields)


def unit(case: Case, c: Any) -> str:
    measure = case.measure(c.measure)
    return (measure.unit or ("percent" if measure.percent else "")) if measure else ""


def disturbances(case: Case, samples: Sequence[Sample], c: Any) -> str:
    """Return how many finished fits were disturbed, if times are judged and any were."""
    rows = finished(case, samples)
    if not case.is_time(c.measure) or not case.disturbed[rows].any():
        return ""
    what = "left out" if case.misleads[rows].any() else "processor time"
    return f"{case.disturbed[rows].sum()} of {len(rows)} disturbed: {what}"


def finished(case: Case, samples: Sequence[Sample]) -> Array:
    return np.concatenate([case.rows(one.key, one.size, finished=True) for one in samples])


def joined(*notes: str) -> str:
    """Return notes in one line, without empty ones."""
    return "; ".join(filter(None, notes))


# --- comparisons of one or two solvers at one size


def faster(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that b's median time is over ``factor`` times a's, and significantly above a's."""
    names = [one.key for one in (a, b) if len(stopped(case, one.key, one.size, c))]
    if len(names) == 2:
        return {"note": "both were stopped"}
    quotient, factor = b.median / max(a.median, SHORTEST_TIME), getattr(c, "factor", 1.0)
    of_a, of_b = resampled_medians([a.array, b.array])
    low, high = interval_of(of_b / np.maximum(of_a, SHORTEST_TIME))
    note = "".join(f"{name} was stopped at its time limit" for name in names)
    fields = {"low": low, "high": high, "sure": low > factor, "note": note}
    counts = float(quotient > factor and low > 1)
    return fields | numbers("ratio", quotient, a.median, b.median, counts)


def crossing(points: Sequence[Point], c: Any) -> Point:
    """Return the point at the size from which on a is faster, which is to be ``at_most``."""
    tested = [point for point in points if point.counts is not None]
    if not tested:
        return points[0]
    if run := [*itertools.takewhile(lambda point: point.counts, reversed(tested))]:
        first = run[-1]
        note = joined(f"faster from {first.size:,} on", first.note)
        return replace(first, counts=float(first.size <= c.at_most), note=note)
    last = tested[-1]
    note = f"not faster at {last.size:,}, the largest size of both"
    return replace(last, counts=0.0 if last.size >= c.at_most else None, note=note)


def sooner(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that, along training, a comes to b's final value less ``margin`` before b does.

    With ``of: better``, to that of the better of both. There is no test if most fits have
    disturbed wall times.
    """
    rows, side = finished(case, [a, b]), sign(case, c)
    slow = case.disturbed[rows].sum()
    courses = [case.courses(one.key, one.size, c.measure) for one in (a, b)]
    if min(map(len, courses)) == 0 or not any((one["iteration"] > 0).any() for one in courses):
        return {"note": f"no {c.measure} along training"}
    if case.misleads[rows].any() and 2 * slow > len(rows):
        return {"note": f"{slow} of {len(rows)} fits disturbed, timed on the wall clock"}
    target = (side * b.mean if c.of == "b" else max(side * a.mean, side * b.mean)) - c.margin
    of_a, of_b = (seconds_to(one, target, side) for one in courses)
    fields: Fields = {"unit": "seconds", "note": f"to {side * target:.4g}"}
    if of_a is not None and of_b is not None:
        quotient = of_b / max(of_a, SHORTEST_TIME)
        return fields | numbers("ratio", quotient, of_a, of_b, float(quotient > 1))
    who = "the other" if of_a is not None else "a" if of_b is not None else "either"
    counts = None if of_a is of_b else float(of_b is None)
    fields["note"] += f"; never by {who}"
    return fields | {"counts": counts, "a_value": of_a, "b_value": of_b}


def seconds_to(course: pd.DataFrame, target: float, side: int) -> float | None:
    """Return the median seconds until trials reach a value; None if half do not."""
    first = course[side * course["value"] >= target].groupby("trial")["seconds"].min()
    every = sorted(first.reindex(course["trial"].unique(), fill_value=math.inf))
    seconds = every[len(every) // 2]
    return None if math.isinf(seconds) else float(seconds)


def equal(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that the mean difference of a and b over trials is within ``margin``.

    The margin is in the measure's own unit: 0.01 is a percentage point. With ``one_sided``, a may
    be better by any amount. The interval is that of two one-sided tests at 5% (Schuirmann, A
    comparison of the two one-sided tests procedure .., 1987).
    """
    from scipy.special import stdtrit

    x, y = paired(a, b)
    mean, n = float((x - y).mean()), len(x)
    half = float(stdtrit(n - 1, 1 - LEVEL) * (x - y).std(ddof=1)) / math.sqrt(n)
    gain, most = sign(case, c) * mean, math.inf if c.one_sided else c.margin
    sure = -c.margin <= gain - half and gain + half <= most
    fields = {"low": mean - half, "high": mean + half, "sure": sure}
    counts = float(-c.margin <= gain <= most)
    return fields | numbers("difference", mean, x.mean(), y.mean(), counts)


def better(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that a is significantly better than b, by ``least`` or more in the mean.

    By paired t-tests, with Holm's correction over the points of a pair (`by_holm`).
    """
    x, y = paired(a, b)
    side = sign(case, c)
    found = contrast(side * y, side * x)
    low, high = found.interval or (None, None)
    fields = {"low": low, "high": high, "p": found.p}
    return fields | numbers("gain", found.difference, x.mean(), y.mean(), 0.0)


def by_holm(points: Sequence[Point], c: Any) -> list[Point]:
    """Return the points of a pair with outcomes by adjusted p-values.

    One that is significantly worse contradicts a claim, however many others are better.
    """
    result = []
    for point, p in zip(points, holm([point.p for point in points]), strict=True):
        if point.estimate is not None:
            beyond = p is not None and p < LEVEL
            won = beyond and point.estimate > 0 and point.estimate >= c.least
            lost = beyond and point.estimate < 0
            note = joined(point.note, "better" if won else "worse" if lost else "undecided")
            point = replace(point, counts=float(won), p=p, sure=won, against=lost, note=note)
        result.append(point)
    return result


def count(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that the best of solvers a is at least as good as the best of b, as printed."""
    x, y = (as_printed(case, centre(case, one, c), c) for one in (a, b))
    return numbers("difference", x - y, x, y, float(sign(case, c) * (x - y) >= 0))


def best_of(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that a has the best mean of all named solvers; a tie as printed counts half.

    Only datasets and sizes with results of all these solvers count.
    """
    fields = count(case, a, b, c)
    return fields if fields["estimate"] else fields | {"counts": 0.5}


def as_printed(case: Case, value: float, c: Any) -> float:
    """Return a value rounded as in tables, so that values that print alike are equal."""
    measure = case.measure(c.measure)
    if measure is None or measure.unit:
        return value
    return round(value, measure.digits + 2 * measure.percent)


def ratio(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that a's median divided by b's is within ``interval``; null is no limit."""
    if not b.median:
        return {"a_value": a.median, "b_value": b.median, "note": "nothing to divide by"}
    quotient = a.median / b.median
    return numbers("ratio", quotient, a.median, b.median, inside(quotient, c.interval))


def within(case: Case, a: Sample, c: Any) -> Fields:
    """Test that the mean (or median) of a is within ``interval``.

    With ``around``, the limits are relative to a number for each dataset or config.
    """
    middle = c.around.get(case.name) if c.around else 0.0
    if middle is None:
        return {"note": "nothing to be around"}
    value, note = a.median if c.of == "median" else a.mean, f"around {middle:g}"
    fields = {"low": float(a.array.min()), "high": float(a.array.max()), "of": "values"}
    fields |= {"a_value": value, "note": note if c.around else ""}
    return fields | {"counts": inside(value - middle, c.interval)}


COMPARISONS: dict[str, Callable[..., Fields]] = {
    **{"faster": faster, "crosses": faster, "sooner": sooner, "equal": equal, "better": better},
    **{"count": count, "best_of": best_of, "ratio": ratio, "within": within},
}


# --- tests that do not compare samples at one size


def ends(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that every trial of b ends for lack of memory at large sizes, while a finishes.

    A point per size at which a finishes, at any hyper-parameters.
    """
    every = c.model_copy(update={"leave_out": {}})
    points = []
    for (a,), b, case in itertools.product(contenders(c.a), contenders(c.b), cases):
        sizes = common_sizes(case, [(a,)], every)
        for size in sizes or case.sizes[:1]:
            rows = np.concatenate([case.rows(key, size) for key in b])
            ways = {*case.endings[case.kept(rows, c.leave_out)]}
            counts = 1.0 if ways and ways <= NO_MEMORY else 0.0 if "ok" in ways else None
            note = joined(*(case.ended(key, size) for key in b))
            if not sizes:
                counts, note = None, lack(case, a, size, every)
            points.append(Point(case.name, a, named(b), counts, size, note=note))
    return points


def grows(c: Any, cases: Sequence[Case], studies: Studies | None = None) -> list[Point]:
    """Test that the least-squares slope of log(median) on log(size) is within ``interval``.

    With an ``axis``, it is on the log of that parameter, in which solvers a differ. The median of
    solver ``minus`` is subtracted, such as the memory of a process without the method. ``lengths``
    is the number of sizes needed.
    """
    series = contenders(c.a) if c.axis == "size" else together(c.a)
    return [growth(case, keys, c) for keys in series for case in cases]


def growth(case: Case, keys: Contender, c: Any) -> Point:
    """Return the point of the slope of one series."""
    plain = c.model_copy(update={"leave_out": {}})
    groups: dict[float, Array] = {}
    samples = []
    for key in keys:
        sizes = common_sizes(case, [(key,)], c)
        for size in sizes if c.axis == "size" else sizes[-1:]:
            samples.append(one := sample(case, key, size, c))
            values = one.array
            if c.minus is not None:
                other = sample(case, c.minus, size, plain)
                values = values - (other.median if len(other) else math.inf)
            if np.median(values) > 0:  # else it has no logarithm
                lengths = {size} if c.axis == "size" else case.settings(key, size, c.axis)
                groups |= dict.fromkeys(map(float, lengths), values)
    name, x = ", ".join(keys), np.array(sorted(groups))
    point = Point(case.name, name, unit=unit(case, c))
    if len(x) < c.lengths:
        what = "sizes" if c.axis == "size" else f"values of {c.axis}"
        note = f"{name}: {len(x)} of {c.lengths} {what} have {c.trials} trials"
        return replace(point, note=note)
    medians = np.array([np.median(groups[one]) for one in x])
    resampled = resampled_medians([groups[one] for one in x])
    low, high = interval_of(slope(x, np.maximum(resampled, np.finfo(np.float64).tiny)))
    estimate = slope(x, medians)
    note = joined(f"{c.axis} {x[0]:,g} to {x[-1]:,g}", disturbances(case, samples, c))
    sure = bool(inside(low, c.interval) and inside(high, c.interval))
    told = numbers("slope", estimate, medians[-1], None, inside(estimate, c.interval))
    return replace(point, size=int(x[-1]), low=low, high=high, sure=sure, note=note, **told)


def rate(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that the slope of log error on log t is ``exponent``, up to ``tolerance``.

    Errors are those of a study, at ``y`` (rows of several seeds are averaged) with lengths at
    ``x``, or a measure traced along the training of a. With ``one_sided`` they may fall faster.
    Runs shorter than ``x_min`` are left out. Above ``ends_below`` in the longest run there is no
    test: it is still in its transient, in which an exploded error falls faster than any rate.
    """
    if c.study is None:
        return [traced_rate(case, c) for case in cases]
    x, y = (of_study(studies, c.study, place) for place in (c.x, c.y))
    return [rate_of(c.study, c.y, x, np.atleast_2d(y).mean(axis=0), c)]


def traced_rate(case: Case, c: Any) -> Point:
    """Return the point of a measure along training, at the largest size that has it."""
    size = next((n for n in reversed(case.sizes) if len(case.traced(n, c.measure))), 0)
    course = case.courses(c.a, size, c.measure)
    n_trials = course["trial"].nunique()
    steps = course[course["iteration"] > 0]
    if n_trials < c.trials or steps.empty:
        note = f"no {c.measure} of {c.a} along {c.trials} trainings"
        return Point(case.name, c.a, note=note)
    at = steps.groupby("iteration")["value"].agg(["mean", "size"])
    at = at[at["size"] == n_trials]
    return rate_of(case.name, c.a, at.index.to_numpy(float), at["mean"].to_numpy(), c)


def rate_of(where: str, name: str, x: Array, y: Array, c: Any) -> Point:
    """Return the point of errors y after x iterations."""
    x, y = x[x >= c.x_min], y[x >= c.x_min]
    if len(x) < MIN_LENGTHS or y.min() <= 0:
        note = f"{counted(len(x), 'length')}; needs {MIN_LENGTHS} with errors above 0"
        return Point(where, name, note=note)
    if c.ends_below is not None and y[-1] > c.ends_below:
        note = f"still {y[-1]:.3g} at t {x[-1]:,g}, above {c.ends_below:g}"
        return Point(where, name, a_value=float(y[-1]), note=note)
    found, low = float(slope(x, y)), None if c.one_sided else c.exponent - c.tolerance
    counts = inside(found, [low, c.exponent + c.tolerance])
    note = f"t {x[0]:,g} to {x[-1]:,g}; theory {c.exponent:g}"
    return Point(where, name, note=note, **numbers("slope", found, y[-1], None, counts))


def identity(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that numbers of a study are within bounds: a point per number."""
    points = []
    for check in c.checks:
        values = np.ravel(of_study(studies, c.study, check.number))
        bounds = [
            of_study(studies, c.study, one) if isinstance(one, str) else np.array(one, float)
            for one in (check.at_least, check.at_most)  # NaN for None
        ]
        limits = [np.broadcast_to(bound, values.shape) for bound in bounds]
        for value, *pair in zip(values, *limits, strict=True):
            low, high = (None if np.isnan(one) else float(one) for one in pair)
            fields: Fields = {"a_value": float(value), "low": low, "high": high, "of": "bounds"}
            counts = inside(value, [low, high])
            points.append(Point(c.study, check.number, counts=counts, **fields))
    return points


def published(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that in the paper's tables the best of a is at least as good as the best of b.

    With ``strictly`` ties do not count.
    """
    side = -1 if (c.better or bsgd_svc.MEASURES[c.measure]) == "lower" else 1
    points = []
    for name in bsgd_svc.datasets():
        x, y = (
            side * max(side * bsgd_svc.value(name, method, c.measure) for method in methods)
            for methods in (c.a, c.b)
        )
        counts = float(side * (x - y) > 0 or (x == y and not c.strictly))
        told = numbers("difference", x - y, x, y, counts)
        told["unit"] = "seconds" if c.measure.endswith("seconds") else ""
        points.append(Point(name, ", ".join(c.a), ", ".join(c.b), **told))
    return points


def reproduced(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that a method's means agree with those of the paper's tables in all ``measures``.

    Up to ``margin`` and the rounding of the published figures; those that cannot be right, or that
    show no structure, are left out.
    """
    points = []
    for case in cases:
        figures = defaultdict(list)
        for one in case.run.task.published.figures if case.run.task.published else ():
            if one.measure in c.measures and one.solver in case.run.names:
                figures[one.solver].append(one)
        points += [reproduction(case, key, several, c) for key, several in figures.items()]
    return points


def reproduction(case: Case, key: str, figures: Sequence[PublishedFigure], c: Any) -> Point:
    """Return the point of the figure that differs most from the measured mean."""
    if flag := next((one.flag for one in figures if one.flag), ""):
        return Point(case.name, note=f"{key}: {flag}")
    rows = case.rows(key, case.sizes[-1], finished=True)
    if len(rows) < c.trials:
        return Point(case.name, note=f"{key}: too few trials")
    means = [float(case.values(one.measure)[rows].mean()) for one in figures]
    pairs = zip(means, figures, strict=True)
    mean, worst = max(pairs, key=lambda pair: abs(pair[0] - pair[1].value))
    difference, rounding = mean - worst.value, 10.0**-worst.decimals / 2
    told = numbers("difference", difference, mean, worst.value, None)
    told["counts"] = float(abs(difference) <= c.margin + rounding)
    return Point(case.name, note=f"{key}, {worst.measure}", **told)


TESTS: dict[str, Callable[[Any, Sequence[Case], Studies], list[Point]]] = {
    **dict.fromkeys(COMPARISONS, compared),
    **{"ends": ends, "grows": grows, "rate": rate, "identity": identity},
    **{"published": published, "reproduced": reproduced},
}


# --- numbers


def numbers(of: str, estimate: float, a: float, b: float | None, counts: float | None) -> Fields:
    """Return the fields of a point with a kind of estimate from one or two values."""
    of_b = None if b is None else float(b)
    fields = {"a_value": float(a), "b_value": of_b, "estimate": float(estimate)}
    return {"of": of, "counts": counts, **fields}


def inside(value: float, interval: Sequence[float | None]) -> float:
    """Return 1.0 if a value is within limits, each of which may be None, else 0.0."""
    low, high = interval
    return float((low is None or value >= low) and (high is None or value <= high))


def paired(*samples: Sample) -> Array:
    """Return the values of the common trials, a row per sample."""
    trials = sorted(set.intersection(*({*one.values} for one in samples)))
    return np.array([[one.values[trial] for trial in trials] for one in samples], np.float64)


def of_study(studies: Studies, study: str, place: str) -> Array:
    """Return the numbers of a study at a place, such as ``arms.0.slope``."""
    if study not in studies:
        raise ResultsError(f"study {study} was not run")
    value = studies[study]
    for part in place.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise ResultsError(f"study {study} has no {place} (nothing at {part})") from None
    return np.asarray(value, np.float64)


def resampled_medians(groups: Sequence[Array]) -> Array:
    """Return medians of bootstrap samples, a row per group."""
    rng = np.random.default_rng(0)
    return np.array([np.median(rng.choice(one, (N_RESAMPLES, len(one))), axis=1) for one in groups])


def interval_of(resampled: Array) -> tuple[float, float]:
    """Return the bootstrap interval of a statistic."""
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def slope(x: Array, y: Array) -> Any:
    """Return the slope of log y on log x for each column of y."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]
