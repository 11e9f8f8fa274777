"""The command line: parse, call, print. Heavy imports happen inside the commands."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from dsgkit import __version__
from dsgkit.cli import explain, results, run
from dsgkit.cli.common import Group, tell
from dsgkit.system.machine import Interrupted, stopped_by_signals


def main() -> None:
    """Run ``dsg``; a mistake, and anything unexpected, ends in one line and a nonzero exit code."""
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    code: Any = 1
    try:
        with stopped_by_signals():
            code = cli.main(arguments, prog_name="dsg", standalone_mode=False) or 0
            print(end="", flush=True)  # a full disk is no success
    except click.ClickException as error:
        code = error.exit_code
        tell(error)
    except Interrupted as signal:
        code = signal.exit_code
        tell(str(signal))
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if not isinstance(error, BrokenPipeError):  # the reader has ended, such as `head`
            tell(error)
        if isinstance(error, OSError):  # Python would fail to flush again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dsg")
@click.option("--debug", is_flag=True, help="Show the traceback of an error, of any command.")
def cli(debug: bool) -> None:
    """Reproduce experiments on scalable kernel methods for weakly supervised learning.

    \b
    dsg run quickstart                    a first run, of about a minute
    dsg try rows.csv --label kind         methods compared on your own rows
    dsg run codrna_s2auc --profile quick  a shipped config, or a file
    dsg list configs s2auc                the shipped configs of a paper
    dsg init codrna_s2auc mine.yaml       a copy of one, to edit
    dsg report results/quickstart         one HTML page with all of a run
    dsg explain qsg_s2auc                 what a name in a config means

    Shell completion: eval "$(_DSG_COMPLETE=bash_source dsg)" (or zsh_source, fish_source).
    """  # noqa: D301  click wants the \b character itself


for _command in (
    *(run.run, run.try_, run.status, run.env),
    *(explain.list_, explain.init, explain.explain, explain.data),
    *(results.table, results.plot, results.report, results.compare, results.export),
    *(results.predict, results.claims, results.figure, results.pages),
):
    cli.add_command(_command)
