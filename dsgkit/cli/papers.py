"""Commands on the papers: claims, pages, figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dsgkit.cli.common import (
    FIGURE_FORMATS,
    FILE,
    KEPT_RESULTS,
    RESULTS,
    Names,
    Paths,
    check_kept,
    formats_option,
    kept_argument,
    names_option,
    out_option,
    print_pairs,
    width_option,
)


@click.command()
@kept_argument
@names_option("--paper", "keys", help="Judge these papers only, such as s2auc.")
@names_option("--id", "ids", help="Print these claims in full, such as s2auc-01.")
@click.option("--json", "json_file", type=FILE, help="Write verdicts and evidence to this file.")
@click.option("--expect", type=FILE, help="File of verdicts by claim; exit code 1 if one differs.")
def claims(
    results: Paths, keys: Names, ids: Names, json_file: Path | None, expect: Path | None
) -> None:
    """Judge the papers' claims by RESULTS.

    These are results folders, or folders of them; by default the kept results, results/reference,
    which are in the repository only. A verdict follows from the results and the criterion of the
    claim. Studies are read from a folder `studies` next to the results.
    """
    import json

    from dsgkit.papers import claims_text
    from dsgkit.papers.claims import papers
    from dsgkit.papers.evidence import read_evidence
    from dsgkit.papers.judging import judge, selected
    from dsgkit.text.terminal import terminal_width

    chosen = selected(papers(), ids, keys)
    check_kept(results)
    judged, width = judge(chosen, read_evidence(results)), terminal_width()
    if ids:
        full = (claims_text.full_text(one, width) for paper in judged for one in paper.claims)
        click.echo("\n\n".join(full))
    else:
        click.echo(claims_text.overview(judged, width))
    if json_file is not None:
        json_file.write_text(json.dumps(claims_text.as_data(judged), indent=2) + "\n")
    differences = [] if expect is None else claims_text.unexpected(judged, expect)
    for line in differences:
        click.echo(line, err=True)
    if differences:
        raise SystemExit(1)


@click.command()
@kept_argument
@out_option(KEPT_RESULTS, "Folder for index.html and a page for each paper.")
def pages(results: Paths, out: Path) -> None:
    """Write a page for each paper, and an index, from RESULTS.

    These are results folders, or folders of them; by default the kept results, results/reference,
    which are in the repository only. A page begins with the paper's claims and their verdicts.
    """
    from dsgkit.papers.claims import papers
    from dsgkit.papers.evidence import read_evidence
    from dsgkit.papers.judging import judge
    from dsgkit.papers.pages import write_pages

    check_kept(results)
    evidence = read_evidence(results)
    for path in write_pages(judge(papers(), evidence), evidence, out):
        click.echo(path)


@click.command()
@click.argument("name", metavar="PAPER/NUMBER", required=False)
@kept_argument
@click.option("--all", "everything", is_flag=True, help="Show all solvers and datasets there are.")
@out_option(RESULTS / "papers", "Folder to write to, with a subfolder per paper.")
@formats_option(*FIGURE_FORMATS)
@width_option
@names_option("--profile", "profiles", help="Show results of the first of these profiles instead.")
def figure(name: str | None, results: Paths, out: Path, formats: Names, **look: Any) -> None:
    """Draw a figure or print a table as in a paper.

    Names are such as s2auc/1 and svc/table-2; s2auc stands for all of that paper, and without a
    name all are listed. RESULTS are results folders, or folders of them; by default the kept
    results, results/reference, which are in the repository only.
    """
    from dsgkit.papers.figures import all_papers, chosen, listing

    if name is None:
        print_pairs(list(listing(all_papers())))
        return
    from dsgkit.papers.figures_written import Look, written

    wanted = chosen(all_papers(), name)
    check_kept(results)
    for text in written(wanted, results, out, formats, Look(**look)):
        click.echo(text)
