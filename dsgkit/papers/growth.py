"""Tests of exponents: grows (with the size or a parameter), rate (in a study or a trace)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from dsgkit.config.spec import Problem, Text
from dsgkit.linalg import Array
from dsgkit.papers.criteria import (
    Compared,
    Contender,
    Criterion,
    Limits,
    Scope,
    Sizes,
    contenders,
    interval_of,
    joined,
    limits_of,
    resampled_medians,
)
from dsgkit.papers.evidence import Case
from dsgkit.papers.verdicts import Point
from dsgkit.report.numbers import counted

MIN_LENGTHS = 3


class Grows(Compared):
    """Test that the least-squares slope of log(median) on log(size) is within limits.

    Attributes
    ----------
    interval : list
        The lowest and the highest slope; null for no limit.
    axis : str
        ``size``, or a parameter in which solvers ``a`` differ.
    minus : str or None
        A solver whose median is subtracted, such as the memory of a process without the method.
    lengths : int
        Number of sizes needed for a slope.
    """

    test: Literal["grows"]
    interval: Limits
    axis: Text = "size"
    sizes: Sizes = "every"
    minus: Text | None = None
    lengths: Annotated[int, Field(ge=2)] = MIN_LENGTHS

    @property
    def solvers(self) -> list[str]:
        """Keys of its solvers."""
        return [*super().solvers, *([self.minus] if self.minus else [])]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per dataset and solver, or one for all solvers as one series."""
        of_a = contenders(self.a)
        series = [of_a] if self.axis != "size" else [[one] for one in of_a]
        return [self._slope(case, several) for several in series for case in scope.cases]

    def _groups(self, case: Case, several: Sequence[Contender]) -> dict[float, Array]:
        """Return the trials' values by size, or by the parameter of solvers."""
        if self.axis == "size":
            (a,) = several
            groups = {float(n): self._above(case, a, n) for n in self.at(case, [a])}
        else:
            groups = {
                float(x): self._above(case, one, n)
                for one in several
                for n in self.at(case, [one])[-1:]
                for x in case.settings(one.keys[0], n, self.axis)
            }
        # medians that are not above the other solver's have no logarithm
        return {x: values for x, values in groups.items() if len(values) and np.median(values) > 0}

    def _above(self, case: Case, one: Contender, size: int) -> Array:
        """Return values minus the other solver's median; empty if that has no values."""
        values = self.sample(case, one, size).array
        if self.minus is None:
            return values
        other = case.sample(self.minus, size, self.measure)
        return values - other.median if len(other) else values[:0]

    def _slope(self, case: Case, several: Sequence[Contender]) -> Point:
        groups, name = self._groups(case, several), ", ".join(map(str, several))
        blank = Point(case.name, name, unit=self.unit(case))
        x = np.array(sorted(groups))
        values = [groups[one] for one in x]
        medians = np.array([np.median(one) for one in values])
        if len(x) < self.lengths:
            what = "sizes" if self.axis == "size" else f"values of {self.axis}"
            note = f"{name}: {len(x)} of {self.lengths} {what} have {self.trials} trials"
            return replace(blank, note=note)
        slope = _slope(x, medians)
        sizes = map(int, x) if self.axis == "size" else case.sizes
        resampled = np.maximum(resampled_medians(values), np.finfo(np.float64).tiny)
        low, high = interval_of(_slope(x, resampled))
        least, most = limits_of(self.interval)
        return replace(
            blank,
            counts=float(least <= slope <= most),
            size=int(x[-1]),
            a_value=float(medians[-1]),
            estimate=float(slope),
            low=low,
            high=high,
            of="slope",
            sure=least <= low and high <= most,
            note=joined(
                f"{self.axis} {x[0]:,g} to {x[-1]:,g}",
                self.disturbed(case, [key for one in several for key in one.keys], sizes),
            ),
        )


class Rate(Criterion):
    """Test that the slope of log error on log t is that of the theory.

    Attributes
    ----------
    exponent : float
    tolerance : float
    one_sided : bool
        Whether the error may fall faster.
    study, x, y : str or None
        A study, and the keys of lengths and errors in it, such as ``arms.0.errors``. Errors may
        have a row per seed; rows are averaged.
    a, measure : str or None
        Alternatively a solver, and a measure traced along its training.
    x_min : float
        Shorter runs are left out.
    ends_below : float or None
        Largest error of the longest run. Above it there is no test: the run is still in its
        transient, in which an exploded error falls faster than any rate.
    """

    test: Literal["rate"]
    exponent: float
    tolerance: Annotated[float, Field(ge=0)]
    one_sided: bool = False
    study: Text | None = None
    x: Text | None = None
    y: Text | None = None
    a: Text | None = None
    measure: Text | None = None
    x_min: float = 0.0
    ends_below: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Rate:
        study = (self.study, self.x, self.y)
        trace = (self.a, self.measure)
        if not (all(study) and not any(trace)) and not (all(trace) and not any(study)):
            raise Problem("needs either study, x and y, or a and measure")
        return self

    @property
    def on_results(self) -> bool:
        """Whether it needs results of runs."""
        return self.study is None

    @property
    def solvers(self) -> list[str]:
        """Keys of its solvers."""
        return [self.a] if self.a else []

    def points(self, scope: Scope) -> list[Point]:
        """Return the point of the study, or a point per dataset."""
        if self.study is None:
            return [self._of_trace(case) for case in scope.cases]
        x, y = (scope.numbers(self.study, str(place)) for place in (self.x, self.y))
        return [self._point(self.study, str(self.y), x, np.atleast_2d(y).mean(axis=0))]

    def _of_trace(self, case: Case) -> Point:
        name, measure = str(self.a), case.measure(str(self.measure))
        training = case.trainings(measure).get(name) if measure and measure.traced else None
        if training is None or not training.iterative or len(training.courses) < self.trials:
            note = f"no {self.measure} of {name} along {self.trials} trainings"
            return Point(case.name, name, note=note)
        steps = [at for at in training.checkpoints() if len(at) == len(training.courses)]
        x = np.array([at[0].iteration for at in steps], np.float64)
        y = np.array([np.mean([one.value for one in at]) for at in steps])
        return self._point(case.name, name, x, y)

    def _point(self, where: str, name: str, x: Array, y: Array) -> Point:
        x, y = x[x >= self.x_min], y[x >= self.x_min]
        if len(x) < MIN_LENGTHS or y.min() <= 0:
            note = f"{counted(len(x), 'length')}; needs {MIN_LENGTHS} with errors above 0"
            return Point(where, name, note=note)
        if self.ends_below is not None and y[-1] > self.ends_below:
            note = f"still {y[-1]:.3g} at t {x[-1]:,g}, above {self.ends_below:g}"
            return Point(where, name, a_value=float(y[-1]), note=note)
        slope = float(_slope(x, y))
        low = -np.inf if self.one_sided else self.exponent - self.tolerance
        return Point(
            where,
            name,
            counts=float(low <= slope <= self.exponent + self.tolerance),
            a_value=float(y[-1]),
            estimate=slope,
            of="slope",
            note=f"t {x[0]:,g} to {x[-1]:,g}; theory {self.exponent:g}",
        )


def _slope(x: Array, y: Array) -> Any:
    """Return the slope of log y on log x for each column of y."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]
