"""The tables of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.report.compare.comparison import Comparison, Mismatch
from dsgkit.report.compare.differences import Choice
from dsgkit.report.contrasts import LEVEL, SPLITS_CAVEAT
from dsgkit.report.effects import Effect, is_ratio
from dsgkit.report.entries import UNITS
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import (
    counted,
    percents,
    ranges,
    time_digits,
)
from dsgkit.report.summary import different, lowered
from dsgkit.tasks.measures import Measure

PAIRED_TESTS = ("t: paired t-test", "W: Wilcoxon's signed-rank test")
UNPAIRED_TESTS = ("t: Welch's t-test", "U: Mann-Whitney test")
RANK_COLUMNS = 2
"""Last columns of a table of effects, dropped in a narrow terminal."""

SHOWN_CHANGES = 4


def all_tables(comparison: Comparison) -> list[Table]:
    """Return every non-empty table."""
    names = different(f"compare_{measure.file}" for measure, _ in comparison.effects)
    tables = [
        Table(
            name,
            [effects_layout(comparison, measure, effects)],
            pd.DataFrame([_effect_row(comparison, measure, effect) for effect in effects]),
        )
        for name, (measure, effects) in zip(names, comparison.effects, strict=True)
    ]
    if any(choice.differing for choice in comparison.choices):
        tables.append(choices_table(comparison))
    if comparison.mismatches:
        tables.append(status_table(comparison))
    for name, members in (("config", comparison.config), ("environment", comparison.environment)):
        if members:
            rows, caption = [[*map(Cell, one)] for one in members], f"What differs in the {name}."
            layout = Layout(caption, ["Key", "A", "B"], rows)
            tables.append(Table(f"compare_{name}", [layout], pd.DataFrame(members)))
    return tables


def effects_layout(
    comparison: Comparison, measure: Measure, effects: Sequence[Effect], *, ranks: bool = True
) -> Layout:
    """Return a measure's difference for each solver and size; ``ranks`` adds the test by ranks."""
    average, change = ("median", "B / A") if is_ratio(measure) else ("mean", "B - A [95%]")
    rank, n = ("W", "n pairs of trials") if comparison.paired else ("U", "n trials (A+B)")
    sizes = [axis.title.split()[-1].capitalize()] if (axis := comparison.axis) else []
    header = ["Solver", *sizes, "n", "A", "B", change, "p (t)", "Holm", f"p ({rank})", "Holm"]
    shown = len(header) - (0 if ranks else RANK_COLUMNS)
    rows = [_effect_cells(comparison, measure, effect)[:shown] for effect in effects]
    by = f", by {lowered(axis.title)}" if axis else ""
    return Layout(
        f"{measure.caption}{UNITS[measure.unit]}: {average} over {n}{by}.",
        header[:shown],
        rows,
        _test_notes(comparison, measure, effects, ranks),
    )


def _effect_cells(comparison: Comparison, measure: Measure, effect: Effect) -> list[Cell]:
    """Return the printed row of an effect."""
    trials = (
        [len(effect.values_a)]
        if comparison.paired
        else map(len, (effect.values_a, effect.values_b))
    )
    n = effect.size.n
    return [
        Cell(effect.solver),
        *([] if comparison.axis is None else [Cell(f"{n:,}", value=n)]),
        Cell("+".join(map(str, trials)), value=len(effect.values_a)),
        *(Cell(_average_text(measure, value), value=value) for value in (effect.a, effect.b)),
        Cell(effect.change_text(measure), value=effect.contrast.difference),
        *effect.p_cells,
    ]


def _average_text(measure: Measure, value: float) -> str:
    digits = time_digits(value) if is_ratio(measure) else measure.digits + 1
    return f"{percents(measure, value):,.{digits}f}"


def _effect_row(comparison: Comparison, measure: Measure, effect: Effect) -> dict[str, Any]:
    """Return an effect as tidy data, numbers unrounded."""
    contrast = effect.contrast
    change = {"difference": contrast.difference, **effect.tidy_interval}
    if is_ratio(measure):
        logs = {"geometric_mean_ratio": contrast.difference, **effect.tidy_interval}
        ratios = {name: float(np.exp(value)) for name, value in logs.items()}
        change = {"ratio_of_medians": effect.ratio, **ratios}
    return {
        "solver": effect.solver,
        **({} if comparison.axis is None else {comparison.axis.name: effect.size.n}),
        "paired": comparison.paired,
        "trials_a": len(effect.values_a),
        "trials_b": len(effect.values_b),
        "a": effect.a,
        "b": effect.b,
        **change,
        "identical": contrast.identical,
        "p_t": contrast.p_t,
        "holm_t": effect.holm_t,
        "p_rank": contrast.p_rank,
        "holm_rank": effect.holm_rank,
    }


def _test_notes(
    comparison: Comparison, measure: Measure, effects: Sequence[Effect], ranks: bool
) -> list[str]:
    """Return footnotes on the tests."""
    tested = [effect for effect in effects if effect.contrast.p_t is not None]
    if not tested:
        return []
    names = PAIRED_TESTS if comparison.paired else UNPAIRED_TESTS
    scale = ", of logarithms" if is_ratio(measure) else ""
    number = counted(len(tested), "hypothesis", "hypotheses")
    notes = [
        f"{'; '.join(names[: 1 + ranks])}{scale}. Holm: p adjusted for {number}.",
        *([] if ranks else ["A wider terminal also shows the tests by ranks."]),
    ]
    least = max(_least_rank_p(comparison, effect) for effect in tested)
    if ranks and least > LEVEL:
        notes.append(f"With so few trials the test by ranks cannot give a p below {least:.2g}.")
    return [" ".join(notes), *([] if is_ratio(measure) else [SPLITS_CAVEAT])]


def _least_rank_p(comparison: Comparison, effect: Effect) -> float:
    """Return the smallest p-value that the test by ranks can have."""
    a, b = len(effect.values_a), len(effect.values_b)
    orders = 2**a if comparison.paired else math.comb(a + b, a)
    return min(1.0, 2 / orders)


def choices_table(comparison: Comparison) -> Table:
    """Return the table of chosen hyper-parameters that differ.

    For unpaired trials it counts the choices on each side.
    """
    arrange = _changes_layout if comparison.paired else _counts_layout
    rows = [
        (one.solver, one.parameter, trial, one.a.get(trial), one.b.get(trial))
        for one in comparison.choices
        for trial in sorted(one.a.keys() | one.b.keys())
    ]
    frame = pd.DataFrame(rows, columns=["solver", "parameter", "trial", "a", "b"])
    return Table("compare_params", [arrange(comparison.choices)], frame)


def _changes_layout(choices: Sequence[Choice]) -> Layout:
    """Return the changes of values from A to B with their numbers of trials."""
    rows = [
        (one.solver, one.parameter, f"{len(one.differing)}/{len(one.common)}", _changes_text(one))
        for one in choices
        if one.differing
    ]
    same = [f"{one.solver} {one.parameter}" for one in choices if not one.differing]
    return Layout(
        "Chosen hyper-parameters that differ, with numbers of trials.",
        ["Solver", "Parameter", "Differ", "A → B (trials)"],
        [[*map(Cell, row)] for row in rows],
        [f"The same in every trial: {', '.join(same)}."] if same else [],
    )


def _changes_text(choice: Choice) -> str:
    """Return the most frequent changes."""
    texts = [f"{a} → {b} ({count})" for (a, b), count in choice.changes]
    more = [f"{len(texts) - SHOWN_CHANGES} more"] if len(texts) > SHOWN_CHANGES else []
    return ", ".join([*texts[:SHOWN_CHANGES], *more])


def _counts_layout(choices: Sequence[Choice]) -> Layout:
    """Return the chosen values of each side with their numbers of trials."""
    rows = [(one.solver, one.parameter, _count_text(one.a), _count_text(one.b)) for one in choices]
    return Layout(
        "Chosen hyper-parameters and how many trials chose each.",
        ["Solver", "Parameter", "A (trials)", "B (trials)"],
        [[*map(Cell, row)] for row in rows],
    )


def _count_text(values: Mapping[int, str]) -> str:
    counts = Counter(values.values()).most_common()
    return ", ".join(f"{value} ({count})" for value, count in counts)


def status_table(comparison: Comparison) -> Table:
    """Return the table of fits whose statuses differ, or that one side lacks."""
    axis, members = comparison.axis, comparison.mismatches
    layout = Layout(
        "Fits that ended differently, or that only one of A and B has.",
        ["Solver", *([] if axis is None else [axis.title]), "Trials", "A", "B"],
        [_status_cells(one, swept=axis is not None) for one in members],
    )
    rows = [
        {
            "solver": one.solver,
            **({} if axis is None else {axis.name: size.n}),
            "trial": trial,
            "status_a": one.a,
            "status_b": one.b,
        }
        for one in members
        for size in one.sizes
        for trial in one.trials
    ]
    return Table("compare_status", [layout], pd.DataFrame(rows))


def _status_cells(one: Mismatch, *, swept: bool) -> list[Cell]:
    sizes = [", ".join(size.text for size in one.sizes)] if swept else []
    trials = ranges((trial + 1 for trial in one.trials), "-")
    return [*map(Cell, (one.solver, *sizes, trials, one.a, one.b))]
