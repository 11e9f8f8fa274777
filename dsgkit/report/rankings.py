"""Rankings of solvers over several results: published next to measured, and measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd

from dsgkit.report.numbers import percents
from dsgkit.report.output import FigureOutput, late
from dsgkit.report.pairs import Pair, pairs_of
from dsgkit.report.ranks import Ranking, ranking
from dsgkit.report.style import Width, kinds_of
from dsgkit.report.summary import (
    Entry,
    Summary,
    all_axes,
    all_measures,
    all_outputs,
    all_solvers,
    lowered,
)
from dsgkit.tasks.measures import RANKS, Measure

MIN_RANKED = 2
"""Datasets, and solvers, that there is a ranking of."""


class Beside(NamedTuple):
    """Two rankings of the same solvers over the same datasets."""

    published: Ranking
    measured: Ranking


def published_rankings(pairs: Sequence[Pair]) -> dict[Measure, Beside]:
    """Return the rankings by each measure with a better side, of the solvers with both figures."""
    with_both = {pair.entry.solver for pair in pairs if pair.entry.values}
    solvers = [name for name in all_solvers(pair.summary for pair in pairs) if name in with_both]
    once = _once([pair.summary for pair in pairs])
    found = {}
    for measure in dict.fromkeys(pair.measure for pair in pairs if pair.measure.better):
        of_measure = [pair for pair in pairs if pair.measure == measure and pair.summary in once]
        measured = _complete(of_measure, solvers, _measured)
        published = _complete(of_measure, solvers, lambda pair: pair.figure.value)
        both = measured.index.intersection(published.index)
        if len(both) >= MIN_RANKED and len(solvers) >= MIN_RANKED:
            found[measure] = Beside(
                _ranking(measure, "published", published.loc[both]),
                _ranking(measure, "measured", measured.loc[both]),
            )
    return found


def measured_rankings(shown: Sequence[Summary]) -> list[Ranking]:
    """Return the rankings of the solvers that all results have, by what their tables are about.

    That is every measure with a better side, but for seconds and those that only some fits have.
    """
    if len(shown) < MIN_RANKED:
        return []
    once, asked = _once(shown), all_outputs(shown)
    found = []
    for measure in all_measures(shown):
        known = measure.better and not (measure.unit or measure.optional)
        if known and f"{measure.output}_table" in asked:
            values = _values([one for one in once if one.shows(measure)], measure)
            if min(values.shape) >= MIN_RANKED:
                found.append(_ranking(measure, "measured", values))
    return found


def _once(shown: Sequence[Summary]) -> list[Summary]:
    """Return the first results of every dataset: two on one would count it twice.

    Those with fits that are still to come do not count.
    """
    finished = [one for one in shown if not one.to_come]
    return list({one.results.dataset: one for one in reversed(finished)}.values())[::-1]


def _ranking(measure: Measure, whose: str, values: pd.DataFrame) -> Ranking:
    assert measure.better is not None
    title = measure.word[:1].upper() + measure.word[1:]
    return ranking(f"{title}, {whose}", values, measure.better)


def _complete(
    pairs: Sequence[Pair], solvers: Sequence[str], value: Callable[[Pair], float]
) -> pd.DataFrame:
    """Return values by datasets and solvers, of the datasets that have all."""
    rows: dict[str, dict[str, float]] = {}
    for pair in pairs:
        rows.setdefault(pair.summary.title, {})[pair.entry.solver] = value(pair)
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=list(solvers)).dropna()


def _measured(pair: Pair) -> float:
    """Return the measured value, as exact as the published one: what it would print is equal.

    Other machines are faster, so that seconds keep their digits; those of fewer rows do not count.
    """
    if not pair.measure.unit:
        return round(pair.entry.mean, pair.figure.decimals)
    return pair.entry.centre if pair.entry.size == pair.summary.sizes[-1] else math.nan


def _values(shown: Sequence[Summary], measure: Measure) -> pd.DataFrame:
    """Return what tables print, by datasets and the solvers that all results have."""
    largest = {one.title: one.largest(measure) for one in shown}
    solvers = [name for name in all_solvers(shown) if all(name in of for of in largest.values())]
    values = pd.DataFrame(
        {name: [_printed(measure, of[name]) for of in largest.values()] for name in solvers}
    )
    return values.dropna(axis=1, how="all").dropna()


def _printed(measure: Measure, entry: Entry) -> float:
    return round(percents(measure, entry.centre), measure.digits)


def rank_figures(shown: Sequence[Summary], width: Width | None = None) -> Iterator[FigureOutput]:
    """Yield the figures of ranks over several results, as far as these have any."""
    pairs = [pair for one in shown for pair in pairs_of(one)]
    if beside := published_rankings(pairs):
        sources = dict.fromkeys(
            one.results.task.published.source for one in shown if one.results.task.published
        )
        told = f"Solvers as published by {'; '.join(sources)} (left) and as measured (right)."
        if any(pair.figure.flag for pair in pairs if pair.measure in beside):
            told += " Published figures count also where their table has a remark."
        rankings = [one for both in beside.values() for one in both]
        yield _rank_figure(f"{RANKS}_published", shown, rankings, told, width)
    if measured := measured_rankings(shown):
        axes = lowered(all_axes(shown))
        at = f", each at its largest finished number of {axes}" if axes else ""
        told = f"Solvers that all results have, as measured{at}; equal as printed share a rank."
        yield _rank_figure(f"{RANKS}_measured", shown, measured, told, width)


def _rank_figure(
    name: str,
    shown: Sequence[Summary],
    rankings: Sequence[Ranking],
    told: str,
    width: Width | None,
) -> FigureOutput:
    columns = 1 if width == "column" else min(2, len(rankings))
    kinds, solvers = kinds_of(shown), all_solvers(shown)
    return FigureOutput(
        name=name,
        output=RANKS,
        shown=shown,
        has=lambda _: True,
        draw=partial(late("rank_figure", "rank_figure"), rankings, columns, kinds, width),
        says=lambda: f"{told} {late('rank_figure', 'caption')(rankings, solvers)}",
    )
