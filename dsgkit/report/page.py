"""One HTML page on runs, for use offline: findings, figures, tables, causes of missing results."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dsgkit import __version__
from dsgkit.experiment.folder import other_source
from dsgkit.experiment.runs import TO_COME, Run
from dsgkit.experiment.status import FAILURES, by_cause, ending, places
from dsgkit.experiment.store import Record
from dsgkit.report.figures import svg, wanted_figures
from dsgkit.report.findings import findings
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.frame import check_named, finished, solver_names
from dsgkit.report.numbers import NO_VALUE, counted, grid_text, leaves, value_text
from dsgkit.report.tables import wanted_tables

Context = dict[str, Any]
"""Variables of the template."""

CSS_INCH = 96
TEMPLATES = Environment(
    loader=PackageLoader(__package__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
OUTCOMES = ("Planned", "Finished", "Limits met", "Failed", "Not run")


def page_text(runs: Sequence[Run], missing: Sequence[tuple[str, str]] = ()) -> str:
    """Return one HTML file; equal results give equal text.

    It also names experiments without results, which are ``missing``, and why.
    """
    check_named([*runs, *missing])
    sections = [_section(run, number) for number, run in enumerate(runs, start=1)]
    titles = [*(run.heading for run in runs), *(name for name, _ in missing)]
    script = _text("page.js")
    return _text(
        "page.html.jinja",
        title=titles[0] if len(titles) == 1 else f"{len(titles)} experiments",
        sentence=_sentence(sections, len(missing)),
        contents=_contents(sections, missing) if len(titles) > 1 or missing else None,
        together=[*_together(runs)],
        sections=sections,
        environments=[*_environments(runs)],
        codes=[
            f"{run.heading}: {text}."
            for run in runs
            for text in other_source(run.fits.to_dict("records"), run.folder)
        ],
        style=_text("page.css"),
        script=script,
        # the content security policy allows this script only
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
        version=__version__,
    )


def _text(template: str, **variables: Any) -> Markup:
    return Markup(TEMPLATES.get_template(template).render(variables))


def _section(run: Run, number: int) -> Context:
    recorded = bool((run.fits["status"] != "").any())
    return {
        "anchor": f"{number}-{re.sub(r'[^A-Za-z0-9_]+', '-', run.title)}",
        "heading": run.heading,
        "name": run.experiment.name,
        "cells": cells_by_outcome(run),
        "findings": findings(run) if recorded else [],
        "figures": _pictures([run]) if finished(run) else [],
        "tables": _layouts([run]) if recorded else [],
        "causes": [_cause(run, records) for records in by_cause(run.unfinished)],
        "facts": _facts(run),
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


def _layouts(runs: Sequence[Run]) -> list[Layout]:
    return [layout for table in wanted_tables(runs) for layout in table.layouts]


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
    """Return the numbers of cells by `OUTCOMES`; limits include problems without a solution."""
    planned = [one.loc[one["trial"] >= 0, "ending"] for one in (run.fits, run.searches)]
    endings = Counter(ending for one in planned for ending in one)
    ok, left = endings["ok"], endings[TO_COME]
    failed = sum(endings[status] for status in FAILURES)
    limits = endings.total() - ok - left - failed
    return dict(zip(OUTCOMES, (endings.total(), ok, limits, failed, left), strict=True))


def _sentence(sections: Sequence[Context], missing: int) -> str:
    total = {how: sum(one["cells"][how] for one in sections) for how in OUTCOMES}
    numbers = ", ".join(f"{n:,} {how.lower()}" for how, n in total.items() if n)
    not_run = f" {counted(missing, 'experiment')} not run." if missing else ""
    cells = f"Cells (searches and fits): {numbers}" if numbers else "No cell is recorded yet"
    return f"{cells}.{not_run}"


def _contents(sections: Sequence[Context], missing: Sequence[tuple[str, str]]) -> Layout:
    """Return the table of contents: a row per experiment, with a link and numbers of cells."""
    rows = []
    for one in sections:
        cells = (Cell(f"{n:,}", value=n) for n in one["cells"].values())
        rows.append([Cell(one["heading"], link=f"#{one['anchor']}"), Cell(one["name"]), *cells])
    nothing = [Cell(NO_VALUE)] * len(OUTCOMES)
    rows += [[Cell(NO_VALUE), Cell(name, f"not run: {why}"), *nothing] for name, why in missing]
    caption = "What was run, in cells: a share of a hyper-parameter search, or a fit."
    return Layout(caption, ["Dataset", "Experiment", *OUTCOMES], rows)


def _cause(run: Run, records: Sequence[Record]) -> Context:
    """Return the cells that ended without a result for one reason, told by the first."""
    first = records[0]
    return {
        "failed": first["status"] in FAILURES,
        "status": ending(first),
        "message": first.get("message", ""),
        "varies": len({record.get("message") for record in records}) > 1,
        "cells": [
            f"{run.names[of[0]['solver']]} {of[0]['kind']}, {places(of, run.axis)}"
            for of in by_cause(records, "solver", "kind")
        ],
        "traceback": first.get("traceback", ""),
    }


def _facts(run: Run) -> dict[str, str]:
    experiment, task, data = run.experiment, run.task, run.data
    title = data.get("title") or experiment.dataset.path or run.dataset
    known = [f"{n:,} {of}" for of in ("rows", "features") if (n := data.get(f"n_{of}"))]
    further = [text for text in (task.setting, task.oracle) if text not in task.protocol]
    facts = {
        "Dataset": ", ".join([title, *known]),
        "Labels": data.get("target", ""),
        "Task": ", ".join([task.protocol, *further]),
        "Trials": f"{experiment.protocol.trials:,}, seed {experiment.seed}",
        "Hyper-parameters": task.selection,
    }
    return {name: text for name, text in facts.items() if text}


def _solvers(run: Run) -> Layout:
    """Return the table of solvers, with the stages of their searches in order."""
    rows = []
    for key, spec in run.solvers.items():
        if spec:
            stages = [stage.choices for stage in spec.search]
            searched = {name for grids in stages for name in grids}
            fixed = [f"{n} {value_text(x)}" for n, x in spec.params.items() if n not in searched]
            grids = ["; ".join(f"{n} {grid_text(of)}" for n, of in one.items()) for one in stages]
            texts = "; ".join(fixed), "; then ".join(grids)
            rows.append([Cell(run.names[key], spec.kind), *(Cell(x or NO_VALUE) for x in texts)])
    caption = "Solvers: fixed parameters, and the grids of those that are searched in every trial."
    return Layout(caption, ["Solver", "Fixed", "Grid"], rows)


def _environments(runs: Sequence[Run]) -> Iterator[Context]:
    """Yield each environment with its properties and the runs with results of it."""
    described = {name: of for run in runs for name, of in run.environments.items()}
    for name, of in described.items():
        properties = {keys[-1].replace("_", " "): str(value) for keys, value in leaves(of)}
        properties["results"] = ", ".join(r.heading for r in runs if name in r.environments)
        yield {"name": name, "properties": properties}
