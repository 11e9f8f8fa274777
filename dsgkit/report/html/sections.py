"""The section of a page on one results folder."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.results import Results
from dsgkit.report.figures import Drawing, svg, wanted_figures
from dsgkit.report.findings import findings
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.frame import solver_names
from dsgkit.report.html.machine import clocks
from dsgkit.report.html.outcomes import count_cells, failures, limits
from dsgkit.report.numbers import NO_VALUE, grid_text, value_text
from dsgkit.report.old_names import run_of
from dsgkit.report.style import COLUMN_WIDTH
from dsgkit.report.summary import Summary
from dsgkit.report.tables import wanted_tables
from dsgkit.tasks.measures import Description

CSS_INCH = 96

SVG_DATA = "data:image/svg+xml,"


Context = dict[str, Any]
"""Variables of a template."""


def make_section(summary: Summary, number: int) -> Context:
    """Return the section of a results folder, the ``number``-th on the page."""
    results = summary.results
    figures = sorted(pictures([summary]), key=lambda one: one["is_wide"])
    return {
        "anchor": f"{number}-{re.sub(r'[^A-Za-z0-9_]+', '-', summary.title)}",
        "title": summary.title,
        "heading": summary.heading,
        "name": results.experiment.name,
        "facts": _facts(summary),
        "counts": count_cells(results),
        "findings": findings(summary) if len(results.cells) else [],
        "solvers": _solvers(summary),
        "tables": _tables(summary),
        "pictures": figures,
        # figures stand in pairs: an odd one stands next to the findings
        "has_odd_picture": sum(not one["is_wide"] for one in figures) % 2 == 1,
        "has_fit": summary.finished,
        "failures": failures(summary),
        "limits": limits(summary),
        "clocks": clocks(summary),
        "config": results.experiment.to_yaml(),
        "command": shlex.join(["dsg", "run", str(results.folder / CONFIG)]),
    }


def pictures(shown: Sequence[Summary], folder: Path | None = None) -> list[Context]:
    """Draw the figures that the experiments ask for and that have values.

    The printed commands redraw figures in ``folder``, by default that of the results.
    """
    command = ["dsg", "plot", *(str(one.results.folder) for one in shown)]
    command += [] if folder is None else ["--out", str(folder)]
    runs = [*map(run_of, shown)]
    contents = f"Datasets: {'; '.join(run.heading for run in runs)}. "
    contents += f"Solvers: {'; '.join(solver_names(runs))}. The tables have the numbers."
    return [
        picture_of(one, [*command, "--only", one.name], contents) for one in wanted_figures(runs)
    ]


def picture_of(drawing: Drawing, command: Sequence[str], contents: str = "") -> Context:
    """Return a figure for a page, with the command that redraws it."""
    figure = drawing.draw()
    width, height = (round(CSS_INCH * inches) for inches in figure.get_size_inches())
    return {
        "caption": drawing.caption,
        "alternative": f"{drawing.caption} {contents}".strip(),
        "source": _address(svg(figure)),
        "width": width,
        "height": height,
        "is_wide": figure.get_figwidth() > COLUMN_WIDTH,
        "command": shlex.join(command),
    }


def _address(drawing: str) -> str:
    """Return an SVG file as a data URL, safe for an attribute in single quotes.

    Percent encoding takes three quarters of the length of base64.
    """
    plain = ' "/:=,.;()[]-_+!*@?$'
    return f"{SVG_DATA}{quote(_LINE_END.sub(' ', drawing), safe=plain)}"


_LINE_END = re.compile(r"\s*\n\s*")


class Tables(NamedTuple):
    """The tables of a section: shown, and folded."""

    shown: list[Layout]
    folded: list[Layout]


def _tables(summary: Summary) -> Tables:
    """Return the tables that `write_tables` writes; none before the first fit.

    Tables that a terminal shows by default are shown; the others are folded.
    """
    tables = Tables([], [])
    for _, make in wanted_tables([run_of(summary)]) if len(summary.results.cells) else []:
        for layout in make().layouts:
            if layout.rows:
                (tables.folded if layout.aside else tables.shown).append(layout)
    return tables


def _facts(summary: Summary) -> list[tuple[str, str, str]]:
    """Return facts about a run: (heading, text, name in a config)."""
    results = summary.results
    experiment, task = results.experiment, results.task
    setting = [text for text in (task.setting, task.oracle) if text not in task.protocol]
    sizes = [n if isinstance(n, str) else f"{n:,}" for n in experiment.sizes]
    facts = [
        ("Dataset", _dataset(summary), results.dataset),
        ("Labels", results.data.get("target", ""), ""),
        ("Protocol", ", ".join([_without_kind(task), *setting]), task.kind),
        (task.axis.title if task.axis else "", ", ".join(sizes), ""),
        ("Trials", f"{experiment.protocol.trials:,}, seed {experiment.seed}", ""),
        ("Hyper-parameters", task.selection, ""),
        ("Cells started", _started(results), ""),
        ("Folder", str(results.folder), ""),
    ]
    return [(heading, text, name) for heading, text, name in facts if heading and text]


def _without_kind(task: Description) -> str:
    """Return a protocol's description without the name of the task."""
    return task.protocol.removeprefix(task.kind).removeprefix(" with ").strip(", ")


def _dataset(summary: Summary) -> str:
    """Return the dataset's title or file, and its shape if known."""
    results = summary.results
    data = results.data
    known = [data.get("title") or results.experiment.dataset.path or results.dataset]
    for count in ("rows", "features"):
        if n := data.get(f"n_{count}"):
            known.append(f"{n:,} {count}")
    return ", ".join(filter(None, known))


def _started(results: Results) -> str:
    """Return the recorded start times of the first and the last cell."""
    times = []
    for record in results.records:
        with suppress(ValueError):  # an invalid time
            times += [datetime.fromisoformat(text)] if (text := record.get("started")) else []
    ends = [f"{time:%Y-%m-%d %H:%M %Z}" for time in (min(times), max(times))] if times else []
    return " to ".join(dict.fromkeys(ends))


def _solvers(summary: Summary) -> Layout:
    """Return the table of solvers."""
    swept = summary.axis is not None
    solvers = summary.results.experiment.solvers
    return Layout(
        "Solvers: fixed parameters, and the grid of those chosen once per trial.",
        ["Solver", "Fixed", "Grid", "Points", *["Search size, at most"] * swept],
        [_solver(summary.names[key], spec, swept) for key, spec in solvers.items()],
    )


def _solver(name: str, spec: Any, swept: bool) -> list[Cell]:
    """Return the row of a solver, with the stages of its search in order."""
    grids = [stage.choices for stage in spec.search]
    searched = {name for grid in grids for name in grid}
    fixed = {name: value for name, value in spec.params.items() if name not in searched}
    points = [math.prod(map(len, grid.values())) for grid in grids] or [1]
    per = [" per number" if stage.coordinates else "" for stage in spec.search] or [""]
    texts = [
        _listed({name: grid_text(values) for name, values in stage.choices.items()})
        + (", one number after the other" if stage.coordinates else "")
        for stage in spec.search
    ]
    cells = [
        Cell(name, spec.kind),
        Cell(_listed({name: value_text(value) for name, value in fixed.items()})),
        Cell("; then ".join(texts) or NO_VALUE),
        Cell(
            ", then ".join(f"{n:,}{suffix}" for n, suffix in zip(points, per, strict=True)),
            value=points[0],
        ),
    ]
    if swept:
        at = _sizes(spec.search_at) or "all" if max(points) > 1 else NO_VALUE
        limit = _sizes(spec.at_most)
        cells.append(Cell(f"{at}, fitted up to {limit}" if limit else at))
    return cells


def _sizes(sizes: Mapping[str, int | str]) -> str:
    return ", ".join(n if isinstance(n, str) else f"{n:,}" for n in sizes.values())


def _listed(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {text}" for name, text in texts.items()) or NO_VALUE
