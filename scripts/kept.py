"""Writes the numbers of studies as JSON, as evidence for the papers' claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dsgkit.experiment.folder import describe_environment
from dsgkit.system.files import write_atomically

json_option = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the numbers to this file, with arguments and commit.",
)
"""The option ``--json`` of a study; its value is the ``file`` of `write_json`."""


def write_json(file: Path | None, study: str, numbers: dict[str, Any]) -> None:
    """Write the numbers of a study if a file is given; call it inside the study's command.

    Parameters
    ----------
    file : Path or None
    study : str
        The script's name.
    numbers : dict
        The results.
    """
    if file is None:
        return
    given = click.get_current_context().params
    # leave out local paths
    arguments = {name: value for name, value in given.items() if not _has_paths(value)}
    content = {
        "study": study,
        "arguments": arguments,
        "numbers": numbers,
        "environment": describe_environment(),
    }
    text = json.dumps(content, indent=2, default=lambda value: value.tolist()) + "\n"
    write_atomically(file, lambda opened: opened.write(text.encode()))


def _has_paths(value: object) -> bool:
    return isinstance(value, Path) or (isinstance(value, tuple) and any(map(_has_paths, value)))
