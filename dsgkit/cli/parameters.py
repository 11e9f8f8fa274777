"""Arguments and options that commands share, and their types."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dsgkit.errors import DsgError, shown
from dsgkit.files import why_no_path

RESULTS = Path("results")
KEPT = RESULTS / "reference"

_LONGEST_NUMBER = 80
"""Characters of a whole number."""


class FilePath(click.Path):
    """A path that there can be."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the path; end with a message if there can be none such."""
        if why := why_no_path(os.fspath(value)):
            self.fail(f"{shown(os.fspath(value))} {why}", parameter, context)
        return super().convert(value, parameter, context)


class ConfigPath(FilePath):
    """A config file, or the name of a shipped one."""

    def shell_complete(self, context: Any, parameter: Any, incomplete: str) -> list[Any]:
        """Complete files, and names."""
        names = map(CompletionItem, config_names(context, parameter, incomplete))
        return [*names, *super().shell_complete(context, parameter, incomplete)]


class Whole(click.IntRange):
    """A whole number in a range; one of thousands of digits is not repeated."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the number; end with a message if it is none."""
        if len(str(value)) > _LONGEST_NUMBER:
            why = f"{shown(value)} is not in the range {self.min}<=x<={self.max}"
            self.fail(why, parameter, context)
        return super().convert(value, parameter, context)


class Seconds(click.FloatRange):
    """A time limit."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the seconds; end with a message if they are none."""
        seconds = super().convert(value, parameter, context)
        if math.isnan(seconds):
            self.fail(f"{shown(value)} is no number of seconds", parameter, context)
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


def config_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a shipped config."""
    from dsgkit.config import shipped

    return [name for name in shipped.names() if name.startswith(incomplete)]


def profile_names(context: click.Context, _parameter: object, incomplete: str) -> list[str]:
    """Complete the name of a profile that all configs of the command line have."""
    from dsgkit.config.load import resolve
    from dsgkit.config.shipped import located

    try:
        known = [resolve(located(path)).data["profiles"] for path in context.params["configs"]]
    except (DsgError, KeyError, TypeError):
        return []
    shared = [name for name in (known or [{}])[0] if all(name in one for one in known)]
    return [name for name in shared if name.startswith(incomplete)]


def size_in_bytes(_context: object, _parameter: object, value: str | None) -> int | None:
    """Return the bytes of a size such as 4GiB or 500MB."""
    if value is None:
        return None
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        size = int(TypeAdapter(ByteSize).validate_python(value))
    except ValidationError:
        size = 0
    if not 1 <= size < 2**63:
        raise click.BadParameter(f"{shown(value)} is no size; write one such as 4GiB or 500MB")
    return size


results_argument = click.argument("results", nargs=-1, required=True, type=FilePath(path_type=Path))
kept_argument = click.argument(
    "results",
    nargs=-1,
    type=FilePath(path_type=Path),
    callback=lambda _context, _parameter, results: results or (KEPT,),
)
