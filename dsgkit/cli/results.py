"""Commands on stored results: table, plot, .., and on those of the papers: claims, .."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import click

from dsgkit.cli.common import (
    FIGURE_FORMATS,
    FILE,
    FOLDER,
    KEPT_RESULTS,
    RESULTS,
    Names,
    Paths,
    check_solvers,
    formats_option,
    kept_argument,
    names_option,
    or_kept,
    out_option,
    print_pairs,
    print_wrapped,
    results_argument,
    width_option,
)
from dsgkit.text import terminal_width

_solvers_option = names_option("--solvers", help="Show only these solvers, named by their keys.")
_AT = "Show each solver at the largest size of the sweep that is not above this."
_at_option = click.option("--at", type=click.IntRange(1), help=_AT)
_file_option = click.option(
    "-o", "--out", type=FILE, help="File to write; default: standard output."
)


@click.command()
@results_argument
@out_option(None, "Folder to write the tables to (csv, md, tex); default: only print.")
@names_option("--only", help="Make these tables only, such as auc_table.")
@_at_option
@_solvers_option
def table(results: Paths, out: Path | None, only: Names, at: int | None, solvers: Names) -> None:
    """Print the tables of stored RESULTS.

    Several folders are compared, each solver at its largest size.
    """
    from dsgkit.report.tables import text_tables, write_tables

    runs = _runs(results, solvers, at)
    click.echo(text_tables(runs, only, terminal_width()), nl=False)
    if out is not None:
        names = dict.fromkeys(path.stem for path in write_tables(runs, out, only))
        print_wrapped(f"\n{out / 'tables'}: {', '.join(names)} (csv, md, tex)")


@click.command()
@results_argument
@out_option(None, "Folder to write to; default: the results folder.")
@names_option("--only", help="Make these figures only, such as time_curve.")
@_at_option
@_solvers_option
@formats_option(*FIGURE_FORMATS[:2])
@width_option
def plot(
    results: Paths, out: Path | None, only: Names, at: int | None, solvers: Names, **look: Any
) -> None:
    """Draw the figures of stored RESULTS.

    Several folders become panels of each figure.
    """
    from dsgkit.report.figures import draw_figures

    target = _target(results, out, is_part=bool(solvers or at))
    for path in draw_figures(_runs(results, solvers, at), target, only, **look):
        click.echo(path)


@click.command()
@click.argument("a", type=FOLDER)
@click.argument("b", type=FOLDER)
@out_option(None, "Folder to write the tables to; default: only print.")
def compare(a: Path, b: Path, out: Path | None) -> None:
    """Test the differences of the results in folder B from those in A.

    Scores and training time of every solver are tested over trials, at the largest size in both,
    and paired by trial if both folders have the same splits. The exit code does not depend on
    differences.
    """
    from dsgkit.experiment.runs import load
    from dsgkit.report.compare import compare, comparison_text, write_comparison

    comparison = compare(*load(a, b))
    click.echo(comparison_text(comparison, terminal_width()))
    for path in [] if out is None else ["", *write_comparison(comparison, out)]:
        click.echo(path)


@click.command()
@results_argument
@click.option("--splits", is_flag=True, help="Write the rows that each trial draws instead.")
@_file_option
@_solvers_option
def export(results: Paths, splits: bool, out: Path | None, solvers: Names) -> None:
    """Write every fit of stored RESULTS as a row of one CSV table.

    In Python, `dsgkit.load_results(FOLDER)` returns the same as a pandas data frame. With --splits,
    the table has the row numbers of the labelled, unlabelled, paired and held-out rows instead.
    """
    from dsgkit.experiment.runs import SPLITS_HEADER, splits_text
    from dsgkit.report.export import fits
    from dsgkit.report.formats import csv_text, write_file

    runs = _runs(results, solvers)
    texts = chain([SPLITS_HEADER], *map(splits_text, runs)) if splits else [csv_text(fits(runs))]
    if out is None:
        for text in texts:
            click.echo(text, nl=False)
    else:
        click.echo(write_file(out, lambda file: file.writelines(map(str.encode, texts))))


@click.command()
@results_argument
@out_option(None, "File to write; default: report.html in the results folder.", FILE)
@_solvers_option
def report(results: Paths, out: Path | None, solvers: Names) -> None:
    """Write one HTML page on stored RESULTS, for use offline.

    Several folders get an overview and a section each.
    """
    from dsgkit.report.formats import write_text
    from dsgkit.report.page import page_text

    path = _target(results, out, is_part=bool(solvers))
    text = page_text(_runs(results, solvers))
    click.echo(write_text(path if out else path / "report.html", text))


@click.command()
@click.argument("results", type=FOLDER)
@click.argument("rows", type=FILE)
@click.option("--solver", help="Key of the solver in the config; default: the best one.")
@_file_option
def predict(results: Path, rows: Path, solver: str | None, out: Path | None) -> None:
    """Write a CSV of predictions for ROWS by a solver of a run.

    ROWS is a file with the columns of the dataset of the run in RESULTS, with or without labels;
    by a header, they may come in any order, and without columns that the run leaves out.
    The solver is trained on all rows of the dataset, with the hyper-parameters that have the best
    mean validation score over the trials. By default it is the solver with the best such score,
    apart from those that use hidden labels. Rows are numbered from 0. A score is large for the
    positive label, and for high classes; `class` is the predicted label, if the task has one.
    """
    from dsgkit.experiment.predict import Predictor
    from dsgkit.report.formats import write_text

    predictor = Predictor(results, solver)
    X = predictor.read(rows)
    click.echo(f"solver {predictor}", err=True)
    text = predictor.predict(X).to_csv(index=False, lineterminator="\n")
    click.echo(text if out is None else f"{write_text(out, text)}\n", nl=False)


def _target(results: Paths, out: Path | None, *, is_part: bool = False) -> Path:
    """Return the place to write to; a part never replaces the folder's own report of all."""
    if out is None and len(results) > 1:
        raise click.UsageError("several results folders need --out, the place to write to")
    if out is None and is_part:
        raise click.UsageError("a part of the results needs --out: the folder's own report has all")
    return out or results[0]


def _runs(folders: Paths, solvers: Names, at: int | None = None) -> list[Any]:
    """Return stored runs, at one size or of some solvers if given."""
    from dsgkit.experiment.runs import load

    runs = load(*folders)
    for run in runs:
        if run.bad:
            text = f"{run.folder}: unreadable lines of records, left out: {len(run.bad)}"
            click.echo(f"{text} (the first is line {run.bad[0]})", err=True)
    if solvers:
        check_solvers(solvers, {str(run.folder): list(run.names) for run in runs})
        runs = [run.of(solvers) for run in runs]
    return runs if at is None else [run.at(at) for run in runs]


@click.command()
@kept_argument
@names_option("--paper", "keys", help="Test only the claims of these papers, such as s2auc.")
@names_option("--id", "ids", help="Print these claims in full, such as s2auc-01.")
@click.option("--json", "json_file", type=FILE, help="Write verdicts and evidence to this file.")
def claims(results: Paths, keys: Names, ids: Names, json_file: Path | None) -> None:
    """Test the papers' claims against RESULTS.

    RESULTS are results folders, or folders that hold several; by default results/reference, which
    the repository has. Each verdict is computed from the results by the criterion of the claim.
    Studies are read from a folder `studies` next to the results.
    """
    from dsgkit.papers import text
    from dsgkit.papers.judge import judge, read_kept, selected
    from dsgkit.papers.schema import papers

    chosen = selected(papers(), ids, keys)
    judged = judge(chosen, read_kept(or_kept(results)))
    if ids:
        every = [one for paper in judged for one in paper.claims]
        click.echo("\n\n".join(text.full_text(one, terminal_width()) for one in every))
    else:
        click.echo(text.overview(judged, terminal_width()))
    if json_file is not None:
        json_file.write_text(json.dumps(text.as_data(judged), indent=2) + "\n")


@click.command()
@kept_argument
@out_option(KEPT_RESULTS, "Folder for README.md, a page for each paper, and index.csv.")
def pages(results: Paths, out: Path) -> None:
    """Write a Markdown page for each paper, and an index, from RESULTS.

    RESULTS are as for `dsg claims`. A page has the paper's claims with their verdicts and
    evidence, and its figures and tables; index.csv has all verdicts.
    """
    from dsgkit.papers.judge import judge, read_kept
    from dsgkit.papers.pages import write_pages
    from dsgkit.papers.schema import papers

    kept = read_kept(or_kept(results))
    for path in write_pages(judge(papers(), kept), kept, out):
        click.echo(path)


@click.command()
@click.argument("name", metavar="PAPER/NUMBER", required=False)
@kept_argument
@out_option(RESULTS / "papers", "Folder to write to, with a subfolder per paper.")
@formats_option(*FIGURE_FORMATS)
@width_option
@names_option(
    "--profile", "profiles", help="Show the results of this profile, or of the first that exists."
)
def figure(name: str | None, results: Paths, out: Path, formats: Names, **look: Any) -> None:
    """Draw a figure or print a table as in a paper.

    Names are, for example, s2auc/1, svc/table-2 and s2auc/labels; s2auc alone draws everything of
    that paper. Without a name, all names are listed. RESULTS are as for `dsg claims`.
    """
    from dsgkit.papers.figures import chosen, listing

    if name is None:
        print_pairs(list(listing()))
        return
    from dsgkit.papers.printed_figures import written

    for text in written(chosen(name), or_kept(results), out, formats, **look):
        click.echo(text)
