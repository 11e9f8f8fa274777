"""The trials of each solver at each size, summed up."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dsgkit.errors import ResultsError
from dsgkit.experiment.limits import status_words
from dsgkit.experiment.results import Results

NOT_RUN = "not run"


class Size(NamedTuple):
    """A number of unlabelled rows, and whether it is all of them."""

    n: int
    full: bool


@dataclass(frozen=True)
class Entry:
    """The trials of one solver at one size.

    Attributes
    ----------
    solver : str
        Key of the solver.
    size : Size
        Unlabelled rows.
    values : tuple of float
        One per finished trial.
    planned : int
        Trials that the experiment has.
    others : Counter
        Statuses, in words, of the trials that did not finish.
    needed : int or None
        Bytes that a refused trial would have needed.
    """

    solver: str
    size: Size
    values: tuple[float, ...]
    planned: int
    others: Counter[str]
    needed: int | None

    @property
    def mean(self) -> float:
        """Mean of the finished trials, NaN without one."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def std(self) -> float | None:
        """Sample standard deviation; None below two finished trials."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def status(self) -> str:
        """``ok`` with a finished trial, else what most of the trials ended with, in words."""
        return "ok" if self.values else self.others.most_common(1)[0][0]

    @property
    def partial(self) -> str:
        """``7/10`` where only some of the trials finished, else nothing."""
        done = len(self.values)
        return f"{done}/{self.planned}" if 0 < done < self.planned else ""


Summary = dict[tuple[str, Size], Entry]


def sizes(results: Results) -> list[Size]:
    """Return the sizes that were recorded, ascending."""
    # Only finished fits say that they had all rows; the others at that size had them too.
    full = results.cells.groupby("n_unlabeled")["full"].any()
    return [Size(int(n), bool(full[n])) for n in sorted(full.index)]


def summarise(results: Results, column: str) -> Summary:
    """Sum up a column of `Results.cells`: solver by solver, at each recorded size, ascending."""
    planned = results.experiment.protocol.trials
    found = dict(iter(results.cells.groupby(["solver", "n_unlabeled"])))
    empty = results.cells.iloc[:0]
    recorded = sizes(results)
    return {
        (solver, size): _entry(solver, size, found.get((solver, size.n), empty), column, planned)
        for solver in results.solvers
        for size in recorded
    }


def _entry(solver: str, size: Size, rows: Any, column: str, planned: int) -> Entry:
    """Return the entry of the fits in ``rows``."""
    finished = rows[(rows["status"] == "ok") & rows[column].notna()]
    others = Counter(status_words(status) for status in rows["status"] if status != "ok")
    # A finished fit without this value, and a trial without a record, have nothing to show.
    missing = max(planned, len(rows)) - len(finished) - others.total()
    if missing:
        others[NOT_RUN] = missing
    needed = rows["needed"].max()
    return Entry(
        solver=solver,
        size=size,
        values=tuple(float(value) for value in finished[column]),
        planned=max(planned, len(rows)),
        others=others,
        needed=None if math.isnan(needed) else int(needed),
    )


def has_values(results: Results, column: str) -> bool:
    """Tell whether any fit finished with a value in a column."""
    cells = results.cells
    return bool((cells[column].notna() & (cells["status"] == "ok")).any())


def entries_of(summary: Summary, solver: str) -> list[Entry]:
    """Return the entries of one solver, by ascending size."""
    return [entry for (key, _), entry in summary.items() if key == solver]


def largest_finished(summary: Summary) -> dict[str, Entry]:
    """Return each solver's entry at the largest size with a finished trial.

    A solver that finished nowhere has its entry at the smallest size, with the reason.
    """
    found: dict[str, Entry] = {}
    for (solver, _), entry in summary.items():
        if solver not in found or entry.values:
            found[solver] = entry
    return found


def curve_end(entries: list[Entry]) -> Entry | None:
    """Return the first failure past a solver's last finished size; None if nothing failed there."""
    last = max((place for place, entry in enumerate(entries) if entry.values), default=-1)
    return next((entry for entry in entries[last + 1 :] if entry.status != NOT_RUN), None)


def check_recorded(results: Sequence[Results]) -> None:
    """Raise `ResultsError` for results without a single recorded fit."""
    if not results:
        raise ResultsError("no results were named; name at least one results folder")
    for one in results:
        if not len(one.cells):
            raise ResultsError(f"{one.folder}: no fit is recorded yet; run the experiment first")
