"""The tests of claims: from a criterion and results on its datasets to points of evidence.

A point is one comparison, such as of two solvers on one dataset at one size: it supports the claim,
contradicts it, or cannot tell. `dsgkit.papers.schema` has the settings of each test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.linalg import Array
from dsgkit.papers.cases import Case, Sample, lack, learns, least_gain, margin_text, sample
from dsgkit.papers.schema import Best, Side
from dsgkit.published import bsgd_svc
from dsgkit.report.numbers import SHORTEST_TIME, counted
from dsgkit.report.published import published_table
from dsgkit.report.stats import LEVEL, contrast, holm

N_RESAMPLES = 2000  # of bootstrap intervals over trials
MIN_LENGTHS = 3  # of a rate
WIDEST_INTERVAL = 2.0  # of an exponent; a wider one says nothing
NO_MEMORY = {"refused", "out of memory"}  # endings, planned or met
GAIN = "gain"  # kind of an estimate: how much better a is than b

Contender = tuple[str, ...]  # the keys of a solver, or of several of which the best counts
Studies = Mapping[str, Any]  # the numbers that studies have written
Fields = dict[str, Any]  # of a point


@dataclass(frozen=True)
class Point:
    """One comparison, and whether it supports or contradicts the claim."""

    where: str  # the dataset, config or study
    a: str = ""  # the compared solvers or names; b is empty without a comparison
    b: str = ""
    counts: float | None = None  # 1 if it supports the claim, 0.5 for a tie; None without evidence
    against: bool = False  # contradicts it (a tie by a half); if neither, the point cannot tell
    learnt: bool = True  # False if no compared solver does better than without learning
    size: int = 0  # 0 without a sweep
    a_value: float | None = None
    b_value: float | None = None
    estimate: float | None = None  # the judged number, of the kind `of`, such as "ratio"
    low: float | None = None  # its interval
    high: float | None = None
    of: str = ""
    p: float | None = None  # adjusted
    note: str = ""  # why there is no evidence, or a remark
    unit: str = ""  # of both values: "seconds", "bytes", "percent"

    @property
    def yes(self) -> float:
        return self.counts or 0.0

    @property
    def no(self) -> float:
        return 1 - self.yes if self.against else 0.0


# --- who is compared with whom, and at which sizes


def contenders(side: Side) -> list[Contender]:
    """Return the contenders of a side: each solver, or the best of several as one."""
    return [tuple(side.best)] if isinstance(side, Best) else [(key,) for key in side]


def named(keys: Contender) -> str:
    return keys[0] if len(keys) == 1 else f"best of {', '.join(keys)}"


def chosen_sizes(sizes: Any, there: Sequence[int]) -> list[int]:
    """Return which of some ascending sizes to judge."""
    if sizes == "largest":
        return [*there[-1:]]
    return [n for n in there if n == 0 or sizes.min <= n <= (sizes.max or n)]


def common_sizes(case: Case, needed: Sequence[Contender], c: Any) -> list[int]:
    """Return the sizes to judge, at which every contender has enough trials."""
    common = {*case.sizes}
    for keys in needed:
        enough = [
            {n for n in case.sizes if len(sample(case, key, n, c)) >= c.trials} for key in keys
        ]
        # of the best of several, those without enough trials at any size are not waited for
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
    return one.median if case.unit(c.measure) == "seconds" else one.mean


def compared(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Return a point for each pair, dataset and size, by the function of one comparison."""
    sides = [contenders(side) for side in (c.a, getattr(c, "b", None)) if side is not None]
    pairs = itertools.product(itertools.product(*sides), cases)
    return [point for pair, case in pairs for point in at_sizes(case, pair, c)]


def at_sizes(case: Case, pair: Sequence[Contender], c: Any) -> list[Point]:
    """Return the points of a pair on one dataset, or a single point with the reason for none."""
    needed = [(key,) for keys in pair for key in keys] if c.test == "best_of" else pair
    a, b = [*map(named, pair), ""][:2]
    point = Point(case.name, a, b, unit=case.unit(c.measure))
    sizes = common_sizes(case, needed, c)
    if not sizes:
        least = chosen_sizes(c.sizes, case.sizes)[0]
        few = [keys for keys in needed if len(best(case, keys, least, c)) < c.trials]
        lacks = [lack(case, key, least, c) for keys in few[:1] for key in keys]
        return [replace(point, note="; ".join(lacks) or "no common size")]
    points = []
    for size in sizes:
        samples = [best(case, keys, size, c) for keys in pair]
        fields: Fields = {"note": "too few common trials"}
        if len(paired(samples[0], samples[-1])[0]) >= c.trials:
            fields = COMPARISONS[c.test](case, *samples, c)
            fields["learnt"] = len(samples) == 1 or learns(case, samples, c.measure)
            several = zip(pair, samples, strict=True)
            chosen = [f"best: {one.key}" for keys, one in several if len(keys) > 1]
            fields["note"] = "; ".join(filter(None, [*chosen, fields.get("note")]))
        points.append(replace(point, size=size, **fields))
    return points


# --- comparisons of one or two solvers at one size


def faster(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that b's median time is over ``factor`` times a's, and significantly above a's.

    Contradicted if the factor is excluded. A stopped trial took its time limit at least.
    """
    if a.stopped and b.stopped:
        return {"note": "both were stopped"}
    quotient = b.median / max(a.median, SHORTEST_TIME)
    of_a, of_b = resampled_medians([a.values, b.values])
    low, high = interval_of(of_b / np.maximum(of_a, SHORTEST_TIME))
    stopped = "".join(one.key for one in (a, b) if one.stopped)
    note = f"{stopped} was stopped at its time limit" if stopped else ""
    is_faster = quotient > c.factor and low > 1 and not a.stopped
    fields = numbers("ratio", quotient, a.median, b.median, is_faster)
    excluded = not is_faster and high < c.factor and not b.stopped
    return fields | {"against": excluded, "low": low, "high": high, "note": note}


def sooner(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that, along training, a comes to b's final value less ``margin`` before b does.

    With ``of: better``, to that of the better of both. There is no test if neither comes there, or
    by disturbed wall times.
    """
    side = sign(case, c)
    if any(case.disturbed[case.rows(one.key, one.size)].any() for one in (a, b)):
        return {"note": "disturbed, timed on the wall clock"}
    courses = [case.course(one.key, one.size, c.measure) for one in (a, b)]
    if min(map(len, courses)) == 0 or not any((one["iteration"] > 0).any() for one in courses):
        return {"note": f"no {c.measure} along training"}
    finals = [side * b.mean] if c.of == "b" else [side * a.mean, side * b.mean]
    of_a, of_b = (seconds_to(one, max(finals) - c.margin, side) for one in courses)
    if of_a == of_b == math.inf:
        return {"note": "never by either"}
    if math.inf in (of_a, of_b):
        note = f"{min(of_a, of_b):.3g} s, the other never"
        return {"counts": float(of_a < of_b), "against": of_b < of_a, "note": note}
    quotient = of_b / max(of_a, SHORTEST_TIME)
    return numbers("ratio", quotient, of_a, of_b, quotient > 1) | {"unit": "seconds"}


def seconds_to(course: pd.DataFrame, target: float, side: int) -> float:
    """Return the median seconds until trials reach a value; infinity if half do not."""
    first = course[side * course["value"] >= target].groupby("trial")["seconds"].min()
    every = sorted(first.reindex(course["trial"].unique(), fill_value=math.inf))
    return float(every[len(every) // 2])


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
    most = math.inf if c.one_sided else c.margin
    counts = -c.margin <= sign(case, c) * mean <= most
    fields = numbers("difference", mean, x.mean(), y.mean(), counts)
    if not case.run.task.draws:  # trials see the same rows in another order: that is no sample
        return fields
    return fields | {"low": mean - half, "high": mean + half}


def gained(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Compare a with b by a paired t-test, not adjusted yet."""
    x, y = paired(a, b)
    found = contrast(sign(case, c) * y, sign(case, c) * x)
    low, high = (0.0, 0.0) if found.same else found.interval or (None, None)
    fields = numbers(GAIN, found.difference, x.mean(), y.mean(), False)
    return fields | {"low": low, "high": high, "p": found.p}


def as_good(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that a is at least as good as b; for ``best_of``, a tie counts half."""
    measure = case.measure(c.measure)
    x, y = centre(case, a, c), centre(case, b, c)
    if measure is not None and not measure.unit:  # what prints alike in tables is equal
        x, y = (round(one, measure.digits + 2 * measure.percent) for one in (x, y))
    tie = 0.5 if c.test == "best_of" else 1.0
    return numbers("difference", x - y, x, y, tie if x == y else sign(case, c) * (x - y) > 0)


def ratio(case: Case, a: Sample, b: Sample, c: Any) -> Fields:
    """Test that a's median divided by b's is within ``interval``; null is no limit."""
    quotient = a.median / b.median
    return numbers("ratio", quotient, a.median, b.median, inside(quotient, c.interval))


def within(case: Case, a: Sample, c: Any) -> Fields:
    """Test that the mean (or median) of a is within ``interval``.

    With ``around``, the limits are relative to a number for each dataset or config.
    """
    middle = c.around[case.name] if c.around else 0.0
    value = a.median if c.of == "median" else a.mean
    holds = inside(value - middle, c.interval)
    return {
        **{"low": float(a.values.min()), "high": float(a.values.max()), "of": "values"},
        **{"a_value": value, "counts": float(holds), "against": not holds},
        "note": f"around {middle:g}" if c.around else "",
    }


COMPARISONS: dict[str, Callable[..., Fields]] = {
    **{"faster": faster, "crosses": faster, "sooner": sooner, "equal": equal, "better": gained},
    **{"count": as_good, "best_of": as_good, "ratio": ratio, "within": within},
}


# --- tests of several points together


def crosses(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that from some size on, which is to be ``at_most``, a is faster than b."""
    points = []
    several = itertools.groupby(compared(c, cases, studies), lambda one: (one.a, one.b, one.where))
    for _, of_case in several:
        found, *_ = sizes = [*of_case]
        tested = [point for point in sizes if point.counts is not None]
        late = any(point.against and point.size >= c.at_most for point in tested)
        if run := [*itertools.takewhile(lambda point: point.counts, reversed(tested))]:
            counts = float(run[-1].size <= c.at_most)
            found = replace(run[-1], counts=counts, against=late and not counts)
        elif tested:
            told = 0.0 if tested[-1].size >= c.at_most else None
            note = "not faster at the largest common size"
            found = replace(tested[-1], counts=told, against=late, note=note)
        points.append(found)
    return points


def better(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that a is significantly better than b, by ``least`` or more in the mean.

    By paired t-tests, with Holm's correction over the points of a pair. A point contradicts the
    claim if a is significantly worse, or if the interval excludes a gain of ``margin``, the
    smallest that matters.
    """
    points = []
    margin = least_gain(c)
    for _, of_pair in itertools.groupby(compared(c, cases, studies), lambda one: (one.a, one.b)):
        several = [*of_pair]
        for point, p in zip(several, holm([one.p for one in several]), strict=True):
            found, gain = replace(point, p=p), point.estimate
            if gain is not None:
                significant = p is not None and p < LEVEL
                excluded = point.high is not None and point.high < margin
                counts = significant and gain > 0 and gain >= c.least and not excluded
                against = excluded or (significant and gain < 0)
                found = replace(found, counts=float(counts), against=against)
                if significant and gain > 0 and excluded:
                    least = margin_text(margin, percent=point.unit == "percent")
                    notes = filter(None, [found.note, f"significant, but below {least}"])
                    found = replace(found, note="; ".join(notes))
            points.append(found)
    return points


# --- tests that do not compare samples at one size


def ends(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that b needs more memory than ``gib`` in every trial at large sizes, while a finishes.

    A point per size at which a finishes, at any hyper-parameters. A fit that is refused counts by
    the memory that it is planned to take, whatever this machine has.
    """
    every = c.model_copy(update={"leave_out": {}})
    points = []
    for (a,), b, case in itertools.product(contenders(c.a), contenders(c.b), cases):
        sizes = common_sizes(case, [(a,)], every)
        for size in sizes:
            rows = np.concatenate([case.rows(key, size, c.leave_out) for key in b])
            ways, planned = {*case.endings[rows]}, case.numbers("needed")[rows]
            none, fits = bool(ways) and ways <= NO_MEMORY, (planned <= c.gib * 2**30).any()
            counts = float(none and not fits) if none or "ok" in ways else None
            note = "; ".join(case.ended(key, size) for key in b)
            if not np.isnan(planned).all():
                note += f", planned {np.nanmin(planned) / 2**30:,.3g} GiB"
            point = Point(case.name, a, named(b), counts, counts == 0, size=size, note=note)
            points.append(point)
        if not sizes:
            note = lack(case, a, chosen_sizes(c.sizes, case.sizes)[0], every)
            points.append(Point(case.name, a, named(b), note=note))
    return points


def grows(c: Any, cases: Sequence[Case], studies: Studies | None = None) -> list[Point]:
    """Test that the least-squares slope of log(median) on log(size) is within ``interval``.

    Contradicted if no slope of the bootstrap interval is; if that is too wide, it is no evidence.
    With an ``axis``, it is on the log of that chosen parameter, in which solvers a differ. The
    median of solver ``minus`` is subtracted, such as the memory of a process without the method.
    ``lengths`` is the number of sizes needed.
    """
    series = contenders(c.a) if c.axis == "size" else [tuple(c.a)]
    return [growth(case, keys, c) for keys in series for case in cases]


def growth(case: Case, keys: Contender, c: Any) -> Point:
    plain = c.model_copy(update={"leave_out": {}})
    groups: dict[float, Array] = {}
    for key in keys:
        sizes = common_sizes(case, [(key,)], c)
        for size in sizes if c.axis == "size" else sizes[-1:]:
            values = sample(case, key, size, c).values
            if c.minus is not None:
                other = sample(case, c.minus, size, plain)
                values = values - (other.median if len(other) else math.inf)
            if np.median(values) > 0:  # else it has no logarithm
                chosen = case.params[case.finished(key, size)]
                lengths = {size} if c.axis == "size" else {one[c.axis] for one in chosen}
                groups |= dict.fromkeys(map(float, lengths), values)
    name, x = ", ".join(keys), np.array(sorted(groups))
    point = Point(case.name, name, unit=case.unit(c.measure))
    if len(x) < c.lengths:
        what = "sizes" if c.axis == "size" else f"values of {c.axis}"
        note = f"{name}: {len(x)} of {c.lengths} {what} have {c.trials} trials"
        return replace(point, note=note)
    medians = np.array([np.median(groups[one]) for one in x])
    resampled = resampled_medians([groups[one] for one in x])
    low, high = interval_of(slope(x, np.maximum(resampled, np.finfo(np.float64).tiny)))
    estimate = slope(x, medians)
    told = numbers("slope", estimate, medians[-1], None, inside(estimate, c.interval))
    least, most = (math.inf if one is None else one for one in c.interval)
    told["against"] = not told["counts"] and (high < least < math.inf or low > most)
    note = f"{c.axis} {x[0]:,g} to {x[-1]:,g}"
    if high - low > WIDEST_INTERVAL and not told["against"]:
        told, note = told | {"counts": None}, f"{note}, with an interval wider than 2"
    return replace(point, size=int(x[-1]), note=note, **told | {"low": low, "high": high})


def rate(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that the slope of log error on log t is ``exponent``, up to ``tolerance``.

    Errors are those of a study, at ``y`` (rows of several seeds are averaged) with lengths at
    ``x``. With ``one_sided`` they may fall faster. Runs shorter than ``x_min`` are left out. Above
    ``ends_below`` in the longest run it cannot tell: the run is still in its transient, in which an
    exploded error falls faster than any rate.
    """
    x, y = (of_study(studies, c.study, place) for place in (c.x, c.y))
    return [rate_of(c.study, c.y, x, np.atleast_2d(y).mean(axis=0), c)]


def traced_rate(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test as `rate` does, by a measure along the training of a, at the largest size."""
    points = []
    for case in cases:
        course = case.course(c.a, case.sizes[-1], c.measure)
        steps = course[course["iteration"] > 0]
        n_trials = course["trial"].nunique()
        if n_trials < c.trials or steps.empty:
            note = f"no {c.measure} of {c.a} along {c.trials} trainings"
            points.append(Point(case.name, c.a, note=note))
            continue
        at = steps.groupby("iteration")["value"].agg(["mean", "size"])
        at = at[at["size"] == n_trials]
        x, y = at.index.to_numpy(float), at["mean"].to_numpy()
        points.append(rate_of(case.name, c.a, x, y, c))
    return points


def rate_of(where: str, name: str, x: Array, y: Array, c: Any) -> Point:
    """Return the point of errors y after x iterations."""
    x, y = x[x >= c.x_min], y[x >= c.x_min]
    if len(x) < MIN_LENGTHS or y.min() <= 0:
        note = f"{counted(len(x), 'length')}; needs {MIN_LENGTHS} with errors above 0"
        return Point(where, name, note=note)
    if c.ends_below is not None and y[-1] > c.ends_below:
        return Point(where, name, counts=0.0, note=f"still {y[-1]:.3g} at t {x[-1]:,g}")
    found, low = float(slope(x, y)), None if c.one_sided else c.exponent - c.tolerance
    counts = inside(found, [low, c.exponent + c.tolerance])
    note = f"t {x[0]:,g} to {x[-1]:,g}"
    return Point(where, name, note=note, **numbers("slope", found, y[-1], None, counts))


def identity(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that numbers of a study are within bounds: a point per number."""
    points = []
    for check in c.checks:
        bounds = [
            of_study(studies, c.study, one) if isinstance(one, str) else np.array(one, float)
            for one in (check.at_least, check.at_most)
        ]
        for value, *limits in np.broadcast(of_study(studies, c.study, check.number), *bounds):
            low, high = (None if np.isnan(one) else float(one) for one in limits)
            fields: Fields = {"a_value": float(value), "low": low, "high": high, "of": "bounds"}
            holds = inside(value, [low, high])
            points.append(Point(c.study, check.number, "", float(holds), not holds, **fields))
    return points


def published(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that in the paper's tables the best of a is as good as the best of b ``least`` times.

    With ``strictly`` ties do not count. One point: the number of datasets, of all of them.
    """
    side = -1 if (c.better or bsgd_svc.MEASURES[c.measure]) == "lower" else 1
    n = 0
    for name in bsgd_svc.datasets():
        x, y = (
            max(side * bsgd_svc.value(name, method, c.measure) for method in methods)
            for methods in (c.a, c.b)
        )
        n += x > y or (x == y and not c.strictly)
    told = numbers("datasets", n, n, c.least, n >= c.least)
    return [Point("the paper's tables", ", ".join(c.a), ", ".join(c.b), note=c.measure, **told)]


def reproduced(c: Any, cases: Sequence[Case], studies: Studies) -> list[Point]:
    """Test that a method's means agree with those of the paper's tables in all ``measures``.

    Up to the tolerance and rounding of the published figures; those that cannot be right, or that
    show no structure, are left out. A point shows the figure that differs most.
    """
    points = []
    for case in cases:
        table = published_table([case.run]).frame
        if table.empty:
            points.append(Point(case.name, note="no method of the paper was run"))
            continue
        table = table[table["measure"].isin(c.measures)]
        for name, own in table.groupby("solver", sort=False):
            if own["remark"].any() or own["trials"].min() < c.trials:
                note = f"{name}: {max(own['remark']) or 'too few trials'}"
                points.append(Point(case.name, note=note))
                continue
            worst = own.loc[own["difference"].abs().idxmax()]
            values = worst["difference"], worst["mean"], worst["published"]
            told = numbers("difference", *values, worst["agrees"])
            points.append(Point(case.name, note=f"{name}, {worst['measure']}", **told))
    return points


TESTS: dict[str, Callable[[Any, Sequence[Case], Studies], list[Point]]] = {
    **dict.fromkeys(COMPARISONS, compared),
    **{"crosses": crosses, "better": better, "ends": ends, "grows": grows, "rate": rate},
    **{"traced_rate": traced_rate, "identity": identity, "published": published},
    "reproduced": reproduced,
}


# --- numbers


def numbers(of: str, estimate: float, a: float, b: float | None, counts: float) -> Fields:
    """Return the fields of a point with an estimate from one or two values."""
    of_b = None if b is None else float(b)
    fields = {"a_value": float(a), "b_value": of_b, "estimate": float(estimate)}
    # what does not support the claim contradicts it
    return {"of": of, "counts": float(counts), "against": counts < 1, **fields}


def inside(value: float, interval: Sequence[float | None]) -> bool:
    """Return whether a value is within limits, each of which may be None."""
    low, high = interval
    return bool((low is None or value >= low) and (high is None or value <= high))


def paired(a: Sample, b: Sample) -> tuple[Array, Array]:
    """Return both solvers' values of the common trials."""
    _, of_a, of_b = np.intersect1d(a.trials, b.trials, return_indices=True)
    return a.values[of_a], b.values[of_b]


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
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def slope(x: Array, y: Array) -> Any:
    """Return the slope of log y on log x for each column of y."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]
