"""What studies share: a fitted rate, tables on the screen, numbers as JSON, an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from dsgkit.experiment.folder import describe_environment
from dsgkit.system.files import write_atomically

json_option = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the numbers to this file, with arguments, script and commit.",
)


def slope(t: Sequence[int], values: Any, first: int = 0) -> float:
    """Return the slope of log value against log t, from ``first`` on."""
    late = np.asarray(t) >= first
    return float(np.polyfit(np.log(t)[late], np.log(values)[late], 1)[0])


def show(title: str, columns: Any, index: Any = None) -> None:
    """Print a table with four digits per number."""
    table = pd.DataFrame(columns, index=index)
    text = table.to_string(index=index is not None, float_format="{:.4g}".format)
    click.echo(f"{title}\n{text}\n")


def finish(script: str, json_file: Path | None, numbers: dict[str, Any], missed: list[str]) -> None:
    """Write the numbers of the running command, and exit with code 1 if anything is missed."""
    if json_file is not None:
        given = click.get_current_context().params
        environment = dict(describe_environment())
        content = {
            "made_by": {
                "script": f"scripts/{Path(script).name}",
                "commit": environment.pop("commit"),
            },
            "arguments": {k: v for k, v in given.items() if not isinstance(v, Path)},
            "numbers": numbers,
            "environment": environment,
        }
        text = json.dumps(content, indent=2, default=lambda value: value.tolist()) + "\n"
        write_atomically(json_file, lambda opened: opened.write(text.encode()))
    if missed:
        click.echo(f"missed: {'; '.join(missed)}", err=True)
        sys.exit(1)
