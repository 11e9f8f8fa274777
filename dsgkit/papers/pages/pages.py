"""Writing of the index and of the page of each paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dsgkit import __version__
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.judge import JudgedPaper, Kept
from dsgkit.papers.pages.content import paper_content
from dsgkit.papers.pages.verdicts import counts_of, headlines
from dsgkit.report.formats import write_text

INDEX = "index.html"
TEMPLATES = "templates"


def write_pages(
    papers: Sequence[JudgedPaper], kept: Kept, evidence: Evidence, folder: Path
) -> list[Path]:
    """Write an index and a page per paper as self-contained HTML files; return their paths.

    Parameters
    ----------
    papers : sequence of JudgedPaper
    kept, evidence : Kept, Evidence
        Results by which the papers were judged.
    folder : Path

    Raises
    ------
    ResultsError
        If a file cannot be written.
    """
    cards = [
        {
            "paper": one.paper,
            "file": f"{one.paper.key}.html",
            "counts": counts_of(one),
            "headlines": headlines(one),
        }
        for one in papers
    ]
    total = sum(len(one.claims) for one in papers)
    index = _rendered("index.html.jinja", cards=cards, total=total)
    written = [write_text(folder / INDEX, index)]
    for card, one in zip(cards, papers, strict=True):
        content = paper_content(one, kept, evidence)
        text = _rendered("paper.html.jinja", **card, **content, index=INDEX)
        written.append(write_text(folder / str(card["file"]), text))
    return written


def _rendered(template: str, **context: object) -> str:
    environment = _environment()
    style = "\n".join(_asset(name) for name in ("page.css", "paper.css"))
    return environment.get_template(template).render(
        **context, style=Markup(style), version=__version__
    )


@cache
def _environment() -> Environment:
    """Return the environment of these templates and the reports'."""
    here = PackageLoader(__package__, TEMPLATES)
    reports = PackageLoader("dsgkit.report.html", TEMPLATES)
    return Environment(
        loader=ChoiceLoader([here, reports]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
