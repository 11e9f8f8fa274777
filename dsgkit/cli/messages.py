"""Printing of errors, final messages and columns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import click

from dsgkit.errors import DsgError, in_a_line
from dsgkit.users_code.origin import text_of

LONGEST_MESSAGE = 1000
"""Characters."""


def print_error(error: Exception) -> str:
    """Print an error in one line, and return the line."""
    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.MissingParameter) and error.ctx is not None:
            text = f"{text.rstrip('.')}; see: {error.ctx.command_path} --help"
    elif isinstance(error, OSError) and not isinstance(error, DsgError):
        text = error.strerror or str(error)
        if error.filename is not None:
            text = f"{in_a_line(str(error.filename), 300)}: {text}"
    else:
        text = text_of(error) or type(error).__name__
    line = in_a_line(" ".join(text.splitlines()), LONGEST_MESSAGE)
    print_last(f"Error: {line}")
    return line


def print_last(line: str) -> None:
    """Print the last line of a command to stderr; failures are ignored: the exit code remains."""
    with suppress(OSError):
        click.echo(line, err=True)


def print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows with aligned columns, within the width of the terminal."""
    from dsgkit.text.terminal import listing, terminal_width

    click.echo(listing(rows, terminal_width()))
