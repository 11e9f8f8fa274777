"""Gains of solvers over the baseline that their config names, trial by trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from dsgkit.linalg import Array
from dsgkit.report.effects import Effect, adjusted, effects, pairs
from dsgkit.report.summary import (
    Summary,
    all_measures,
)
from dsgkit.tasks.measures import Measure


@dataclass(frozen=True)
class Gain(Effect):
    """The gain of a solver (B) over the one that it is compared with (A), at one size.

    The difference is above 0 if the solver is better.

    Attributes
    ----------
    summary : Summary
        The results of both solvers.
    against : str
        Name of the solver compared with.
    to_come : bool
        Whether either solver has trials at this size that are not yet run.
    """

    summary: Summary = field(kw_only=True)
    against: str = field(kw_only=True)
    to_come: bool = field(kw_only=True)

    @property
    def values(self) -> Array:
        """The gain in each trial that both finished."""
        return self.values_b - self.values_a

    @property
    def wins(self) -> int:
        """The number of trials in which the solver is better."""
        return int((self.values > 0).sum())

    @property
    def significant(self) -> bool:
        """Whether the solver is significantly better (t-test, Holm) and no trial is to come."""
        return super().significant and self.contrast.difference > 0 and not self.to_come


def gains(shown: Sequence[Summary], measure: Measure, *, largest: bool = False) -> list[Gain]:
    """Return the gains in a measure of every solver that is compared with another one, by size.

    ``largest`` keeps only the largest size at which both solvers finished a trial, except on an
    axis of drawn rows (such as labelled ones), where small sizes matter. P-values are always
    adjusted for all sizes, so a gain has the same ones everywhere.
    """
    family = adjusted(gain for one in shown for gain in gains_by_size(one, measure))
    if not largest:
        return family
    last = {(id(gain.summary), gain.solver): gain for gain in family}
    return [
        gain
        for gain in family
        if _by_size([gain.summary]) or gain is last[id(gain.summary), gain.solver]
    ]


def _by_size(shown: Sequence[Summary]) -> bool:
    """Return whether short tables have a row per size: rows are drawn and searched at each."""
    return all(one.axis is not None and one.axis.drawn for one in shown)


def gains_by_size(summary: Summary, measure: Measure) -> Iterator[Gain]:
    """Yield the gains of one results folder at every size, with unadjusted p-values."""
    entries = summary.entries(measure) if summary.shows(measure) else {}
    for solver, against, matched in _matched(summary, measure):
        pair = summary.names[solver], summary.names[against]
        for effect in effects(matched, measure):
            to_come = any(entries[name, effect.size].to_come for name in pair)
            own = {"solver": pair[0], "against": pair[1], "summary": summary, "to_come": to_come}
            yield Gain(**{**vars(effect), **own})


def _matched(summary: Summary, measure: Measure) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the keys of a solver and of the one compared with, and their paired trials.

    The difference of a pair is above 0 if the solver is better.
    """
    for key, spec in summary.results.experiment.solvers.items():
        if spec.against is not None and summary.shows(measure):
            sides = (spec.against, key) if measure.better == "higher" else (key, spec.against)
            yield key, spec.against, pairs(summary, measure, *sides)


def gain_measures(shown: Sequence[Summary]) -> list[Measure]:
    """Return the measures with gains: those with a better side, except times."""
    return [measure for measure in all_measures(shown) if measure.better and not measure.unit]
