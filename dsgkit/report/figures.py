"""The figures of runs: which ones configs ask for, their captions, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dsgkit.errors import ResultsError, nearest_or_all
from dsgkit.experiment.runs import Run, distinct
from dsgkit.experiment.status import from_to
from dsgkit.report import clusters, drawing, frame
from dsgkit.report.formats import write_file
from dsgkit.report.frame import Entry, axis_title, entries, lowered, sizes_with
from dsgkit.report.numbers import short_count
from dsgkit.report.style import looks_of, own_settings
from dsgkit.system.files import folder_name
from dsgkit.tasks.measures import PICTURES, TIME, TRIVIAL, Measure, outputs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def by_solver(run: Run, measure: Measure) -> dict[str, list[Entry]]:
    """Return the entries of each solver by its name, sizes ascending."""
    lines: dict[str, list[Entry]] = {name: [] for name in run.names.values()}
    for entry in entries(run, measure):
        lines[entry.name].append(entry)
    return lines


def reading(way: str, runs: Sequence[Run], measure: Measure, shown: Iterable[Entry] = ()) -> str:
    """Return what the points and bars of a figure are, by default of the one of these runs."""
    every = [*shown] or [entry for run in runs for entry in _shown(way, run, runs, measure)]
    counts = {len(entry.values) for entry in every} - {0}
    trials = f"{from_to(counts, ' to ')} trials" if counts - {1} else "one trial"
    if way == "boxplot":
        boxed = max(counts, default=0) >= drawing.MIN_BOXED_TRIALS
        what = "boxes show their quartiles and median" if boxed else "bars show their median"
        return f"Dots are {trials} per solver; {what}."
    if way == "trace":
        return f"Means over {trials}; bars show one standard deviation."
    threads = {n for run in runs for n in run.fits["timing.threads"].dropna()}
    clock = "processor time on one thread, " if measure.clock and threads == {1} else ""
    ends = "fastest to the slowest" if measure.unit == "seconds" else "lowest to the highest"
    lines = [line for run in runs for line in by_solver(run, measure).values()]
    cross = any(drawing.failed(line) and any(entry.values for entry in line) for line in lines)
    text = f"Medians over {trials}, {clock}with bars from the {ends}."
    return f"{text} Where a line ends at a cross, the next size failed." if cross else text


def _shown(way: str, run: Run, runs: Sequence[Run], measure: Measure) -> list[Entry]:
    every = entries(run, measure)
    if way == "boxplot":
        return frame.largest(every)
    if way == "trace":
        sizes = _traced_sizes(run, runs, measure)
        return [entry for entry in every if entry.size in sizes]
    return every


def _traced_sizes(run: Run, runs: Sequence[Run], measure: Measure) -> list[int]:
    """Return the sizes with a panel: every one, of several runs the largest."""
    return drawing.traced_sizes(run, measure)[-1 if len(runs) > 1 else 0 :]


class Drawing(NamedTuple):
    """A figure of some runs, to be drawn."""

    name: str
    caption: str
    draw: Callable[[], Figure]


def _title(run: Run, runs: Sequence[Run], at: str = "") -> str:
    """Return a panel's title: its run, if there are several, and size."""
    return ", ".join(filter(None, [run.heading * (len(runs) > 1), at]))


def _draw_boxes(runs: Sequence[Run], measure: Measure, width: float | None) -> Figure:
    names, panels = frame.solver_names(runs), []
    for run in runs:
        found = {entry.name: entry for entry in frame.largest(entries(run, measure))}
        panels.append((_title(run, runs), [("", {name: found.get(name) for name in names})]))
    draw = partial(drawing.boxes, measure=measure, looks=looks_of(runs), ringed={})
    height, labels = drawing.rows_height(names), (measure.axis_label, "")
    return drawing.figure(panels, draw, width, labels=labels, height=height, shared="y")


def _draw_curves(runs: Sequence[Run], measure: Measure, width: float | None) -> Figure:
    panels = [(_title(run, runs), by_solver(run, measure)) for run in runs]
    draw = partial(drawing.curve, measure=measure, looks=looks_of(runs))
    labels = axis_title(runs), measure.axis_label
    return drawing.figure(panels, draw, width, labels=labels, name_ends=len(runs) == 1)


def _draw_traces(runs: Sequence[Run], measure: Measure, width: float | None) -> Figure:
    panels = []
    for run in runs:
        for size in _traced_sizes(run, runs, measure):
            at = f"{short_count(size)} {run.axis.noun}" if run.axis else ""
            panels.append((_title(run, runs, at), drawing.along(run, measure, size)))
    draw = partial(drawing.trace, measure=measure, looks=looks_of(runs))
    return drawing.figure(panels, draw, width, labels=(TIME.axis_label, measure.axis_label))


def setting_words(runs: Sequence[Run]) -> str:
    """Return the sentences of captions on the setting of all fits, and on frame.progress."""
    setting = frame.settings(runs)
    left = "; ".join(f"{run.heading}: {text}" for run in runs if (text := frame.progress(run)))
    return f" Setting: {setting}." * bool(setting) + f" Unfinished: {left}." * bool(left)


class _Kind(NamedTuple):
    """A kind of figure of a measure: whether a run has values, how it is drawn, and of what."""

    has: Callable[[Run, Measure], bool]
    draw: Callable[[Sequence[Run], Measure, float | None], Figure]
    about: str


KINDS = {
    "boxplot": _Kind(
        lambda run, measure: bool(sizes_with(run, measure)),
        _draw_boxes,
        ", at each solver's largest finished number of {axis}",
    ),
    "curve": _Kind(
        lambda run, measure: len(sizes_with(run, measure)) > 1,
        _draw_curves,
        " against the number of {axis}",
    ),
    "trace": _Kind(
        lambda run, measure: bool(drawing.traced_sizes(run, measure)),
        _draw_traces,
        " against training time",
    ),
}


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
    for way, kind in KINDS.items():
        # beside the box of a trivial solver, the others would be lines
        drawn = [*map(_without_trivial, runs)] if way == "boxplot" else runs
        own = [m for m in measures if f"{m.output}_{way}" in outputs_of([m], swept=swept)]
        names = distinct(f"{measure.file}_{way}" for measure in own)
        for name, measure in zip(names, own, strict=True):
            shown = [run for run in drawn if frame.shows(run, measure) and kind.has(run, measure)]
            make = partial(_drawing, name, way, shown, measure, width) if shown else None
            known[name] = f"{measure.output}_{way}", make
    kept = [run for run in runs if (run.fits["artefact"] != "").any()]
    names = distinct(f"{PICTURES}_{folder_name(run.title)}" for run in kept)
    for name, run in zip(names if len(runs) > 1 else [PICTURES], kept, strict=False):
        known[name] = PICTURES, partial(_pictures, name, run, width)
    return known


def _without_trivial(run: Run) -> Run:
    return run.of([key for key, one in run.solvers.items() if not one or one.kind not in TRIVIAL])


def _drawing(
    name: str, way: str, runs: Sequence[Run], measure: Measure, width: float | None
) -> Drawing:
    axis, kind = lowered(axis_title(runs)), KINDS[way]
    about = kind.about.format(axis=axis) if axis or way == "trace" else ""
    text = f"{measure.caption}{about}. {reading(way, runs, measure)}{setting_words(runs)}"
    return Drawing(name, text, partial(kind.draw, runs, measure, width))


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
