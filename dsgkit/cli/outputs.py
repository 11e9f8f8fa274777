"""Commands on stored results: table, plot, compare, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dsgkit.cli.parameters import FilePath, Whole, debug_option, results_argument

if TYPE_CHECKING:
    from dsgkit.experiment.results import Results


def _drawing_options(what: str, example: str) -> Callable[[Any], Any]:
    """Return the arguments of a command that writes tables or figures of results."""

    def add(command: Any) -> Any:
        options = [
            results_argument,
            click.option(
                "--out",
                type=FilePath(path_type=Path, file_okay=False),
                help="Folder to write to; default: the results folder itself.",
            ),
            click.option(
                "--only",
                multiple=True,
                metavar="NAME",
                help=f"Make this {what} only, such as {example}; may be repeated.",
            ),
            click.option(
                "--at",
                type=Whole(min=1, max=2**63 - 1),
                metavar="SIZE",
                help="Show only the fits at the largest size up to this one; needs --out.",
            ),
            debug_option,
        ]
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command()
@_drawing_options("table", "auc_table")
def table(
    results: tuple[Path, ...], out: Path | None, only: tuple[str, ...], at: int | None
) -> None:
    """Print and write the tables of stored RESULTS; several folders are put side by side."""
    from dsgkit.report import text_table, write_tables

    _check_apart(at, out)
    target = _target(results, out, "folder")
    loaded = _loaded(results, at)
    click.echo(text_table(loaded, only))
    for path in write_tables(loaded, target, only):
        click.echo(path)


@click.command()
@_drawing_options("figure", "time_curve")
def plot(
    results: tuple[Path, ...], out: Path | None, only: tuple[str, ...], at: int | None
) -> None:
    """Draw the figures of stored RESULTS; several folders become panels of one figure."""
    from dsgkit.report import draw_figures

    _check_apart(at, out)
    target = _target(results, out, "folder")
    for path in draw_figures(_loaded(results, at), target, only):
        click.echo(path)


@click.command()
@click.argument("a", type=FilePath(path_type=Path))
@click.argument("b", type=FilePath(path_type=Path))
@click.option(
    "--out",
    type=FilePath(path_type=Path, file_okay=False),
    help="Folder to write the tables and a figure to; default: only print.",
)
@debug_option
def compare(a: Path, b: Path, out: Path | None) -> None:
    """Show what the results in folder B differ by from those in A, and what is beyond chance.

    Scores and training time of every solver and size are tested over trials, trial against trial
    where both folders have the same splits. The exit code says nothing of differences.
    """
    import shutil

    from dsgkit.experiment.results import load_results
    from dsgkit.report.compare import compare as compare_results
    from dsgkit.report.compare import comparison_text, write_comparison

    comparison = compare_results(load_results(a), load_results(b))
    click.echo(comparison_text(comparison, shutil.get_terminal_size((120, 24)).columns))
    if out is not None:
        click.echo()
        for path in write_comparison(comparison, out):
            click.echo(path)


@click.command()
@results_argument
@click.option(
    "--out",
    type=FilePath(path_type=Path, dir_okay=False),
    help="File to write; default: report.html in the results folder.",
)
@debug_option
def report(results: tuple[Path, ...], out: Path | None) -> None:
    """Write one HTML page on stored RESULTS that needs no other file and no network.

    Several folders get an overview and a section each.
    """
    from dsgkit.experiment.results import load_results
    from dsgkit.report.html import write_page

    target = _target(results, out, "file")
    path = target if out else target / "report.html"
    click.echo(write_page([load_results(folder) for folder in results], path))


def _check_apart(at: int | None, out: Path | None) -> None:
    """Refuse to replace the report of all sizes by that of one."""
    if at is not None and out is None:
        raise click.UsageError("--at needs --out: the results folder's own report has all sizes")


def _loaded(folders: tuple[Path, ...], at: int | None) -> list[Results]:
    """Return stored results, at one size if that is asked for."""
    from dsgkit.experiment.results import load_results

    loaded = [load_results(folder) for folder in folders]
    for bad in filter(None, (one.bad for one in loaded)):
        click.echo(f"unreadable lines of records, left out: {bad.number} ({bad.first})", err=True)
    return loaded if at is None else [one.at(at) for one in loaded]


def _target(results: tuple[Path, ...], out: Path | None, what: str) -> Path:
    """Return where to write what is made of some results."""
    if out is None and len(results) > 1:
        raise click.UsageError(f"several results folders need --out, the {what} to write to")
    return out or results[0]
