"""Rankings of solvers over several results, by published and by measured figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd

from dsgkit.report.numbers import percents
from dsgkit.report.output import FigureOutput, late
from dsgkit.report.ranks import Ranking, ranking
from dsgkit.report.reproductions import Reproduction, reproductions
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
"""Least number of datasets, and of solvers, for a ranking."""


class RankingPair(NamedTuple):
    """Rankings of the same solvers over the same datasets."""

    published: Ranking
    measured: Ranking


def published_rankings(compared: Sequence[Reproduction]) -> dict[Measure, RankingPair]:
    """Return rankings of the solvers with both figures, by each measure with a better side."""
    with_both = {each.entry.solver for each in compared if each.entry.values}
    solvers = [name for name in all_solvers(each.summary for each in compared) if name in with_both]
    once = _once([each.summary for each in compared])
    rankings = {}
    for measure in dict.fromkeys(each.measure for each in compared if each.measure.better):
        of_measure = [each for each in compared if each.measure == measure and each.summary in once]
        measured = _complete(of_measure, solvers, _measured)
        published = _complete(of_measure, solvers, lambda each: each.figure.value)
        both = measured.index.intersection(published.index)
        if len(both) >= MIN_RANKED and len(solvers) >= MIN_RANKED:
            rankings[measure] = RankingPair(
                _ranking(measure, "published", published.loc[both]),
                _ranking(measure, "measured", measured.loc[both]),
            )
    return rankings


def measured_rankings(shown: Sequence[Summary]) -> list[Ranking]:
    """Return rankings of the common solvers, by the measures of the tables that configs ask for.

    These measures have a better side; times and optional measures are left out.
    """
    if len(shown) < MIN_RANKED:
        return []
    once, asked = _once(shown), all_outputs(shown)
    rankings = []
    for measure in all_measures(shown):
        known = measure.better and not (measure.unit or measure.optional)
        if known and f"{measure.output}_table" in asked:
            values = _values([one for one in once if one.shows(measure)], measure)
            if min(values.shape) >= MIN_RANKED:
                rankings.append(_ranking(measure, "measured", values))
    return rankings


def _once(shown: Sequence[Summary]) -> list[Summary]:
    """Return the first finished results of each dataset, so that none counts twice."""
    finished = [one for one in shown if not one.to_come]
    return list({one.results.dataset: one for one in reversed(finished)}.values())[::-1]


def _ranking(measure: Measure, whose: str, values: pd.DataFrame) -> Ranking:
    assert measure.better is not None
    title = measure.word[:1].upper() + measure.word[1:]
    return ranking(f"{title}, {whose}", values, measure.better)


def _complete(
    compared: Sequence[Reproduction], solvers: Sequence[str], value: Callable[[Reproduction], float]
) -> pd.DataFrame:
    """Return values by dataset (rows) and solver, without incomplete datasets."""
    rows: dict[str, dict[str, float]] = {}
    for each in compared:
        rows.setdefault(each.summary.title, {})[each.entry.solver] = value(each)
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=list(solvers)).dropna()


def _measured(each: Reproduction) -> float:
    """Return the measured value, rounded like the published one, so that ties are comparable.

    Seconds are not rounded, because machines differ; NaN if they are not at the largest size.
    """
    if not each.measure.unit:
        return round(each.entry.mean, each.figure.decimals)
    return each.entry.centre if each.entry.size == each.summary.sizes[-1] else math.nan


def _values(shown: Sequence[Summary], measure: Measure) -> pd.DataFrame:
    """Return the printed values by dataset (rows) and common solver."""
    largest = {one.title: one.largest(measure) for one in shown}
    solvers = [
        name for name in all_solvers(shown) if all(name in entries for entries in largest.values())
    ]
    values = pd.DataFrame(
        {
            name: [_printed(measure, entries[name]) for entries in largest.values()]
            for name in solvers
        }
    )
    return values.dropna(axis=1, how="all").dropna()


def _printed(measure: Measure, entry: Entry) -> float:
    return round(percents(measure, entry.centre), measure.digits)


def rank_figures(shown: Sequence[Summary], width: Width | None = None) -> Iterator[FigureOutput]:
    """Yield the figures of ranks over several results, if any."""
    compared = [each for one in shown for each in reproductions(one)]
    if pairs := published_rankings(compared):
        sources = dict.fromkeys(
            one.results.task.published.source for one in shown if one.results.task.published
        )
        caption = f"Solvers as published by {'; '.join(sources)} (left) and as measured (right)."
        if any(each.figure.flag for each in compared if each.measure in pairs):
            caption += " Published figures count also where their table has a remark."
        rankings = [one for pair in pairs.values() for one in pair]
        yield _rank_figure(f"{RANKS}_published", shown, rankings, caption, width)
    if measured := measured_rankings(shown):
        axes = lowered(all_axes(shown))
        at = f", each at its largest finished number of {axes}" if axes else ""
        caption = f"Solvers that all results have, as measured{at}; equal as printed share a rank."
        yield _rank_figure(f"{RANKS}_measured", shown, measured, caption, width)


def _rank_figure(
    name: str,
    shown: Sequence[Summary],
    rankings: Sequence[Ranking],
    caption: str,
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
        own_caption=lambda: f"{caption} {late('rank_figure', 'caption')(rankings, solvers)}",
    )
