"""The environments that results were made in, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsgkit.experiment.results import Results

UNNAMED = "not recorded"


@dataclass(frozen=True)
class Row:
    """A property of environments.

    Attributes
    ----------
    name : str
    values : list of str
        One per environment.
    differs : bool
        Whether they are not all the same.
    """

    name: str
    values: list[str]
    differs: bool


@dataclass(frozen=True)
class Environments:
    """A table of environments.

    Attributes
    ----------
    names : list of str
        As records refer to them.
    rows : list of Row
    """

    names: list[str]
    rows: list[Row]


@dataclass
class _Used:
    """An environment, and how many cells of which experiment were made in it."""

    name: str
    properties: dict[str, str]
    cells: dict[str, int] = field(default_factory=dict)


def describe_environments(results: Sequence[Results], names: Sequence[str]) -> Environments:
    """Return all environments that records of the results refer to.

    Parameters
    ----------
    results : sequence of Results
    names : sequence of str
        What to call each.
    """
    used: dict[tuple[str, str], _Used] = {}
    for one, title in zip(results, names, strict=True):
        for record in one.records:
            name = record.get("environment")
            # what is not said of a record is most likely true of the last run
            described = one.environments[name] if name else one.environment
            name = name or UNNAMED
            key = (name, json.dumps(described, sort_keys=True))
            environment = used.setdefault(key, _Used(name, _flat(described)))
            environment.cells[title] = environment.cells.get(title, 0) + 1
    return Environments(
        [environment.name for environment in used.values()], _rows(list(used.values()))
    )


def _rows(used: Sequence[_Used]) -> list[Row]:
    """Return a row for each property that any of the environments has."""
    properties = dict.fromkeys(name for one in used for name in one.properties)
    rows = [_row(name, [one.properties.get(name, "–") for one in used]) for name in properties]
    cells = [
        ", ".join(f"{title}: {count:,}" for title, count in environment.cells.items())
        for environment in used
    ]
    return [*rows, Row("cells", cells, differs=False)] if rows or used else []


def _row(name: str, values: list[str]) -> Row:
    return Row(name, values, len(set(values)) > 1)


def _flat(described: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties in words, those of a nested mapping among them."""
    found: dict[str, str] = {}
    for name, value in described.items():
        if isinstance(value, Mapping):
            found |= _flat(value)
        else:
            found[name.replace("_", " ")] = "unknown" if value is None else str(value)
    return found
