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
    values : dict
        The value in A and that in B, in words, by trial.
    """

    solver: str
    parameter: str
    values: dict[int, tuple[str, str]]

    @property
    def differing(self) -> dict[int, tuple[str, str]]:
        """The trials whose values are not the same."""
        return {trial: (a, b) for trial, (a, b) in self.values.items() if a != b}

    @property
    def changes(self) -> list[tuple[tuple[str, str], int]]:
        """The changes with their number of trials, the most frequent first."""
        return Counter(self.differing.values()).most_common()

    def counts(self, side: int) -> list[tuple[str, int]]:
        """Return the values of A (0) or B (1) with their number of trials."""
        return Counter(pair[side] for pair in self.values.values()).most_common()


def choices(a: Results, b: Results) -> list[Choice]:
    """Return the choices of every solver in the trials that have one on both sides."""
    found = []
    for solver in a.solvers:
        chosen = [_chosen(one, solver) for one in (a, b)]
        trials = sorted(chosen[0].keys() & chosen[1].keys())
        names = dict.fromkeys(name for side in chosen for t in trials for name in side[t])
        found += [
            Choice(
                solver,
                name,
                {
                    trial: (
                        _value(a, solver, chosen[0][trial], name),
                        _value(b, solver, chosen[1][trial], name),
                    )
                    for trial in trials
                },
            )
            for name in names
        ]
    return found


def _chosen(results: Results, solver: str) -> dict[int, Point]:
    """Return the grid point of each trial, which serves every size; empty without a grid."""
    fits = results.cells[(results.cells["solver"] == solver) & (results.cells["status"] == "ok")]
    found: dict[int, Point] = {}
    for trial, point in zip(fits["trial"], fits["params"], strict=True):
        found.setdefault(int(trial), {}).update(point)
    return found


def _value(results: Results, solver: str, point: Point, name: str) -> str:
    """Return a parameter in words: as chosen, or as fixed by the config, or the default."""
    spec = results.experiment.solvers.get(solver)
    fixed = spec.params if spec else {}
    return value_text(point.get(name, fixed.get(name, UNSET)))
