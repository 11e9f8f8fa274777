"""Base classes of the tests of claims."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from dsgkit.config.spec import Count, Problem, Spec, Text
from dsgkit.errors import ResultsError, nearest_or_all, spelled
from dsgkit.linalg import Array
from dsgkit.papers.evidence import SEARCH, Case, Sample, is_time
from dsgkit.papers.verdicts import NO_RESULTS, Bar, Point, Verdict, combined, judged, untestable
from dsgkit.report.old_names import grouped
from dsgkit.tasks.measures import Measure

MIN_TRIALS = 5

N_RESAMPLES = 2000
CONFIDENCE = 0.95
"""Confidence level of bootstrap intervals over trials."""


class Best(Spec):
    """The best of some solvers, chosen on each dataset by the mean (times: the median)."""

    best: Annotated[list[Text], Field(min_length=1)]


class Range(Spec):
    """Sizes from ``min`` to ``max``."""

    min: Count = 1
    max: Count | None = None


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def one_of(names: Iterable[str]) -> AfterValidator:
    """Return a validator that accepts only some names."""
    known = tuple(names)

    def check(value: str) -> str:
        if value not in known:
            raise Problem(f"unknown name {spelled(value)}{nearest_or_all(value, known)}")
        return value

    return AfterValidator(check)


def _limits(value: list[float | None]) -> list[float | None]:
    low, high = value
    if low is None and high is None:
        raise Problem("must have a lower or an upper limit")
    if low is not None and high is not None and low > high:
        raise Problem(f"the lower limit {low:g} is above the upper one {high:g}")
    return value


Side = Annotated[list[Text] | Best, BeforeValidator(_listed)]
"""One solver, several judged one by one, or the best of several."""

Sizes = Literal["largest", "every", "full"] | Count | list[Count] | Range
"""``largest``: the largest with results of both; ``full``: all rows; n: the largest up to n."""

Limits = Annotated[list[float | None], Field(min_length=2, max_length=2), AfterValidator(_limits)]
"""Lower and upper limit; one of them may be null."""

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Scope:
    """The results and studies for one criterion.

    Attributes
    ----------
    cases : sequence of Case
        The datasets with results.
    studies : mapping of str to dict
        Numbers written by studies.
    missing : sequence of str
        Datasets of the claim without results.
    """

    cases: Sequence[Case] = ()
    studies: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()

    @property
    def claimed(self) -> int:
        """Number of datasets of the claim."""
        return len(self.cases) + len(self.missing)

    def numbers(self, study: str, place: str) -> Array:
        """Return the numbers of a study at a place, such as ``arms.0.slope``.

        Raises
        ------
        ResultsError
            If nothing is there.
        """
        if study not in self.studies:
            raise ResultsError(f"study {study} was not run")
        value = self.studies[study]
        for part in place.split("."):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise ResultsError(f"study {study} has no {place} (nothing at {part})") from None
        return np.asarray(value, np.float64)


class Criterion(Spec):
    """Base class of the criteria by which claims are judged.

    Attributes
    ----------
    by : {"protocol", "useful"}
        Profiles of the judged results.
    datasets : list of str or None
        Datasets of the paper's file; None for its own and their stand-ins.
    configs : list of str or None
        Configs made for a claim, instead of datasets.
    trials : int
        Finished trials needed for a comparison.
    """

    by: Literal["protocol", "useful"]
    datasets: list[Text] | None = None
    configs: list[Text] | None = None
    holds: Bar = "all"
    in_part: Bar | None = None
    trials: Annotated[int, Field(ge=2)] = MIN_TRIALS

    @property
    def on_results(self) -> bool:
        """Whether it needs results of runs."""
        return True

    @property
    def solvers(self) -> list[str]:
        """Keys of its solvers."""
        return []

    @abstractmethod
    def points(self, scope: Scope) -> list[Point]:
        """Return the evidence for each pair of solvers."""

    def judge(self, scope: Scope) -> tuple[Verdict, list[Point]]:
        """Return the verdict with all its evidence."""
        try:
            points = self.points(scope)
        except ResultsError as error:  # of a study
            return untestable(str(error)), []
        pairs = grouped(points, lambda point: (point.a, point.b))
        absent = [Point(name, note=NO_RESULTS) for name in scope.missing]
        verdicts = [
            judged([*members, *absent], self.holds, self.in_part, scope.claimed)
            for members in pairs.values() or ([],)
        ]
        return combined(verdicts), [*points, *absent]


@dataclass(frozen=True)
class Contender:
    """A solver, or the best of several."""

    keys: tuple[str, ...]

    def __str__(self) -> str:
        return self.keys[0] if len(self.keys) == 1 else f"best of {', '.join(self.keys)}"


class Compared(Criterion):
    """Base class of tests of solvers by a measure.

    Attributes
    ----------
    a : Side
    measure : str
        A measure, a clock (``fit``, ``search``, ``clustering``), or a diagnostic.
    sizes : Sizes
    better : {"higher", "lower"} or None
        The good side, if the measure's own does not apply.
    leave_out : dict
        Hyper-parameters of fits to leave out. Example: at ``gamma: 1`` SAMULT solves a smaller
        system.
    """

    a: Side
    measure: Text
    sizes: Sizes = "largest"
    better: Better | None = None
    leave_out: dict[str, Any] = Field(default_factory=dict)

    @property
    def sides(self) -> list[Side]:
        """The sides of the comparison."""
        return [self.a]

    @property
    def solvers(self) -> list[str]:
        """Keys of its solvers."""
        return [key for side in self.sides for one in contenders(side) for key in one.keys]

    def judge(self, scope: Scope) -> tuple[Verdict, list[Point]]:
        """Return the verdict with all its evidence.

        Datasets without the sizes of the claim are left out.
        """
        concerned = [case for case in scope.cases if chosen_sizes(self.sizes, case.sizes, case)]
        if scope.cases and not concerned and not scope.missing:
            return untestable("no dataset has such a size"), []
        return super().judge(replace(scope, cases=concerned))

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per comparison, dataset and size."""
        tuples = itertools.product(*map(contenders, self.sides))
        return [point for several in tuples for point in self.of_pair(scope, *several)]

    def of_pair(self, scope: Scope, *compared: Contender) -> list[Point]:
        """Return the points of one pair, or of one solver."""
        return [point for case in scope.cases for point in self.of_case(case, *compared)]

    def of_case(self, case: Case, *compared: Contender) -> Iterator[Point]:
        """Yield the points on one dataset, or a single point with the reason for none."""
        needed = self.needed(compared)
        sizes = self.at(case, needed)
        for size in sizes or case.sizes[:1]:
            a, b = ([str(one) for one in compared] + [""])[:2]
            blank = Point(case.name, a, b, size=size if sizes else 0, unit=self.unit(case))
            lacking = [self.sample(case, one, size) for one in needed]
            lacking = [sample for sample in lacking if len(sample) < self.trials]
            samples = [self.sample(case, one, size) for one in compared]
            if lacking or not sizes:
                yield replace(blank, note=lacking[0].note if lacking else "no common size")
            elif paired(*samples).shape[1] < self.trials:
                yield replace(blank, note="too few common trials")
            else:
                point = self.point(case, blank, *samples)
                several = any(len(one.keys) > 1 for one in compared)
                chosen = " against ".join(one.solver for one in samples) if several else ""
                disturbed = self.disturbed(case, [one.solver for one in samples], [size])
                yield replace(point, note=joined(chosen, point.note, disturbed))

    def point(self, case: Case, blank: Point, *samples: Any) -> Point:
        """Return the point with its estimate and outcome filled in."""
        raise NotImplementedError

    def disturbed(self, case: Case, solvers: Iterable[str], sizes: Iterable[int]) -> str:
        """Return a note on disturbed fits, if times are judged and any were disturbed."""
        disturbances = case.disturbances(solvers, sizes)
        return (
            str(disturbances) if disturbances.number and is_time(case.measure(self.measure)) else ""
        )

    def needed(self, compared: Sequence[Contender]) -> Sequence[Contender]:
        """Return the contenders that must have enough trials."""
        return compared

    def at(self, case: Case, needed: Iterable[Contender]) -> list[int]:
        """Return the sizes to judge, at which every contender has enough trials.

        A contender that is the best of several needs enough trials of all its solvers, except those
        without enough trials at any size.
        """
        common = set(case.sizes)
        for one in needed:
            by_key = [
                {n for n in case.sizes if len(self.values(case, key, n)) >= self.trials}
                for key in one.keys
            ]
            common = common.intersection(*(list(filter(None, by_key)) or [set()]))
        return chosen_sizes(self.sizes, sorted(common), case)

    def sample(self, case: Case, contender: Contender, size: int) -> Sample:
        """Return the values of a contender's best solver, among those with enough trials."""
        samples = [self.values(case, key, size) for key in contender.keys]
        enough = [sample for sample in samples if len(sample) >= self.trials]
        if not enough:
            return replace(samples[0], note="; ".join(sample.note for sample in samples))
        sign, measure = self.sign(case), case.measure(self.measure)
        return max(enough, key=lambda sample: sign * centre(measure, sample))

    def values(self, case: Case, key: str, size: int) -> Sample:
        """Return the values of a solver."""
        return case.sample(key, size, self.measure, self.leave_out)

    def sign(self, case: Case) -> int:
        """Return 1 if high values are good, else -1."""
        measure = case.measure(self.measure)
        side = self.better or (measure and measure.better)
        return 1 if side == "higher" else -1

    def unit(self, case: Case) -> str:
        """Return the unit in which values are printed."""
        measure = case.measure(self.measure)
        if measure is None:
            return "seconds" if self.measure == SEARCH else ""
        return measure.unit or ("percent" if measure.percent else "")


class Comparison(Compared):
    """Base class of tests of solvers ``a`` against solvers ``b``, pair by pair."""

    b: Side

    @property
    def sides(self) -> list[Side]:
        """The sides of the comparison."""
        return [self.a, self.b]


def contenders(side: Side) -> list[Contender]:
    """Return the contenders of a side."""
    if isinstance(side, Best):
        return [Contender(tuple(side.best))]
    return [Contender((key,)) for key in side]


def chosen_sizes(sizes: Sizes, both: Sequence[int], case: Case) -> list[int]:
    """Return which sizes to judge.

    Parameters
    ----------
    sizes : Sizes
    both : sequence of int
        Sizes with enough trials of every contender, ascending.
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


def joined(*notes: str) -> str:
    """Return notes in one line, without empty ones."""
    return "; ".join(filter(None, notes))


def limits_of(interval: Sequence[Any]) -> tuple[Any, Any]:
    """Return both limits, with infinities for null."""
    low, high = interval
    return -np.inf if low is None else low, np.inf if high is None else high


def centre(measure: Measure | None, sample: Sample) -> float:
    """Return the median of times, else the mean, as tables do."""
    return sample.median if is_time(measure) else float(sample.array.mean())


def paired(*samples: Sample) -> Array:
    """Return the values of the common trials, a row per sample."""
    trials = sorted(set.intersection(*(set(one.values) for one in samples)))
    return np.array([[one.values[trial] for trial in trials] for one in samples], np.float64)


def resampled_medians(groups: Iterable[Array]) -> Array:
    """Return medians of bootstrap samples, a row per group."""
    rng = np.random.default_rng(0)
    return np.array([np.median(rng.choice(one, (N_RESAMPLES, len(one))), axis=1) for one in groups])


def interval_of(resampled: Array) -> tuple[float, float]:
    """Return the bootstrap interval of a statistic."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return float(low), float(high)
