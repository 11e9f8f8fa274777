"""Comparison of two runs, A and B: differences, and which of them are significant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dsgkit.config.load import of_results
from dsgkit.errors import ResultsError
from dsgkit.experiment.runs import Run
from dsgkit.report.formats import Cell, Layout, Table, write_table
from dsgkit.report.frame import check_recorded, lowered, solver_names
from dsgkit.report.numbers import (
    NO_VALUE,
    SHORTEST_TIME,
    counted,
    leaves,
    p_text,
    percents,
    ratio_text,
    time_digits,
    value_text,
)
from dsgkit.report.stats import Effect, Inference, adjusted, inference
from dsgkit.report.terminal import plain
from dsgkit.tasks.measures import Measure
from dsgkit.text import paragraph

MAX_NAMED = 3
_SELECTS_FITS = ("seed", "sweep.", "protocol.trials")  # settings that select fits and their splits
_TIMING = {"processor": "the processor", "threads": "the number of threads"}


class Difference(NamedTuple):
    """A setting with its values in A and in B as text."""

    key: str
    a: str
    b: str


class Comparison(NamedTuple):
    """Two runs, compared."""

    a: Run
    b: Run
    inference: Inference  # what differences are about
    unpaired: list[str]  # why trials of one number are different splits; empty if they are paired
    # a row per fit of either run, with columns of both, and whether it is `common` to both,
    # `identical` but for times, and has `disturbed` times, which are not compared
    fits: pd.DataFrame
    effects: dict[Measure, list[Effect]]  # of every solver, at the largest size that both finished
    config: list[Difference]
    environment: list[Difference]
    changed: list[Difference]  # settings of the config that common fits depend on


def compare(a: Run, b: Run) -> Comparison:
    """Compare two runs that were loaded together; `ResultsError` if no fit is in both."""
    check_recorded([a, b])
    config, changed = _config(a, b)
    unpaired, how = _unpaired(a, b, config), inference(a, b)
    # a measure's caption also names its rows
    theirs = {(measure.name, measure.caption) for measure in b.task.measures}
    measures = [m for m in a.task.measures if (m.name, m.caption) in theirs]
    fits = _matched(a, b, measures)
    effects = {m: _effects(a, b, fits, m, paired=not unpaired) for m in measures if m.better}
    effects = {measure: found for measure, found in effects.items() if found}
    environment = _differences(_environment(a), _environment(b))
    return Comparison(a, b, how, unpaired, fits, effects, config, environment, changed)


def _matched(a: Run, b: Run, measures: Sequence[Measure]) -> pd.DataFrame:
    """Return a row per fit of either run; the columns of both have suffixes ``_a`` and ``_b``."""
    cell = ["name", "size", "trial"]
    sides = [
        run.sized[run.sized["status"] != ""].drop_duplicates(cell, keep="last") for run in (a, b)
    ]
    fits = sides[0].merge(sides[1], "outer", cell, suffixes=("_a", "_b"))
    fits["common"] = fits["key_a"].notna() & fits["key_b"].notna()
    if (a.axis and a.axis.name) != (b.axis and b.axis.name) or not fits["common"].any():
        needed = "a solver (by its label), a size and a trial"
        raise ResultsError(f"no fit is in both {a.folder} and {b.folder}; they must share {needed}")
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
    either = fits["disturbed_a"].eq(True) | fits["disturbed_b"].eq(True)
    return fits.assign(identical=same, disturbed=fits["common"] & either)


def _effects(a: Run, b: Run, fits: pd.DataFrame, measure: Measure, *, paired: bool) -> list[Effect]:
    """Return the effect on each solver at the largest size with values in both runs."""
    timed, how = measure.unit == "seconds", inference(a, b)
    columns = (f"{a.column(measure)}_a", f"{b.column(measure)}_b")
    if not set(columns) <= {*fits}:
        return []
    fits = fits[~fits["disturbed"]] if timed else fits
    found = []
    for name, rows in fits.groupby("name", sort=False):
        ended = (rows["ending_a"] == "ok", rows["ending_b"] == "ok")
        known = [ok & rows[c].notna() for ok, c in zip(ended, columns, strict=True)]
        known = [known[0] & known[1]] * 2 if paired else known
        sizes = set(rows["size"][known[0]]) & set(rows["size"][known[1]])
        if not sizes:
            continue
        at = rows["size"] == max(sizes)
        x, y = (rows[c][k & at].to_numpy(float) for c, k in zip(columns, known, strict=True))
        if timed:
            x, y = np.maximum(x, SHORTEST_TIME), np.maximum(y, SHORTEST_TIME)
        test = (np.log(x), np.log(y)) if timed else (x, y)
        change = how.contrast(*test, paired=paired)
        found.append(Effect(a, measure, str(name), int(max(sizes)), x, y, change))
    return adjusted(found)


def _config(a: Run, b: Run) -> tuple[list[Difference], list[Difference]]:
    """Return the settings that differ, and those that make common fits different experiments."""
    dumps = [run.experiment.model_dump(mode="json") for run in (a, b)]
    kinds = [{k: one["kind"] for k, one in dump["solvers"].items()} for dump in dumps]
    others = {one.key for one in _differences(*kinds)}
    differing = _differences(*(_settings(dump, others) for dump in dumps))
    of_fits = {key for dump in dumps for key in _settings(of_results(dump), others)}
    # solvers of one run only select fits, too, and equal data may have two names
    selects = (*_SELECTS_FITS, *(("dataset.",) if _same_data(a, b) else ()))
    changed = [
        one
        for one in differing
        if one.key in of_fits
        and not one.key.startswith(selects)
        and one.key.removeprefix("solvers.") not in others
    ]
    return differing, changed


def _same_data(a: Run, b: Run) -> bool:
    hashes = {run.data.get("content_hash") for run in (a, b)}
    return len(hashes) == 1 and None not in hashes


def _settings(dump: Mapping[str, Any], others: Collection[str]) -> dict[str, str]:
    """Return a config's settings by dotted key; those of ``others`` by the solver's name alone."""
    solvers = {
        key: one.get("label", "")
        if key in others
        else one | {"search": {str(n): stage for n, stage in enumerate(one["search"], start=1)}}
        for key, one in dump["solvers"].items()
    }
    texts = {}
    for keys, value in leaves({**dump, "solvers": solvers}):
        in_grid = isinstance(value, list) and "search" in keys
        if in_grid:  # in any order; numbers come before others
            value = sorted(
                value, key=lambda x: (0, x) if isinstance(x, int | float) else (1, str(x))
            )
        texts[".".join(keys)] = _text(value)
    return texts


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return NO_VALUE if value is None else value_text(value)


def _differences(a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    """Return the entries that differ; one that is missing counts as not set."""
    sections = [key.split(".")[:2] for key in {**a, **b}]
    keys = sorted({**a, **b}, key=lambda key: sections.index(key.split(".")[:2]))
    every = (Difference(key, a.get(key, NO_VALUE), b.get(key, NO_VALUE)) for key in keys)
    return [one for one in every if one.a != one.b]


def _environment(run: Run) -> dict[str, str]:
    """Return the values of each property of a run's environments, by dotted key."""
    values: dict[str, dict[str, None]] = {}
    for environment in run.environments.values():
        for keys, value in leaves(environment):
            values.setdefault(".".join(keys), {})[_text(value)] = None
    return {key: " and ".join(texts) for key, texts in values.items()}


def _unpaired(a: Run, b: Run, config: Sequence[Difference]) -> list[str]:
    """Return why trials are different splits: these depend on rows, protocol and seed only."""
    reasons = [] if _same_data(a, b) else [f"the data are {a.dataset} in A and {b.dataset} in B"]
    if reasons and a.dataset == b.dataset:
        reasons = [f"the rows of {a.dataset} differ"]
    drawn = [run.experiment.sizes[-1] for run in (a, b) if run.axis and run.axis.drawn]
    if len({*drawn}) > 1:
        reasons.append(f"trials draw {drawn[0]} rows in A and {drawn[1]} in B")
    ignored = {*a.task.not_of_splits, *b.task.not_of_splits}
    protocol = ((one, one.key.removeprefix("protocol.")) for one in config)
    of_splits = [
        one
        for one, name in protocol
        if one.key == "seed" or (name != one.key and name.split(".")[0] not in ignored)
    ]
    return reasons + _told(of_splits)


def _told(differences: Sequence[Difference]) -> list[str]:
    return [f"{one.key} is {one.a} in A and {one.b} in B" for one in differences]


def comparison_text(found: Comparison, width: int) -> str:
    """Return a comparison for a terminal: the answer in a sentence, then the evidence."""
    unpaired = f"Trials are not paired: {'; '.join(found.unpaired)}."
    remarks = [unpaired if found.unpaired else "Trials are paired: the same splits in A and in B."]
    remarks.append(_choices(found.fits[found.fits["common"]]))
    timing = [one for one in found.environment if one.key in _TIMING]
    if timing:
        words = _told([one._replace(key=_TIMING[one.key]) for one in timing])
        remarks.append(f"Times are not comparable: {'; '.join(words)}.")
    if n := int(found.fits["disturbed"].sum()):
        remarks.append(f"Times of {counted(n, 'fit')} were disturbed and are not compared.")
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
        texts = (f"{key}: {a} → {b}" for key, a, b in members)
        lines += (paragraph(text, width, "    ", first="  ") for text in texts)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def answer(found: Comparison) -> str:
    """Return whether B reproduces A, agrees with it, or is another experiment."""
    a, b, fits = found.a, found.b, found.fits
    if a.dataset != b.dataset and not _same_data(a, b):
        return f"B does not repeat A: the data of B are {b.dataset}, those of A {a.dataset}."
    how, why = _agreement(found)
    apart = {
        "in A only": fits["key_b"].isna(),
        "in B only": fits["key_a"].isna(),
        "ended differently": fits["common"] & (fits["ending_a"] != fits["ending_b"]),
    }
    texts = [f"{counted(int(of.sum()), 'fit')} {where}" for where, of in apart.items() if of.any()]
    text = "; ".join([why, *texts])
    if not found.changed:
        return f"{how}: {text}."
    what = _first_of([one.key for one in found.changed])
    two = f"A and B differ in {what}: this compares two experiments, not a reproduction"
    return f"{two}. {text[0].upper()}{text[1:]}."


def _first_of(texts: Sequence[str]) -> str:
    more = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _agreement(found: Comparison) -> tuple[str, str]:
    """Return whether B reproduces A, with the reason: identical fits, else the tests of scores."""
    common, same = int(found.fits["common"].sum()), int(found.fits["identical"].sum())
    number = counted(common, "common fit")
    if same == common:
        return "B reproduces A", f"all {number} are identical but for times"
    scores = [one for of in found.effects.values() for one in of if one.measure.unit != "seconds"]
    identical = f"{same:,} of {number} are identical"
    if not scores:
        return "B does not reproduce A", f"no fit finished in both; {identical}"
    # by their size in units of the last digit that tables show
    scores.sort(key=lambda one: -abs(one.contrast.difference) * 10**one.measure.digits)
    largest = f"largest difference {_score(scores[0])}"
    if not found.inference.tested:
        return "B is not identical to A", f"{largest}; {identical}"
    tested = [one for one in scores if one.holm is not None or one.contrast.same]
    if not tested:
        return "Too few trials to tell B from A", f"{largest}, without a test; {identical}"
    of = counted(len(tested), "score")
    if beyond := [_score(one) for one in tested if one.significant]:
        why = f"{len(beyond):,} of {of} differ significantly: {_first_of(beyond)}; {identical}"
        return "B does not reproduce A", why
    return "B agrees with A", f"of {of} none differs significantly; {largest}; {identical}"


def _score(one: Effect) -> str:
    change = one.contrast._replace(interval=None).words(one.measure)
    return f"{one.measure.word} {change} ({one.name})"


def _choices(common: pd.DataFrame) -> str:
    """Return which solvers chose other hyper-parameters, and in how many fits."""
    differing = common[common["params_a"] != common["params_b"]]
    if differing.empty:
        return "Chosen hyper-parameters are the same in all common fits."
    counts = [f"{name} ({n:,})" for name, n in differing["name"].value_counts().items()]
    which = f"{len(differing):,} of {len(common):,} common fits: {', '.join(counts)}"
    return f"Chosen hyper-parameters differ in {which}."


def _layout(found: Comparison, measure: Measure, effects: Sequence[Effect]) -> Layout:
    """Return the table of a measure: a row per solver, at its largest common size."""
    timed, axis = measure.unit == "seconds", found.a.axis
    how, average, change = found.inference, "median", "B / A"
    if not timed:
        average, change = "mean", "B - A [95%]" if how.has_interval else "B - A"
    header = ["Solver", axis.title if axis else "", "n", "A", "B", change, "p", "Holm"]
    size = f", at the largest number of {lowered(axis.title)} in both" if axis else ""
    if timed:
        ratio = ratio_text(median(b / a for a, b in (one.averages for one in effects)))
        note = f"B takes {ratio} times as long as A, median over {counted(len(effects), 'solver')}."
    else:
        test = "Welch's t-test" if found.unpaired else "Paired t-test"
        note = f"{test}; p-values by Holm's method. {how.words}" if how.tested else how.words
    caption = f"{measure.caption}: {average} over trials{size}."
    layout = Layout(caption, header, [*map(_cells, effects)], [note])
    return layout.with_columns([True, axis is not None, *[True] * 4, how.tested, how.tested])


def _cells(one: Effect) -> list[Cell]:
    measure, (a, b) = one.measure, one.averages
    if measure.unit == "seconds":
        averages, change = [f"{v:,.{time_digits(v)}f}" for v in (a, b)], ratio_text(b / a)
    else:
        averages = [f"{percents(measure, v):.{measure.digits + 1}f}" for v in (a, b)]
        change = one.contrast.cell(measure)
    number = "+".join(dict.fromkeys([str(len(one.a)), str(len(one.b))]))
    p_values = (one.contrast.p, one.holm)
    texts = [f"{one.size:,}", number, *averages, change, *map(p_text, p_values)]
    values = [one.size, len(one.a), a, b, one.contrast.difference, *p_values]
    numbers = (Cell(text, value=value) for text, value in zip(texts, values, strict=True))
    return [Cell(one.name), *numbers]


def write_comparison(found: Comparison, folder: Path) -> list[Path]:
    """Write the tables of a comparison as CSV, Markdown and LaTeX, and return their paths."""
    paths = []
    for measure, effects in found.effects.items():
        rows = [
            {"name": one.name, "size": one.size, "n_a": len(one.a), "n_b": len(one.b)}
            | dict(zip("ab", one.averages, strict=True))
            | {"holm": one.holm, **one.contrast._asdict()}
            for one in effects
        ]
        layout, frame = _layout(found, measure, effects), pd.DataFrame(rows)
        paths += write_table(Table(f"compare_{measure.name}", [layout], frame), folder / "tables")
    return paths
