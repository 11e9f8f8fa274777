"""The figures and tables of the papers, made from results in the papers' arrangement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dsgkit.errors import ResultsError
from dsgkit.experiment.runs import Run
from dsgkit.papers import printed_tables as tables
from dsgkit.papers.figures import Figures, Printed, Shown, at_most, fill, read_needed
from dsgkit.report import clusters, drawing
from dsgkit.report.figures import Drawing, by_solver, reading, save, setting_words
from dsgkit.report.formats import Table, write_table
from dsgkit.report.frame import Entry, axis_title, entries, full_at, sizes_with
from dsgkit.report.numbers import letter_of, short_count
from dsgkit.report.style import looks_of
from dsgkit.report.terminal import plain
from dsgkit.tasks.measures import TIME, Measure
from dsgkit.text import paragraph, terminal_width


def make(of: Printed) -> Drawing | Table:
    """Return a figure or table; raise `ResultsError` if it needs results and there are none."""
    return MAKERS[of.shown.kind](of)


def _drawing(
    of: Printed,
    contents: Mapping[str, Any],
    draw: Callable[..., None],
    *words: str,
    under: Mapping[str, str] = {},
    **look: Any,
) -> Drawing:
    """Return the figure of panels with contents, by title; texts ``under`` their titles are added.

    In place of an empty panel is why; if half are empty, they are left out.
    """
    empty: dict[str, list[str]] = {}
    panels: list[tuple[str, Any]] = []
    few = 2 * len(contents) <= len(of.panels)
    for place, panel in enumerate(of.panels):
        letter = f"({letter_of(place)}) " if place < len(of.shown.panels) else ""
        if panel.title in contents:
            title = of.runs[panel.title].title.replace(" (", "\n(")
            text = f"{letter}{title}{under.get(panel.title, '')}"
            panels.append((text, contents[panel.title]))
            continue
        why = "no results" if panel.dataset else "the text does not name it"
        why = "too few rows or sizes" if panel.title in of.runs else why
        empty.setdefault(why, []).append(panel.title)
        panels += [] if few else [(f"{letter}{panel.title}", why)]
    left_out = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in empty.items())
    if not contents:
        raise of.error(f"nothing to draw: {left_out}")
    setting = setting_words([of.runs[title] for title in contents]).strip()
    text = of.caption(*of.shown.notes, *words, f"Left out: {left_out}." * few, setting)
    width = of.width or ("page" if len(panels) > 1 else None)
    made = partial(drawing.figure, panels, draw, width, columns=of.shown.columns, **look)
    return Drawing(of.shown.file_name, text, made)


def _by_size(of: Printed) -> Drawing:
    runs = {title: _without(run, of.shown.leave_out) for title, run in of.runs.items()}
    of = replace(of, runs=runs)
    measure, looks = of.measure(), looks_of(of.runs.values())
    lines = {t: by_solver(r, measure) for t, r in runs.items() if len(sizes_with(r, measure)) > 1}
    return _drawing(
        of,
        lines,
        partial(drawing.curve, measure=measure, looks=looks),
        reading("curve", [runs[title] for title in lines], measure),
        labels=(axis_title(runs.values()), measure.axis_label),
    )


def _without(run: Run, leave_out: Mapping[str, Mapping[str, Any]]) -> Run:
    """Return a run without the fits of a solver that have some hyper-parameters."""
    rows = zip(run.fits["solver"], run.fits["params"], strict=True)
    out = [key in leave_out and leave_out[key].items() <= (of or {}).items() for key, of in rows]
    return replace(run, fits=run.fits[~np.array(out, bool)])


def _flag(of: Printed) -> Measure | None:
    """Return the measure that marks trials, if the results have it."""
    measures = (measure for run in of.runs.values() for measure in run.task.measures)
    return next((one for one in measures if one.name == of.shown.flag), None)


def _flagged(run: Run, flag: Measure | None) -> dict[tuple[str, int], list[bool]]:
    """Return which trials are marked, by solver and size."""
    found = entries(run, flag) if flag else []
    return {(one.name, one.size): [value > 0 for value in one.values] for one in found}


def _flag_words(flag: Measure | None) -> str:
    return f"{drawing.FLAGGED.capitalize()}s are marked: {flag.title}." if flag else ""


def _boxplots(of: Printed) -> Drawing:
    measure, flag, names = of.measure(), _flag(of), [*of.names.values()]
    looks = looks_of(of.runs.values())
    contents = {}
    remarks: dict[str, dict[str, None]] = {}
    for title, run in of.runs.items():
        found = {(entry.name, entry.size): entry for entry in entries(run, measure)}
        groups: list[tuple[str | None, dict[str, Entry | None]]] = []
        for size in _common_sizes(found.values()):
            at = f"all ({short_count(size)})" if full_at(run)[size] else short_count(size)
            groups.append((f"at {at}", {name: found.get((name, size)) for name in names}))
        if groups:
            contents[title] = groups, _flagged(run, flag)
        for entry in found.values():
            for remark in entry.remarks:
                remarks.setdefault(remark, {})[entry.name] = None
    shown = [e for groups, _ in contents.values() for _, group in groups for e in group.values()]
    most = max((len(groups) for groups, _ in contents.values()), default=0)
    for groups, _ in contents.values():  # all have the same rows
        groups += [("", dict.fromkeys(names))] * (most - len(groups))
    return _drawing(
        of,
        contents,
        lambda axes, content: drawing.boxes(axes, content[0], measure, looks, content[1]),
        reading("boxplot", [], measure, filter(None, shown)),
        _flag_words(flag),
        *(f"Some trials of {', '.join(who)}: {remark}." for remark, who in remarks.items()),
        labels=(measure.axis_label, ""),
        height=drawing.rows_height(names, most, most),
        same_rows=True,
    )


def _common_sizes(found: Iterable[Entry]) -> list[int]:
    """Return the largest size that all solvers with values finished, and the largest of any."""
    sizes: dict[str, set[int]] = {}
    for entry in found:
        if entry.values:
            sizes.setdefault(entry.name, set()).add(entry.size)
    common = set.intersection(*sizes.values()) if sizes else set()
    return sorted({max(some) for some in (common, set().union(*sizes.values())) if some})


def _along(of: Printed) -> Drawing:
    measure, flag, looks = of.measure(), _flag(of), looks_of(of.runs.values())
    contents, under = {}, {}
    found: list[Entry] = []
    for title, run in of.runs.items():
        if sizes := [n for n in drawing.traced_sizes(run, measure) if n >= of.shown.least]:
            size = at_most(sizes, of.shown.size)
            flags = _flagged(run, flag)
            ringed = [name for name in run.names.values() if any(flags.get((name, size), ()))]
            contents[title] = drawing.along(run, measure, size), ringed
            under[title] = f"\n{short_count(size)} {run.axis.noun}" if run.axis else ""
            found += [entry for entry in entries(run, measure) if entry.size == size]
    lost = dict.fromkeys(
        f"{one.name} ({drawing.ending_text(one)})" for one in found if drawing.failure([one])
    )

    return _drawing(
        of,
        contents,
        lambda axes, content: drawing.trace(
            axes, content[0], measure, looks, content[1], of.shown.x
        ),
        reading("trace", [], measure, found),
        f"Without a result: {', '.join(lost)}." if lost else "",
        _flag_words(flag),
        under=under,
        labels=(TIME.axis_label if of.shown.x == "seconds" else "Iterations", measure.axis_label),
    )


def _clusters(of: Printed) -> Drawing:
    panels: list[tuple[str, clusters.Picture | str, dict[str, clusters.Picture]]] = []
    for run in of.runs.values():
        found = clusters.pictures_of(run)
        for name in run.names.values():
            both = [name] * (len(of.names) > 1) + [run.title] * (len(of.runs) > 1)
            title = f"({letter_of(len(panels))}) {', '.join(both)}"
            panels.append((title, found.get(name, "no picture"), found))
    drawn = [one for _, one, _ in panels if isinstance(one, clusters.Picture)]
    if not drawn:
        raise of.error("no pictures in the results of its datasets")
    words = [*of.shown.notes, clusters.caption(drawn), setting_words([*of.runs.values()]).strip()]
    draw = partial(clusters.draw_pictures, panels, of.width, of.shown.columns)
    return Drawing(of.shown.file_name, of.caption(*words), draw)


MAKERS: dict[str, Callable[[Printed], Drawing | Table]] = {
    **{"by_size": _by_size, "boxplots": _boxplots, "along_training": _along, "clusters": _clusters},
    **{"measure": tables.measure_table, "complexities": tables.complexity_table},
    **{"datasets": tables.dataset_table, "stated": tables.stated_table},
}


def written(
    wanted: Sequence[tuple[Figures, Shown]],
    results: Sequence[Path],
    folder: Path,
    formats: Sequence[str],
    profiles: Sequence[str] = (),
    **options: Any,
) -> Iterator[str]:
    """Write figures and tables, and yield a text for a terminal for each.

    Among several, those without results are reported and left out; a single one is an error.
    """
    kept = read_needed(wanted, results, profiles)
    left_out: list[str] = []
    for paper, shown in wanted:
        try:
            made = make(fill(paper, shown, kept, profiles, **options))
        except ResultsError as error:
            if len(wanted) == 1:
                raise
            left_out.append(str(error))
            continue
        to = folder / paper.key
        if isinstance(made, Table):
            yield "\n".join(plain(layout, terminal_width()) for layout in made.layouts)
            yield from map(str, write_table(made, to))
        else:
            yield paragraph(made.caption, terminal_width())
            yield from map(str, save(made.draw(), to / made.name, formats))
    yield from left_out
