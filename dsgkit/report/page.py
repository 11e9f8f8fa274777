"""One HTML page on runs, for use offline: findings, figures, tables, causes of missing results."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dsgkit import __version__
from dsgkit.config.schema import SolverSpec
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import other_source
from dsgkit.experiment.runs import TO_COME, Run
from dsgkit.experiment.status import FAILURES, by_cause, ending, status_words
from dsgkit.report.figures import svg, wanted_figures
from dsgkit.report.findings import findings
from dsgkit.report.formats import Cell, Layout, write_text
from dsgkit.report.frame import finished, solver_names
from dsgkit.report.numbers import NO_VALUE, counted, grid_text, leaves, ranges, value_text
from dsgkit.report.tables import wanted_tables

Context = dict[str, Any]
"""Variables of the template."""

CSS_INCH = 96
OUTCOMES = ("Planned", "Finished", "Limits met", "Failed", "Not run")


def write_page(runs: Sequence[Run], path: Path, missing: Sequence[tuple[str, str]] = ()) -> Path:
    """Write one HTML file on one or several runs and return its path.

    Parameters
    ----------
    runs : sequence of Run
        Several have an overview before their sections.
    path : Path
    missing : sequence of (str, str)
        Names of experiments without results, and reasons.

    Raises
    ------
    ResultsError
        If there is nothing to show, or the file cannot be written.
    """
    return write_text(path, page_text(runs, missing))


def page_text(runs: Sequence[Run], missing: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page, see `write_page`; equal results give equal text."""
    if not runs and not missing:
        raise ResultsError("no results were named; name at least one results folder")
    sections = [_section(run, number) for number, run in enumerate(runs, start=1)]
    names = [*(run.experiment.name for run in runs), *(name for name, _ in missing)]
    script = _asset("page.js")
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            title=runs[0].heading if len(names) == len(runs) == 1 else _title(names),
            sentence=_sentence([section["outcomes"] for section in sections], len(missing)),
            contents=_contents(runs, sections, missing) if len(names) > 1 or missing else None,
            together=[*_together(runs)],
            sections=sections,
            environments=[*_environments(runs)],
            codes=_other_code(runs),
            style=_asset("page.css"),
            script=script,
            # the content security policy allows this script only
            script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
            version=__version__,
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> Markup:
    """Return a style sheet or script to include as it is."""
    loader = _environment().loader
    assert loader is not None
    return Markup(loader.get_source(_environment(), name)[0])


def _title(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} experiments"


def _section(run: Run, number: int) -> Context:
    """Return the section of a run, the ``number``-th on the page."""
    recorded = bool((run.fits["status"] != "").any())
    ended = by_cause(run.unfinished)
    return {
        "anchor": f"{number}-{re.sub(r'[^A-Za-z0-9_]+', '-', run.title)}",
        "heading": run.heading,
        "name": run.experiment.name,
        "outcomes": _outcomes(run),
        "findings": findings(run) if recorded else [],
        "figures": _pictures([run]) if finished(run) else [],
        "tables": _layouts([run]) if recorded else ([], []),
        "failures": [_cause(run, one) for one in ended if one[0]["status"] in FAILURES],
        "limits": [_cause(run, one) for one in ended if one[0]["status"] not in FAILURES],
        "facts": [(name, text) for name, text in _facts(run) if text],
        "solvers": _solvers(run),
        "config": run.experiment.to_yaml(),
    }


def _together(runs: Sequence[Run]) -> Iterator[Context]:
    """Yield tables and figures of all runs of a task, if there are several."""
    kinds: dict[str, list[Run]] = {}
    for run in runs:
        if (run.fits["status"] != "").any():
            kinds.setdefault(run.task.kind, []).append(run)
    for kind, members in kinds.items():
        if len(members) > 1:
            figures = _pictures(members) if any(map(finished, members)) else []
            name = kind.replace("_", " ")
            yield {"kind": name, "figures": figures, "tables": _layouts(members)}


def _layouts(runs: Sequence[Run]) -> tuple[list[Layout], list[Layout]]:
    """Return the tables that a terminal shows by default, and the others."""
    shown: list[Layout] = []
    folded: list[Layout] = []
    for _, make in wanted_tables(runs):
        for layout in make().layouts:
            (folded if layout.aside else shown).append(layout)
    return shown, folded


def _pictures(runs: Sequence[Run]) -> list[Context]:
    """Return figures as images of their own text, with descriptions."""
    told = f"Solvers: {'; '.join(solver_names(runs))}. The tables have the numbers."
    plain = ' "/:=,.;()[]-_+!*@?$'  # safe in single quotes; shorter than base64
    found = []
    for drawing in wanted_figures(runs):
        figure = drawing.draw()
        width, height = (round(CSS_INCH * inches) for inches in figure.get_size_inches())
        image = quote(re.sub(r"\s*\n\s*", " ", svg(figure)), safe=plain)
        found.append(
            {
                "caption": drawing.caption,
                "alternative": f"{drawing.caption} {told}",
                "source": f"data:image/svg+xml,{image}",
                "width": width,
                "height": height,
            }
        )
    return found


def cells_by_outcome(run: Run) -> dict[str, int]:
    """Return the numbers of a run's cells by `OUTCOMES`."""
    return _numbers(_outcomes(run))


def _outcomes(run: Run) -> Counter[str]:
    """Return the numbers of cells by status; planned ones without a record have none."""
    planned = [one[one["trial"] >= 0]["ending"] for one in (run.fits, run.searches)]
    return Counter(status for one in planned for status in one.tolist())


def _numbers(outcomes: Counter[str]) -> dict[str, int]:
    """Return the numbers of cells by `OUTCOMES`; limits include problems without a solution."""
    ok, left = outcomes["ok"], outcomes[TO_COME]
    failed = sum(outcomes[status] for status in FAILURES)
    limits = outcomes.total() - ok - left - failed
    return dict(zip(OUTCOMES, (outcomes.total(), ok, limits, failed, left), strict=True))


def _sentence(outcomes: Sequence[Counter[str]], missing: int) -> str:
    """Return the numbers of cells as a sentence."""
    every = sum(outcomes, Counter[str]())
    ended = [f"{n:,} {how}" for how, n in sorted(every.items()) if n and how != "ok"]
    parts = [f"{every['ok']:,} of {counted(every.total(), 'cell')} finished", *ended]
    text = f"All {every.total():,} cells finished" if not ended else ", ".join(parts)
    text = text if every else "No cell is recorded yet"
    not_run = f" {counted(missing, 'experiment')} not run." if missing else ""
    return f"{text}.{not_run}"


def _contents(
    runs: Sequence[Run], sections: Sequence[Context], missing: Sequence[tuple[str, str]]
) -> Layout:
    """Return the table of contents: a row per experiment, with a link and numbers of cells."""
    rows = []
    for run, section in zip(runs, sections, strict=True):
        numbers = _numbers(section["outcomes"]).values()
        dataset = Cell(run.heading, link=f"#{section['anchor']}")
        cells = (Cell(f"{n:,}", value=n) for n in numbers)
        rows.append([dataset, Cell(run.experiment.name), *cells])
    for name, why in missing:
        nothing = [Cell(NO_VALUE)] * len(OUTCOMES)
        rows.append([Cell(NO_VALUE), Cell(name, f"not run: {why}"), *nothing])
    caption = "What was run, in cells: a share of a hyper-parameter search, or a fit."
    return Layout(caption, ["Dataset", "Experiment", *OUTCOMES], rows)


def _cause(run: Run, records: Sequence[Mapping[str, Any]]) -> Context:
    """Return the cells that ended without a result for one reason, told by the first."""
    first = records[0]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for record in records:
        size = f"{record['at'][run.axis.name]:,}" if run.axis else ""
        cell = run.names[record["solver"]], record["kind"], size
        groups.setdefault(cell, []).append(record["trial"] + 1)
    header = ["Solver", "Cell", run.axis.title if run.axis else "", "Trials"]
    rows = [[*map(Cell, cell), Cell(ranges(trials))] for cell, trials in groups.items()]
    wanted = [True, True, run.axis is not None, True]
    messages = {record.get("message", "") for record in records}
    return {
        "status": status_words(ending(first)),
        "message": first.get("message", ""),
        "varies": len(messages) > 1,
        "number": counted(len(records), "cell"),
        "cells": Layout("", header, rows).with_columns(wanted),
        "traceback": first.get("traceback", ""),
    }


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Yield facts about a run with their headings; a text may be empty."""
    experiment, task, data = run.experiment, run.task, run.data
    title = data.get("title") or experiment.dataset.path or run.dataset
    known = [f"{n:,} {of}" for of in ("rows", "features") if (n := data.get(f"n_{of}"))]
    protocol = task.protocol.removeprefix(task.kind).removeprefix(" with ").strip(", ")
    setting = [text for text in (task.setting, task.oracle) if text not in task.protocol]
    sizes = [n if isinstance(n, str) else f"{n:,}" for n in experiment.sizes]
    started = sorted(filter(None, run.fits.get("started", [])))
    yield "Dataset", ", ".join([title, *known])
    yield "Labels", data.get("target", "")
    yield "Task", task.kind
    yield "Protocol", ", ".join(filter(None, [protocol, *setting]))
    yield (run.axis.title if run.axis else "Sizes"), ", ".join(sizes)
    yield "Trials", f"{experiment.protocol.trials:,}, seed {experiment.seed}"
    yield "Hyper-parameters", task.selection
    yield "Fits started", " to ".join(dict.fromkeys([*started[:1], *started[-1:]]))


def _solvers(run: Run) -> Layout:
    """Return the table of solvers."""
    specs = {key: spec for key, spec in run.solvers.items() if spec}
    return Layout(
        "Solvers: fixed parameters, and the grids of those that are searched in every trial.",
        ["Solver", "Fixed", "Grid", "Points"],
        [_solver(run.names[key], spec) for key, spec in specs.items()],
    )


def _solver(name: str, spec: SolverSpec) -> list[Cell]:
    """Return the row of a solver, with the stages of its search in order."""
    grids = [stage.choices for stage in spec.search]
    searched = {name for grid in grids for name in grid}
    fixed = {name: value for name, value in spec.params.items() if name not in searched}
    points = [math.prod(map(len, grid.values())) for grid in grids] or [1]
    texts = [_listed({name: grid_text(values) for name, values in grid.items()}) for grid in grids]
    return [
        Cell(name, spec.kind),
        Cell(_listed({name: value_text(value) for name, value in fixed.items()})),
        Cell("; then ".join(texts) or NO_VALUE),
        Cell(", then ".join(f"{n:,}" for n in points), value=points[0]),
    ]


def _listed(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {text}" for name, text in texts.items()) or NO_VALUE


def _environments(runs: Sequence[Run]) -> Iterator[Context]:
    """Yield each environment with its properties and numbers of cells by run."""
    described: dict[str, Mapping[str, Any]] = {}
    cells: dict[str, Counter[str]] = {}
    for run in runs:
        described |= run.environments
        for part in (run.fits, run.searches):
            for name, n in part["environment"].value_counts().items():
                if name:
                    cells.setdefault(str(name), Counter())[run.heading] += int(n)
    for name, counts in cells.items():
        properties = {keys[-1].replace("_", " "): str(v) for keys, v in leaves(described[name])}
        properties["cells"] = ", ".join(f"{title}: {n:,}" for title, n in counts.items())
        yield {"name": name, "properties": properties}


def _other_code(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each run with results of other code than this."""
    every = ((run, run.fits.to_dict("records")) for run in runs)
    return [f"{r.heading}: {t}." for r, f in every for t in other_source(f, r.folder)]
