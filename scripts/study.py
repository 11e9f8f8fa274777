"""What studies share: a fitted rate, tables on the screen, and a command with numbers as JSON."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from dsgkit.experiment.folder import describe_environment
from dsgkit.system.files import write_atomically

Result = tuple[dict[str, Any], list[str]]  # the numbers of a study, and what they miss


def study(run: Callable[..., Result]) -> click.Command:
    """Return a command that writes numbers to a file, and exits with code 1 if any are missed.

    It is the last name in its script, and runs if that is run.
    """

    @click.command(help=run.__globals__["__doc__"])
    @click.option(
        "--json",
        "json_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the numbers to this file, with arguments, script and commit.",
    )
    @functools.wraps(run)
    def command(json_file: Path | None, **given: Any) -> None:
        numbers, missed = run(**given)
        if json_file is not None:
            environment = dict(describe_environment())
            script = f"scripts/{Path(run.__globals__['__file__']).name}"
            content = {
                "made_by": {"script": script, "commit": environment.pop("commit")},
                "arguments": {k: v for k, v in given.items() if not isinstance(v, Path)},
                "numbers": numbers,
                "environment": environment,
            }
            text = json.dumps(content, indent=2, default=lambda value: value.tolist()) + "\n"
            write_atomically(json_file, lambda opened: opened.write(text.encode()))
        if missed:
            click.echo(f"missed: {'; '.join(missed)}", err=True)
            sys.exit(1)

    if run.__module__ == "__main__":
        command()
    return command


def slope(t: Sequence[int], values: Any, first: int = 0) -> float:
    """Return the slope of log value against log t, from ``first`` on."""
    late = np.asarray(t) >= first
    return float(np.polyfit(np.log(t)[late], np.log(values)[late], 1)[0])


def show(title: str, columns: Any, index: Any = None) -> None:
    """Print a table with four digits per number."""
    table = pd.DataFrame(columns, index=index)
    text = table.to_string(index=index is not None, float_format="{:.4g}".format)
    click.echo(f"{title}\n{text}\n")
