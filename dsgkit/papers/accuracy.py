"""Tests of values: equal, better, best_of, count, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from dsgkit.papers.criteria import (
    Better,
    Comparison,
    Contender,
    Scope,
    centre,
    contenders,
    paired,
)
from dsgkit.papers.evidence import Case, Sample
from dsgkit.papers.verdicts import LEAST_DATASETS, Point, Verdict, judged
from dsgkit.report.contrasts import holm, paired_contrast
from dsgkit.report.numbers import counted
from dsgkit.report.ranks import LEVEL, ranking
from dsgkit.tasks.measures import Measure

CONFIDENCE_OF_EQUALITY = 0.9
"""Of the interval that must lie within the margin: two one-sided tests at 5% [1]_.

.. [1] Schuirmann, "A comparison of the two one-sided tests procedure ..", 1987.
"""

Margin = Annotated[float, Field(ge=0)]


class Equal(Comparison):
    """The mean difference of a and b over trials is within a margin.

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
        values = paired(a, b)
        difference, low, high = _interval(values[0] - values[1])
        sign = -1 if self.side_of(case) == "lower" else 1
        worst, best = sorted((sign * low, sign * high))
        most = np.inf if self.one_sided else self.margin
        return replace(
            blank,
            counts=float(-self.margin <= sign * difference <= most),
            a_value=float(values[0].mean()),
            b_value=float(values[1].mean()),
            estimate=difference,
            low=low,
            high=high,
            of="difference",
            sure=-self.margin <= worst and best <= most,
        )


def _interval(differences: np.ndarray) -> tuple[float, float, float]:
    from scipy.special import stdtrit

    n, mean = len(differences), float(differences.mean())
    t = stdtrit(n - 1, (1 + CONFIDENCE_OF_EQUALITY) / 2)
    half = float(t * differences.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


class BetterThan(Comparison):
    """A is better than b beyond chance: paired t-tests, Holm over the points of a pair.

    Attributes
    ----------
    alpha : float
    least : float
        The mean difference that a better one has at least.
    lost : int
        Points that may be lost beyond chance by a claim that holds.
    """

    test: Literal["better"]
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    least: Margin = 0.0
    lost: Annotated[int, Field(ge=0)] = 0

    def of_pair(self, scope: Scope, a: Contender, b: Contender) -> list[Point]:
        """Return the points of one pair, with p-values adjusted for all of them."""
        found = super().of_pair(scope, a, b)
        adjusted = holm([point.p for point in found])
        return [self._tested(point, p) for point, p in zip(found, adjusted, strict=True)]

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return the mean difference, signed so that above 0 is for a, and its t-test."""
        values = paired(a, b)
        signed = -values if self.side_of(case) == "lower" else values
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

    def _verdict(self, points: Sequence[Point], scope: Scope) -> Verdict:
        return judged(points, self.holds, self.in_part, scope.claimed, self.lost)

    def _tested(self, point: Point, p: float | None) -> Point:
        """Return a point as the adjusted p-value has it: won, lost or open."""
        if point.counts is None or point.estimate is None:
            return point
        beyond = p is not None and p < self.alpha
        won = beyond and point.estimate > 0 and point.estimate >= self.least
        lost = beyond and point.estimate < 0
        note = "won" if won else "lost" if lost else "open"
        return replace(point, counts=float(won), p=p, sure=won, against=lost, note=note)


class AtLeastAsGood(Comparison):
    """The best of solvers a is at least as good as the best of b, as printed: ties count."""

    test: Literal["count"]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point of every dataset."""
        a, b = (_pooled(contenders(side)) for side in (self.a, self.b))
        return self.of_pair(scope, a, b)

    def point(self, case: Case, blank: Point, a: Sample, b: Sample) -> Point:
        """Return both centres as printed."""
        measure = case.measure(self.measure)
        of_a, of_b = (printed(measure, centre(measure, one)) for one in (a, b))
        gain = of_b - of_a if self.side_of(case) == "lower" else of_a - of_b
        counts = self._counts(gain)
        return replace(
            blank, counts=counts, a_value=of_a, b_value=of_b, estimate=of_a - of_b, of="difference"
        )

    def _counts(self, gain: float) -> float:
        return float(gain >= 0)


class BestOf(AtLeastAsGood):
    """A has the best mean of all named solvers; a tie as printed counts half.

    It is judged where all of them have results.
    """

    test: Literal["best_of"]  # type: ignore[assignment]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point of each solver a, against the best of b."""
        rivals = _pooled(contenders(self.b))
        return [point for a in contenders(self.a) for point in self.of_pair(scope, a, rivals)]

    def needed(self, a: Contender, b: Contender) -> Sequence[Contender]:
        """Return every solver by itself."""
        return [Contender((key,)) for key in (*a.keys, *b.keys)]

    def _counts(self, gain: float) -> float:
        return 0.5 if gain == 0 else float(gain > 0)


def _pooled(several: Sequence[Contender]) -> Contender:
    """Return the best of several."""
    return Contender(tuple(key for one in several for key in one.keys))


class Ranks(Comparison):
    """A has the lowest mean rank over the datasets, and Friedman's test tells the solvers apart.

    Where it does not, the point counts half.
    """

    test: Literal["ranks"]
    in_part: Literal["any"] = "any"

    def points(self, scope: Scope) -> list[Point]:
        """Return one point on all datasets that have a value of every solver."""
        solvers = [Contender((key,)) for key in dict.fromkeys(self.solvers)]
        values: dict[str, dict[str, float]] = {}
        better: Better = self.better or "lower"
        for case in scope.cases:
            better = self.side_of(case)
            for size in self.at(case, solvers)[-1:]:
                samples = {str(one): self.sample(case, one, size) for one in solvers}
                measure = case.measure(self.measure)
                values[case.name] = {key: centre(measure, s) for key, s in samples.items() if s}
        keys = [key for one in contenders(self.a) for key in one.keys]
        if len(values) < LEAST_DATASETS:
            note = f"{counted(len(values), 'dataset')} with values of all"
            return [Point("", ", ".join(keys), note=note)]
        ranks = ranking(self.measure, pd.DataFrame(values).T, better)
        best = next(iter(ranks.ranks))
        rest = [key for key in ranks.ranks if key not in keys]
        apart = ranks.p is not None and ranks.p < LEVEL
        return [
            Point(
                f"{len(values)} datasets",
                best if best in keys else keys[0],
                rest[0] if rest else "",
                (1.0 if apart else 0.5) if best in keys else 0.0,
                a_value=min(ranks.ranks[key] for key in keys),
                b_value=ranks.ranks[rest[0]] if rest else None,
                of="mean rank",
                p=ranks.p,
            )
        ]

    def _verdict(self, points: Sequence[Point], scope: Scope) -> Verdict:
        """Return the verdict on the one point, which stands for all datasets."""
        return super()._verdict(points[:1], Scope(scope.cases[:1]))

    def point(self, *_: object) -> Point:
        """Is not asked: ranks are of all datasets."""
        raise NotImplementedError


def printed(measure: Measure | None, value: float) -> float:
    """Return a value as tables print it, so that what prints alike is equal."""
    if measure is None or measure.unit:
        return value
    return round(value, measure.digits + 2 * measure.percent)
