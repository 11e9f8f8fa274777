"""Tests of values: equal, better, best_of, count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dsgkit.papers.criteria import Comparison, Contender, Scope, centre, contenders, joined, paired
from dsgkit.papers.evidence import Case, Sample
from dsgkit.papers.verdicts import Point
from dsgkit.report.contrasts import LEVEL, holm, paired_contrast
from dsgkit.tasks.measures import Measure

CONFIDENCE_OF_EQUALITY = 0.9
"""Confidence level of the interval within the margin: two one-sided tests at 5% [1]_.

.. [1] Schuirmann, "A comparison of the two one-sided tests procedure ..", 1987.
"""

Margin = Annotated[float, Field(ge=0)]


class Equal(Comparison):
    """Test that the mean difference of a and b over trials is within a margin.

    Attributes
    ----------
    margin : float
        In the measure's own unit: 0.01 is a percentage point.
    one_sided : bool
        Whether a may be better by any amount.
    """

    test: Literal["equal"]
    margin: Margin
    one_sided: bool = False

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the mean difference with its 90% interval."""
        from scipy.special import stdtrit

        values = paired(a, b)
        differences = values[0] - values[1]
        n, mean = len(differences), float(differences.mean())
        t = stdtrit(n - 1, (1 + CONFIDENCE_OF_EQUALITY) / 2)
        half = float(t * differences.std(ddof=1) / np.sqrt(n))
        gain = self.sign(case) * mean
        most = np.inf if self.one_sided else self.margin
        return replace(
            blank,
            counts=float(-self.margin <= gain <= most),
            a_value=float(values[0].mean()),
            b_value=float(values[1].mean()),
            estimate=mean,
            low=mean - half,
            high=mean + half,
            of="difference",
            sure=-self.margin <= gain - half and gain + half <= most,
        )


class BetterThan(Comparison):
    """Test that a is significantly better than b: paired t-tests, Holm over the points of a pair.

    A point that is significantly worse contradicts a claim, however many others are better.

    Attributes
    ----------
    least : float
        The smallest mean difference that counts as better.
    """

    test: Literal["better"]
    least: Margin = 0.0

    def of_pair(self, scope: Scope, *compared: Contender) -> list[Point]:
        """Return the points of one pair, with p-values adjusted over its points."""
        points = super().of_pair(scope, *compared)
        adjusted = holm([point.p for point in points])
        return [self._tested(point, p) for point, p in zip(points, adjusted, strict=True)]

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the mean difference, positive if a is better, and its t-test."""
        values = paired(a, b)
        signed = self.sign(case) * values
        contrast = paired_contrast(signed[1], signed[0])
        low, high = contrast.interval or (None, None)
        return replace(
            blank,
            counts=0.0,
            a_value=float(values[0].mean()),
            b_value=float(values[1].mean()),
            estimate=contrast.difference,
            low=low,
            high=high,
            of="gain",
            p=contrast.p_t,
        )

    def _tested(self, point: Point, p: float | None) -> Point:
        """Return a point with its outcome by the adjusted p-value: better, worse, or neither."""
        if point.estimate is None:
            return point
        beyond = p is not None and p < LEVEL
        won = beyond and point.estimate > 0 and point.estimate >= self.least
        lost = beyond and point.estimate < 0
        outcome = "better" if won else "worse" if lost else "undecided"
        note = joined(point.note, outcome)
        return replace(point, counts=float(won), p=p, sure=won, against=lost, note=note)


class AtLeastAsGood(Comparison):
    """Test that the best of solvers a is at least as good as the best of b, as printed."""

    test: Literal["count"]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per dataset."""
        return self.of_pair(scope, *(_pooled(contenders(side)) for side in self.sides))

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return both averages as printed."""
        measure = case.measure(self.measure)
        of_a, of_b = (printed(measure, centre(measure, one)) for one in (a, b))
        counts = self._counts(self.sign(case) * (of_a - of_b))
        return replace(
            blank, counts=counts, a_value=of_a, b_value=of_b, estimate=of_a - of_b, of="difference"
        )

    def _counts(self, gain: float) -> float:
        return float(gain >= 0)


class BestOf(AtLeastAsGood):
    """Test that a has the best mean of all named solvers; a tie as printed counts half.

    Only datasets with results of all these solvers count.
    """

    test: Literal["best_of"]  # type: ignore[assignment]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per solver a, against the best of b."""
        rivals = _pooled(contenders(self.b))
        return [point for a in contenders(self.a) for point in self.of_pair(scope, a, rivals)]

    def needed(self, compared: Sequence[Contender]) -> Sequence[Contender]:
        """Return every solver as a contender of its own."""
        return [Contender((key,)) for one in compared for key in one.keys]

    def _counts(self, gain: float) -> float:
        return 0.5 if gain == 0 else float(gain > 0)


def _pooled(several: Sequence[Contender]) -> Contender:
    """Return the best of several."""
    return Contender(tuple(key for one in several for key in one.keys))


def printed(measure: Measure | None, value: float) -> float:
    """Return a value rounded as in tables, so that values that print alike are equal."""
    if measure is None or measure.unit:
        return value
    return round(value, measure.digits + 2 * measure.percent)
