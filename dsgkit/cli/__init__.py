"""The command line: parse, call, print. Heavy imports happen inside the commands."""

from __future__ import annotations

import gc
import os
import resource
import sys
from typing import Any

import click

from dsgkit import __version__
from dsgkit.cli import catalogues, explain, outputs, papers, runs
from dsgkit.cli.messages import print_error, print_last
from dsgkit.cli.parameters import HelpfulGroup, debug_option
from dsgkit.errors import DsgError
from dsgkit.system.signals import Interrupted, stopped_by_signals
from dsgkit.users_code.origin import one_line, users_place
from dsgkit.users_code.rehearsal import leave

MIN_OPEN_FILES = 64
"""With fewer, some libraries cannot be loaded."""

_NEW_OBJECTS = 10_000
"""Threshold of Python's garbage collection. Its default of 700 takes a second more in every command
on 100,000 records, which have no reference cycles."""


def main() -> None:
    """Run ``dsg``; a user's mistake prints one line without a traceback, and exits with code 1."""
    try:
        code: Any = _run()
    except SystemExit as end:
        code = end.code
    written = _flush_output()
    code = code if isinstance(code, int) and code else int(not written)
    leave(code)


def _run() -> Any:
    """Run the command, print its errors, and return its exit code."""
    debug = "--debug" in sys.argv
    gc.set_threshold(_NEW_OBJECTS)
    try:
        with stopped_by_signals():
            _check_process()
            code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        print_error(error)
        code = error.exit_code
    except Interrupted as signal:
        print_last(str(signal))
        code = signal.exit_code or 1  # user code may set anything
    except (click.Abort, KeyboardInterrupt):
        print_last("interrupted")
        code = 130
    except (DsgError, OSError) as error:
        if debug:
            raise
        print_error(error)
        code = 1
    return code


def _check_process() -> None:
    """Open closed standard streams, and raise `DsgError` if output or files are impossible.

    The first file that is opened would get the descriptor of a closed stream, and printed text
    would go to that file.
    """
    closed = [stream for stream in range(3) if not _is_open(stream)]
    for stream in closed:
        null = os.open(os.devnull, os.O_RDWR)
        if null != stream:
            os.dup2(null, stream)
            os.close(null)
    if 1 in closed:
        raise DsgError("standard output is closed; send it to /dev/null if nobody reads it")
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < MIN_OPEN_FILES:
        raise DsgError(
            f"this process may open {most} files, and needs {MIN_OPEN_FILES}: ulimit -n 1024"
        )


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True


def _flush_output() -> bool:
    """Flush standard output and return whether that succeeded.

    If it fails, the rest is discarded: Python would report the error again at exit.
    """
    try:
        if sys.stdout is not None:  # None in a process that was started without one
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return False
    return True


class _Commands(HelpfulGroup):
    """Turns any exit of user code into an error message."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command; raise `DsgError` if user code would end it without a message."""
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort, DsgError, OSError):
            raise
        except SystemExit as error:
            if type(error.code) is int and error.code > 0:
                raise
            raise DsgError(f"your code raises {one_line(error)}") from error
        except Exception as error:
            if not users_place(error):
                raise
            raise DsgError(f"your code raises {one_line(error)}") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dsg")
@debug_option
def cli() -> None:
    """Reproduce experiments on scalable kernel methods for weakly supervised learning.

    \b
    dsg run quickstart                    a first run, of about a minute
    dsg try rows.csv --label kind         methods compared on your own rows
    dsg run codrna_s2auc --profile quick  a shipped config, or a file
    dsg init codrna_s2auc mine.yaml       copies one to edit
    dsg report results/quickstart         one HTML page with all of a run
    dsg explain qsg_s2auc                 what a name in a config means

    Shell completion: eval "$(_DSG_COMPLETE=bash_source dsg)" (or zsh_source, fish_source).
    """  # noqa: D301  click wants the \b character itself


_SECTIONS = {
    "Experiments": (runs.run, runs.try_, catalogues.init, runs.status),
    "Results": (outputs.table, outputs.plot, outputs.report, outputs.compare, outputs.export),
    "What there is": (catalogues.list_, explain.explain, catalogues.data, runs.env),
    "The five papers": (papers.claims, papers.figure, papers.pages),
}
cli.sections = _SECTIONS
for _group in _SECTIONS.values():
    for _command in _group:
        cli.add_command(_command)
