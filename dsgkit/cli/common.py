"""What commands share: arguments, options, and what they print."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from dsgkit.errors import DsgError, ResultsError, in_a_line, nearest_or_all, spelled
from dsgkit.text import listing, terminal_width, wrapped
from dsgkit.user_code import one_line

RESULTS = Path("results")
KEPT_RESULTS = RESULTS / "reference"
FIGURE_FORMATS = ("pdf", "png", "svg")

Names = tuple[str, ...]
Paths = tuple[Path, ...]

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class Group(click.Group):
    """A group that prints its help if no command is named."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, args or ["--help"])


def names_option(*flags: str, known: Collection[str] = (), **settings: Any) -> Any:
    """Return an option of names separated by commas, which may be repeated; empty by default."""

    def parsed(_context: object, _parameter: object, given: Names) -> Names:
        names = tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",")))
        if known and any(name not in known for name in names):
            raise click.BadParameter(f"choose from {', '.join(known)}")
        return names

    return click.option(*flags, multiple=True, metavar="NAME,..", callback=parsed, **settings)


def out_option(default: Path | None, text: str, kind: click.Path = FOLDER) -> Any:
    return click.option("--out", type=kind, default=default, show_default=True, help=text)


def formats_option(*default: str) -> Any:
    settings: Any = {"known": FIGURE_FORMATS, "default": default, "show_default": True}
    return names_option("--format", "formats", help="Formats of figures.", **settings)


def _width(value: str) -> float:
    from dsgkit.report.style import INCHES

    with suppress(ValueError):
        if 2 <= (inches := INCHES.get(value) or float(value)) <= 20:
            return inches
    raise click.BadParameter(f"{spelled(value)} is not column, page or inches from 2 to 20")


_WIDTH = "Width of figures in inches, or column (3.25) or page (6.75); default: what fits."
width_option = click.option("--width", type=_width, metavar="INCHES", help=_WIDTH)
results_argument = click.argument("results", nargs=-1, required=True, type=FOLDER)
kept_argument = click.argument("results", nargs=-1, type=PATH)


def or_kept(results: Paths) -> Paths:
    """Return the folders that are named, or that of the kept results, if it is here."""
    if not results and not KEPT_RESULTS.is_dir():
        where = "the repository of dsgkit has it; or name the folder of your own runs"
        raise ResultsError(f"{KEPT_RESULTS}: no such folder; {where}")
    return results or (KEPT_RESULTS,)


def check_solvers(wanted: Names, known: Mapping[str, Collection[str]]) -> None:
    """Refuse solvers that none of the configs or folders has, and one that has none of them."""
    every = dict.fromkeys(key for keys in known.values() for key in keys)
    for name in wanted:
        if name not in every:
            hint = nearest_or_all(name, every)
            raise click.UsageError(f"--solvers: no solver is called {spelled(name)}{hint}")
    for where, keys in known.items():
        if not set(wanted) & set(keys):
            raise click.UsageError(f"--solvers: {where} has none of these solvers")


def message(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError):
        text = f"{error.filename}: " * (error.filename is not None) + (error.strerror or str(error))
    else:
        known = isinstance(error, DsgError)
        text = str(error) if known else f"unexpected {one_line(error)}; --debug shows where"
    return in_a_line(" ".join(text.split()), 1000)


def tell(what: Exception | str) -> None:
    """Print an error, or the last line of a command, to stderr, if that can be written."""
    with suppress(OSError):
        click.echo(what if isinstance(what, str) else f"Error: {message(what)}", err=True)


def print_wrapped(*lines: str, err: bool = False) -> None:
    for line in lines:
        click.echo(wrapped(line, terminal_width()), err=err)


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    click.echo(listing(rows, terminal_width()))
