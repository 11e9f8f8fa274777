"""Gains of solvers over the baseline that their config names, trial by trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dsgkit.linalg import Array
from dsgkit.report.contrasts import LEVEL, SPLITS_CAVEAT
from dsgkit.report.effects import Effect, adjusted, effects, pairs
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NO_VALUE, counted, in_sentence
from dsgkit.report.output import TableOutput
from dsgkit.report.summary import (
    Summary,
    all_axes,
    all_measures,
    all_outputs,
    lowered,
    settings,
)
from dsgkit.tasks.measures import GAINS, Measure


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


def gain_tables(shown: Sequence[Summary]) -> Iterator[TableOutput]:
    """Yield the table of gains, if a solver is compared with another one."""
    solvers = (spec for one in shown for spec in one.results.experiment.solvers.values())
    if any(spec.against for spec in solvers):
        yield TableOutput(
            name=GAINS,
            output=GAINS,
            shown=shown,
            has=_has_gain,
            make=lambda: gain_table(shown, largest=len(shown) > 1),
            brief=lambda: gain_table(shown, largest=True),
            in_overview="brief",
        )


def _has_gain(summary: Summary) -> bool:
    every = (matched for m in gain_measures([summary]) for *_, matched in _matched(summary, m))
    return any(map(len, every))


def gain_table(shown: Sequence[Summary], *, largest: bool = False) -> Table | None:
    """Return the table of gains; None without any.

    With ``largest`` it has the largest sizes only, and measures whose tables configs ask for.
    """
    measures = gain_measures(shown)
    if largest:
        asked = all_outputs(shown)
        measures = [m for m in measures if f"{m.output}_table" in asked] or measures
    by_measure = {m: gains(shown, m, largest=largest) for m in measures}
    by_measure = {measure: members for measure, members in by_measure.items() if members}
    if not by_measure:
        return None
    rows = [_row(measure, gain) for measure, members in by_measure.items() for gain in members]
    layouts = [_layout(shown, m, members, largest) for m, members in by_measure.items()]
    return Table(GAINS, layouts, pd.DataFrame(rows))


def _layout(
    shown: Sequence[Summary], measure: Measure, members: Sequence[Gain], largest: bool
) -> Layout:
    """Return the printed table of one measure, a row per gain."""
    axes, over = all_axes(shown), dict.fromkeys(gain.against for gain in members)
    size = axes.split(" ")[-1].capitalize()
    titles = [one.heading for one in shown]
    head, detail = _head(measure, list(over)), _detail(shown, largest)
    about = ", ".join(filter(None, [*(titles if len(titles) == 1 else []), settings(shown)]))
    return Layout(
        f"{head}: {detail}{about and f'; {about}'}.",
        ["Dataset", "Solver", "Over", size, "Gain [95%]", "p (t)", "Holm", "Better in"],
        [_cells(measure, gain) for gain in members],
        _notes(shown, measure, members),
        best_means=f"better at the {LEVEL:.0%} level (t, Holm)",
        head=head,
        detail=detail,
        about=about and f"{about}.",
    ).with_columns([len(shown) > 1, True, len(over) > 1, bool(axes), *[True] * 4])


def _head(measure: Measure, over: Sequence[str]) -> str:
    parts = [
        f"Gain in {measure.word}",
        f"on the {measure.where}" if measure.where else "",
        "in percentage points" if measure.percent else "",
        f"over {in_sentence(over[0])}" if len(over) == 1 else "over another solver",
    ]
    return " ".join(filter(None, parts))


def _detail(shown: Sequence[Summary], largest: bool) -> str:
    axes = lowered(all_axes(shown))
    short = largest and not _by_size(shown)
    at = f"at the largest number of {axes} at which both finished" if short else f"by {axes}"
    return f"mean over trials, above 0 where better{f', {at}' if axes else ''}"


def _cells(measure: Measure, gain: Gain) -> list[Cell]:
    """Return a row with all columns, some of which the table may leave out."""
    return [
        Cell(gain.summary.heading),
        Cell(gain.solver),
        Cell(gain.against),
        Cell(gain.size.text if gain.summary.axis else NO_VALUE, value=gain.size.n),
        Cell(gain.change_text(measure), best=gain.significant, value=gain.contrast.difference),
        *gain.p_cells[:2],
        Cell(f"{gain.wins}/{len(gain.values)}", value=gain.wins / len(gain.values)),
    ]


def _notes(shown: Sequence[Summary], measure: Measure, members: Sequence[Gain]) -> list[str]:
    """Return footnotes on the columns."""
    better = "Better in: in how many of the trials that both finished the solver is better."
    if not any(gain.holm_t is not None for gain in members):
        return [better]
    axes = lowered(all_axes(shown))
    over = [f"at every number of {axes}"] if axes else []
    over += ["in every dataset"] if len(shown) > 1 else []
    family = f"all {counted(members[0].family, 'test')} of gains in {measure.word}"
    adjusted_for = " ".join([family, " and ".join(over)]).rstrip()
    return [f"{better} t: paired t-test. Holm: p adjusted for {adjusted_for}.", SPLITS_CAVEAT]


def _row(measure: Measure, gain: Gain) -> dict[str, Any]:
    """Return a gain as tidy data, numbers unrounded."""
    contrast, axis = gain.contrast, gain.summary.axis
    return {
        "dataset": gain.summary.title,
        "measure": measure.name,
        "solver": gain.solver,
        "against": gain.against,
        **({} if axis is None else {axis.name: gain.size.n}),
        "trials": len(gain.values),
        "gain": contrast.difference,
        **gain.tidy_interval,
        "p_t": contrast.p_t,
        "holm_t": gain.holm_t,
        "p_rank": contrast.p_rank,
        "wins": gain.wins,
        "losses": int((gain.values < 0).sum()),
    }
