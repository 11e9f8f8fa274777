"""Tables and the trials of a run as text for a terminal, within its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dsgkit.experiment.status import status_words
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.frame import lowered
from dsgkit.report.numbers import NO_VALUE, score_text, seconds_text
from dsgkit.tasks.measures import TIME, Measure, place_asked
from dsgkit.text import BREAK, DEFAULT_WIDTH, NO_BREAK, Column, fits, paragraph, table

if TYPE_CHECKING:
    from dsgkit.config.schema import Experiment
    from dsgkit.experiment.plan import Cell as PlannedCell
    from dsgkit.experiment.store import Record

    Fits = Sequence[tuple[PlannedCell, Record]]

_INDENT = "  "


def plain(layout: Layout, width: int) -> str:
    """Return a table with its caption and notes; the best entries are marked by ``*``."""
    about = " ".join(filter(None, [layout.caption, layout.about]))
    return _text(replace(layout, caption=about), width, _notes(layout))


def plain_tables(layouts: Sequence[Layout], width: int) -> str:
    """Return tables one below the other, without repeating common settings and notes.

    Consecutive tables with the same setting print it above the first, and equal notes below the
    last. Tables of a single column are joined, and too wide ones transposed.
    """
    tables = list(_side_by_side(layouts))
    texts, about = [], ""
    for place, one in enumerate(tables):
        if one.about and one.about != about:
            about = one.about
            texts.append(f"{paragraph(about, width)}\n")
        below = _notes(tables[place + 1]) if place + 1 < len(tables) else []
        forms = [one, one.transposed()] if one.corner else [one]
        best = min(forms, key=lambda form: (not fits(_columns(form), width), len(form.header)))
        texts.append(_text(best, width, [note for note in _notes(one) if note not in below]))
    return "\n".join(texts)


def _side_by_side(layouts: Sequence[Layout]) -> Iterator[Layout]:
    """Yield tables; consecutive ones of a single column with the same rows are joined."""

    def alike(layout: Layout) -> Any:
        names = [row[0].text for row in layout.rows]
        single = bool(layout.column) and len(layout.header) == 2
        return (layout.about, _detail(layout), names) if single else id(layout)

    for key, group in groupby(layouts, alike):
        members = list(group)
        if isinstance(key, int):
            yield from members
            continue
        first, detail = members[0], _detail(members[0])
        columns = zip(*([row[1] for row in one.rows] for one in members), strict=True)
        yield replace(
            first,
            caption=detail[:1].upper() + detail[1:],
            header=[first.header[0], *(one.column for one in members)],
            rows=[[row[0], *cells] for row, cells in zip(first.rows, columns, strict=True)],
            footnotes=list(dict.fromkeys(note for one in members for note in one.footnotes)),
            corner="",
        )


def _detail(layout: Layout) -> str:
    return layout.caption.removeprefix(f"{layout.column}: ")


def _notes(layout: Layout) -> list[str]:
    return [*([f"* {layout.best_means}"] if layout.has_best else []), *layout.footnotes]


def _text(layout: Layout, width: int, notes: Sequence[str]) -> str:
    above = [paragraph(layout.caption, width), ""] if layout.caption else []
    below = ["", *(paragraph(note, width) for note in notes)] if notes else []
    return "\n".join([*above, table(_columns(layout), width), *below]) + "\n"


def _columns(layout: Layout) -> list[Column]:
    """Return the columns; the first cells of a row are blank if they repeat those above."""
    rows: list[list[Cell]] = []
    above: Sequence[str] = ()
    for row in layout.rows:
        texts = [cell.text for cell in row]
        pairs = enumerate(zip(texts, above, strict=False))
        new = next((place for place, (here, last) in pairs if here != last), 0)
        rows.append([Cell("")] * new + [*row[new:]])
        above = texts
    columns = zip(*rows, strict=True) if rows else [()] * len(layout.header)
    return [Column(head, *_entries(c)) for head, c in zip(layout.header, columns, strict=True)]


def _entries(cells: Sequence[Cell]) -> tuple[list[str], list[bool]]:
    """Return the texts of a column, and which of them are numbers.

    Numbers are padded on the right to the longest note and marks, so that they align.
    """
    numbers = [cell.value is not None for cell in cells]
    notes = [
        (f"{' ' if number else BREAK}{cell.note}" if cell.note else "")
        + cell.mark
        + "*" * cell.best
        for cell, number in zip(cells, numbers, strict=True)
    ]
    every = list(zip(cells, notes, numbers, strict=True))
    room = max((len(note) for _, note, number in every if number), default=0)
    return [c.text + (note.ljust(room) if number else note) for c, note, number in every], numbers


# A run, while it goes on.


def trial_text(experiment: Experiment, trial: int, ended: Fits, width: int = DEFAULT_WIDTH) -> str:
    """Return the scores of a trial that has ended: a table per size for the first, then a line.

    The line has each solver's score at its largest size. The best is not marked: that takes all
    trials.
    """
    measure, axis = _measure(experiment, ended), experiment.axis
    title = f"trial {trial + 1} of {experiment.protocol.trials}"
    sizes = sorted({size for cell, _ in ended for size in cell.sizes(axis)})
    by_size = {n: [one for one in ended if n in one[0].sizes(axis)] for n in sizes}
    if trial:
        last: dict[str, str] = {}
        for fits_at in by_size.values():
            scores = {cell.solver: _score(measure, record) for cell, record in fits_at}
            last |= {key: text for key, text in scores.items() if text}
        texts = [f"{experiment.solvers[key].label}{NO_BREAK}{text}" for key, text in last.items()]
        line = f"{title}: {measure.word} {'; '.join(texts)}" if measure else title
        return paragraph(line, width, _INDENT)
    if all(cell.also_at for cell, _ in ended):  # no fit depends on the size
        axis, by_size = None, {0: [*ended]}
    lines = []
    for n, fits_at in by_size.items():
        lines.append(f"{title}, {n:,} {lowered(axis.title)}:" if axis else f"{title}:")
        text = _size_table(experiment, measure, fits_at, width - len(_INDENT))
        lines += [f"{_INDENT}{line}".rstrip() for line in text.splitlines()]
    return "\n".join(lines)


def _size_table(experiment: Experiment, measure: Measure | None, ended: Fits, width: int) -> str:
    """Return the score and training time of each solver at one size."""
    rows = []
    for cell, record in ended:
        done, seconds = record["status"] == "ok", (record.get("times") or {}).get(TIME.clock)
        score = _score(measure, record) or NO_VALUE if done else status_words(record["status"])
        time = seconds_text(seconds) if done and seconds else ""
        rows.append((experiment.solvers[cell.solver].label, score, time))
    heads = ("Solver", measure.heading if measure else "Score", TIME.title)
    columns = [
        Column(head, entries, [place > 0] * len(rows))
        for place, (head, entries) in enumerate(zip(heads, zip(*rows, strict=True), strict=True))
    ]
    return table(columns, width)


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
    """Return a score as text; empty if there is none."""
    value = (record.get("scores") or {}).get(measure.name) if measure else None
    return "" if measure is None or value is None else score_text(measure, value)
