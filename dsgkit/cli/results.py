"""Commands on stored results: table, plot, compare, export, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from dsgkit.cli.messages import print_wrapped
from dsgkit.cli.params import (
    FIGURE_FORMATS,
    FILE,
    RESULTS_PATH,
    Names,
    Paths,
    check_solvers,
    formats_option,
    names_option,
    out_option,
    results_argument,
    width_option,
)

_SIZE = click.IntRange(1, 2**63 - 1)
_solvers_option = names_option("--solvers", help="Show these solvers only, by their keys.")


def _drawing_options(what: str, example: str) -> Callable[[Any], Any]:
    """Return a decorator with the arguments of a command that writes tables or figures."""

    def add(command: Any) -> Any:
        for option in (
            _solvers_option,
            click.option("--at", type=_SIZE, help="Show the fits at the largest size up to this."),
            names_option("--only", help=f"Make these {what}s only, such as {example}."),
            out_option(None, "Folder to write to; default: the results folder itself."),
            results_argument,
        ):
            command = option(command)
        return command

    return add


@click.command()
@_drawing_options("table", "auc_table")
def table(results: Paths, out: Path | None, only: Names, at: int | None, solvers: Names) -> None:
    """Print and write the tables of stored RESULTS; several folders are put side by side.

    With --at or --solvers, and without --out, nothing is written.
    """
    from dsgkit.report import text_table, write_tables
    from dsgkit.text.terminal import terminal_width

    is_part = at is not None or bool(solvers)
    target = None if is_part and out is None else _target(results, out, "folder")
    loaded = _loaded(results, solvers, at)
    click.echo(text_table(loaded, only, terminal_width()))
    written = [] if target is None else write_tables(loaded, target, only)
    for folder in dict.fromkeys(path.parent for path in written):
        inside = [path for path in written if path.parent == folder]
        names = ", ".join(dict.fromkeys(path.stem for path in inside))
        formats = ", ".join(dict.fromkeys(path.suffix[1:] for path in inside))
        print_wrapped(f"{folder}: {names} ({formats})")


@click.command()
@_drawing_options("figure", "time_curve")
@formats_option(FIGURE_FORMATS[:2])
@width_option
def plot(
    results: Paths,
    out: Path | None,
    only: Names,
    at: int | None,
    solvers: Names,
    formats: list[str],
    width: Any,
) -> None:
    """Draw the figures of stored RESULTS; several folders become panels of one figure."""
    from dsgkit.report import draw_figures

    _check_whole(out, at=at, solvers=solvers)
    target = _target(results, out, "folder")
    for path in draw_figures(_loaded(results, solvers, at), target, only, formats, width):
        click.echo(path)


@click.command()
@click.argument("a", type=RESULTS_PATH)
@click.argument("b", type=RESULTS_PATH)
@out_option(None, "Folder to write the tables and a figure to; default: only print.")
def compare(a: Path, b: Path, out: Path | None) -> None:
    """Show the differences of the results in folder B from those in A, with significance tests.

    Scores and training time of every solver and size are tested over trials, paired by trial if
    both folders have the same splits. The exit code does not depend on differences.
    """
    from dsgkit.experiment.results import load_results
    from dsgkit.report.compare import compare as compare_results
    from dsgkit.report.compare import comparison_text, write_comparison
    from dsgkit.text.terminal import terminal_width

    comparison = compare_results(load_results(a), load_results(b))
    click.echo(comparison_text(comparison, terminal_width()))
    if out is not None:
        click.echo()
        for path in write_comparison(comparison, out):
            click.echo(path)


@click.command()
@results_argument
@click.option("-o", "--out", type=FILE, help="File to write; default: standard output.")
@_solvers_option
def export(results: Paths, out: Path | None, solvers: Names) -> None:
    """Write every fit of stored RESULTS as a row of one CSV table, also during a run.

    In Python, `dsgkit.load_results(FOLDER)` returns the same as a pandas data frame.
    """
    from dsgkit.report.export import fits
    from dsgkit.report.formats import csv_text, write_text

    text = csv_text(fits(_loaded(results, solvers)))
    click.echo(text if out is None else f"{write_text(out, text)}\n", nl=False)


@click.command()
@results_argument
@out_option(None, "File to write; default: report.html in the results folder.", FILE)
@_solvers_option
def report(results: Paths, out: Path | None, solvers: Names) -> None:
    """Write one HTML page on stored RESULTS that needs no other file and no network.

    Several folders get an overview and a section each.
    """
    from dsgkit.report.html import write_page

    _check_whole(out, solvers=solvers)
    target = _target(results, out, "file")
    path = target if out else target / "report.html"
    click.echo(write_page(_loaded(results, solvers), path))


@click.command()
@click.argument("results", type=RESULTS_PATH)
@click.argument("rows", type=FILE)
@click.option("--solver", help="Its key in the config; default: the best by validation score.")
@click.option("-o", "--out", type=FILE, help="File to write; default: standard output.")
def predict(results: Path, rows: Path, solver: str | None, out: Path | None) -> None:
    """Write a CSV of predictions for ROWS by a solver of the run in RESULTS.

    ROWS is a file with the columns of the run's dataset, with or without labels. The solver is
    trained on all rows of the dataset, with the hyper-parameters of the best mean validation score
    over the trials; by default it is the one with the best such score, of those that are given no
    hidden labels. Rows are numbered from 0.
    """
    from dsgkit.experiment.predict import Predictor
    from dsgkit.report.formats import write_text

    predictor = Predictor(results, solver)
    X = predictor.read(rows)
    click.echo(f"solver {predictor}", err=True)
    text = predictor.predict(X).to_csv(index=False, lineterminator="\n")
    click.echo(text if out is None else f"{write_text(out, text)}\n", nl=False)


def _check_whole(out: Path | None, **filters: Any) -> None:
    """Refuse to replace the report of all results by one of a part of them."""
    for name, value in filters.items():
        if out is None and value:
            what = "sizes" if name == "at" else name
            raise click.UsageError(
                f"--{name} needs --out: the results folder's own report has all {what}"
            )


def _loaded(folders: Paths, solvers: Names, at: int | None = None) -> Sequence[Any]:
    """Return stored results, at one size or of some solvers if given."""
    from dsgkit.experiment.results import load_results

    loaded = [load_results(folder) for folder in folders]
    for one in loaded:
        if one.bad:
            text = f"{one.folder}: unreadable lines of records, left out: {len(one.bad)}"
            click.echo(f"{text} (the first is line {one.bad[0]})", err=True)
    if solvers:
        check_solvers(solvers, {str(part.folder): part.solvers for part in loaded})
        loaded = [part.of(solvers) for part in loaded]
    return loaded if at is None else [part.at(at) for part in loaded]


def _target(results: Paths, out: Path | None, what: str) -> Path:
    """Return the file or folder to write to."""
    if out is None and len(results) > 1:
        raise click.UsageError(f"several results folders need --out, the {what} to write to")
    return out or results[0]
