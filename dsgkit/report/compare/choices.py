"""The hyper-parameters that two results folders chose."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from dsgkit.experiment.results import Results
from dsgkit.report.numbers import value_text

UNSET = "default"

Point = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """What a solver used for a parameter that was searched on at least one side.

    Attributes
    ----------
    solver : str
        Its key.
    parameter : str
    a, b : dict of int to str
        The value of each trial in A and in B, in words.
    """

    solver: str
    parameter: str
    a: dict[int, str]
    b: dict[int, str]

    @property
    def common(self) -> list[int]:
        """Trials that both have."""
        return sorted(self.a.keys() & self.b.keys())

    @property
    def differing(self) -> list[int]:
        """Trials that both have and whose values are not the same."""
        return [trial for trial in self.common if self.a[trial] != self.b[trial]]

    @property
    def changes(self) -> list[tuple[tuple[str, str], int]]:
        """The changes with their number of trials, the most frequent first."""
        pairs = ((self.a[trial], self.b[trial]) for trial in self.differing)
        return Counter(pairs).most_common()


def choices(a: Results, b: Results) -> list[Choice]:
    """Return the choices of every solver that has some in both folders."""
    found = []
    for solver in a.solvers:
        chosen = [_chosen(one, solver) for one in (a, b)]
        if all(chosen):
            points = (point for side in chosen for point in side.values())
            found += [
                Choice(
                    solver,
                    name,
                    _values(a, solver, chosen[0], name),
                    _values(b, solver, chosen[1], name),
                )
                for name in dict.fromkeys(name for point in points for name in point)
            ]
    return found


def _chosen(results: Results, solver: str) -> dict[int, Point]:
    """Return the grid point of each trial, which serves every size; empty without a grid."""
    fits = results.cells[(results.cells["solver"] == solver) & (results.cells["status"] == "ok")]
    found: dict[int, Point] = {}
    for trial, point in zip(fits["trial"], fits["params"], strict=True):
        found.setdefault(int(trial), {}).update(point)
    return found


def _values(results: Results, solver: str, chosen: dict[int, Point], name: str) -> dict[int, str]:
    """Return a parameter in words: as chosen, or as fixed by the config, or the default."""
    spec = results.experiment.solvers.get(solver)
    fixed = (spec.params if spec else {}).get(name, UNSET)
    return {trial: value_text(point.get(name, fixed)) for trial, point in chosen.items()}
