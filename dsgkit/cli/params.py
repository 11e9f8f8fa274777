"""Arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dsgkit.errors import ResultsError, did_you_mean, nearest_or_all, shown, spelled

RESULTS = Path("results")
KEPT_RESULTS = RESULTS / "reference"
FIGURE_FORMATS = ("pdf", "png", "svg")

Names = tuple[str, ...]
Paths = tuple[Path, ...]


class ResultsPath(click.Path):
    """A results folder that exists."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the path, or raise `ResultsError`."""
        path = Path(super().convert(value, parameter, context))  # type: ignore[arg-type]
        if path.is_file():
            raise ResultsError(f"{path}: a file, not a results folder")
        if not path.exists():
            hint = did_you_mean(str(path), map(str, path.parent.glob("*/")))
            raise ResultsError(f"{path}: no such folder{hint}")
        return path


PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
RESULTS_PATH = ResultsPath(path_type=Path)


class HelpfulGroup(click.Group):
    """A group that prints its help if no command is named, with the commands in sections."""

    sections: Mapping[str, Sequence[click.Command]] | None = None

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse no arguments as ``--help``."""
        return super().parse_args(context, args or ["--help"])

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the complete first sentence of each command's help."""
        for title, commands in (self.sections or {"Commands": [*self.commands.values()]}).items():
            with formatter.section(title):
                formatter.write_dl([(f"{c.name:8}", c.get_short_help_str(200)) for c in commands])


def names_option(*flags: str, help: str) -> Any:
    """Return an option of names separated by commas, which may be repeated; empty by default."""

    def parsed(_context: object, _parameter: object, given: Names) -> Names:
        return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",")))

    return click.option(*flags, multiple=True, metavar="NAME,..", callback=parsed, help=help)


def check_solvers(wanted: Sequence[str], known: Mapping[str, Collection[str]]) -> None:
    """Refuse unknown solvers, and configs or results folders that have none of them.

    ``known`` has the keys of all solvers by config or folder.
    """
    every = dict.fromkeys(key for keys in known.values() for key in keys)
    text = ""
    for name in wanted:
        if name not in every:
            text = text or f"no solver is called {spelled(name)}{nearest_or_all(name, every)}"
    for where, keys in known.items():
        if not set(wanted).intersection(keys):
            text = text or f"{where} has none of these solvers{nearest_or_all(wanted[0], keys)}"
    if text:
        raise click.BadParameter(text, param_hint="--solvers")


def size_in_bytes(_context: object, _parameter: object, value: str | None) -> int | None:
    """Parse a size such as 4GiB or 500MB to bytes."""
    if value is None:
        return None
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        size = int(TypeAdapter(ByteSize).validate_python(value))
    except ValidationError:
        size = 0
    if not 1 <= size < 2**63:
        raise click.BadParameter(f"{shown(value)} is not a size; write one such as 4GiB or 500MB")
    return size


def out_option(default: Path | None, text: str, kind: click.Path = FOLDER) -> Any:
    """Return the option --out, for the place to write to."""
    shown = default is not None
    return click.option("--out", type=kind, default=default, show_default=shown, help=text)


results_argument = click.argument("results", nargs=-1, required=True, type=RESULTS_PATH)
kept_argument = click.argument(
    "results",
    nargs=-1,
    type=PATH,
    callback=lambda _context, _parameter, results: results or (KEPT_RESULTS,),
)


def check_kept(results: Sequence[Path], named: str = "") -> None:
    """Raise `ResultsError` if a command defaults to the kept results and they are missing."""
    if tuple(results) == (KEPT_RESULTS,) and not KEPT_RESULTS.is_dir():
        command = click.get_current_context().info_name
        raise ResultsError(
            f"{KEPT_RESULTS}: no such folder. The kept results are in the repository of "
            "dsgkit, not in the installed package: run this in a checkout, or name the folder of "
            f"your own runs: dsg {command}{named} {RESULTS}"
        )


def formats_option(default: Sequence[str]) -> Callable[[Any], Any]:
    """Return a decorator that adds the option --format."""

    def parsed(_context: object, _parameter: object, value: str) -> list[str]:
        formats = [name.strip() for name in value.split(",")]
        for name in formats:
            if name not in FIGURE_FORMATS:
                known = ", ".join(FIGURE_FORMATS)
                raise click.BadParameter(f"{shown(name)} is not a figure format; known: {known}")
        return formats

    text = "Formats of figures: pdf, png, svg, or several separated by commas."
    given: Any = {"default": ",".join(default), "show_default": True, "callback": parsed}
    return click.option("--format", "formats", help=text, **given)


width_option = click.option(
    "--width", type=click.Choice(["column", "page"]), help="3.25 or 6.75 in; default: what fits."
)
