"""Comparison of two runs, A and B: differences, and which of them are significant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dsgkit.config.load import of_results
from dsgkit.errors import ResultsError
from dsgkit.experiment.runs import LEFT_OUT, NOT_RUN, TO_COME, Run
from dsgkit.report.formats import Cell, Layout, Table, write_table
from dsgkit.report.frame import axis_title, check_recorded, lowered, solver_names
from dsgkit.report.numbers import (
    NO_VALUE,
    SHORTEST_TIME,
    counted,
    leaves,
    p_text,
    percents,
    ranges,
    ratio_text,
    time_digits,
    value_text,
)
from dsgkit.report.stats import LEVEL, SPLITS_CAVEAT, Contrast, contrast, holm
from dsgkit.report.terminal import plain
from dsgkit.tasks.measures import Measure
from dsgkit.text import paragraph

MAX_NAMED = 3
LONGEST_VALUES = 40
_SELECTS_FITS = ("seed", "sweep.", "protocol.trials")  # settings that select fits and their splits
_TIMING = {"processor": "the processor", "threads": "the number of threads"}


class Effect(NamedTuple):
    """The difference of a solver's scores, B minus A, or of the logarithms of its times."""

    name: str
    size: int
    n_a: int
    n_b: int
    a: float
    b: float
    contrast: Contrast
    holm: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the t-test, corrected by Holm's method, rejects that there is no difference."""
        return self.holm is not None and self.holm < LEVEL


@dataclass(frozen=True)
class Comparison:
    """Two runs, compared.

    Attributes
    ----------
    unpaired : list of str
        Why trials of the same number are different splits; empty if trials are paired.
    fits : DataFrame
        A row per fit of either run, with columns of both, and ``common`` and ``identical`` (but for
        times).
    effects : dict of Measure to list of Effect
        Of every solver, at the largest size that both runs finished.
    config, environment : list of (str, str, str)
        Settings that differ, with both values as text.
    changed : list of (str, str, str)
        Settings that common fits depend on.
    timing_problems : list of str
        Why times cannot be compared; empty if they can.
    disturbed : int
        Fits whose times other processes disturbed: they are not compared.
    """

    a: Run
    b: Run
    unpaired: list[str]
    fits: pd.DataFrame
    effects: dict[Measure, list[Effect]]
    config: list[tuple[str, str, str]]
    environment: list[tuple[str, str, str]]
    changed: list[tuple[str, str, str]]
    timing_problems: list[str]
    disturbed: int


def compare(a: Run, b: Run) -> Comparison:
    """Compare two runs that were loaded together; `ResultsError` if no fit is in both."""
    check_recorded([a, b])
    a, b = _renamed(a, b)
    unpaired = _unpaired(a, b)
    # a measure's caption also names its rows
    theirs = {(measure.name, measure.caption) for measure in b.task.measures}
    measures = [m for m in a.task.measures if (m.name, m.caption) in theirs]
    fits = _matched(a, b, measures)
    disturbed = fits["common"] & (_disturbed(fits, "a") | _disturbed(fits, "b"))
    effects = {}
    for measure in measures:
        rows = fits[~disturbed] if measure.unit == "seconds" else fits
        columns = (f"{a.column(measure)}_a", f"{b.column(measure)}_b")
        if measure.better and set(columns) <= {*fits}:
            effects[measure] = _effects(rows, measure, columns, paired=not unpaired)
    environments = [_environment(run) for run in (a, b)]
    configs = [run.experiment.model_dump(mode="json") for run in (a, b)]
    return Comparison(
        a,
        b,
        unpaired,
        fits,
        {measure: found for measure, found in effects.items() if found},
        list(_differences(configs[0], configs[1])),
        [_texts(key, one, other) for key, one, other in _pairs(*environments) if one != other],
        _changed(a, b, [*map(of_results, configs)]),
        _timing_problems(*environments),
        int(disturbed.sum()),
    )


def _renamed(a: Run, b: Run) -> tuple[Run, Run]:
    """Return the runs with the name ``a → b`` for a solver that only has another label in B."""
    names = [dict(a.names), dict(b.names)]
    for key in a.names.keys() & b.names.keys():
        of_a, of_b = a.names[key], b.names[key]
        kinds = {spec and spec.kind for spec in (a.solvers[key], b.solvers[key])}
        if of_a not in b.names.values() and of_b not in a.names.values() and len(kinds) == 1:
            names[0][key] = names[1][key] = f"{of_a} → {of_b}"
    return a.named(names[0], a.title), b.named(names[1], b.title)


def _matched(a: Run, b: Run, measures: Sequence[Measure]) -> pd.DataFrame:
    """Return a row per fit of either run; the columns of both have suffixes ``_a`` and ``_b``."""
    cell = ["name", "size", "trial"]
    sides = [
        run.sized[run.sized["status"] != ""].drop_duplicates(cell, keep="last") for run in (a, b)
    ]
    fits = sides[0].merge(sides[1], "outer", cell, suffixes=("_a", "_b"))
    fits["common"] = fits["key_a"].notna() & fits["key_b"].notna()
    if (a.axis and a.axis.name) != (b.axis and b.axis.name) or not fits["common"].any():
        size = f", a number of {lowered(axis_title([a, b]))}" if a.axis or b.axis else ""
        raise ResultsError(
            f"no fit is in both: {a.folder} has {_extent(a)}; {b.folder} has {_extent(b)}; to be "
            f"compared, they must share a solver (by its label){size} and a trial"
        )
    # fits that do not depend on the size make one pair, recorded at every size
    order = solver_names([a, b])
    fits = fits.sort_values(
        ["name", "size"], key=lambda c: c.map(order.index) if c.name == "name" else c
    )
    level = fits["level_a"].eq(True) & fits["level_b"].eq(True)
    last = fits[level].drop_duplicates(["name", "trial"], keep="last").index
    fits = fits[~level | fits.index.isin(last)]
    same = fits["common"] & (fits["ending_a"] == fits["ending_b"])
    scores = [a.column(measure) for measure in measures if not measure.unit]
    for name in (*scores, "params"):
        if f"{name}_a" in fits and f"{name}_b" in fits:
            one, other = fits[f"{name}_a"], fits[f"{name}_b"]
            same &= (one == other) | (one.isna() & other.isna())
    return fits.assign(identical=same)


def _extent(run: Run) -> str:
    """Describe the solvers, sizes and trials of a run's fits."""
    fits = run.sized[run.sized["status"] != ""]
    sizes = ", ".join(f"{n:,}" for n in sorted(set(fits["size"])))
    at = f" at {sizes} {run.axis.noun}" if run.axis else ""
    names = ", ".join(dict.fromkeys(fits["name"]))
    return f"{names}{at}, trials {ranges((int(t) + 1 for t in fits['trial']), '-')}"


def _disturbed(fits: pd.DataFrame, side: str) -> pd.Series:
    several = fits[f"timing.threads_{side}"] > 1
    return fits[f"timing.disturbed_{side}"].eq(True) & several


def _effects(
    fits: pd.DataFrame, measure: Measure, columns: tuple[str, str], *, paired: bool
) -> list[Effect]:
    """Return the effect on each solver at the largest size with values in both runs."""
    found = []
    for name, rows in fits.groupby("name", sort=False):
        ended = (rows["ending_a"] == "ok", rows["ending_b"] == "ok")
        known = [ok & rows[c].notna() for ok, c in zip(ended, columns, strict=True)]
        known = [known[0] & known[1]] * 2 if paired else known
        sizes = set(rows["size"][known[0]]) & set(rows["size"][known[1]])
        if not sizes:
            continue
        at = rows["size"] == max(sizes)
        a, b = (rows[c][k & at].to_numpy(float) for c, k in zip(columns, known, strict=True))
        if measure.unit == "seconds":
            a, b = np.maximum(a, SHORTEST_TIME), np.maximum(b, SHORTEST_TIME)
            averages, test = (np.median(a), np.median(b)), (np.log(a), np.log(b))
        else:
            averages, test = (a.mean(), b.mean()), (a, b)
        change = contrast(*test, paired=paired)
        of_a, of_b = map(float, averages)
        found.append(Effect(str(name), int(max(sizes)), len(a), len(b), of_a, of_b, change))
    adjusted = holm([effect.contrast.p for effect in found])
    return [effect._replace(holm=p) for effect, p in zip(found, adjusted, strict=True)]


def _unpaired(a: Run, b: Run) -> list[str]:
    """Return why trials are different splits: these depend on rows, protocol and seed only."""
    hashes = [run.data.get("content_hash") for run in (a, b)]
    reasons = []
    if all(hashes) and hashes[0] != hashes[1]:
        names = f"the data are {a.dataset} in A and {b.dataset} in B"
        reasons = [f"the rows of {a.dataset} differ" if a.dataset == b.dataset else names]
    elif not all(hashes) and not set(a.fits["key"]) & set(b.fits["key"]):
        reasons = ["the hash of the data is not stored in both"]
    others = {*a.task.not_of_splits, *b.task.not_of_splits}
    sides = [_split_settings(run, others) for run in (a, b)]
    return reasons + [
        f"{name} is {one} in A and {other} in B"
        for name, one, other in _pairs(*sides)
        if one != other
    ]


def _split_settings(run: Run, others: set[str]) -> dict[str, Any]:
    """Return the settings that determine a trial's rows: seed and protocol without ``others``."""
    dumped = run.experiment.model_dump(mode="json")
    # older results lack newer settings: they count as not set
    known = {k: v for k, v in dumped["protocol"].items() if k not in others and v is not None}
    if run.axis and run.axis.drawn:
        known[run.axis.name] = f"up to {run.experiment.sizes[-1]}"
    return {"seed": dumped["seed"], **{f"protocol.{name}": value for name, value in known.items()}}


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys of either mapping with both values, None for none."""
    for key in dict.fromkeys([*a, *b]):
        yield key, a.get(key), b.get(key)


def _differences(a: Any, b: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the settings that differ; the orders of grids and of solvers do not count."""
    a, b = (_as_mapping(part) for part in (a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        for name, one, other in _pairs(a, b):
            yield from _differences(one, other, f"{key}.{name}".lstrip("."))
    elif isinstance(a, list) and isinstance(b, list) and ".search." in key:
        if sorted(map(str, a)) != sorted(map(str, b)):
            yield _texts(key, sorted(a, key=_order), sorted(b, key=_order))
    elif a != b:
        yield _texts(key, a, b)


def _as_mapping(part: Any) -> Any:
    """Return the stages of a search as a mapping from their numbers, which start at 1."""
    if isinstance(part, list) and part and all(isinstance(stage, dict) for stage in part):
        return {str(number): stage for number, stage in enumerate(part, start=1)}
    return part


def _order(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, str(value)


def _texts(key: str, a: Any, b: Any) -> tuple[str, str, str]:
    return key, _text(a), _text(b)


def _text(value: Any) -> str:
    """Return a setting as text; a whole solver by its name."""
    if isinstance(value, dict):
        return str(value.get("label", ", ".join(value)))
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return NO_VALUE if value is None else value_text(value)


def _changed(a: Run, b: Run, configs: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the settings that make the common fits different experiments.

    The number of trials, swept sizes, the seed and solvers of one run only select fits, and the
    name of a dataset does not matter if its content is the same.
    """
    changed = [
        one for one in _differences(configs[0], configs[1]) if not one[0].startswith(_SELECTS_FITS)
    ]
    hashes = {run.data.get("content_hash") for run in (a, b)}
    kinds = [{k: s["kind"] for k, s in config["solvers"].items()} for config in configs]
    unrelated = [f"solvers.{key}." for key, one, other in _pairs(*kinds) if one != other]
    if len(hashes) == 1 and None not in hashes:
        unrelated.append("dataset.")
    return [one for one in changed if not f"{one[0]}.".startswith(tuple(unrelated))]


def _environment(run: Run) -> dict[str, str]:
    """Return the values of each property of a run's environments, by dotted key."""
    values: dict[str, dict[str, None]] = {}
    for environment in run.environments.values():
        for keys, value in leaves(environment):
            values.setdefault(".".join(keys), {})[_text(value)] = None
    return {key: " and ".join(texts) for key, texts in values.items()}


def _timing_problems(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    if not (a.keys() >= _TIMING.keys() and b.keys() >= _TIMING.keys()):
        return ["processor and threads are not stored in both"]
    return [
        f"{words} is {a[key]} in A and {b[key]} in B"
        for key, words in _TIMING.items()
        if a[key] != b[key]
    ]


def comparison_text(found: Comparison, width: int) -> str:
    """Return a comparison for a terminal: the answer in a sentence, then the evidence."""
    remarks = [
        f"Trials are not paired: {'; '.join(found.unpaired)}."
        if found.unpaired
        else "Trials are paired: the same splits in A and in B.",
        _choices(found.fits[found.fits["common"]]),
    ]
    if found.timing_problems:
        remarks.append(f"Times are not comparable: {'; '.join(found.timing_problems)}.")
    if found.disturbed:
        number = counted(found.disturbed, "fit")
        remarks.append(f"Times of {number} were disturbed and are not compared.")
    sides = (
        f"{name}: {run.folder} ({run.dataset}, "
        f"{counted(run.experiment.protocol.trials, 'trial')}, {len(run.fits):,} fits)"
        for name, run in (("A", found.a), ("B", found.b))
    )
    parts = [
        paragraph(answer(found), width),
        "\n".join(paragraph(side, width, "  ") for side in sides),
        "\n".join(paragraph(remark, width) for remark in remarks),
        *(plain(_layout(found, m, of), width).rstrip() for m, of in found.effects.items()),
    ]
    for name, members in (("config", found.config), ("environment", found.environment)):
        lines = [f"What differs in the {name} (A → B):" if members else f"The {name} is the same."]
        lines += (paragraph(f"{k}: {a} → {b}", width, "    ", first="  ") for k, a, b in members)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def answer(found: Comparison) -> str:
    """Return whether B reproduces A, agrees with it up to chance, or is another experiment."""
    a, b, fits = found.a, found.b, found.fits
    hashes = [run.data.get("content_hash") for run in (a, b)]
    if a.dataset != b.dataset and (hashes[0] is None or hashes[0] != hashes[1]):
        return f"B does not repeat A: the data of B are {b.dataset}, those of A {a.dataset}."
    common, same = int(fits["common"].sum()), int(fits["identical"].sum())
    if same == common:
        how, why = (
            "B reproduces A",
            f"all {counted(common, 'common fit')} are identical but for times",
        )
    else:
        how, why = _agreement(found)
        why += f"; {same:,} of {counted(common, 'common fit')} are identical"
    endings = fits[["ending_a", "ending_b"]].fillna(NOT_RUN).isin([NOT_RUN, TO_COME, LEFT_OUT])
    apart = Counter(
        {
            "in A only": int((~endings["ending_a"] & endings["ending_b"]).sum()),
            "in B only": int((endings["ending_a"] & ~endings["ending_b"]).sum()),
            "ended differently": int(
                (fits["common"] & (fits["ending_a"] != fits["ending_b"])).sum()
            ),
        }
    )
    text = "; ".join([why, *(f"{counted(n, 'fit')} {where}" for where, n in apart.items() if n)])
    if not found.changed:
        return f"{how}: {text}."
    named = ", ".join(map(_short, found.changed[:MAX_NAMED]))
    more = len(found.changed) - MAX_NAMED
    named += f" and {more:,} more" if more > 0 else ""
    what = f"A and B differ in {named}: this compares two experiments, not a reproduction"
    return f"{what}. {text[0].upper()}{text[1:]}."


def _short(setting: tuple[str, str, str]) -> str:
    """Return a setting that differs, with its values unless they are long."""
    values = ", ".join(setting[1:])
    return f"{setting[0]} ({values})" if len(values) <= LONGEST_VALUES else setting[0]


def _agreement(found: Comparison) -> tuple[str, str]:
    """Return the tests' conclusion on scores that are not all identical, and the reason."""
    scores = [(m, one) for m, of in found.effects.items() if m.unit != "seconds" for one in of]
    # by their size in units of the last digit that tables show
    scores.sort(key=lambda one: -abs(one[1].contrast.difference) * 10 ** one[0].digits)
    tested = [one for one in scores if one[1].holm is not None or one[1].contrast.same]
    beyond = [one for one in scores if one[1].significant]
    if not scores:
        return "B does not reproduce A", "no fit finished in both"
    largest = f"largest difference {_named(*scores[0])}"
    if not tested:
        return "Too few trials to tell B from A", f"{largest}, without a test"
    if not beyond:
        number = f"of {counted(len(tested), 'score')} none differs significantly"
        return "B agrees with A", f"{number}; {largest}"
    named = ", ".join(_named(*one) for one in beyond[:MAX_NAMED])
    more = f" and {len(beyond) - MAX_NAMED:,} more" if len(beyond) > MAX_NAMED else ""
    number = f"{len(beyond):,} of {counted(len(tested), 'score')}"
    return "B does not reproduce A", f"{number} differ significantly: {named}{more}"


def _named(measure: Measure, effect: Effect) -> str:
    change = effect.contrast._replace(interval=None).words(measure)
    return f"{measure.word} {change} ({effect.name})"


def _choices(common: pd.DataFrame) -> str:
    """Return which solvers chose other hyper-parameters, and in how many fits."""
    differing = common[common["params_a"] != common["params_b"]]
    if differing.empty:
        return "Chosen hyper-parameters are the same in all common fits."
    counts = [f"{name} ({n:,})" for name, n in differing["name"].value_counts().items()]
    return (
        f"Chosen hyper-parameters differ in {len(differing):,} of {len(common):,} common fits: "
        + (f"{', '.join(counts)}.")
    )


def _layout(found: Comparison, measure: Measure, effects: Sequence[Effect]) -> Layout:
    """Return the table of a measure: a row per solver, at its largest common size."""
    timed, axis = measure.unit == "seconds", found.a.axis
    average, change = ("median", "B / A") if timed else ("mean", "B - A [95%]")
    header = ["Solver", axis.title if axis else "", "n", "A", "B", change, "p", "Holm"]
    test = "Welch's t-test" if found.unpaired else "paired t-test"
    notes = [f"{test.capitalize()}{' of logarithms' if timed else ''}; p-values by Holm's method."]
    note = f"{notes[0]} {SPLITS_CAVEAT}"
    size = f", at the largest number of {lowered(axis.title)} in both" if axis else ""
    if timed:
        ratio = ratio_text(median(one.b / one.a for one in effects))
        note = f"B takes {ratio} times as long as A, median over {counted(len(effects), 'solver')}."
    rows = [_cells(measure, one) for one in effects]
    layout = Layout(f"{measure.caption}: {average} over trials{size}.", header, rows, [note])
    return layout.with_columns([True, axis is not None, *[True] * 6])


def _cells(measure: Measure, one: Effect) -> list[Cell]:
    if measure.unit == "seconds":
        averages = [f"{value:,.{time_digits(value)}f}" for value in (one.a, one.b)]
        change = ratio_text(one.b / one.a)
    else:
        averages = [f"{percents(measure, v):.{measure.digits + 1}f}" for v in (one.a, one.b)]
        change = one.contrast.cell(measure)
    number = str(one.n_a) if one.n_a == one.n_b else f"{one.n_a}+{one.n_b}"
    return [
        Cell(one.name),
        Cell(f"{one.size:,}", value=one.size),
        Cell(number, value=one.n_a),
        *(Cell(text, value=value) for text, value in zip(averages, (one.a, one.b), strict=True)),
        Cell(change, value=one.contrast.difference),
        *(Cell(p_text(p), value=p) for p in (one.contrast.p, one.holm)),
    ]


def write_comparison(found: Comparison, folder: Path) -> list[Path]:
    """Write the tables of a comparison as CSV, Markdown and LaTeX, and return their paths."""
    paths = []
    for measure, effects in found.effects.items():
        rows = [
            {
                **{k: v for k, v in one._asdict().items() if k != "contrast"},
                **one.contrast._asdict(),
            }
            for one in effects
        ]
        table = Table(
            f"compare_{measure.name}", [_layout(found, measure, effects)], pd.DataFrame(rows)
        )
        paths += write_table(table, folder / "tables")
    return paths
