"""The page: what is on it, and writing it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dsgkit import __version__
from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.report.files import write_text
from dsgkit.report.html.contents import contents
from dsgkit.report.html.environments import describe_environments
from dsgkit.report.html.outcomes import total_counts
from dsgkit.report.html.pictures import Picture, pictures
from dsgkit.report.html.sections import Section, make_section
from dsgkit.report.layout import Layout
from dsgkit.report.tables import overview_tables, wanted_tables
from dsgkit.report.titles import titles

TEMPLATES = "templates"


@dataclass(frozen=True)
class Overview:
    """What compares several results folders.

    Attributes
    ----------
    contents : Layout
        A row per folder: what was run, and how far it is.
    tables : list of Layout
    pictures : list of Picture
    """

    contents: Layout
    tables: list[Layout]
    pictures: list[Picture]


def write_page(results: Sequence[Results], path: Path) -> Path:
    """Write one HTML file on one or several results folders and return its path.

    Parameters
    ----------
    results : sequence of Results
        Several get an overview before their sections.
    path : Path
        The file. The commands on the page that redraw figures of several folders write beside it.

    Raises
    ------
    ResultsError
        If there are no results, or the file cannot be written.
    """
    return write_text(path, page_text(results, path.parent))


def page_text(results: Sequence[Results], folder: Path) -> str:
    """Return the page; the same results give the same text.

    Parameters
    ----------
    results : sequence of Results
    folder : Path
        Where the commands on the page redraw figures of several results folders.
    """
    if not results:
        raise ResultsError("no results were named; name at least one results folder")
    names = titles(results)
    sections = [
        make_section(one, title, number)
        for number, (one, title) in enumerate(zip(results, names, strict=True), start=1)
    ]
    environment = Environment(
        loader=PackageLoader(__package__, TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _asset(environment, "page.js")
    return environment.get_template("page.html.jinja").render(
        title=results[0].experiment.name if len(results) == 1 else f"{len(results)} experiments",
        counts=total_counts(section.counts for section in sections),
        sections=sections,
        overview=_overview(results, sections, folder) if len(results) > 1 else None,
        environments=describe_environments(results, names),
        style=_asset(environment, "page.css"),
        script=script,
        script_hash=_hash(script),
        version=__version__,
    )


def _overview(results: Sequence[Results], sections: Sequence[Section], folder: Path) -> Overview:
    """Return the overview of several results folders; those without a fit are in its contents."""
    fitted = [one for one in results if len(one.cells)]
    tables = overview_tables(fitted, titles(fitted), wanted_tables(fitted))
    return Overview(
        contents(sections),
        [layout for table in tables for layout in table.layouts],
        pictures(fitted, folder),
    )


def _asset(environment: Environment, name: str) -> Markup:
    """Return a file of the package that stands in the page as it is."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _hash(script: str) -> str:
    """Return what a content security policy allows a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
