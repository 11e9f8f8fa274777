"""Tables and the trials of a run as text for a terminal, within its width."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsgkit.experiment.status import ending
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.numbers import NO_VALUE, score_text, seconds_text
from dsgkit.tasks.measures import TIME, Measure, place_asked
from dsgkit.text import BREAK, DEFAULT_WIDTH, NO_BREAK, Column, paragraph, table

if TYPE_CHECKING:
    from dsgkit.config.schema import Experiment
    from dsgkit.experiment.plan import Cell as PlannedCell
    from dsgkit.experiment.store import Record

    Fits = Sequence[tuple[PlannedCell, Record]]


def plain(layout: Layout, width: int) -> str:
    """Return a table with its caption and notes; the best entries are marked by ``*``."""
    notes = [paragraph(note, width) for note in layout.notes("*")]
    columns = zip(*layout.rows, strict=True) if layout.rows else [()] * len(layout.header)
    body = table([*map(_column, layout.header, columns)], width)
    parts = [paragraph(layout.full_caption, width), body, "\n".join(notes)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _column(head: str, cells: Sequence[Cell]) -> Column:
    """Return a column; numbers are padded to the longest note and marks, so that they align."""
    numbers = [cell.value is not None for cell in cells]
    notes = []
    for cell, number in zip(cells, numbers, strict=True):
        note = f"{' ' if number else BREAK}{cell.note}" if cell.note else ""
        notes.append(note + cell.mark + "*" * cell.best)
    room = max(map(len, itertools.compress(notes, numbers)), default=0)
    every = zip(cells, notes, numbers, strict=True)
    texts = [cell.text + note.ljust(room if number else 0) for cell, note, number in every]
    return Column(head, texts, numbers)


def trial_text(experiment: Experiment, trial: int, ended: Fits, width: int = DEFAULT_WIDTH) -> str:
    """Return the scores of a trial that has ended: a table for the first one, then a line."""
    measure, axis = _measure(experiment, ended), experiment.axis
    title = f"trial {trial + 1} of {experiment.protocol.trials}"
    last: dict[str, tuple[int, Record]] = {}  # at its largest finished size
    for cell, record in sorted(ended, key=lambda one: max(one[0].sizes(axis))):
        if record["status"] == "ok" or cell.solver not in last:
            last[cell.solver] = max(cell.sizes(axis)), record
    shown = [(spec.label, *last[key]) for key, spec in experiment.solvers.items() if key in last]
    if trial:
        scores = [(label, _score(measure, record)) for label, _, record in shown]
        texts = "; ".join(f"{label}{NO_BREAK}{score}" for label, score in scores if score)
        return paragraph(f"{title}: {measure.word} {texts}" if measure else title, width, "  ")
    rows = []
    for label, size, record in shown:
        done, seconds = record["status"] == "ok", (record.get("times") or {}).get(TIME.clock)
        score = _score(measure, record) or NO_VALUE if done else ending(record)
        time = seconds_text(seconds) if done and seconds else ""
        rows.append([Cell(label), *(Cell(one, value=0) for one in (f"{size:,}", score, time))])
    header = ["Solver", axis.title if axis else "", measure.heading if measure else "Score"]
    layout = Layout(f"{title}:", [*header, TIME.title], rows)
    return plain(layout.with_columns([True, axis is not None, True, True]), width).rstrip()


def _measure(experiment: Experiment, ended: Fits) -> Measure | None:
    """Return the first score in the config's outputs that some fit has."""
    scores = [
        measure
        for measure in experiment.task.measures
        if measure.better and not (measure.unit or measure.tally)
        if any(_score(measure, record) for _, record in ended)
    ]
    return min(scores, key=lambda m: place_asked(m.output, experiment.outputs), default=None)


def _score(measure: Measure | None, record: Record) -> str:
    value = (record.get("scores") or {}).get(measure.name) if measure else None
    return "" if measure is None or value is None else score_text(measure, value)
