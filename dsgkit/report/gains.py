"""What solvers gain over another one that their config names, trial by trial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.report.contrasts import LEVEL, OVERLAP, Contrast, Values, holm, paired_contrast
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.numbers import NONE, counted, difference_text, p_text, percents
from dsgkit.report.output import TableOutput
from dsgkit.report.summary import Size, Summary, all_axes, all_measures, lowered, settings
from dsgkit.tasks.measures import GAINS, Measure


@dataclass(frozen=True)
class Gain:
    """How much better a solver is than the one that it is compared with, at one size.

    Attributes
    ----------
    summary : Summary
        The results that both are of.
    solver, against : str
        Names.
    size : Size
    values : ndarray
        one per trial that both finished, above 0 where the solver is better.
    contrast : Contrast
        Their mean with its interval and tests.
    to_come : bool
        Whether either has trials at this size that are not yet run.
    holm : float or None
        The p-value of the t-test, adjusted for all gains in the measure, at all sizes.
    family : int
        How many these are.
    """

    summary: Summary
    solver: str
    against: str
    size: Size
    values: Values
    contrast: Contrast
    to_come: bool = False
    holm: float | None = None
    family: int = 0

    @property
    def wins(self) -> int:
        """The number of trials in which the solver is better."""
        return int((self.values > 0).sum())

    @property
    def significant(self) -> bool:
        """Whether the solver is better, and the t-test rejects that this is chance (Holm).

        It is not said of some of the trials while others are to come.
        """
        better = self.holm is not None and self.holm < LEVEL and self.contrast.difference > 0
        return better and not self.to_come


def gains(shown: Sequence[Summary], measure: Measure, *, largest: bool = False) -> list[Gain]:
    """Return the gains of every solver that is compared with another one, by size.

    Parameters
    ----------
    shown : sequence of Summary
    measure : Measure
        One with a better side.
    largest : bool
        Whether only the largest size is returned at which both solvers finished a trial; on an axis
        of what is drawn, where small sizes are what one looks for, all are. P-values are adjusted
        for all sizes in any case: a gain has the same ones wherever it is shown.
    """
    found: list[Gain] = []
    short: list[bool] = []
    for one in shown:
        for key, spec in one.results.experiment.solvers.items():
            if spec.against is not None and one.shows(measure):
                own = list(_of_solver(one, measure, key, spec.against))
                every = not largest or _by_size([one])
                short += [every or gain is own[-1] for gain in own]
                found += own
    adjusted = holm([gain.contrast.p_t for gain in found])
    family = sum(p is not None for p in adjusted)
    return [
        replace(gain, holm=p, family=family)
        for gain, p, wanted in zip(found, adjusted, short, strict=True)
        if wanted
    ]


def _by_size(shown: Sequence[Summary]) -> bool:
    """Tell whether a short table, too, is by size: where every size is drawn and searched anew."""
    return all(one.axis is not None and one.axis.drawn for one in shown)


def _of_solver(summary: Summary, measure: Measure, solver: str, against: str) -> Iterator[Gain]:
    """Yield the gain at every size at which both solvers finished a trial."""
    cells, columns = summary.results.cells, ["size", "trial", "level", measure.name]
    finished = cells[(cells["status"] == "ok") & cells[measure.name].notna()]
    finished = finished.drop_duplicates(["solver", "size", "trial"], keep="last")
    sides = [finished.loc[finished["solver"] == key, columns] for key in (against, solver)]
    if measure.better == "lower":
        sides.reverse()
    pairs = sides[0].merge(sides[1], on=["size", "trial"], suffixes=("_worse", "_better"))
    pairs = pairs.sort_values("size")
    # two fits that do not depend on the size are one pair, whatever the size
    level = pairs["level_worse"] & pairs["level_better"]
    pairs = pairs[~(level & pairs.duplicated("trial", keep="last"))]
    entries = summary.entries(measure)
    for size in summary.sizes:
        rows = pairs[pairs["size"] == size.n]
        worse, better = (
            rows[f"{measure.name}_{side}"].to_numpy(np.float64) for side in ("worse", "better")
        )
        if len(rows):
            names = summary.names[solver], summary.names[against]
            contrast = paired_contrast(worse, better)
            to_come = any(entries[name, size].to_come for name in names)
            yield Gain(summary, *names, size, better - worse, contrast, to_come)


def gain_measures(shown: Sequence[Summary]) -> list[Measure]:
    """Return the measures that there can be a gain in: with a better side, and not a time."""
    return [measure for measure in all_measures(shown) if measure.better and not measure.unit]


def _of_outputs(shown: Sequence[Summary], measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures whose own tables a config asks for; all where it asks for none."""
    asked = {name for one in shown for name in one.results.experiment.outputs}
    return [m for m in measures if f"{m.output}_table" in asked] or list(measures)


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
    return any(gains([summary], measure) for measure in gain_measures([summary]))


def gain_table(shown: Sequence[Summary], *, largest: bool = False) -> Table | None:
    """Return the table of gains; None without any.

    Parameters
    ----------
    shown : sequence of Summary
    largest : bool
        For a short one: only of the largest sizes, and of the measures that configs ask tables of.
    """
    measures = gain_measures(shown)
    if largest:
        measures = _of_outputs(shown, measures)
    found = {m: gains(shown, m, largest=largest) for m in measures}
    found = {measure: of for measure, of in found.items() if of}
    if not found:
        return None
    rows = [_row(measure, gain) for measure, of in found.items() for gain in of]
    layouts = [_layout(shown, measure, of, largest) for measure, of in found.items()]
    return Table(GAINS, layouts, pd.DataFrame(rows))


def _layout(
    shown: Sequence[Summary], measure: Measure, found: Sequence[Gain], largest: bool
) -> Layout:
    """Return a row for every gain in one measure."""
    axes, over = all_axes(shown), dict.fromkeys(gain.against for gain in found)
    columns = {
        "Dataset": len(shown) > 1,
        "Solver": True,
        "Over": len(over) > 1,
        axes.split(" ")[-1].capitalize(): bool(axes),
        "Gain [95%]": True,
        "p (t)": True,
        "Holm": True,
        "Better in": True,
    }
    wanted = list(columns.values())
    return Layout(
        _caption(shown, measure, list(over), largest),
        list(itertools.compress(columns, wanted)),
        [list(itertools.compress(_cells(measure, gain), wanted)) for gain in found],
        _notes(found),
        best_means=f"better at the {LEVEL:.0%} level (t, Holm)",
    )


def _caption(shown: Sequence[Summary], measure: Measure, over: Sequence[str], largest: bool) -> str:
    axes, titles = lowered(all_axes(shown)), [one.title for one in shown]
    parts = [
        f"Gain in {measure.word}",
        f"on the {measure.where}" if measure.where else "",
        "in percentage points" if measure.percent else "",
        f"over {over[0]}" if len(over) == 1 else "over another solver",
    ]
    what = " ".join(filter(None, parts))
    short = largest and not _by_size(shown)
    at = f"at the largest number of {axes} that both finished" if short else f"by {axes}"
    by = f", {at}" if axes else ""
    about = ", ".join(filter(None, [*(titles if len(titles) == 1 else []), settings(shown)]))
    return f"{what}: mean over trials, above 0 where better{by}{about and f'; {about}'}."


def _cells(measure: Measure, gain: Gain) -> list[Cell]:
    """Return the entries of a row, also those that may be left out."""
    contrast = gain.contrast
    return [
        Cell(gain.summary.title),
        Cell(gain.solver),
        Cell(gain.against),
        Cell(gain.size.text if gain.summary.axis else NONE, value=gain.size.n),
        Cell(_text(measure, contrast), best=gain.significant, value=contrast.difference),
        Cell(p_text(contrast.p_t), value=contrast.p_t),
        Cell(p_text(gain.holm), value=gain.holm),
        Cell(f"{gain.wins}/{len(gain.values)}", value=gain.wins / len(gain.values)),
    ]


def _text(measure: Measure, contrast: Contrast) -> str:
    if contrast.identical:
        return "identical"
    interval = contrast.interval
    limits = interval and (percents(measure, interval[0]), percents(measure, interval[1]))
    return difference_text(percents(measure, contrast.difference), limits, measure.digits + 1)


def _notes(found: Sequence[Gain]) -> list[str]:
    """Return what a reader has to know of the columns."""
    better = "Better in: trials with a gain, of those that both finished."
    if not any(gain.holm is not None for gain in found):
        return [better]
    number = counted(found[0].family, "hypothesis", "hypotheses")
    return [f"{better} t: paired t-test. Holm: p adjusted for {number}.", OVERLAP]


def _row(measure: Measure, gain: Gain) -> dict[str, Any]:
    """Return a gain as tidy data, numbers unrounded."""
    contrast, axis = gain.contrast, gain.summary.axis
    low, high = contrast.interval or (math.nan, math.nan)
    return {
        "dataset": gain.summary.title,
        "measure": measure.name,
        "solver": gain.solver,
        "against": gain.against,
        **({} if axis is None else {axis.name: gain.size.n}),
        "trials": len(gain.values),
        "gain": contrast.difference,
        "interval_low": low,
        "interval_high": high,
        "p_t": contrast.p_t,
        "holm_t": gain.holm,
        "p_rank": contrast.p_rank,
        "wins": gain.wins,
        "losses": int((gain.values < 0).sum()),
    }
