"""What commands print: errors, lists and tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import click

from dsgkit.errors import DsgError, in_a_line

_LONGEST_MESSAGE = 1000
"""Characters."""


def message(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, click.MissingParameter) and error.ctx is not None:
        text = f"{error.format_message().rstrip('.')}; see: {error.ctx.command_path} --help"
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, DsgError):
        text = str(error)
    elif isinstance(error, OSError):
        text = f"{error.filename}: " * (error.filename is not None) + (error.strerror or str(error))
    else:
        from dsgkit.errors import one_line

        text = f"unexpected {one_line(error)}; --debug shows where"
    return in_a_line(" ".join(text.split()), _LONGEST_MESSAGE)


def tell(what: Exception | str) -> None:
    """Print an error, or the last line of a command, to stderr, if that can be written."""
    with suppress(OSError):
        click.echo(what if isinstance(what, str) else f"Error: {message(what)}", err=True)


def print_wrapped(*lines: str, err: bool = False) -> None:
    """Print lines within the width of the terminal, each wrapped below its own indent."""
    from dsgkit.text.terminal import terminal_width, wrapped

    for line in lines:
        click.echo(wrapped(line, terminal_width()), err=err)


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print names with texts next to them, within the width of the terminal."""
    from dsgkit.text.terminal import listing, terminal_width

    click.echo(listing(rows, terminal_width()))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text in columns, within the width of the terminal."""
    from dsgkit.text.terminal import Column, table, terminal_width

    texts = [False] * len(rows)
    entries = zip(*rows, strict=True)
    columns = [Column(head, column, texts) for head, column in zip(heads, entries, strict=True)]
    click.echo(table(columns, terminal_width()))
