"""Commands on the papers: claims, pages, figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dsgkit.cli.messages import print_columns
from dsgkit.cli.parameters import (
    FIGURE_FORMATS,
    FILE,
    FOLDER,
    KEPT_RESULTS,
    RESULTS,
    check_kept,
    check_profiles,
    claim_ids,
    debug_option,
    figure_names,
    formats_option,
    kept_argument,
    names_option,
    paper_keys,
    paper_profiles,
    width_option,
)


@click.command()
@kept_argument
@names_option("--paper", "keys", known=paper_keys, help="Judge these papers only, such as s2auc.")
@names_option("--id", "ids", known=claim_ids, help="Print these claims in full, such as s2auc-01.")
@click.option(
    "--json",
    "json_file",
    type=FILE,
    help="Write verdicts and evidence to this file.",
)
@click.option(
    "--expect",
    type=FILE,
    help="YAML or JSON file of verdicts by claim; exit with code 1 if one differs.",
)
@debug_option
def claims(
    results: tuple[Path, ...],
    keys: tuple[str, ...],
    ids: tuple[str, ...],
    json_file: Path | None,
    expect: Path | None,
) -> None:
    """Judge the papers' claims by RESULTS: results folders, or folders of them.

    By default by the kept results, results/reference, which are in the repository only.
    A verdict follows from the results and the criterion of the claim. Studies are read from a
    folder `studies` next to the results.
    """
    import json

    from dsgkit.papers import claims_text
    from dsgkit.papers.claims import papers
    from dsgkit.papers.evidence import read_evidence
    from dsgkit.papers.judging import judge, selected
    from dsgkit.text.terminal import terminal_width

    chosen = selected(papers(), ids, keys)
    check_kept(results)
    judged = judge(chosen, read_evidence(results))
    width = terminal_width()
    if ids:
        selected_claims = [claim for paper in judged for claim in paper.claims]
        click.echo("\n\n".join(claims_text.full_text(claim, width) for claim in selected_claims))
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
@click.option(
    "--out",
    type=FOLDER,
    default=KEPT_RESULTS,
    show_default=True,
    help="Folder for index.html and a page for each paper.",
)
@debug_option
def pages(results: tuple[Path, ...], out: Path) -> None:
    """Write a page for each paper, and an index, from RESULTS: folders, or folders of them.

    By default they show the kept results, results/reference, which are in the repository
    only. A page begins with the paper's claims and their verdicts.
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
@click.argument("name", metavar="PAPER/NUMBER", required=False, shell_complete=figure_names)
@kept_argument
@click.option("--all", "everything", is_flag=True, help="Show all solvers and datasets there are.")
@click.option(
    "--out",
    type=FOLDER,
    default=RESULTS / "papers",
    show_default=True,
    help="Folder to write to, with a subfolder per paper.",
)
@formats_option(FIGURE_FORMATS)
@width_option
@names_option(
    "--profile",
    "profiles",
    known=paper_profiles,
    help="Show results of these profiles instead of the paper's protocol; for each config the "
    "first profile with results.",
)
@debug_option
def figure(
    name: str | None,
    results: tuple[Path, ...],
    out: Path,
    formats: list[str],
    **look: Any,
) -> None:
    """Draw a figure or print a table as in a paper: s2auc/1, svc/table-2; s2auc for all of them.

    RESULTS are results folders, or folders of them; by default the kept results,
    results/reference, which are in the repository only. Without a name, list all figures and
    tables.
    """
    from dsgkit.papers.figures import all_papers, chosen, listing

    if name is None:
        print_columns(list(listing(all_papers())))
        return
    from dsgkit.papers.figures_written import Look, written

    wanted = chosen(all_papers(), name)
    check_kept(results)
    check_profiles(results, look["profiles"])
    made = written(wanted, results, out, formats, Look(**look))
    for text in made:
        click.echo(text)
