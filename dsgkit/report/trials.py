"""Scores of finished trials, printed during a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsgkit.experiment.status import status_words
from dsgkit.experiment.store import Record
from dsgkit.report.numbers import NO_VALUE, score_text, seconds_text
from dsgkit.report.summary import lowered
from dsgkit.tasks.measures import TIME, Measure, place_asked
from dsgkit.text import DEFAULT_WIDTH, NO_BREAK, Column, paragraph, table

if TYPE_CHECKING:
    from dsgkit.config.schema import Experiment
    from dsgkit.experiment.plan import Cell

Fits = Sequence[tuple["Cell", Record]]

_INDENT = "  "


def size_text(experiment: Experiment, size: int, fits: Fits, width: int = DEFAULT_WIDTH) -> str:
    """Return the first trial's table at one size: each solver's score and training time.

    Parameters
    ----------
    experiment : Experiment
    size : int
        Size on the swept axis; ignored without one, or if every fit holds for several sizes.
    fits : sequence of (Cell, record)
        The fits at the size.
    width : int
        Columns of the terminal.
    """
    measure, axis = _measure(experiment, fits), experiment.axis
    rows = []
    for cell, record in fits:
        score = _score(measure, record) or NO_VALUE
        score = score if record["status"] == "ok" else status_words(record["status"])
        seconds = (record.get("times") or {}).get(TIME.clock)
        time = seconds_text(seconds) if record["status"] == "ok" and seconds else ""
        rows.append((experiment.solvers[cell.solver].label, score, time))
    heads = ("Solver", measure.heading if measure else "Score", TIME.title)
    columns = [
        Column(head, entries, [number > 0] * len(rows))
        for number, (head, entries) in enumerate(zip(heads, zip(*rows, strict=True), strict=True))
    ]
    depends = axis and not all(cell.also_at for cell, _ in fits)
    at = f", {size:,} {lowered(axis.title)}" if axis and depends else ""
    lines = table(columns, width - len(_INDENT)).splitlines()
    title = f"trial 1 of {experiment.protocol.trials}{at}:"
    return "\n".join([title, *(f"{_INDENT}{line}".rstrip() for line in lines)])


def trial_text(experiment: Experiment, trial: int, fits: Fits, width: int = DEFAULT_WIDTH) -> str:
    """Return a finished trial's line: each solver's score at its largest size.

    The best is not marked: that takes all trials.
    """
    measure, axis = _measure(experiment, fits), experiment.axis
    largest: dict[str, tuple[int, str]] = {}
    for cell, record in fits:
        score = _score(measure, record)
        size = max(cell.at[axis.name] if axis else 0, *cell.also_at, 0)
        if score and size >= largest.get(cell.solver, (0, ""))[0]:
            largest[cell.solver] = size, score
    texts = [
        f"{experiment.solvers[key].label}{NO_BREAK}{text}" for key, (_, text) in largest.items()
    ]
    scores = f": {measure.word} {'; '.join(texts)}" if measure and texts else ""
    line = f"trial {trial + 1} of {experiment.protocol.trials}{scores}"
    return paragraph(line, width, _INDENT)


def _measure(experiment: Experiment, fits: Fits) -> Measure | None:
    """Return the first score in the config's outputs that some fit has."""
    known = {
        name
        for _, record in fits
        for name, value in (record.get("scores") or {}).items()
        if value is not None
    }
    scores = (
        m
        for m in experiment.task.measures
        if m.better and m.name in known and not (m.unit or m.tally)
    )
    return min(scores, key=lambda m: place_asked(m.output, experiment.outputs), default=None)


def _score(measure: Measure | None, record: Record) -> str:
    """Return a score as text; empty if there is none."""
    value = (record.get("scores") or {}).get(measure.name) if measure else None
    return "" if measure is None or value is None else score_text(measure, value)
