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
from dsgkit.papers.figures import Printed, Shown, at_most, fill, read_needed
from dsgkit.papers.schema import Paper
from dsgkit.report import clusters, drawing, figures
from dsgkit.report.formats import Table, write_table
from dsgkit.report.frame import Entry, axis_title, entries, lowered, sizes_with
from dsgkit.report.numbers import letter_of, short_count
from dsgkit.report.style import looks_of
from dsgkit.report.terminal import plain
from dsgkit.tasks.measures import TIME, Measure
from dsgkit.text import paragraph, terminal_width


def make(of: Printed) -> figures.Drawing | Table:
    """Return a figure or table; raise `ResultsError` if it needs results and there are none."""
    return MAKERS[of.shown.kind](of)


def _drawing(
    of: Printed,
    measure: Measure,
    contents: Mapping[str, Any],
    draw: Callable[..., None],
    *words: str,
    under: Mapping[str, str] = {},
    **look: Any,
) -> figures.Drawing:
    """Return the figure of panels with contents, by title, and texts ``under`` their titles."""
    left_out: dict[str, list[str]] = {}
    panels: list[tuple[str, Any]] = []
    for place, panel in enumerate(of.shown.panels):
        if panel.title in contents:
            title = of.runs[panel.title].title.replace(" (", "\n(")
            title = f"({letter_of(place)}) {title}{under.get(panel.title, '')}"
            panels.append((title, contents[panel.title]))
        else:
            why = "no results" if panel.dataset else "the text does not name it"
            why = "too few rows or sizes" if panel.title in of.runs else why
            left_out.setdefault(why, []).append(panel.title)
    lacking = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in left_out.items())
    if not contents:
        raise of.error(f"nothing to draw: {lacking}")
    setting = figures.setting_words([of.runs[title] for title in contents]).strip()
    lacking = f"Left out: {lacking}." if lacking else ""
    text = of.caption(*of.shown.notes, *words, lacking, setting)
    draw = partial(draw, measure=measure, looks=looks_of(of.runs.values()))
    drawn = partial(drawing.figure, panels, draw, of.width, **look)
    return figures.Drawing(of.shown.file_name, text, drawn)


def _by_size(of: Printed) -> figures.Drawing:
    of = replace(of, runs={title: _without(of.shown, run) for title, run in of.runs.items()})
    measure = of.measure()
    found = {t: run for t, run in of.runs.items() if len(sizes_with(run, measure)) > 1}
    contents = {title: figures.by_solver(run, measure) for title, run in found.items()}
    words = figures.curve_words([*found.values()], measure)
    labels = axis_title(of.runs.values()), measure.axis_label
    return _drawing(of, measure, contents, drawing.curve, words, labels=labels)


def _without(shown: Shown, run: Run) -> Run:
    """Return a run without the fits that the figure leaves out, by solver and hyper-parameters."""
    out = [
        key in shown.leave_out and shown.leave_out[key].items() <= (params or {}).items()
        for key, params in zip(run.fits["solver"], run.fits["params"], strict=True)
    ]
    return replace(run, fits=run.fits[~np.array(out, bool)])


def _flagged(of: Printed) -> tuple[dict[str, drawing.Ringed], str]:
    """Return which trials are marked, by panel, and what a caption says of it."""
    known = (one for run in of.runs.values() for one in run.task.measures)
    flag = next((one for one in known if one.name == of.shown.flag), None)
    if flag is None:
        return {title: {} for title in of.runs}, ""
    flags: dict[str, drawing.Ringed] = {
        title: {(e.name, e.size): [value > 0 for value in e.values] for e in entries(run, flag)}
        for title, run in of.runs.items()
    }
    meaning = lowered(flag.title).removeprefix("collapsed: ")
    return flags, f"Rings mark {drawing.FLAGGED}s: {meaning}."


def _boxplots(of: Printed) -> figures.Drawing:
    measure, names = of.measure(), [*of.names.values()]
    flags, flag_words = _flagged(of)
    contents: dict[str, tuple[list[tuple[str, dict[str, Entry | None]]], drawing.Ringed]] = {}
    remarks: dict[str, dict[str, None]] = {}
    shown: list[Entry] = []
    for title, run in of.runs.items():
        found = {(entry.name, entry.size): entry for entry in entries(run, measure)}
        sizes = _common_sizes(found.values())
        if sizes:
            groups = [
                (f"at {short_count(n)}", {one: found.get((one, n)) for one in names}) for n in sizes
            ]
            contents[title] = groups, flags[title]
        shown += [entry for entry in found.values() if entry.size in sizes]
        for entry in found.values():
            for remark in entry.remarks:
                remarks.setdefault(remark, {})[entry.name] = None
    most = max((len(groups) for groups, _ in contents.values()), default=0)
    for groups, _ in contents.values():  # all have the same rows
        groups += [(" ", dict.fromkeys(names))] * (most - len(groups))
    words = [figures.boxplot_words(shown), flag_words]
    words += [f"In some trials of {', '.join(who)}, {remark}." for remark, who in remarks.items()]
    look: dict[str, Any] = {"labels": (measure.axis_label, ""), "shared": "y"}
    look["height"] = drawing.rows_height(names, most, most)
    return _drawing(of, measure, contents, drawing.boxes, *words, **look)


def _common_sizes(found: Iterable[Entry]) -> list[int]:
    """Return the largest size that all solvers with values finished, and the largest of any."""
    sizes: dict[str, set[int]] = {}
    for entry in found:
        if entry.values:
            sizes.setdefault(entry.name, set()).add(entry.size)
    common = set.intersection(*sizes.values()) if sizes else set()
    return sorted({max(some) for some in (common, set().union(*sizes.values())) if some})


def _along(of: Printed) -> figures.Drawing:
    measure, (flags, flag_words) = of.measure(), _flagged(of)
    contents, under = {}, {}
    found: list[Entry] = []
    for title, run in of.runs.items():
        if sizes := [n for n in drawing.traced_sizes(run, measure) if n >= of.shown.least]:
            size, own = at_most(sizes, of.shown.size), flags[title]
            ringed = [name for name in run.names.values() if any(own.get((name, size), ()))]
            contents[title] = drawing.along(run, measure, size), ringed
            under[title] = f"\n{short_count(size)} {run.axis.noun}" if run.axis else ""
            found += [entry for entry in entries(run, measure) if entry.size == size]
    lost = dict.fromkeys(
        f"{one.name} ({drawing.ending_text(one)})" for one in found if drawing.failed([one])
    )
    words = [figures.trace_words(found), f"Without a result: {', '.join(lost)}." if lost else ""]
    words += [flag_words] if any(ringed for _, ringed in contents.values()) else []
    labels = TIME.axis_label if of.shown.x == "seconds" else "Iterations", measure.axis_label
    draw = partial(drawing.trace, x=of.shown.x)
    return _drawing(of, measure, contents, draw, *words, under=under, labels=labels)


def _clusters(of: Printed) -> figures.Drawing:
    panels: list[tuple[str, clusters.Picture]] = []
    for run in of.runs.values():
        found = clusters.pictures_of(run)
        for name in filter(found.get, run.names.values()):
            both = [name] * (len(of.names) > 1) + [run.title] * (len(of.runs) > 1)
            panels.append((f"({letter_of(len(panels))}) {', '.join(both)}", found[name]))
    if not panels:
        raise of.error("no pictures in the results of its datasets")
    read = clusters.caption(one for _, one in panels)
    text = of.caption(*of.shown.notes, read, figures.setting_words([*of.runs.values()]).strip())
    return figures.Drawing(
        of.shown.file_name, text, partial(clusters.draw_pictures, panels, of.width)
    )


MAKERS: dict[str, Callable[[Printed], figures.Drawing | Table]] = {
    **{"by_size": _by_size, "boxplots": _boxplots, "along_training": _along, "clusters": _clusters},
    **{"measure": tables.measure_table, "complexities": tables.complexity_table},
    **{"datasets": tables.dataset_table, "stated": tables.stated_table},
}


def written(
    wanted: Sequence[tuple[Paper, Shown]],
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
            yield from map(str, figures.save(made.draw(), to / made.name, formats))
    yield from left_out
