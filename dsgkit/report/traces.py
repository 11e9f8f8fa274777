"""Values of a measure along training, in every trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from dsgkit.experiment.store import Record
from dsgkit.report.old_names import grouped
from dsgkit.report.summary import Entry, Size, Summary
from dsgkit.tasks.measures import TIME, Measure


class Checkpoint(NamedTuple):
    """A trial's value after some training.

    A method without iterations has one checkpoint, at its end, with iteration 0.
    """

    iteration: int
    seconds: float
    value: float


Course = tuple[Checkpoint, ...]
"""The checkpoints of one trial, ascending."""


@dataclass(frozen=True)
class Training:
    """The training of one solver: an entry, and a course per finished trial."""

    entry: Entry
    courses: Sequence[Course]

    @property
    def iterative(self) -> bool:
        """Whether any trial has values along training."""
        return any(course[0].iteration for course in self.courses)

    def checkpoints(self) -> list[list[Checkpoint]]:
        """Return the trials' checkpoints at every iteration, ascending.

        Trials without values along training are left out if others have some.
        """
        every = (one for course in self.courses for one in course)
        by_iteration = grouped(every, lambda one: one.iteration)
        if self.iterative:
            by_iteration.pop(0, None)
        return [by_iteration[iteration] for iteration in sorted(by_iteration)]

    def values_after(self, seconds: float) -> tuple[float, ...]:
        """Return each trial's last value within ``seconds``, if it has one."""
        reached = (
            [one.value for one in course if one.seconds <= seconds] for course in self.courses
        )
        return tuple(values[-1] for values in reached if values)


@dataclass(frozen=True)
class Race:
    """All solvers of one results folder at one size.

    Attributes
    ----------
    trainings : list of Training
        In the order of the solvers.
    """

    summary: Summary
    size: Size
    trainings: Sequence[Training]

    def times(self, *, iterative: bool = False) -> list[float]:
        """Return the seconds of all checkpoints, optionally of iterative methods only."""
        trainings = (one for one in self.trainings if one.iterative or not iterative)
        courses = [course for training in trainings for course in training.courses]
        return [one.seconds for course in courses for one in course]


def is_traced(summary: Summary, measure: Measure) -> bool:
    """Return whether any fit has values of a measure along training."""
    if not measure.traced or not summary.shows(measure):
        return False
    return any(_steps(record, measure) for record in _fits(summary))


def races(summary: Summary, measure: Measure) -> list[Race]:
    """Return a race for each size with values along training, ascending.

    Without such a size, return the race at the largest size.
    """
    courses: dict[tuple[str, int], list[Course]] = {}
    for record in _fits(summary):
        if course := _course(record, measure):
            n = record["at"][summary.axis.name] if summary.axis else 0
            for size in (n, *record.get("also_at", ())):
                courses.setdefault((summary.name_of(record), size), []).append(course)
    entries = summary.entries(measure)
    every = [
        Race(
            summary,
            size,
            [
                Training(entries[solver, size], courses.get((solver, size.n), []))
                for solver in summary.solvers
            ],
        )
        for size in summary.sizes
    ]
    return [race for race in every if any(one.iterative for one in race.trainings)] or every[-1:]


def largest_races(every: Iterable[Race]) -> list[Race]:
    """Return each results folder's race at its largest size."""
    return list({id(race.summary): race for race in every}.values())


def _fits(summary: Summary) -> Iterable[Record]:
    """Return the records of the finished fits."""
    records = summary.results.records
    return (one for one in records if one["kind"] == "fit" and one["status"] == "ok")


def _course(record: Record, measure: Measure) -> Course:
    """Return a trial's values along training, or else only its final value."""
    if steps := _steps(record, measure):
        return steps
    seconds = (record.get("times") or {}).get(TIME.clock)
    value = (record.get("scores") or {}).get(measure.name)
    if _is_number(seconds) and _is_number(value):
        return (Checkpoint(0, seconds, value),)
    return ()


def _steps(record: Record, measure: Measure) -> Course:
    """Return the checkpoints with a finite value; others are stored as text.

    Their seconds are those of the first measurement, on the wall clock.
    """
    steps = []
    for step in record.get("trace") or []:
        iteration, seconds, value = (step.get(k) for k in ("iteration", "seconds", measure.name))
        if _is_number(iteration) and _is_number(seconds) and _is_number(value):
            steps.append(Checkpoint(int(iteration), seconds, value))
    return tuple(steps)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) <= 1e150  # of which squares can be summed
