"""Where the time of an experiment went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dsgkit.experiment.results import Results
from dsgkit.report.layout import Cell, Layout

PHASES = ("load", "compile", "search", "fit", "predict", "evaluate")


@dataclass(frozen=True)
class Bar:
    """The phases of one solver as parts of a line.

    Attributes
    ----------
    label : str
        Name of the solver.
    parts : list of (str, str, float)
        Phase, its seconds in words, and percent of the longest line.
    """

    label: str
    parts: list[tuple[str, str, float]]


@dataclass(frozen=True)
class Clocks:
    """Seconds per solver and phase.

    Attributes
    ----------
    table : Layout
    total : list of Cell
        The sums of its columns.
    bars : list of Bar
        The same, drawn.
    """

    table: Layout
    total: list[Cell]
    bars: list[Bar]


def clocks(results: Results) -> Clocks | None:
    """Sum up the clocks of all cells by solver and phase; None if nothing was clocked."""
    seconds = _sums(results)
    found = dict.fromkeys(phase for spent in seconds.values() for phase in spent)
    phases = [phase for phase in dict.fromkeys([*PHASES, *found]) if phase in found]
    if not phases:
        return None
    rows = [
        [Cell(results.label(solver)), *_cells(spent, phases)] for solver, spent in seconds.items()
    ]
    everything = sum(seconds.values(), Counter())
    return Clocks(
        Layout(
            "Seconds spent in cells, summed over hyper-parameter searches and fits, cells without "
            "a value included. Cells that ran at the same time count in full.",
            ["Solver", *(phase.capitalize() for phase in phases), "Total"],
            rows,
        ),
        [Cell("Total"), *_cells(everything, phases)],
        _bars(results, seconds, phases),
    )


def _sums(results: Results) -> dict[str, Counter[str]]:
    """Return the seconds per phase of each solver; a cell that stands for two counts once."""
    seconds: dict[str, Counter[str]] = {solver: Counter() for solver in results.solvers}
    for record in {record["key"]: record for record in results.records}.values():
        spent = seconds.setdefault(record["solver"], Counter())
        for phase, duration in (record.get("times") or {}).items():
            spent[phase] += duration
    return {solver: spent for solver, spent in seconds.items() if spent}


def _cells(spent: Counter[str], phases: list[str]) -> list[Cell]:
    """Return the seconds of each phase and their sum."""
    return [
        Cell(_seconds(value), value=value)
        for value in (*(spent[phase] for phase in phases), sum(spent.values()))
    ]


def _bars(results: Results, seconds: dict[str, Counter[str]], phases: list[str]) -> list[Bar]:
    """Return the bars, the longest of them 100%."""
    longest = max(sum(spent.values()) for spent in seconds.values()) or 1.0
    return [
        Bar(
            results.label(solver),
            [(name, _seconds(spent[name]), 100 * spent[name] / longest) for name in phases],
        )
        for solver, spent in seconds.items()
    ]


def _seconds(value: float) -> str:
    """Return seconds with one digit after the point, so that columns align."""
    return "<0.1" if 0 < value < 0.05 else f"{value:,.1f}"
