"""Rankings of solvers over several results: published next to measured, and measured."""

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
"""Datasets, and solvers, that there is a ranking of."""


class Beside(NamedTuple):
    """Two rankings of the same solvers over the same datasets."""

    published: Ranking
    measured: Ranking


def published_rankings(compared: Sequence[Reproduction]) -> dict[Measure, Beside]:
    """Return the rankings by each measure with a better side, of the solvers with both figures."""
    with_both = {each.entry.solver for each in compared if each.entry.values}
    solvers = [name for name in all_solvers(each.summary for each in compared) if name in with_both]
    once = _once([each.summary for each in compared])
    found = {}
    for measure in dict.fromkeys(each.measure for each in compared if each.measure.better):
        of_measure = [each for each in compared if each.measure == measure and each.summary in once]
        measured = _complete(of_measure, solvers, _measured)
        published = _complete(of_measure, solvers, lambda each: each.figure.value)
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
    compared: Sequence[Reproduction], solvers: Sequence[str], value: Callable[[Reproduction], float]
) -> pd.DataFrame:
    """Return values by datasets and solvers, of the datasets that have all."""
    rows: dict[str, dict[str, float]] = {}
    for each in compared:
        rows.setdefault(each.summary.title, {})[each.entry.solver] = value(each)
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=list(solvers)).dropna()


def _measured(each: Reproduction) -> float:
    """Return the measured value, as exact as the published one: what it would print is equal.

    Other machines are faster, so that seconds keep their digits; those of fewer rows do not count.
    """
    if not each.measure.unit:
        return round(each.entry.mean, each.figure.decimals)
    return each.entry.centre if each.entry.size == each.summary.sizes[-1] else math.nan


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
    compared = [each for one in shown for each in reproductions(one)]
    if beside := published_rankings(compared):
        sources = dict.fromkeys(
            one.results.task.published.source for one in shown if one.results.task.published
        )
        caption = f"Solvers as published by {'; '.join(sources)} (left) and as measured (right)."
        if any(each.figure.flag for each in compared if each.measure in beside):
            caption += " Published figures count also where their table has a remark."
        rankings = [one for both in beside.values() for one in both]
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
