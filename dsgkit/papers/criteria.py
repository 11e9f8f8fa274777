"""What every test of claims shares: what it compares, on what, and how much of it must hold."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from dsgkit.papers.evidence import SEARCH, Case, Sample
from dsgkit.papers.verdicts import NO_RESULTS, Bar, Point, Verdict, combined, judged
from dsgkit.specs import Count, Spec, Text, problem
from dsgkit.tasks.measures import Measure

LEAST_TRIALS = 5


class Best(Spec):
    """The best of some solvers, chosen on every dataset by its mean (times: its median)."""

    best: Annotated[list[Text], Field(min_length=1)]


class Range(Spec):
    """Sizes from ``min`` to ``max``."""

    min: Count = 1
    max: Count | None = None


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _limits(value: list[float | None]) -> list[float | None]:
    low, high = value
    if low is None and high is None:
        raise problem("must have a lower or an upper limit")
    if low is not None and high is not None and low > high:
        raise problem(f"the lower limit {low:g} is above the upper one {high:g}")
    return value


Side = Annotated[list[Text] | Best, BeforeValidator(_listed)]
"""One solver, several that are judged one by one, or the best of several."""

Sizes = Literal["largest", "every", "full"] | Count | list[Count] | Range
"""``largest``: with results of both; ``full``: all rows; a number: the largest up to it."""

Limits = Annotated[list[float | None], Field(min_length=2, max_length=2), AfterValidator(_limits)]
"""A lower and an upper limit, one of which may be null."""

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Scope:
    """What one judgement looks at.

    Attributes
    ----------
    cases : sequence of Case
        The datasets with results.
    studies : mapping of str to dict
        Numbers that studies wrote.
    missing : sequence of str
        Datasets of the claim without results.
    """

    cases: Sequence[Case] = ()
    studies: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()

    @property
    def claimed(self) -> int:
        """The number of datasets of the claim."""
        return len(self.cases) + len(self.missing)


class Criterion(Spec):
    """One judgement of a claim; each test derives from it.

    Attributes
    ----------
    by : {"protocol", "useful"}
        The profiles whose results are judged.
    datasets : list of str or None
        Of those of the paper's file; None for its own and their stand-ins.
    configs : list of str or None
        Configs made for a claim, instead of datasets.
    holds, in_part : Bar
    trials : int
        Finished trials that a comparison needs.
    """

    by: Literal["protocol", "useful"]
    datasets: list[Text] | None = None
    configs: list[Text] | None = None
    holds: Bar = "all"
    in_part: Bar | None = None
    trials: Annotated[int, Field(ge=2)] = LEAST_TRIALS

    @property
    def on_results(self) -> bool:
        """Whether it looks at results of runs."""
        return True

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers that it names."""
        return []

    @abstractmethod
    def points(self, scope: Scope) -> list[Point]:
        """Return the evidence, of every pair of solvers."""

    def judge(self, scope: Scope) -> tuple[Verdict, list[Point]]:
        """Return the verdict with all its evidence."""
        found = self.points(scope)
        pairs: dict[tuple[str, str], list[Point]] = {}
        for point in found:
            pairs.setdefault((point.a, point.b), []).append(point)
        absent = [Point(name, note=NO_RESULTS) for name in scope.missing]
        verdicts = [self._verdict([*of, *absent], scope) for of in pairs.values() or ([],)]
        return combined(verdicts), [*found, *absent]

    def _verdict(self, points: Sequence[Point], scope: Scope) -> Verdict:
        return judged(points, self.holds, self.in_part, scope.claimed)


@dataclass(frozen=True)
class Contender:
    """A solver, or the best of several."""

    keys: tuple[str, ...]

    def __str__(self) -> str:
        return self.keys[0] if len(self.keys) == 1 else f"best of {', '.join(self.keys)}"


class Compared(Criterion):
    """A test of solvers by a measure.

    Attributes
    ----------
    a : Side
    measure : str
        A measure's name, a clock (``fit``, ``search``, ``clustering``), or a diagnostic.
    sizes : Sizes
    better : {"higher", "lower"} or None
        The measure's good side, where the measure itself has none.
    leave_out : dict
        Hyper-parameters of fits that do not count: at ``gamma: 1`` SAMULT solves a smaller system.
    """

    a: Side
    measure: Text
    sizes: Sizes = "largest"
    better: Better | None = None
    leave_out: dict[str, Any] = Field(default_factory=dict)

    @property
    def sides(self) -> list[Side]:
        """What is compared."""
        return [self.a]

    @property
    def solvers(self) -> list[str]:
        """Keys of the solvers that it names."""
        return [key for side in self.sides for one in contenders(side) for key in one.keys]

    def sample(self, case: Case, contender: Contender, size: int) -> Sample | None:
        """Return the values of a contender; None with too few trials."""
        found = [self._values(case, key, size) for key in contender.keys]
        found = [sample for sample in found if len(sample) >= self.trials]
        if not found:
            return None
        sign = -1 if self.side_of(case) == "lower" else 1
        return max(found, key=lambda sample: sign * centre(case.measure(self.measure), sample))

    def _values(self, case: Case, key: str, size: int) -> Sample:
        return case.sample(key, size, self.measure, self.leave_out)

    def side_of(self, case: Case) -> Better:
        """Return which values are good."""
        measure = case.measure(self.measure)
        return self.better or (measure and measure.better) or "lower"

    def at(self, case: Case, needed: Iterable[Contender]) -> list[int]:
        """Return the sizes to judge, those with enough trials of all or asked for by number.

        Of the best of some solvers, one that has enough trials nowhere is not waited for.
        """
        common = set(case.sizes)
        for one in needed:
            by_key = [self._finished(case, key) for key in one.keys]
            common = common.intersection(*(list(filter(None, by_key)) or [set()]))
        return chosen_sizes(self.sizes, sorted(common), case)

    def _finished(self, case: Case, key: str) -> set[int]:
        """Return the sizes at which a solver has enough trials."""
        return {n for n in case.sizes if len(self._values(case, key, n)) >= self.trials}

    def absence(self, case: Case, needed: Iterable[Contender], size: int | None = None) -> str:
        """Return in words which contender has too few trials."""
        sizes = case.sizes if size is None else [size]
        for one in needed:
            if not any(self._finished(case, key) & set(sizes) for key in one.keys):
                return "; ".join(self._absence(case, key, sizes) for key in one.keys)
        return "no common size"

    def _absence(self, case: Case, key: str, sizes: Sequence[int]) -> str:
        """Return why a solver has too few values at all of some sizes."""
        finished = [size for size in sizes if case.endings(key, size)["ok"] >= self.trials]
        if any(not len(self._values(case, key, size)) for size in finished):
            return f"{key} has no {self.measure}{self._without}"
        return case.absence(key, sizes) + self._without

    @property
    def _without(self) -> str:
        settings = ", ".join(f"{name} = {value}" for name, value in self.leave_out.items())
        return f" without fits at {settings}" if settings else ""

    def unit(self, case: Case) -> str:
        """Return the unit in which values are printed."""
        measure = case.measure(self.measure)
        if measure is None:
            return "seconds" if self.measure == SEARCH else ""
        return measure.unit or ("percent" if measure.percent else "")


class Comparison(Compared):
    """A test of solvers ``a`` against solvers ``b``, each pair for itself."""

    b: Side

    @property
    def sides(self) -> list[Side]:
        """What is compared."""
        return [self.a, self.b]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point of every pair, dataset and size."""
        pairs = itertools.product(contenders(self.a), contenders(self.b))
        return [point for pair in pairs for point in self.of_pair(scope, *pair)]

    def of_pair(self, scope: Scope, a: Contender, b: Contender) -> list[Point]:
        """Return the points of one pair."""
        return [point for case in scope.cases for point in self.of_case(case, a, b)]

    def needed(self, a: Contender, b: Contender) -> Sequence[Contender]:
        """Return who must have enough trials."""
        return a, b

    def of_case(self, case: Case, a: Contender, b: Contender) -> Iterator[Point]:
        """Yield the points of one pair on one dataset; one that says why if there are none."""
        blank, needed = Point(case.name, str(a), str(b), unit=self.unit(case)), self.needed(a, b)
        sizes = self.at(case, needed)
        for size in sizes:
            of_a, of_b = self.sample(case, a, size), self.sample(case, b, size)
            if of_a is None or of_b is None:
                yield replace(blank, size=size, note=self.absence(case, needed, size))
            elif len(of_a.values.keys() & of_b.values.keys()) < self.trials:
                yield replace(blank, size=size, note="too few common trials")
            else:
                found = self.point(case, replace(blank, size=size), of_a, of_b)
                several = max(len(a.keys), len(b.keys)) > 1
                chosen = f"{of_a.solver} against {of_b.solver}" if several else ""
                yield replace(found, note="; ".join(filter(None, [chosen, found.note])))
        if not sizes:
            yield replace(blank, note=self.absence(case, needed))

    @abstractmethod
    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return a point, filled in with what the values of both say."""


def contenders(side: Side) -> list[Contender]:
    """Return what a side stands for."""
    if isinstance(side, Best):
        return [Contender(tuple(side.best))]
    return [Contender((key,)) for key in side]


def chosen_sizes(sizes: Sizes, both: Sequence[int], case: Case) -> list[int]:
    """Return which sizes to judge.

    Parameters
    ----------
    sizes : Sizes
    both : sequence of int
        Ascending, those with enough trials of every contender.
    case : Case
    """
    if sizes == "every" or not any(case.sizes):
        return list(both)
    if sizes == "largest":
        return list(both[-1:])
    if sizes == "full":
        return [] if case.full is None else [case.full]
    if isinstance(sizes, int):
        return [size for size in both if size <= sizes][-1:]
    if isinstance(sizes, Range):
        most = sizes.max or max(case.sizes)
        return [size for size in both if sizes.min <= size <= most]
    return list(sizes)


def limits_of(interval: Sequence[float | None]) -> tuple[float, float]:
    """Return limits, infinite where there is none."""
    low, high = interval
    return -np.inf if low is None else low, np.inf if high is None else high


def centre(measure: Measure | None, sample: Sample) -> float:
    """Return the value that tables show: the median of times, else the mean."""
    timed = measure is not None and measure.unit == "seconds"
    return float(np.median(sample.array) if timed else sample.array.mean())


def paired(a: Sample, b: Sample) -> NDArray[np.float64]:
    """Return the values of the trials that both have, in two rows."""
    trials = sorted(a.values.keys() & b.values.keys())
    return np.array([[one.values[trial] for trial in trials] for one in (a, b)], np.float64)
