"""Arguments and options that commands share, and their types."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dsgkit.errors import DsgError, ResultsError, nearest_or_all, shown, spelled
from dsgkit.system.files import why_no_path

RESULTS = Path("results")
KEPT_RESULTS = RESULTS / "reference"

FIGURE_FORMATS = ("pdf", "png", "svg")

_LONGEST_COMMAND = 8
"""Characters of a command's name."""

_LONGEST_HELP = 200
"""Characters of the first sentence on a command."""

_LONGEST_NUMBER = 80
"""Characters of a whole number."""


class HelpfulGroup(click.Group):
    """A group of commands that prints its help if no command is named.

    Attributes
    ----------
    sections : dict
        Commands by the title under which the help lists them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections: Mapping[str, Iterable[click.Command]] = {}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse no arguments as ``--help``."""
        return super().parse_args(context, args or ["--help"])

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the complete first sentence of each command's help."""
        for title, commands in (self.sections or {"Commands": self.commands.values()}).items():
            rows = [
                (
                    (command.name or "").ljust(_LONGEST_COMMAND),
                    command.get_short_help_str(_LONGEST_HELP),
                )
                for command in commands
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


class FilePath(click.Path):
    """A valid path."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the path, or fail with a message."""
        if why := why_no_path(os.fspath(value)):
            self.fail(f"{shown(os.fspath(value))} {why}", parameter, context)
        return super().convert(value, parameter, context)


PATH = FilePath(path_type=Path)
FILE = FilePath(path_type=Path, dir_okay=False)
FOLDER = FilePath(path_type=Path, file_okay=False)


class ConfigPath(FilePath):
    """A config file, or the name of a shipped one."""

    def shell_complete(self, context: Any, parameter: Any, incomplete: str) -> list[Any]:
        """Complete files and names of shipped configs."""
        names = map(CompletionItem, config_names(context, parameter, incomplete))
        return [*names, *super().shell_complete(context, parameter, incomplete)]


class Whole(click.IntRange):
    """A whole number in a range; messages do not repeat thousands of digits."""

    name = "whole number"

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the number, or fail with a message."""
        if len(str(value)) > _LONGEST_NUMBER:
            why = f"{shown(value)} is not in the range {self.min}<=x<={self.max}"
            self.fail(why, parameter, context)
        return super().convert(value, parameter, context)


class Seconds(click.FloatRange):
    """A time limit."""

    name = "number of seconds"

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the seconds, or fail with a message."""
        seconds = super().convert(value, parameter, context)
        if math.isnan(seconds):
            self.fail(f"{shown(value)} is not a number of seconds", parameter, context)
        return seconds


def debug_option(command: Any) -> Any:
    """Add the option --debug to a command."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")(
        command
    )


def dataset_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a dataset."""
    from dsgkit.data.catalogue import DATASETS

    return [name for name in DATASETS if name.startswith(incomplete)]


def explained_names(context: object, parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a solver, task, config or dataset, or a dotted key."""
    from dsgkit.solvers.catalogue import SOLVERS
    from dsgkit.tasks.catalogue import TASKS

    if "." in incomplete:
        from dsgkit.cli.explanations import known_names  # takes seconds

        return [name for name in known_names() if name.startswith(incomplete)]
    names = [name for name in (*SOLVERS, *TASKS) if name.startswith(incomplete)]
    others = (
        complete(context, parameter, incomplete) for complete in (config_names, dataset_names)
    )
    return [*names, *chain(*others)]


def paper_keys(_context: object = None) -> list[str]:
    """Return the keys of the papers."""
    from dsgkit.papers.claims import papers

    return [paper.key for paper in papers()]


def paper_profiles(_context: object = None) -> list[str]:
    """Return the profiles whose results are used for any paper."""
    from dsgkit.papers.claims import papers

    names = (name for paper in papers() for name in chain(*vars(paper.profiles).values()) if name)
    return list(dict.fromkeys(names))


def claim_ids(_context: object = None) -> list[str]:
    """Return the ids of all claims."""
    from dsgkit.papers.claims import papers

    return [claim.id for paper in papers() for claim in paper.claims]


def figure_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """Complete a paper, or one of its figures and tables."""
    from dsgkit.papers.figures import all_papers, listing

    names = (name for name, _ in listing(all_papers()))
    return [name for name in (*paper_keys(), *names) if name.startswith(incomplete)]


def config_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a shipped config."""
    from dsgkit.config import shipped

    return [name for name in shipped.names() if name.startswith(incomplete)]


def _paths(context: click.Context, argument: str) -> list[Path]:
    """Return the paths of an incomplete command line, which click leaves unparsed."""
    return [Path(path) for path in context.params.get(argument) or context.args]


def profile_names(context: click.Context, _parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a profile that all configs of the command line have."""
    from dsgkit.config.load import resolve
    from dsgkit.config.shipped import located

    try:
        known = [resolve(located(path)).data["profiles"] for path in _paths(context, "configs")]
    except (DsgError, KeyError, TypeError):
        return []
    shared = [name for name in (known or [{}])[0] if all(name in profiles for profiles in known)]
    return [name for name in shared if name.startswith(incomplete)]


class Names(click.ParamType):
    """Names separated by commas.

    Parameters
    ----------
    known : callable
        Takes the context, and returns the names for shell completion.
    """

    name = "names"

    def __init__(self, known: Callable[[click.Context], Iterable[str]]) -> None:
        self._known = known

    def convert(self, value: Any, _parameter: Any, _context: Any) -> tuple[str, ...]:
        """Return the names, each once."""
        if isinstance(value, tuple):
            return value
        return tuple(dict.fromkeys(name.strip() for name in value.split(",")))

    def shell_complete(self, context: Any, _parameter: Any, incomplete: str) -> list[Any]:
        """Complete the last name."""
        before, comma, last = incomplete.rpartition(",")
        names = [name for name in self._known(context) if name.startswith(last)]
        return [CompletionItem(f"{before}{comma}{name}") for name in names]


def solvers_option(known: Callable[[click.Context], Iterable[str]], text: str) -> Any:
    """Return the option --solvers; ``known`` is that of `Names`."""
    return click.option("--solvers", metavar="NAME,NAME,..", type=Names(known), help=text)


def solvers_of_configs(context: click.Context) -> Iterable[str]:
    """Return the keys of all solvers in the configs of a command line."""
    from dsgkit.config.load import resolve
    from dsgkit.config.shipped import located

    try:
        values = [resolve(located(p)).data.get("solvers") for p in _paths(context, "configs")]
    except DsgError:
        return []
    sections = (value for value in values if isinstance(value, dict))
    return dict.fromkeys(
        key for section in sections for key, solver in section.items() if solver is not None
    )


def solvers_of_results(context: click.Context) -> Iterable[str]:
    """Return the keys of all solvers in the results folders of a command line."""
    return dict.fromkeys(key for experiment in _stored(context) for key in experiment.solvers)


def _stored(context: click.Context) -> list[Any]:
    """Return the experiments of a command line's results folders; empty if one is unreadable."""
    from dsgkit.config import load_experiment

    try:
        folders = _paths(context, "results")
        return [load_experiment(folder / "config.yaml", stored=True) for folder in folders]
    except DsgError:
        return []


def names_option(*flags: str, known: Callable[[click.Context], Iterable[str]], help: str) -> Any:
    """Return an option that takes names separated by commas, and may be repeated."""
    return click.option(
        *flags,
        multiple=True,
        metavar="NAME,NAME,..",
        type=Names(known),
        callback=lambda _context, _parameter, given: tuple(dict.fromkeys(chain(*given))),
        help=help,
    )


def outputs_of_results(what: str) -> Callable[[click.Context], list[str]]:
    """Return a function that lists the tables or figures of a command line's results folders."""

    def known(context: click.Context) -> list[str]:
        from dsgkit.tasks.measures import is_table

        files = (path for root in _paths(context, "results") for path in root.glob(f"{what}s/*"))
        outputs = (name for experiment in _stored(context) for name in experiment.outputs)
        of_kind = [name for name in outputs if is_table(name) == (what == "table")]
        return list(dict.fromkeys([*(path.stem for path in files), *of_kind]))

    return known


def check_solvers(wanted: Sequence[str], known: Mapping[str, Collection[str]]) -> None:
    """Refuse unknown solvers, and configs or results folders that have none of the solvers.

    Parameters
    ----------
    wanted : sequence of str
    known : mapping
        The keys of all solvers in each config, or results folder.
    """
    every = dict.fromkeys(key for keys in known.values() for key in keys)
    for name in wanted:
        if name not in every:
            text = f"no solver is called {spelled(name)}{nearest_or_all(name, every)}"
            raise click.BadParameter(text, param_hint="--solvers")
    for where, keys in known.items():
        if not set(wanted).intersection(keys):
            text = f"{where} has none of these solvers{nearest_or_all(wanted[0], keys)}"
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


results_argument = click.argument("results", nargs=-1, required=True, type=PATH)


def check_kept(results: Sequence[Path]) -> None:
    """Raise `ResultsError` if a command defaults to the kept results and they are missing."""
    if tuple(results) == (KEPT_RESULTS,) and not KEPT_RESULTS.is_dir():
        context = click.get_current_context()
        named = " PAPER/NUMBER" if "name" in context.params else ""
        raise ResultsError(
            f"{KEPT_RESULTS}: no such folder. The kept results are in the repository of "
            "dsgkit, not in the installed package: run this in a checkout, or name the folder of "
            "your own runs: "
            f"dsg {context.info_name}{named} {RESULTS}"
        )


def check_profiles(results: Sequence[Path], profiles: Sequence[str]) -> None:
    """Refuse profiles that neither a paper's config nor the name of a results folder has."""
    known = paper_profiles()
    folders = [path.name for root in results for path in (root, *root.glob("*/"))]
    for name in profiles:
        if name not in known and not any(folder.endswith(f"-{name}") for folder in folders):
            text = f"no results are of a profile {spelled(name)}{nearest_or_all(name, known)}"
            raise click.BadParameter(text, param_hint="--profile")


kept_argument = click.argument(
    "results",
    nargs=-1,
    type=PATH,
    callback=lambda _context, _parameter, results: results or (KEPT_RESULTS,),
)


def _formats(_context: object, _parameter: object, value: str) -> list[str]:
    """Parse a list of formats such as pdf,svg."""
    formats = [name.strip() for name in value.split(",")]
    for name in formats:
        if name not in FIGURE_FORMATS:
            raise click.BadParameter(
                f"{shown(name)} is not a figure format; known: {', '.join(FIGURE_FORMATS)}"
            )
    return formats


def formats_option(default: Sequence[str]) -> Callable[[Any], Any]:
    """Return a decorator that adds the option --format."""
    return click.option(
        "--format",
        "formats",
        default=",".join(default),
        show_default=True,
        callback=_formats,
        help="Formats of figures: pdf, png, svg, or several separated by commas.",
    )


width_option = click.option(
    "--width",
    type=click.Choice(["column", "page"]),
    help="Width in a two-column paper, 3.25 or 6.75 in; default: a page, or a column for a single"
    " panel.",
)
