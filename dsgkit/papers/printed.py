"""Tests of published figures: published, audit and reproduced; only the last needs results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dsgkit.config.spec import Text
from dsgkit.papers.criteria import Better, Criterion, Scope, one_of
from dsgkit.papers.verdicts import Point
from dsgkit.published import audit, bsgd_svc
from dsgkit.report.reproductions import Reproduction, reproductions

Method = Annotated[str, one_of(bsgd_svc.METHODS)]


class _OnTables(Criterion):
    """Base class of tests of published figures that need no results."""

    @property
    def on_results(self) -> bool:
        """Whether it needs results of runs."""
        return False


class Published(_OnTables):
    """Test that in published figures the best of a is at least as good as the best of b.

    Attributes
    ----------
    a, b : list of str
        Methods by their names in the paper's tables.
    measure : str
        One of `dsgkit.published.bsgd_svc.MEASURES`.
    strictly : bool
        Whether ties do not count.
    better : {"higher", "lower"} or None
        The good side, if it is not that of the measure's definition.
    """

    test: Literal["published"]
    a: Annotated[list[Method], Field(min_length=1)]
    b: Annotated[list[Method], Field(min_length=1)]
    measure: Annotated[str, one_of(bsgd_svc.MEASURES)]
    strictly: bool = False
    better: Better | None = None

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per published dataset."""
        return [self._point(name) for name in bsgd_svc.datasets()]

    def _point(self, dataset: str) -> Point:
        sign = -1 if (self.better or bsgd_svc.MEASURES[self.measure]) == "lower" else 1
        best_a, best_b = (
            sign * max(sign * bsgd_svc.value(dataset, method, self.measure) for method in methods)
            for methods in (self.a, self.b)
        )
        gain = sign * (best_a - best_b)
        return Point(
            dataset,
            ", ".join(self.a),
            ", ".join(self.b),
            float(gain > 0 or (gain == 0 and not self.strictly)),
            a_value=best_a,
            b_value=best_b,
            estimate=best_a - best_b,
            of="difference",
            unit="seconds" if self.measure.endswith("seconds") else "",
        )


class Audited(_OnTables):
    """Test that some clustering has the published purity, Rand index and NMI."""

    test: Literal["audit"]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per dataset and method."""
        return [
            Point(
                one.dataset,
                counts=float(not one.impossible),
                note="; ".join((one.method, *one.impossible)),
            )
            for one in audit.findings().values()
        ]


class Reproduced(Criterion):
    """Test that a method's measured means agree with published figures in all measures.

    Attributes
    ----------
    measures : list of str
        Figures that cannot be right, or that show no structure, are left out.
    margin : float
        Largest difference, up to the rounding of the published figure.
    """

    test: Literal["reproduced"]
    measures: Annotated[list[Text], Field(min_length=1)]
    margin: Annotated[float, Field(ge=0)]

    def points(self, scope: Scope) -> list[Point]:
        """Return a point per dataset and method."""
        groups: dict[tuple[str, str], list[Reproduction]] = {}
        for case in scope.cases:
            for each in reproductions(case.summary):
                if each.measure.name in self.measures:
                    groups.setdefault((case.name, each.figure.solver), []).append(each)
        return [self._point(*about, compared) for about, compared in groups.items()]

    def _point(self, where: str, solver: str, compared: list[Reproduction]) -> Point:
        if flags := [each.figure.flag for each in compared if each.figure.flag]:
            return Point(where, note=f"{solver}: {flags[0]}")
        if any(len(each.entry.values) < self.trials for each in compared):
            return Point(where, note=f"{solver}: too few trials")
        widest = max(compared, key=lambda each: abs(each.difference or 0))
        slack = 10.0**-widest.figure.decimals / 2
        return Point(
            where,
            counts=float(abs(widest.difference or 0) <= self.margin + slack),
            a_value=widest.entry.mean,
            b_value=widest.figure.value,
            estimate=widest.difference,
            of="difference",
            note=f"{solver}, {widest.measure.name}",
        )
