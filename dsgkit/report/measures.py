"""The measures that tables show: which column, in which words, and what is best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from dsgkit.experiment.results import Results
from dsgkit.report.layout import Cell
from dsgkit.report.numbers import memory_text, time_digits, with_std
from dsgkit.report.summary import NOT_RUN, Entry, has_values

AUC_DIGITS = 3
PERCENT_DIGITS = 2


@dataclass(frozen=True)
class Measure:
    """A column of the results as tables show it.

    Attributes
    ----------
    column : str
        Column of `Results.cells`.
    caption : str
        What the numbers are.
    text : callable
        Prints an entry with finished trials.
    value : callable
        The number that the text shows, unrounded.
    shown : callable or None
        The mean as rounded for print, by which entries compete; None where none is best.
    best : callable
        ``max`` or ``min``.
    comparable : bool
        Whether values at different sizes may compete, as in a table over datasets.
    statistic : str
        What is shown of several trials.
    metric : str or None
        The metric of the protocols that it is for; None for all.
    on_test : bool
        Whether it is of the official test rows.
    """

    column: str
    caption: str
    text: Callable[[Entry], str]
    value: Callable[[Entry], float]
    shown: Callable[[Entry], float] | None = None
    best: Callable[[Iterable[float]], float] = max
    comparable: bool = True
    statistic: str = "mean ± standard deviation"
    metric: str | None = None
    on_test: bool = False

    def shown_for(self, results: Results) -> bool:
        """Whether results have it: by their metric, and only where there are test rows for it."""
        mine = self.metric in (None, results.experiment.protocol.metric)
        return mine and not (self.on_test and not has_values(results, self.column))


def _mean(entry: Entry) -> float:
    return entry.mean


def _auc_text(entry: Entry) -> str:
    return with_std(entry.mean, entry.std, AUC_DIGITS)


def _auc_shown(entry: Entry) -> float:
    return round(entry.mean, AUC_DIGITS)


def _time_text(entry: Entry) -> str:
    return with_std(entry.mean, entry.std, time_digits(entry.mean))


def _time_shown(entry: Entry) -> float:
    return round(entry.mean, time_digits(entry.mean))


def _largest(entry: Entry) -> float:
    return max(entry.values)


def _memory_text(entry: Entry) -> str:
    return memory_text(_largest(entry))


def _percent_text(entry: Entry) -> str:
    std = None if entry.std is None else 100 * entry.std
    return with_std(100 * entry.mean, std, PERCENT_DIGITS)


def _percent_shown(entry: Entry) -> float:
    return round(100 * entry.mean, PERCENT_DIGITS)


AUC = Measure("auc", "AUC on the unlabelled rows", _auc_text, _mean, _auc_shown, metric="auc")
TEST_AUC = replace(AUC, column="test_auc", caption="AUC on the official test rows", on_test=True)
ERROR = Measure(
    "error",
    "Error on the unlabelled rows in percent",
    _percent_text,
    _mean,
    _percent_shown,
    min,
    metric="error",
)
TEST_ERROR = replace(
    ERROR, column="test_error", caption="Error on the official test rows in percent", on_test=True
)
BALANCE = Measure(
    "positive",
    "Unlabelled rows taken for positive, in percent",
    _percent_text,
    _mean,
    metric="error",
)
TIME = Measure(
    "fit_seconds",
    "Training time in seconds (one fit at the chosen hyper-parameters)",
    _time_text,
    _mean,
    _time_shown,
    min,
    comparable=False,
)
MEMORY = Measure(
    "peak_memory",
    "Peak memory of the process during the fit",
    _memory_text,
    _largest,
    statistic="maximum",
)


def table_cells(
    measure: Measure, entries: Sequence[Entry | None], *, note_size: bool = False
) -> list[Cell]:
    """Return the cells of entries that compete with each other.

    Parameters
    ----------
    measure : Measure
    entries : sequence of Entry or None
        None where there is nothing to show.
    note_size : bool
        Whether each cell also says its number of unlabelled rows; such entries compete only if
        the measure is comparable between sizes.
    """
    best = _best(measure, entries) if measure.comparable or not note_size else []
    return [
        Cell("–") if entry is None else _cell(measure, entry, entry in best, note_size)
        for entry in entries
    ]


def _best(measure: Measure, entries: Sequence[Entry | None]) -> list[Entry]:
    """Return the entries whose printed mean is the best; none if nothing competes."""
    finished = [entry for entry in entries if entry is not None and entry.values]
    if measure.shown is None or len(entries) < 2 or not finished:
        return []
    target = measure.best(measure.shown(entry) for entry in finished)
    return [entry for entry in finished if measure.shown(entry) == target]


def _cell(measure: Measure, entry: Entry, best: bool, note_size: bool) -> Cell:
    """Return an entry's cell: its mean, or in words why there is none."""
    if not entry.values:
        text = "–" if entry.status == NOT_RUN else entry.status
        return Cell(text, "" if entry.needed is None else f"(needs {memory_text(entry.needed)})")
    remarks = [f"{entry.size.n:,}"] * note_size + [entry.partial] * bool(entry.partial)
    note = f"({', '.join(remarks)})" if remarks else ""
    return Cell(measure.text(entry), note, best, measure.value(entry))


def partial_notes(entries: Iterable[Entry], label: Callable[[str], str]) -> list[str]:
    """Return the footnote on entries of which some trials only finished; none without such."""
    others = [
        f"{label(entry.solver)} at {entry.size.n:,} ("
        + ", ".join(f"{count} {status}" for status, count in sorted(entry.others.items()))
        + ")"
        for entry in entries
        if entry.partial
    ]
    if not others:
        return []
    return [f"(k/n): only k of n trials finished. The others: {'; '.join(others)}."]
