"""The tables of what scores and training time differ by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.contrasts import LEVEL
from dsgkit.report.compare.effects import Effect, Quantity
from dsgkit.report.compare.wording import (
    counted,
    difference_text,
    p_text,
    ratio_text,
)
from dsgkit.report.layout import Cell, Layout, Table
from dsgkit.report.numbers import time_digits

NAMES = {"auc": "compare_auc", "test_auc": "compare_auc_test", "fit_seconds": "compare_time"}
SCORE_DIGITS = 4
OVERLAP = (
    "Trials are random splits of the same rows, so intervals and p-values speak of other splits "
    "of these data, not of other data."
)
PAIRED_TESTS = ("t: paired t-test", "W: Wilcoxon's signed-rank test")
UNPAIRED_TESTS = ("t: Welch's t-test", "U: Mann-Whitney test")
RANK_COLUMNS = 2
"""The last columns of a table of effects, which a narrow terminal has no room for."""


def effects_table(
    comparison: Comparison, quantity: Quantity, effects: Sequence[Effect], *, ranks: bool = True
) -> Table:
    """Return the table of what a quantity differs by, at every solver and size.

    Parameters
    ----------
    comparison : Comparison
    quantity : Quantity
    effects : sequence of Effect
    ranks : bool
        Whether the test by ranks is shown too.
    """
    average, change = ("median", "B / A") if quantity.is_ratio else ("mean", "B - A [95%]")
    rank, n = ("W", "n pairs of trials") if comparison.paired else ("U", "n trials (A+B)")
    header = ["Solver", "Rows", "n", "A", "B", change, "p (t)", "Holm", f"p ({rank})", "Holm"]
    rows = [_effect_cells(comparison, quantity, effect) for effect in effects]
    shown = len(header) - (0 if ranks else RANK_COLUMNS)
    layout = Layout(
        f"{quantity.measure.caption}: {average} over {n}, by unlabelled rows.",
        header[:shown],
        [row[:shown] for row in rows],
        _test_notes(comparison, quantity, effects, ranks),
    )
    frame = pd.DataFrame([_effect_row(comparison, quantity, effect) for effect in effects])
    return Table(NAMES[quantity.measure.column], [layout], frame)


def _effect_cells(comparison: Comparison, quantity: Quantity, effect: Effect) -> list[Cell]:
    """Return one row as people read it."""
    contrast = effect.contrast
    if contrast.identical:
        change = "identical"
    elif quantity.is_ratio:
        change = ratio_text(effect.ratio)
    else:
        change = difference_text(contrast.difference, contrast.interval)
    p_values = (contrast.p_t, effect.holm_t, contrast.p_rank, effect.holm_rank)
    return [
        Cell(comparison.labels[effect.solver]),
        Cell(f"{effect.size.n:,}"),
        Cell(_counts(comparison, effect)),
        Cell(_average_text(quantity, effect.a)),
        Cell(_average_text(quantity, effect.b)),
        Cell(change),
        *(Cell(p_text(p)) for p in p_values),
    ]


def _counts(comparison: Comparison, effect: Effect) -> str:
    """Return how many pairs or trials there are."""
    sizes = len(effect.values_a), len(effect.values_b)
    return f"{sizes[0]}" if comparison.paired else f"{sizes[0]}+{sizes[1]}"


def _average_text(quantity: Quantity, value: float) -> str:
    return f"{value:,.{time_digits(value) if quantity.is_ratio else SCORE_DIGITS}f}"


def _effect_row(comparison: Comparison, quantity: Quantity, effect: Effect) -> dict[str, Any]:
    """Return one row as tidy data, numbers unrounded."""
    contrast = effect.contrast
    low, high = contrast.interval or (math.nan, math.nan)
    change: dict[str, float] = {
        "difference": contrast.difference,
        "interval_low": low,
        "interval_high": high,
    }
    if quantity.is_ratio:
        names = ("geometric_mean_ratio", "interval_low", "interval_high")
        ratios = (float(np.exp(value)) for value in change.values())
        change = {"ratio_of_medians": effect.ratio} | dict(zip(names, ratios, strict=True))
    return {
        "solver": comparison.labels[effect.solver],
        "n_unlabeled": effect.size.n,
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
    comparison: Comparison, quantity: Quantity, effects: Sequence[Effect], ranks: bool
) -> list[str]:
    """Return what a reader has to know of the tests."""
    tested = [effect for effect in effects if effect.contrast.p_t is not None]
    if not tested:
        return []
    names = PAIRED_TESTS if comparison.paired else UNPAIRED_TESTS
    scale = ", of logarithms" if quantity.is_ratio else ""
    number = counted(len(tested), "hypothesis", "hypotheses")
    notes = [
        f"{'; '.join(names[: 1 + ranks])}{scale}. Holm: p adjusted for {number}.",
        *([] if ranks else ["A wider terminal also shows the tests by ranks."]),
    ]
    least = max(_least_rank_p(comparison, effect) for effect in tested)
    if ranks and least > LEVEL:
        notes.append(f"With so few trials the test by ranks cannot give a p below {least:.2g}.")
    return [" ".join(notes), *([] if quantity.is_ratio else [OVERLAP])]


def _least_rank_p(comparison: Comparison, effect: Effect) -> float:
    """Return the smallest p-value that the test by ranks can have."""
    a, b = len(effect.values_a), len(effect.values_b)
    orders = 2**a if comparison.paired else math.comb(a + b, a)
    return min(1.0, 2 / orders)
