"""Tests of speed and of limits: faster, crosses, sooner, ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dsgkit.config.spec import Count
from dsgkit.papers.criteria import Comparison, Contender, interval_of, joined, resampled_medians
from dsgkit.papers.evidence import Case, Sample
from dsgkit.papers.verdicts import Point
from dsgkit.report.numbers import SHORTEST_TIME
from dsgkit.report.traces import Training

Factor = Annotated[float, Field(gt=0)]


class _Timed(Comparison):
    """Base class of comparisons of seconds; a stopped trial counts with its time limit.

    The limit is a wall time. For processor times it is divided by the largest slowdown of any fit
    of these results, which is a lower bound on the trial's processor time.
    """

    measure: str = "fit"
    factor: Factor = 1.0

    def values(self, case: Case, key: str, size: int) -> Sample:
        """Return the seconds of finished trials, and the limits of stopped ones."""
        finished = super().values(case, key, size)
        return replace(finished, values=self._limits(case, key, size) | dict(finished.values))

    def _limits(self, case: Case, key: str, size: int) -> dict[int, float]:
        fits = case.fits(key, size) if self.measure == "fit" else {}
        return {t: fit.timeout / case.slowdown for t, fit in fits.items() if fit.timeout}

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the ratio of b's median to a's, with its interval."""
        stopped = [one.solver for one in (a, b) if self._limits(case, one.solver, blank.size)]
        if len(stopped) == 2:
            return replace(blank, note="both were stopped")
        least = max(a.median, SHORTEST_TIME)
        of_a, of_b = resampled_medians([a.array, b.array])
        low, high = interval_of(of_b / np.maximum(of_a, SHORTEST_TIME))
        return replace(
            blank,
            counts=float(b.median / least > self.factor and low > 1),
            a_value=a.median,
            b_value=b.median,
            estimate=b.median / least,
            low=low,
            high=high,
            of="ratio",
            sure=low > self.factor,
            note="".join(f"{name} was stopped at its time limit" for name in stopped),
        )


class Faster(_Timed):
    """Test that b's median time is over ``factor`` times a's, and significantly above a's."""

    test: Literal["faster"]


class Crosses(_Timed):
    """Test that a is faster at every size from some size up to ``at_most`` on."""

    test: Literal["crosses"]
    at_most: Count
    sizes: Literal["every"] = "every"

    def of_case(self, case: Case, *compared: Contender) -> Iterator[Point]:
        """Yield the point at the size from which on a is faster."""
        points = list(super().of_case(case, *compared))
        tested = [point for point in points if point.counts is not None]
        if not tested:
            yield points[0]
            return
        faster = list(itertools.takewhile(lambda point: point.counts, reversed(tested)))
        if faster:
            first = faster[-1]
            counts = float(first.size <= self.at_most)
            yield replace(
                first, counts=counts, note=joined(f"faster from {first.size:,} on", first.note)
            )
        else:
            last = tested[-1]
            note = f"not faster at {last.size:,}, the largest size of both"
            yield replace(last, counts=0.0 if last.size >= self.at_most else None, note=note)


class Sooner(Comparison):
    """Test that, along training, a reaches b's value minus ``margin`` before b does.

    There is no test if most fits have disturbed wall times.

    Attributes
    ----------
    margin : float
        A value is reached within this margin below it.
    of : {"b", "better"}
        The value to reach: b's final value, or that of the better of both.
    """

    test: Literal["sooner"]
    margin: Annotated[float, Field(ge=0)] = 0.0
    of: Literal["b", "better"] = "b"
    factor: Factor = 1.0

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the ratio of the medians of seconds, which may be infinite."""
        measure, sign = case.measure(self.measure), self.sign(case)
        trainings = case.trainings(measure, blank.size) if measure and measure.traced else {}
        raced = [trainings[one.solver] for one in (a, b) if one.solver in trainings]
        if len(raced) < 2 or not all(one.courses for one in raced):
            return replace(blank, note=f"no {self.measure} along training")
        disturbed = case.disturbances([a.solver, b.solver], [blank.size])
        if disturbed.mislead and 2 * disturbed.number > disturbed.among:
            note = (
                f"{disturbed.number} of {disturbed.among} fits disturbed, timed on the wall clock"
            )
            return replace(blank, note=note)
        finals = [sign * float(one.array.mean()) for one in (a, b)]
        target = (finals[1] if self.of == "b" else max(finals)) - self.margin
        of_a, of_b = (_seconds_to(one, target, sign) for one in raced)
        never = "either" if math.isinf(of_b) else "a"
        note = f"to {sign * target:.4g}" + (f"; never by {never}" if math.isinf(of_a) else "")
        blank = replace(blank, unit="seconds", a_value=of_a, b_value=of_b, note=note)
        if math.isinf(of_a):
            return replace(blank, counts=None if math.isinf(of_b) else 0.0, a_value=None)
        if math.isinf(of_b):
            return replace(blank, counts=1.0, b_value=None, note=f"{note}; never by the other")
        ratio = of_b / max(of_a, SHORTEST_TIME)
        return replace(blank, counts=float(ratio > self.factor), estimate=ratio, of="ratio")


def _seconds_to(training: Training, target: float, sign: int) -> float:
    """Return the median seconds until trials reach a value; infinite if half do not."""
    first = [
        next((step.seconds for step in course if sign * step.value >= target), math.inf)
        for course in training.courses
    ]
    return sorted(first)[len(first) // 2]


class Ends(Comparison):
    """Test that every trial of b ends in one of some ways at large sizes, while a finishes.

    Attributes
    ----------
    how : list of str
        ``refused`` (too much memory planned), ``out_of_memory``, ``timeout``.
    """

    test: Literal["ends"]
    measure: str = "fit"
    how: list[Literal["refused", "out_of_memory", "timeout", "time_limit"]] = Field(
        default=["refused", "out_of_memory"]
    )

    def of_case(self, case: Case, *compared: Contender) -> Iterator[Point]:
        """Yield a point per size at which a finishes."""
        a, b = compared
        sizes = self.at(case, [a])
        for size in sizes or case.sizes[:1]:
            endings = set().union(*(case.endings(key, size, self.leave_out) for key in b.keys))
            note = "; ".join(case.note(key, size) for key in b.keys)
            counts = 0.0 if "ok" in endings else None
            if endings and endings <= set(self.how):
                counts = 1.0
            blank = Point(case.name, str(a), str(b), size=size, counts=counts, note=note)
            short = self.sample(case, a, size).note
            yield blank if sizes else replace(blank, counts=None, note=short)

    def values(self, case: Case, key: str, size: int) -> Sample:
        """Return the values of a solver's trials at all hyper-parameters."""
        return case.sample(key, size, self.measure)
