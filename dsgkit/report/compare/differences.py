"""Differences of two results folders in choices, configs and environments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dsgkit.config.load import of_results
from dsgkit.experiment.results import Results
from dsgkit.report.numbers import NO_VALUE, grid_edges, leaves, value_text
from dsgkit.report.summary import Summary, kind_of

ABSENT = NO_VALUE
UNSET = "default"
TIMING = {
    "processor": "the processor",
    "threads": "the number of threads",
}
"""Entries of an environment that must agree for times to be comparable."""

_SHOWN_VALUES = 8

_SELECTS_FITS = ("seed", "sweep.", "protocol.trials")
"""Keys of settings that select the fits and their random splits."""


class Difference(NamedTuple):
    """A setting that differs: its dotted key and both values as text."""

    key: str
    a: str
    b: str


class Choice(NamedTuple):
    """A solver's values of a parameter that was searched on at least one side.

    ``a`` and ``b`` map trials to values, as text, in A and in B.
    """

    solver: str
    parameter: str
    a: dict[int, str]
    b: dict[int, str]

    @property
    def common(self) -> list[int]:
        """The trials in both."""
        return sorted(self.a.keys() & self.b.keys())

    @property
    def differing(self) -> list[int]:
        """The common trials whose values differ."""
        return [trial for trial in self.common if self.a[trial] != self.b[trial]]

    @property
    def changes(self) -> list[tuple[tuple[str, str], int]]:
        """Pairs of values with their number of trials, the most frequent first."""
        pairs = ((self.a[trial], self.b[trial]) for trial in self.differing)
        return Counter(pairs).most_common()


def choices(a: Summary, b: Summary) -> list[Choice]:
    """Return the choices of every solver that has choices in both folders."""
    result = []
    for solver in a.solvers:
        chosen = [_chosen(one, solver) for one in (a, b)]
        if all(chosen):
            points = (point for side in chosen for point in side.values())
            for name in dict.fromkeys(name for point in points for name in point):
                sides = (_values(*side, solver, name) for side in zip((a, b), chosen, strict=True))
                result.append(Choice(solver, name, *sides))
    return result


def _chosen(summary: Summary, solver: str) -> dict[int, dict[str, Any]]:
    """Return the grid point chosen in each trial; empty without a grid."""
    cells = summary.results.cells
    fits = cells[(cells["solver"].map(summary.names) == solver) & (cells["status"] == "ok")]
    points: dict[int, dict[str, Any]] = {}
    for trial, point in zip(fits["trial"], fits["params"], strict=True):
        points.setdefault(int(trial), {}).update(point)
    return points


def _values(
    summary: Summary, chosen: dict[int, dict[str, Any]], solver: str, parameter: str
) -> dict[int, str]:
    """Return a parameter's value in each trial as text: chosen, fixed by the config, or default."""
    specs = summary.results.experiment.solvers
    (fixed,) = (
        specs[key].params if key in specs else {}
        for key, name in summary.names.items()
        if name == solver
    )
    default = fixed.get(parameter, UNSET)
    return {trial: value_text(point.get(parameter, default)) for trial, point in chosen.items()}


def config_differences(a: Results, b: Results) -> list[Difference]:
    """Return the settings that differ; the orders of grids and of solvers are ignored."""
    configs = [one.experiment.model_dump(mode="json") for one in (a, b)]
    return list(_differences(configs[0], configs[1], ()))


def changed_settings(a: Results, b: Results) -> list[Difference]:
    """Return the settings that make the common fits different experiments.

    Ignored are the number of trials, the swept sizes and solvers of one side, which only select the
    common fits; the seed, because results on other splits should agree up to chance; and the name
    of a dataset if the content is the same.
    """
    configs = [of_results(one.experiment.model_dump(mode="json")) for one in (a, b)]
    hashes = {one.data.get("content_hash") for one in (a, b)}
    changed = [
        one
        for one in _differences(configs[0], configs[1], ())
        if not one.key.startswith(_SELECTS_FITS)
    ]
    if len(hashes) == 1 and None not in hashes:
        changed = [one for one in changed if not one.key.startswith("dataset.")]
    keys = {key for config in configs for key in config["solvers"]}
    unrelated = tuple(f"solvers.{key}." for key in keys if kind_of(a, key) != kind_of(b, key))
    return [one for one in changed if not f"{one.key}.".startswith(unrelated)]


def _differences(a: Any, b: Any, key: tuple[str, ...]) -> Iterator[Difference]:
    """Compare two parts of a config, key by key; the stages of a search are numbered."""
    if key[2:3] == ("search",):
        a, b = _stages(a), _stages(b)
        if isinstance(a, dict) or isinstance(b, dict):
            a, b = ({} if part == ABSENT else part for part in (a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        for name in dict.fromkeys([*a, *b]):
            yield from _differences(a.get(name, ABSENT), b.get(name, ABSENT), (*key, name))
    elif key[-2:-1] in (("grid",), ("coordinates",)) and a != ABSENT and b != ABSENT:
        # a value that is several numbers is a list in a config
        a, b = ([tuple(v) if isinstance(v, list) else v for v in grid] for grid in (a, b))
        if set(a) != set(b):
            yield Difference(".".join(key), _grid_text(a), f"{_grid_text(b)}{_grid_change(a, b)}")
    elif a != b:
        yield Difference(".".join(key), _setting_text(a), _setting_text(b))


def _stages(part: Any) -> Any:
    """Return a list of mappings as a mapping from their numbers, which start at 1."""
    if isinstance(part, list) and all(isinstance(stage, dict) for stage in part):
        return {str(number): stage for number, stage in enumerate(part, start=1)}
    return part


def _setting_text(value: Any) -> str:
    """Return a setting as text; a whole solver by its name."""
    if isinstance(value, dict):
        return str(value.get("label", ", ".join(value)))
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return "none" if value is None else value_text(value)


def _grid_text(values: Sequence[Any]) -> str:
    """Return the values of a grid; a long one as ``1, 2, .., 90 (90 values)``."""
    texts = [value_text(value) for value in (sorted(values) if grid_edges(values) else values)]
    if len(texts) <= _SHOWN_VALUES:
        return ", ".join(texts)
    return f"{texts[0]}, {texts[1]}, .., {texts[-1]} ({len(texts)} values)"


def _grid_change(a: Sequence[Any], b: Sequence[Any]) -> str:
    """Return the added and removed values of grids that are too long to print whole."""
    if max(len(a), len(b)) <= _SHOWN_VALUES:
        return ""
    parts = {"new": set(b) - set(a), "gone": set(a) - set(b)}
    return "".join(f"; {word}: {_grid_text(list(v))}" for word, v in parts.items() if v)


def environment_differences(a: Results, b: Results) -> list[Difference]:
    """Return the differences in versions, machines and commits."""
    sides = [_environments(one) for one in (a, b)]
    return [
        Difference(key, *(_joined(side.get(key, [])) for side in sides))
        for key in dict.fromkeys([*sides[0], *sides[1]])
        if set(sides[0].get(key, [])) != set(sides[1].get(key, []))
    ]


def timing_problems(a: Results, b: Results) -> list[str]:
    """Return the reasons why times of two folders cannot be compared; empty if they can."""
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
    """Return the values of each entry, by dotted key, in a folder's environments."""
    values: dict[str, list[str]] = {}
    stored = [one for one in results.environments.values() if one] or [results.environment]
    for keys, value in (leaf for environment in stored for leaf in leaves(environment)):
        texts = values.setdefault(".".join(keys), [])
        if (text := _setting_text(value)) not in texts:
            texts.append(text)
    return values


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(texts) or ABSENT
