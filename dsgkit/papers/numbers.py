"""Tests of numbers against bounds: within, ratio, identity."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from dsgkit.config.spec import Problem, Spec, Text
from dsgkit.papers.criteria import Compared, Comparison, Criterion, Limits, Scope, limits_of
from dsgkit.papers.evidence import Case, Sample
from dsgkit.papers.verdicts import Point


class Within(Compared):
    """Test that a measure of a solver is within limits.

    Attributes
    ----------
    interval : list
        The least and the largest value; null for no limit.
    of : {"mean", "median", "each"}
        The judged value: the mean, the median, or that of each trial.
    around : dict or None
        A centre per dataset or config, to which the limits are relative.
    """

    test: Literal["within"]
    interval: Limits
    of: Literal["mean", "median", "each"] = "mean"
    around: dict[str, float] | None = None

    def point(self, case: Case, blank: Point, a: Sample) -> Point:
        """Return the judged value and the range of the trials."""
        if self.around is not None and case.name not in self.around:
            return replace(blank, note="nothing to be around")
        centre = a.median if self.of == "median" else float(a.array.mean())
        middle = self.around[case.name] if self.around else 0.0
        low, high = limits_of(self.interval)
        judged = (a.array if self.of == "each" else np.array([centre])) - middle
        return replace(
            blank,
            counts=float(((low <= judged) & (judged <= high)).all()),
            a_value=centre,
            low=float(a.array.min()),
            high=float(a.array.max()),
            of="values",
            note=f"around {middle:g}" if self.around else "",
        )


class Ratio(Comparison):
    """Test that a's median divided by b's is within limits.

    Attributes
    ----------
    interval : list
        The least and the largest quotient; null for no limit.
    """

    test: Literal["ratio"]
    interval: Limits

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the quotient of medians."""
        blank = replace(blank, a_value=a.median, b_value=b.median)
        if not b.median:
            return replace(blank, note="nothing to divide by")
        quotient = a.median / b.median
        low, high = limits_of(self.interval)
        return replace(blank, counts=float(low <= quotient <= high), estimate=quotient, of="ratio")


class Check(Spec):
    """Numbers of a study and their bounds; a bound is a number or a key in the study.

    Attributes
    ----------
    number : str
        Its key, such as ``arms.0.difference``; every number of a list is checked.
    """

    number: Text
    at_least: float | Text | None = None
    at_most: float | Text | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Check:
        if self.at_least is None and self.at_most is None:
            raise Problem("needs at_least or at_most")
        return self


class Identity(Criterion):
    """Test that numbers of a study are within bounds.

    Attributes
    ----------
    study : str
    checks : list of Check
    """

    test: Literal["identity"]
    study: Text
    checks: Annotated[list[Check], Field(min_length=1)]

    @property
    def on_results(self) -> bool:
        """Whether it needs results of runs."""
        return False

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per number."""
        return [point for check in self.checks for point in self._checked(check, scope)]

    def _checked(self, check: Check, scope: Scope) -> list[Point]:
        values = np.ravel(scope.numbers(self.study, check.number))
        among = len(values) if len(values) > 1 else 0
        bounds = [
            scope.numbers(self.study, one) if isinstance(one, str) else one
            for one in limits_of([check.at_least, check.at_most])
        ]
        of_each = zip(values, *(np.broadcast_to(one, values.shape) for one in bounds), strict=True)
        return [
            Point(
                self.study,
                check.number,
                counts=float(low <= value <= high),
                a_value=float(value),
                low=float(low) if np.isfinite(low) else None,
                high=float(high) if np.isfinite(high) else None,
                of="bounds",
                note=f"{i} of {among}" if among else "",
                among=among,
            )
            for i, (value, low, high) in enumerate(of_each, start=1)
        ]
