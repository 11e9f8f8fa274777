"""Contents of the page, and writing it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dsgkit import __version__
from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.report.formats import Cell, Layout, write_text
from dsgkit.report.html.machine import describe_code, describe_environments
from dsgkit.report.html.outcomes import total_counts
from dsgkit.report.html.sections import Context, make_section, pictures
from dsgkit.report.numbers import NO_VALUE
from dsgkit.report.old_names import grouped, run_of
from dsgkit.report.summary import Summary, summarise
from dsgkit.report.tables import wanted_tables

TEMPLATES = "templates"
Missing = Sequence[tuple[str, str]]
"""Experiments without a results folder: (name, reason) pairs."""


def write_page(results: Sequence[Results], path: Path, missing: Missing = ()) -> Path:
    """Write one HTML file on one or several results folders and return its path.

    Parameters
    ----------
    results : sequence of Results
        Several folders get an overview before their sections.
    path : Path
        The file. Commands on the page that redraw figures of several folders write next to it.
    missing : sequence of (str, str)
        Experiments without results: names and reasons.

    Raises
    ------
    ResultsError
        If there is nothing to show, or the file cannot be written.
    """
    return write_text(path, page_text(results, path.parent, missing))


def page_text(results: Sequence[Results], folder: Path, missing: Missing = ()) -> str:
    """Return the page, see `write_page`; equal results give equal text.

    Commands on the page redraw figures of several results folders in ``folder``.
    """
    if not results and not missing:
        raise ResultsError("no results were named; name at least one results folder")
    shown = summarise(results)
    sections = [make_section(one, number) for number, one in enumerate(shown, start=1)]
    environment = _environment()
    script = _asset(environment, "page.js")
    names = [*(section["name"] for section in sections), *(name for name, _ in missing)]
    return environment.get_template("page.html.jinja").render(
        title=sections[0]["heading"] if len(names) == len(sections) == 1 else _title(names),
        name=names[0] if len(names) == 1 else "",
        counts=total_counts((section["counts"] for section in sections), len(missing)),
        sections=sections,
        overview=_overview(shown, sections, folder, missing) if len(names) > 1 or missing else None,
        environments=describe_environments(shown),
        codes=describe_code(shown),
        style=_asset(environment, "page.css"),
        script=script,
        # the content security policy allows this script only
        script_hash=f"sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}",
        version=__version__,
    )


@cache
def _environment() -> Environment:
    """Return the template environment; it caches compiled templates."""
    return Environment(
        loader=PackageLoader(__package__, TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _overview(
    shown: Sequence[Summary], sections: Sequence[Context], folder: Path, missing: Missing
) -> Context:
    """Return the overview of several results folders; those without a fit only have a row."""
    fitted = [one for one in shown if len(one.results.cells)]
    kinds = grouped(fitted, lambda one: one.results.task.kind)
    return {
        "contents": _contents(sections, missing),
        "fitted": bool(fitted),
        # the only results of a task have all in their own section
        "kinds": [
            _of_a_kind(kind, members, folder) for kind, members in kinds.items() if len(members) > 1
        ],
    }


def _of_a_kind(kind: str, shown: Sequence[Summary], folder: Path) -> Context:
    """Return the tables and figures of the results of one task."""
    tables = (make() for _, make in wanted_tables([*map(run_of, shown)]))
    return {
        "kind": kind,
        "tables": [layout for table in tables for layout in table.layouts],
        "pictures": pictures(shown, folder),
    }


def _title(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} experiments"


def _contents(sections: Sequence[Context], missing: Missing) -> Layout:
    """Return the table of contents: a row per experiment, with a link and cell counts."""
    names = list(total_counts([], 0).numbers)
    rows = []
    for one in sections:
        counts = [Cell(f"{n:,}", value=n) for n in one["counts"].numbers.values()]
        dataset = Cell(one["heading"], link=f"#{one['anchor']}")
        rows.append([dataset, Cell(one["name"]), *counts])
    for name, reason in missing:
        rows.append(
            [Cell(NO_VALUE), Cell(name, f"not run: {reason}"), *[Cell(NO_VALUE)] * len(names)]
        )
    return Layout(
        "What was run, in cells: one share of a hyper-parameter search, or one fit, each.",
        ["Dataset", "Experiment", *names],
        rows,
    )


def _asset(environment: Environment, name: str) -> Markup:
    """Return a style sheet or script to include verbatim."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])
