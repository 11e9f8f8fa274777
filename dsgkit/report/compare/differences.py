"""What differs between two configs and between the environments of two results folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dsgkit.experiment.results import Results
from dsgkit.report.numbers import value_text

ABSENT = "–"
TIMING = {
    "processor": "the processor",
    "threads": "the number of threads",
}
"""Entries of an environment without which times cannot be compared."""

_SHOWN_VALUES = 8

Leaf = tuple[str, Any]


@dataclass(frozen=True)
class Difference:
    """A setting that is not the same, under its dotted key, in words."""

    key: str
    a: str
    b: str


def config_differences(a: Results, b: Results) -> list[Difference]:
    """Return the settings that differ; the order of a grid and that of solvers do not count."""
    configs = [one.experiment.model_dump(mode="json") for one in (a, b)]
    return list(_differences(configs[0], configs[1], ()))


def _differences(a: Any, b: Any, key: tuple[str, ...]) -> Iterator[Difference]:
    """Compare two parts of a config, key by key."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in dict.fromkeys([*a, *b]):
            yield from _differences(a.get(name, ABSENT), b.get(name, ABSENT), (*key, name))
    elif _is_grid(key) and a != ABSENT and b != ABSENT:
        if set(a) != set(b):
            yield Difference(".".join(key), grid_text(a), f"{grid_text(b)}{_grid_change(a, b)}")
    elif a != b:
        yield Difference(".".join(key), setting_text(a), setting_text(b))


def _is_grid(key: Sequence[str]) -> bool:
    return len(key) == 4 and key[0] == "solvers" and key[2] == "grid"


def setting_text(value: Any) -> str:
    """Return a setting as it is printed; of a whole solver, its name."""
    if isinstance(value, dict):
        return str(value.get("label", ", ".join(value)))
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return "none" if value is None else value_text(value)


def grid_text(values: Sequence[Any]) -> str:
    """Return the values of a grid, in the middle of a long one ``..``, and how many there are."""
    texts = [value_text(value) for value in _sorted(values)]
    if len(texts) <= _SHOWN_VALUES:
        return ", ".join(texts)
    return f"{texts[0]}, {texts[1]}, .., {texts[-1]} ({len(texts)} values)"


def _grid_change(a: Sequence[Any], b: Sequence[Any]) -> str:
    """Say which values come and go, where the grids are too long to be printed whole."""
    if max(len(a), len(b)) <= _SHOWN_VALUES:
        return ""
    parts = {"new": set(b) - set(a), "gone": set(a) - set(b)}
    return "".join(f"; {word}: {grid_text(list(v))}" for word, v in parts.items() if v)


def _sorted(values: Sequence[Any]) -> list[Any]:
    """Return numbers ascending, and other values as they come."""
    numbers = all(isinstance(value, int | float) for value in values)
    return sorted(values) if numbers else list(values)


def environment_differences(a: Results, b: Results) -> list[Difference]:
    """Return what differs between the versions, machines and commits that results come from."""
    sides = [_environments(one) for one in (a, b)]
    return [
        Difference(key, *(_joined(side.get(key, [])) for side in sides))
        for key in dict.fromkeys([*sides[0], *sides[1]])
        if set(sides[0].get(key, [])) != set(sides[1].get(key, []))
    ]


def timing_problems(a: Results, b: Results) -> list[str]:
    """Return in words why the times of two folders cannot be compared; nothing if they can."""
    sides = [_environments(one) for one in (a, b)]
    if not all(side.keys() >= TIMING.keys() for side in sides):
        return ["processor and threads are not stored in both"]
    problems = []
    for key, words in TIMING.items():
        texts = [_joined(side[key]) for side in sides]
        if len({value for side in sides for value in side[key]}) > 1:
            problems.append(f"{words} is {texts[0]} in A and {texts[1]} in B")
    return problems


def _environments(results: Results) -> dict[str, list[str]]:
    """Return every value that an entry has in the environments of a folder, flattened."""
    found: dict[str, list[str]] = {}
    stored = [one for one in results.environments.values() if one] or [results.environment]
    for key, value in (leaf for environment in stored for leaf in _leaves(environment)):
        texts = found.setdefault(key, [])
        if (text := setting_text(value)) not in texts:
            texts.append(text)
    return found


def _leaves(environment: dict[str, Any], prefix: str = "") -> Iterator[Leaf]:
    """Return the entries of nested mappings under dotted keys."""
    for name, value in environment.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(texts) or ABSENT
