"""Tests of speed and of limits: faster, crosses, sooner, ends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dsgkit.papers.criteria import Comparison, Contender, Scope, paired
from dsgkit.papers.evidence import Case, Sample
from dsgkit.papers.verdicts import Point
from dsgkit.report.numbers import SHORTEST_TIME
from dsgkit.report.summary import Summary
from dsgkit.report.traces import Training, races
from dsgkit.specs import Count
from dsgkit.tasks.measures import Measure

N_RESAMPLES = 2000
CONFIDENCE = 0.95

Factor = Annotated[float, Field(gt=0)]


class _Timed(Comparison):
    """A comparison of seconds; a trial that was stopped took its time limit at least."""

    measure: str = "fit"
    factor: Factor = 1.0

    def _values(self, case: Case, key: str, size: int) -> Sample:
        finished = super()._values(case, key, size)
        if self.measure != "fit":
            return finished
        return Sample(key, case.limits(key, size) | dict(finished.values))

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the ratio of b's time to a's."""
        stopped = [one.solver for one in (a, b) if case.limits(one.solver, blank.size)]
        if len(stopped) == 2:
            return replace(blank, note="both were stopped")
        of_a, of_b = paired(a, b)
        ratio, low, high = ratio_of_medians(of_a, of_b)
        return replace(
            blank,
            counts=float(ratio > self.factor and low > 1),
            a_value=float(np.median(of_a)),
            b_value=float(np.median(of_b)),
            estimate=ratio,
            low=low,
            high=high,
            of="ratio",
            sure=low > self.factor,
            against=high < 1,
            note="".join(f"{name} was stopped at its time limit" for name in stopped),
        )


class Faster(_Timed):
    """At each size, b's median time is ``factor`` times a's, and surely above it."""

    test: Literal["faster"]


class Crosses(_Timed):
    """There is a size, of at most ``at_most``, from which a is faster at every larger one."""

    test: Literal["crosses"]
    at_most: Count
    sizes: Literal["every"] = "every"

    def of_case(self, case: Case, a: Contender, b: Contender) -> Iterator[Point]:
        """Yield the size from which a is faster."""
        points = list(super().of_case(case, a, b))
        tested = [point for point in points if point.counts is not None]
        if not tested:
            yield points[0]
            return
        slower = [i for i, point in enumerate(tested) if not point.counts]
        first = slower[-1] + 1 if slower else 0
        last = tested[-1]
        if first == len(tested):
            note = f"not faster at {last.size:,}, the largest size of both"
            counts = 0.0 if last.size >= self.at_most else None
            yield replace(last, counts=counts, note=note)
        else:
            crossed = tested[first]
            note = f"faster from {crossed.size:,} on"
            yield replace(crossed, counts=float(crossed.size <= self.at_most), note=note)


class Sooner(Comparison):
    """Along training, a reaches the value of b, less ``margin``, before b does.

    Attributes
    ----------
    margin : float
        How far below the final value is near enough.
    of : {"b", "better"}
        Whose final value it is: b's, or that of the better of both.
    """

    test: Literal["sooner"]
    margin: Annotated[float, Field(ge=0)] = 0.0
    of: Literal["b", "better"] = "b"
    factor: Factor = 1.0

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the ratio of the seconds that both take; a trial may never get there."""
        measure = case.measure(self.measure)
        if measure is None or not measure.traced:
            return replace(blank, note=f"{self.measure} is not recorded along training")
        sign = -1 if self.side_of(case) == "lower" else 1
        finals = [float(one.array.mean()) for one in (a, b)]
        final = finals[1] if self.of == "b" else sign * max(sign * value for value in finals)
        target = final - sign * self.margin
        trainings = _trainings(case, measure, blank.size)
        of_a, of_b = (_seconds_to(trainings[one.solver], target, sign) for one in (a, b))
        return self._race(replace(blank, unit="seconds", note=f"to {target:.4g}"), of_a, of_b)

    def _race(self, blank: Point, of_a: float | None, of_b: float | None) -> Point:
        """Return who is there first; None is for no values along training."""
        if of_a is None or of_b is None:
            return replace(blank, note="no values along training")
        if math.isinf(of_a):
            return replace(
                blank, counts=None if math.isinf(of_b) else 0.0, note=f"{blank.note}: never by a"
            )
        if math.isinf(of_b):
            return replace(blank, counts=1.0, a_value=of_a, note=f"{blank.note}: never by b")
        ratio = of_b / max(of_a, SHORTEST_TIME)
        return replace(
            blank,
            counts=float(ratio > self.factor),
            a_value=of_a,
            b_value=of_b,
            estimate=ratio,
            of="ratio",
        )


def _trainings(case: Case, measure: Measure, size: int) -> Mapping[str, Training]:
    keys = {key: key for key in case.results.solvers}
    raced = races(Summary(case.results, case.name, keys), measure)
    return {
        training.entry.solver: training
        for race in raced
        if race.size.n == size
        for training in race.trainings
    }


def _seconds_to(training: Training, target: float, sign: int) -> float | None:
    """Return when half of the trials first had a value; infinite if they never did."""
    first = [
        next((step.seconds for step in course if sign * step.value >= sign * target), math.inf)
        for course in training.courses
    ]
    return sorted(first)[len(first) // 2] if first else None


class Ends(Comparison):
    """Every trial of b ends in one of some ways at the largest sizes, where a finishes.

    Attributes
    ----------
    how : list of str
        ``refused`` (the memory is known to be too little before), ``out_of_memory``, ``timeout``.
    """

    test: Literal["ends"]
    measure: str = "fit"
    how: list[Literal["refused", "out_of_memory", "timeout", "time_limit"]] = Field(
        default=["refused", "out_of_memory"]
    )

    def of_pair(self, scope: Scope, a: Contender, b: Contender) -> list[Point]:
        """Return a point of every dataset and size at which a finishes."""
        return [
            point
            for case in scope.cases
            for size in self.at(case, [a]) or [0]
            for point in [self._ending(case, a, b, size)]
        ]

    def _ending(self, case: Case, a: Contender, b: Contender, size: int) -> Point:
        told = "; ".join(case.absence(key, [size]) for key in b.keys)
        blank = Point(case.name, str(a), str(b), size=size, note=told)
        endings = {status for key in b.keys for status in case.endings(key, size)}
        if self.sample(case, a, size) is None:
            return replace(blank, note=self.absence(case, [a]))
        if endings and endings <= set(self.how):
            return replace(blank, counts=1.0)
        return replace(blank, counts=0.0 if "ok" in endings else None)

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Is not asked: b has no values."""
        raise NotImplementedError


def ratio_of_medians(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the ratio of b's median to a's with its bootstrap interval over pairs."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(a), size=(N_RESAMPLES, len(a)))
    ratios = np.median(b[drawn], axis=1) / np.maximum(np.median(a[drawn], axis=1), SHORTEST_TIME)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return float(np.median(b) / max(float(np.median(a)), SHORTEST_TIME)), float(low), float(high)
