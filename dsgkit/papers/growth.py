"""Tests of exponents: grows, with the size or a parameter; rate, along a study or a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dsgkit.papers.criteria import (
    Compared,
    Contender,
    Criterion,
    Limits,
    Scope,
    Sizes,
    contenders,
    limits_of,
)
from dsgkit.papers.evidence import Case, number_at
from dsgkit.papers.verdicts import Point
from dsgkit.report.numbers import counted
from dsgkit.report.summary import Summary
from dsgkit.report.traces import races
from dsgkit.specs import Text, problem

N_RESAMPLES = 500
CONFIDENCE = 0.95
LEAST_LENGTHS = 3


class Grows(Compared):
    """The slope of log(measure) on log(size), by least squares on medians, lies within limits.

    Attributes
    ----------
    interval : list
        The lowest and the highest slope; null for no limit.
    axis : str
        ``size``, or a parameter that solvers ``a`` differ in.
    minus : str or None
        A solver whose median is taken off: the memory of a process without the method's own.
    lengths : int
        Sizes that are needed.
    """

    test: Literal["grows"]
    interval: Limits
    axis: Text = "size"
    sizes: Sizes = "every"
    minus: Text | None = None
    lengths: Annotated[int, Field(ge=2)] = LEAST_LENGTHS

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers that it names."""
        return [*super().solvers, *([self.minus] if self.minus else [])]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point of every solver and dataset, or of all solvers of a series."""
        of_a = contenders(self.a)
        if self.axis != "size":
            return [
                self._slope(case, ", ".join(map(str, of_a)), self._by_parameter(case, of_a))
                for case in scope.cases
            ]
        return [
            self._slope(case, str(a), self._by_size(case, a)) for a in of_a for case in scope.cases
        ]

    def _by_size(self, case: Case, a: Contender) -> dict[float, NDArray[np.float64]]:
        """Return the trials' values at each size, less the other solver's median."""
        found = {}
        for size in self.at(case, [a]):
            sample = self.sample(case, a, size)
            other = case.sample(self.minus, size, self.measure) if self.minus else None
            if sample and (other is None or len(other)):
                base = 0.0 if other is None else np.median(other.array)
                found[float(size)] = sample.array - base
        return found

    def _by_parameter(
        self, case: Case, solvers: Sequence[Contender]
    ) -> dict[float, NDArray[np.float64]]:
        found = {}
        for one in solvers:
            for size in self.at(case, [one])[-1:]:
                sample = self.sample(case, one, size)
                settings = set(case.settings(one.keys[0], size, self.axis))
                if sample and len(settings) == 1:
                    found[float(settings.pop())] = sample.array
        return found

    def _slope(self, case: Case, name: str, values: Mapping[float, NDArray[np.float64]]) -> Point:
        if len(values) < self.lengths:
            what = "sizes" if self.axis == "size" else f"values of {self.axis}"
            note = f"{name}: {len(values)} {what} with {self.trials} trials, of {self.lengths}"
            return Point(case.name, name, note=note)
        if min(np.median(one) for one in values.values()) <= 0:
            return Point(case.name, name, note="values of 0 or less have no logarithm")
        x = np.array(sorted(values))
        slope, low, high = slope_of_medians(x, [values[one] for one in x])
        least, most = limits_of(self.interval)
        return Point(
            case.name,
            name,
            counts=float(least <= slope <= most),
            size=int(x[-1]),
            a_value=float(np.median(values[x[-1]])),
            estimate=slope,
            low=low,
            high=high,
            of="slope",
            sure=bool(least <= low and high <= most),
            note=f"{self.axis} {x[0]:,g} to {x[-1]:,g}",
            unit=self.unit(case),
        )


class Rate(Criterion):
    """The slope of log error on log t is that of the theory.

    Attributes
    ----------
    exponent : float
    tolerance : float
    one_sided : bool
        Whether an error may fall faster.
    study, x, y : str or None
        The study, and where in its numbers lengths and errors are: ``arms.0.errors``. Errors may be
        a row per seed, which are averaged.
    a, measure : str or None
        Or the trace of a solver, at every iteration that it has.
    x_min : float
        Shorter runs are left out.
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

    @model_validator(mode="after")
    def _one_source(self) -> Rate:
        study = (self.study, self.x, self.y)
        trace = (self.a, self.measure)
        if not (all(study) and not any(trace)) and not (all(trace) and not any(study)):
            raise problem("needs either study, x and y, or a and measure")
        return self

    @property
    def on_results(self) -> bool:
        """Whether it looks at results of runs."""
        return self.study is None

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers that it names."""
        return [self.a] if self.a else []

    def points(self, scope: Scope) -> list[Point]:
        """Return the slope of the study, or on every dataset."""
        if self.study is None:
            return [self._of_trace(case) for case in scope.cases]
        if self.study not in scope.studies:
            return [Point("", note=f"study {self.study} was not run")]
        numbers = scope.studies[self.study]
        x = np.asarray(number_at(numbers, str(self.x)), np.float64)
        y = np.atleast_2d(np.asarray(number_at(numbers, str(self.y)), np.float64)).mean(axis=0)
        return [self._point(self.study, str(self.y), x, y)]

    def _of_trace(self, case: Case) -> Point:
        name, measure = str(self.a), case.measure(str(self.measure))
        keys = {key: key for key in case.results.solvers}
        if measure is None or name not in keys:
            return Point(case.name, name, note=case.absence(name, case.sizes))
        race = races(Summary(case.results, case.name, keys), measure)[-1]
        training = next(one for one in race.trainings if one.entry.solver == name)
        if not training.iterative or len(training.courses) < self.trials:
            return Point(case.name, name, note="no values along training of enough trials")
        steps = [at for at in training.checkpoints() if len(at) == len(training.courses)]
        x = np.array([at[0].iteration for at in steps], np.float64)
        y = np.array([np.mean([one.value for one in at]) for at in steps])
        return self._point(case.name, name, x, y)

    def _point(
        self, where: str, name: str, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> Point:
        kept = x >= self.x_min
        x, y = x[kept], y[kept]
        if len(x) < LEAST_LENGTHS or y.min() <= 0:
            note = f"{counted(len(x), 'length')}; needs {LEAST_LENGTHS} with errors above 0"
            return Point(where, name, note=note)
        slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
        near = slope <= self.exponent + self.tolerance
        if not self.one_sided:
            near = near and slope >= self.exponent - self.tolerance
        return Point(
            where,
            name,
            counts=float(near),
            a_value=float(y[-1]),
            estimate=slope,
            of="slope",
            note=f"t {x[0]:,g} to {x[-1]:,g}; theory {self.exponent:g}",
        )


def slope_of_medians(
    x: NDArray[np.float64], values: Sequence[NDArray[np.float64]]
) -> tuple[float, float, float]:
    """Return the slope of log medians on log x, with its bootstrap interval over trials."""
    rng = np.random.default_rng(0)
    drawn = np.array(
        [np.median(rng.choice(one, (N_RESAMPLES, len(one))), axis=1) for one in values]
    )
    medians = np.array([np.median(one) for one in values])
    tiny = np.finfo(np.float64).tiny
    slopes = np.polyfit(np.log(x), np.log(np.maximum(drawn, tiny)), 1)[0]
    slope = np.polyfit(np.log(x), np.log(medians), 1)[0]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    return float(slope), float(low), float(high)
