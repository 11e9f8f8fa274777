"""Points of evidence, and verdicts from the share of points that count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from dsgkit.config.spec import Problem
from dsgkit.report.old_names import grouped

MIN_DATASETS = 3
"""Least number of tested datasets for a verdict, or all of a claim with fewer."""

NO_RESULTS = "no results"
"""Note on a dataset without a results folder."""


class Outcome(StrEnum):
    """The possible verdicts on a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNTESTABLE = "not testable here"

    def counted(self, n: int) -> str:
        """Return the outcome with a number of claims: ``1 holds``, ``2 hold``."""
        several = self.replace("holds", "hold").replace("does", "do")
        return f"{n} {self if n == 1 else several}"


def _bar(bar: Any) -> Any:
    if isinstance(bar, float) and not 0 < bar < 1:
        raise Problem(f"must be a share between 0 and 1, got {bar:g}")
    if isinstance(bar, int) and bar < 1:
        raise Problem(f"must be at least 1, got {bar}")
    return bar


Bar = Annotated[Literal["all", "any", "more than half"] | int | float, AfterValidator(_bar)]
"""Points that must count: ``all`` and the like, a number of datasets, or a share such as 0.8."""


@dataclass(frozen=True)
class Point:
    """One comparison, such as of two solvers on one dataset at one size.

    Attributes
    ----------
    where : str
        The dataset, config or study.
    a, b : str
        The compared solvers or names; ``b`` is empty without a comparison.
    counts : float or None
        1 if it supports the claim, 0 if not, 0.5 for a tie; None if evidence is lacking.
    size : int
        0 without a sweep.
    estimate : float or None
        The judged number: a difference, a ratio or a slope.
    low, high : float or None
        Its interval.
    of : str
        The kind of estimate, such as ``ratio``.
    p : float or None
        Adjusted p-value of the test.
    against : bool
        Whether it contradicts the claim, whatever the other points.
    sure : bool
        Whether it supports the claim significantly.
    note : str
        Why it does not count, or another remark.
    unit : {"", "seconds", "bytes", "percent"}
        Unit of both values.
    among : int
        Length of the study's list that the number is from; 0 without a list.
    up_to : float or None
        The largest of several merged numbers; ``a_value`` is the smallest.
    """

    where: str
    a: str = ""
    b: str = ""
    counts: float | None = None
    size: int = 0
    a_value: float | None = None
    b_value: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    of: str = ""
    p: float | None = None
    against: bool = False
    sure: bool = False
    note: str = ""
    unit: str = ""
    among: int = 0
    up_to: float | None = None


def merged(points: Iterable[Point]) -> list[Point]:
    """Merge the points of a study's list that have the same bounds and the same outcome.

    A list of thirty numbers then takes two rows: those that agree, and those that do not.
    """
    return [_merge(members) for members in grouped(points, _alike).values()]


def _alike(point: Point) -> Any:
    """Return a key that merged points share; points without a list have distinct keys."""
    return replace(point, a_value=None, note="") if point.among else id(point)


def _merge(points: Sequence[Point]) -> Point:
    if len(points) == 1:
        return points[0]
    values = [point.a_value for point in points if point.a_value is not None]
    note = f"{len(points)} of {points[0].among} numbers"
    return replace(points[0], a_value=min(values), up_to=max(values), note=note)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, or on a part of it.

    Attributes
    ----------
    counted : float
        Number of points that count.
    tested : int
        Number of points with evidence.
    sure : int
        Number of points that count significantly.
    reasons : tuple of str
        Why it is not testable; else empty.
    parts : tuple of int or None
        Number of parts that hold, and of all parts, if their outcomes differ.
    """

    outcome: Outcome
    counted: float = 0
    tested: int = 0
    sure: int = 0
    reasons: tuple[str, ...] = ()
    parts: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.outcome is Outcome.UNTESTABLE:
            return f"{self.outcome}: {'; '.join(self.reasons)}"
        if self.outcome is not Outcome.IN_PART:
            return str(self.outcome)
        if self.parts:
            return f"{self.outcome}: {self.parts[0]} of {self.parts[1]} parts"
        return f"{self.outcome}: {self.counted:g} of {self.tested}"


def untestable(*reasons: str) -> Verdict:
    """Return the verdict on a claim without enough evidence."""
    return Verdict(Outcome.UNTESTABLE, reasons=tuple(dict.fromkeys(filter(None, reasons))))


def meets(bar: Bar, points: Sequence[Point], claimed: int) -> bool:
    """Return whether enough points count.

    A number of datasets is scaled down if only some of the ``claimed`` ones were tested.
    """
    counted = sum(point.counts or 0 for point in points)
    if bar == "all":
        return counted == len(points)
    if bar == "any":
        return counted > 0
    if bar == "more than half":
        return counted > len(points) / 2
    if isinstance(bar, float):
        return counted >= bar * len(points)
    tested = len({point.where for point in points})
    return counted >= bar * min(1.0, tested / max(1, claimed))


def judged(points: Sequence[Point], holds: Bar, in_part: Bar | None, claimed: int) -> Verdict:
    """Return the verdict on the comparison of one pair of solvers.

    Parameters
    ----------
    points : sequence of Point
    holds, in_part : Bar
        Points that must count for each outcome; None for ``in_part`` skips it.
    claimed : int
        Number of datasets of the claim; 0 for numbers of a study.
    """
    tested = [point for point in points if point.counts is not None]
    datasets = len({point.where for point in tested})
    if not tested or datasets < min(MIN_DATASETS, claimed):
        return untestable(*_why_untestable(points, datasets, claimed))
    outcome = Outcome.FAILS
    if meets(holds, tested, claimed) and not any(point.against for point in tested):
        outcome = Outcome.HOLDS
    elif in_part is not None and meets(in_part, tested, claimed):
        outcome = Outcome.IN_PART
    counted = sum(point.counts or 0 for point in tested)
    return Verdict(outcome, counted, len(tested), sum(point.sure for point in tested))


def _why_untestable(points: Iterable[Point], datasets: int, claimed: int) -> list[str]:
    by_note: dict[str, list[str]] = {}
    for point in points:
        if point.counts is None:
            by_note.setdefault(point.note, []).append(point.where)
    notes = [
        f"{note} ({', '.join(dict.fromkeys(where))})" if any(where) else note
        for note, where in by_note.items()
    ]
    enough = f"{datasets} of {claimed} datasets have enough results" if datasets else ""
    return [enough, *notes] if notes else [enough or NO_RESULTS]


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim from those on its parts, which must all hold.

    An untestable part makes a claim untestable that would hold otherwise.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    known = [verdict for verdict in verdicts if verdict.outcome is not Outcome.UNTESTABLE]
    reasons = [reason for verdict in verdicts for reason in verdict.reasons]
    outcomes = {verdict.outcome for verdict in known}
    n_hold = sum(verdict.outcome is Outcome.HOLDS for verdict in known)
    if not known:
        return untestable(*reasons)
    if n_hold == len(known) and reasons:
        return untestable(f"{n_hold} of {len(verdicts)} parts hold", *reasons)
    return Verdict(
        outcomes.pop() if len(outcomes) == 1 else Outcome.IN_PART,
        sum(one.counted for one in known),
        sum(one.tested for one in known),
        sum(one.sure for one in known),
        parts=(n_hold, len(known)) if 0 < n_hold < len(known) else None,
    )
