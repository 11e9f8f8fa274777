"""The figures of runs: which ones configs ask for, their captions, and their files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from dsgkit.errors import ResultsError, nearest_or_all
from dsgkit.experiment.runs import Run, distinct
from dsgkit.experiment.status import from_to
from dsgkit.report import clusters, drawing, frame
from dsgkit.report.formats import write_file
from dsgkit.report.frame import Entry, axis_title, entries, lowered, sizes_with
from dsgkit.report.numbers import short_count
from dsgkit.report.style import looks_of, own_settings
from dsgkit.system.files import folder_name
from dsgkit.tasks.measures import PICTURES, TIME, Measure, outputs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def by_solver(run: Run, measure: Measure) -> dict[str, list[Entry]]:
    """Return the entries of each solver by its name, sizes ascending."""
    lines: dict[str, list[Entry]] = {name: [] for name in run.names.values()}
    for entry in entries(run, measure):
        lines[entry.name].append(entry)
    return lines


def _trials(shown: Iterable[Entry]) -> tuple[str, int]:
    """Return in words over how many trials entries are, and the largest number."""
    counts = {len(entry.values) for entry in shown} - {0}
    most = max(counts, default=0)
    return f"{from_to(counts, ' to ')} trials" if most > 1 else "one trial", most


def boxplot_words(shown: Iterable[Entry]) -> str:
    trials, most = _trials(shown)
    boxed = most >= drawing.MIN_BOXED_TRIALS
    what = "boxes show their quartiles and median" if boxed else "bars show their median"
    return f"Dots are {trials} per solver; {what}."


def curve_words(runs: Sequence[Run], measure: Measure) -> str:
    lines = [line for run in runs for line in by_solver(run, measure).values()]
    trials, _ = _trials(entry for line in lines for entry in line)
    threads = {n for run in runs for n in run.fits["timing.threads"].dropna()}
    clock = "processor time on one thread, " if measure.clock and threads == {1} else ""
    ends = "fastest to the slowest" if measure.unit == "seconds" else "lowest to the highest"
    text = f"Medians over {trials}, {clock}with bars from the {ends}."
    cross = any(drawing.failed(line) and any(entry.values for entry in line) for line in lines)
    return f"{text} Where a line ends at a cross, the next size failed." if cross else text


def trace_words(shown: Iterable[Entry]) -> str:
    return f"Means over {_trials(shown)[0]}; bars show one standard deviation."


class Drawing(NamedTuple):
    """A figure of some runs, to be drawn."""

    name: str
    caption: str
    draw: Callable[[], Figure]


def _title(run: Run, runs: Sequence[Run], at: str = "") -> str:
    """Return a panel's title: its run, if there are several, and size."""
    return ", ".join(filter(None, [run.heading * (len(runs) > 1), at]))


# the end of a figure's caption, its panels with their titles, how they are drawn, and options
Parts = tuple[str, list[tuple[str, Any]], Callable[..., None], dict[str, Any]]


def _boxplot(runs: Sequence[Run], measure: Measure) -> Parts:
    names, axis = frame.solver_names(runs), lowered(axis_title(runs))
    shown = [frame.largest(entries(run, measure)) for run in runs]
    panels: list[tuple[str, Any]] = []
    for run, of_run in zip(runs, shown, strict=True):
        found = {entry.name: entry for entry in of_run}
        panels.append((_title(run, runs), ([("", {name: found.get(name) for name in names})], {})))
    at = f", at each solver's largest finished number of {axis}" if axis else ""
    words = f"{at}. {boxplot_words(itertools.chain(*shown))}"
    look: dict[str, Any] = {"labels": (measure.axis_label, ""), "shared": "y"}
    look["height"] = drawing.rows_height(names)
    return words, panels, drawing.boxes, look


def _curve(runs: Sequence[Run], measure: Measure) -> Parts:
    panels, axis = [(_title(run, runs), by_solver(run, measure)) for run in runs], axis_title(runs)
    at = f" against the number of {lowered(axis)}" if axis else ""
    look = {"labels": (axis, measure.axis_label), "name_ends": len(runs) == 1}
    return f"{at}. {curve_words(runs, measure)}", panels, drawing.curve, look


def _trace(runs: Sequence[Run], measure: Measure) -> Parts:
    panels, shown = [], []
    for run in runs:
        # a panel for every size, of several runs the largest
        for size in drawing.traced_sizes(run, measure)[-1 if len(runs) > 1 else 0 :]:
            at = f"{short_count(size)} {run.axis.noun}" if run.axis else ""
            panels.append((_title(run, runs, at), (drawing.along(run, measure, size), ())))
            shown += [entry for entry in entries(run, measure) if entry.size == size]
    labels = {"labels": (TIME.axis_label, measure.axis_label)}
    return f" against training time. {trace_words(shown)}", panels, drawing.trace, labels


def setting_words(runs: Sequence[Run]) -> str:
    """Return the sentences of captions on the setting of all fits, and on those to come."""
    setting = frame.settings(runs)
    left = "; ".join(f"{run.heading}: {text}" for run in runs if (text := frame.progress(run)))
    return f" Setting: {setting}." * bool(setting) + f" Unfinished: {left}." * bool(left)


KINDS: dict[str, tuple[Callable[..., Parts], Callable[[Run, Measure], bool]]] = {
    "boxplot": (_boxplot, lambda run, measure: bool(sizes_with(run, measure))),
    "curve": (_curve, lambda run, measure: len(sizes_with(run, measure)) > 1),
    "trace": (_trace, lambda run, measure: bool(drawing.traced_sizes(run, measure))),
}
"""Figures of a measure, and whether a run has values for one."""


def wanted_figures(
    runs: Sequence[Run], only: Sequence[str] = (), width: float | None = None
) -> list[Drawing]:
    """Return the named figures, or those of an output; by default all that configs ask for.

    Pictures of clusterings are a figure per run; those of several runs are made by name only.
    """
    known = _known(runs, width)
    asked = [one for one in frame.outputs_asked(runs) if len(runs) == 1 or one != PICTURES]
    makers: dict[str, Callable[[], Drawing] | None] = {}
    for name in only or asked:
        own = {one: make for one, (output, make) in known.items() if name in (one, output)}
        if only and not own:
            hint = nearest_or_all(name, dict.fromkeys([*known, *(of for of, _ in known.values())]))
            raise ResultsError(f"there is no figure {name!r}{hint}")
        if only and not any(own.values()):
            folders = ", ".join(str(run.folder) for run in runs)
            raise ResultsError(f"{folders}: no finished fit has a value for {name}")
        makers |= own
    return [make() for make in makers.values() if make]


def _known(
    runs: Sequence[Run], width: float | None
) -> dict[str, tuple[str, Callable[[], Drawing] | None]]:
    """Return all figures by name: their outputs, and how to make them, None without values."""
    known: dict[str, tuple[str, Callable[[], Drawing] | None]] = {}
    measures = dict.fromkeys(measure for run in runs for measure in run.task.measures)
    swept = any(run.axis for run in runs)
    for way, (_, has) in KINDS.items():
        drawn = runs
        if way == "boxplot":  # beside the box of a trivial solver, the others would be lines
            drawn = [run.of([k for k in run.names if not frame.is_trivial(run, k)]) for run in runs]
        own = [m for m in measures if f"{m.output}_{way}" in outputs_of([m], swept=swept)]
        names = distinct(f"{measure.file}_{way}" for measure in own)
        for name, measure in zip(names, own, strict=True):
            shown = [run for run in drawn if frame.shows(run, measure) and has(run, measure)]
            make = partial(_drawing, name, way, shown, measure, width) if shown else None
            known[name] = f"{measure.output}_{way}", make
    kept = [run for run in runs if (run.fits["artefact"] != "").any()]
    names = distinct(f"{PICTURES}_{folder_name(run.title)}" for run in kept)
    for name, run in zip(names if len(runs) > 1 else [PICTURES], kept, strict=False):
        known[name] = PICTURES, partial(_pictures, name, run, width)
    return known


def _drawing(
    name: str, way: str, runs: Sequence[Run], measure: Measure, width: float | None
) -> Drawing:
    words, panels, draw, look = KINDS[way][0](runs, measure)
    draw = partial(draw, measure=measure, looks=looks_of(runs))
    text = f"{measure.caption}{words}{setting_words(runs)}"
    return Drawing(name, text, partial(drawing.figure, panels, draw, width, **look))


def _pictures(name: str, run: Run, width: float | None) -> Drawing:
    found = clusters.pictures_of(run)
    text = f"{clusters.caption(found.values())}{setting_words([run])}"
    return Drawing(name, text, partial(clusters.draw_pictures, [*found.items()], width))


def draw_figures(
    runs: Sequence[Run],
    folder: Path,
    only: Sequence[str] = (),
    formats: Sequence[str] = ("pdf", "png"),
    width: float | None = None,
) -> list[Path]:
    """Draw `wanted_figures` into ``figures/`` in a folder, and return their paths."""
    frame.check_recorded(runs)
    if not any(map(frame.finished, runs)):
        folders = ", ".join(str(run.folder) for run in runs)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    figures, to = wanted_figures(runs, only, width), folder / "figures"
    return [path for figure in figures for path in save(figure.draw(), to / figure.name, formats)]


NO_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
}


def save(
    made: Figure, stem: Path, formats: Sequence[str] = ("pdf", "png"), dpi: float | None = None
) -> list[Path]:
    """Write a figure in some formats and return the paths; equal figures give equal bytes."""
    paths = []
    for form in formats:
        write = partial(_write, made, form=form, dpi=dpi)
        paths.append(write_file(stem.with_name(f"{stem.name}.{form}"), write))
    return paths


def svg(made: Figure) -> str:
    """Return a figure as SVG with text as paths; equal figures give equal text."""
    buffer = BytesIO()
    _write(made, buffer, "svg")
    return buffer.getvalue().decode()


def _write(made: Figure, file: BinaryIO, form: str, dpi: float | None = None) -> None:
    with own_settings():
        made.savefig(file, format=form, metadata=NO_DATE[form], dpi=dpi or made.dpi)
