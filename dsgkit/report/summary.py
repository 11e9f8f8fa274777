"""Summaries of results for reports: names, sizes, and statistics over trials."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.experiment.status import status_words
from dsgkit.experiment.timing import is_disturbed
from dsgkit.tasks.measures import TRIVIAL, Axis, Measure

NOT_RUN = "not run"
"""Status of a trial without a record or a value, and without a known reason."""

TO_COME = "not yet run"
"""Status of a planned trial without a record."""

LEFT_OUT_WORDS = "left out"


class Size(NamedTuple):
    """A size on the swept axis, and whether it is all rows; 0 without a sweep."""

    n: int
    full: bool

    @property
    def text(self) -> str:
        """The number; ``all (n)`` if it is all rows."""
        return f"all ({self.n:,})" if self.full else f"{self.n:,}"


@dataclass(frozen=True)
class Entry:
    """The trials of one solver at one size.

    Attributes
    ----------
    solver : str
        Its name.
    values : tuple of float
        One per finished trial.
    planned : int
        Number of planned trials.
    others : Counter
        Statuses, in words, of the trials that did not finish.
    needed : int or None
        Memory in bytes that a refused trial would have needed.
    remarks : Counter
        Remarks of finished trials.
    level : bool
        Whether the fit does not depend on the size, and is recorded at several.
    spread : tuple of float
        Lowest and highest value over trials; for times of a single trial, over its repeats. Empty
        without a value.
    disturbed : int
        Number of trials whose time other processes disturbed; 0 if the measure is not a time.
    timed : bool
        Whether the values are times, which are averaged by the median.
    competes : bool
        Whether it can be called the best. False if training or selection used data that no user
        has.
    """

    solver: str
    size: Size
    values: tuple[float, ...]
    planned: int
    others: Counter[str]
    needed: int | None
    remarks: Counter[str]
    level: bool
    spread: tuple[float, ...]
    disturbed: int
    timed: bool
    competes: bool = True

    @property
    def centre(self) -> float:
        """The median of times, else the mean; NaN without values."""
        return statistics.median(self.values) if self.timed and self.values else self.mean

    @cached_property
    def mean(self) -> float:
        """Mean of the finished trials; NaN without any."""
        return statistics.fmean(self.values) if self.values else math.nan

    @cached_property
    def std(self) -> float | None:
        """Sample standard deviation; None for fewer than two finished trials."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def status(self) -> str:
        """``ok`` with a finished trial, else the most frequent status in words."""
        return "ok" if self.values else self.others.most_common(1)[0][0]

    @property
    def to_come(self) -> int:
        """Number of planned trials that are not yet run."""
        return self.others[TO_COME]

    @property
    def partial(self) -> str:
        """``7/10`` if only some of the trials finished, else empty."""
        done = len(self.values)
        return f"{done}/{self.planned}" if 0 < done < self.planned else ""


class Summary:
    """A results folder in a report.

    Parameters
    ----------
    results : Results
    title : str
        Its name in the report, different from the others'.
    names : dict of str to str
        Names of the shown solvers by their keys.

    Attributes
    ----------
    solvers : dict of str to str
        Each solver's kind by its name; empty if the config lacks the solver.
    sizes : list of Size
        The planned and recorded sizes, ascending.
    """

    def __init__(self, results: Results, title: str, names: dict[str, str]) -> None:
        self.results, self.title, self.names = results, title, names
        self.solvers = {name: kind_of(results, key) for key, name in names.items()}
        # Only finished fits record `full`; it holds for all fits at that size.
        full = results.cells.groupby("size")["full"].any()
        self._planned_at = results.fits_at
        planned = {size for _, size in self._planned_at}
        self.sizes = [
            Size(int(n), bool(full.get(n, False))) for n in sorted({*full.index, *planned})
        ]
        self._entries: dict[str, dict[tuple[str, Size], Entry]] = {}

    @property
    def axis(self) -> Axis | None:
        """The swept axis."""
        return self.results.task.axis

    @property
    def heading(self) -> str:
        """The dataset's full title if ``title`` is the dataset's name, else ``title``."""
        full = self.results.data.get("title") if self.title == self.results.dataset else ""
        return full or self.title

    @property
    def finished(self) -> bool:
        """Whether any fit finished."""
        return bool((self.results.cells["status"] == "ok").any())

    @cached_property
    def to_come(self) -> str:
        """Progress, such as ``3 of 10 fits have run``; empty when all have."""
        if self.results.plan is None:
            return ""
        planned = sum(cell.kind == "fit" for cell in self.results.plan.cells)
        done = len(self.results.cells[["solver", "trial", "key"]].drop_duplicates())
        return f"{done:,} of {planned:,} fits have run" if done < planned else ""

    def oracle_data(self, key: str) -> str:
        """Return the data that a solver gets although no user has them; empty for none."""
        facts = self.results.task.solvers.get(key)
        return facts.told if facts else ""

    def is_trivial(self, key: str) -> bool:
        """Return whether a solver predicts one class for every row."""
        spec = self.results.experiment.solvers.get(key)
        return spec is not None and spec.kind in TRIVIAL

    def name_of(self, record: Mapping[str, Any]) -> str:
        """Return the name of a record's solver."""
        return self.names.get(record["solver"]) or record.get("label") or record["solver"]

    def has(self, measure: Measure) -> bool:
        """Return whether any finished fit has a value."""
        return bool(self._sizes_with(measure))

    def has_curve(self, measure: Measure) -> bool:
        """Return whether finished fits have values at two or more sizes, as a line needs."""
        return len(self._sizes_with(measure)) > 1

    def _sizes_with(self, measure: Measure) -> set[int]:
        """Return the sizes at which a finished fit has a value."""
        if measure not in self.results.task.measures:
            return set()
        cells = self.results.cells
        finished = cells[measure.name].notna() & (cells["status"] == "ok")
        return set(cells.loc[finished & cells["solver"].isin(self.names), "size"])

    def shows(self, measure: Measure) -> bool:
        """Return whether tables and figures show a measure, with or without values."""
        known = measure in self.results.task.measures
        wanted = self.results.task.published is not None or not measure.for_published
        return known and wanted and (not measure.optional or self.has(measure))

    def entries(self, measure: Measure) -> dict[tuple[str, Size], Entry]:
        """Return the entry of each solver and size, sizes ascending."""
        if measure.name not in self._entries:
            empty = self.results.cells.iloc[:0]
            self._entries[measure.name] = {
                (name, size): self._entry(key, size, self._fits.get((key, size.n), empty), measure)
                for key, name in self.names.items()
                for size in self.sizes
            }
        return self._entries[measure.name]

    @cached_property
    def _fits(self) -> dict[Any, Any]:
        """The fits by (solver key, size)."""
        return dict(iter(self.results.cells.groupby(["solver", "size"])))

    def _entry(self, key: str, size: Size, rows: Any, measure: Measure) -> Entry:
        """Return the entry of a solver's fits ``rows``."""
        finished = rows[(rows["status"] == "ok") & rows[measure.name].notna()]
        others = Counter(
            status_words(status) for status in rows["status"].tolist() if status != "ok"
        )
        planned = max(self.results.experiment.protocol.trials, len(rows))
        if self.results.plan is not None:
            at_size = self._planned_at.get((key, size.n), 0)
            if at_size > len(rows):
                others[TO_COME] = at_size - len(rows)
            elif not at_size:
                others[LEFT_OUT_WORDS] = planned
        # Finished fits without this value, and trials without a record.
        if missing := planned - len(finished) - others.total():
            others[NOT_RUN] = missing
        needed = rows["needed"].max()
        values = tuple(finished[measure.name].tolist())
        needs = None if math.isnan(needed) else int(needed)
        remarks = Counter(text for text in finished["remark"].tolist() if text)
        timings = finished["timing"].tolist() if measure.clock else []
        repeats = timings[0].get("range", {}).get(measure.clock) if len(timings) == 1 else None
        spread = repeats or ((min(values), max(values)) if values else ())
        return Entry(
            self.names[key],
            size,
            values,
            planned,
            others,
            needs,
            remarks,
            level=bool(rows["level"].any()),
            spread=spread,
            disturbed=sum(is_disturbed(timing) for timing in timings),
            timed=measure.unit == "seconds",
            competes=bool(measure.unit) or not (self.results.task.oracle or self.oracle_data(key)),
        )

    def threads(self, measure: Measure) -> set[int]:
        """Return the known numbers of threads of timed fits; empty for a score."""
        if not measure.clock:
            return set()
        known = self.results.cells["timing"].tolist()
        return {timing["threads"] for timing in known if timing}

    def largest(self, measure: Measure) -> dict[str, Entry]:
        """Return each solver's entry at the largest size with a finished trial.

        Without a finished trial it is the entry at the smallest size, with its status.
        """
        largest: dict[str, Entry] = {}
        for (solver, _), entry in self.entries(measure).items():
            if solver not in largest or entry.values:
                largest[solver] = entry
        return largest


def summarise(results: Sequence[Results]) -> list[Summary]:
    """Return the summaries of the results in one report."""
    names = solver_names(results)
    return [Summary(*one) for one in zip(results, titles(results), names, strict=True)]


def titles(results: Sequence[Results]) -> list[str]:
    """Return distinct names: the dataset's, or the experiment's if two share a dataset."""
    datasets = Counter(one.dataset for one in results)
    return different(
        one.dataset if datasets[one.dataset] == 1 else one.experiment.name for one in results
    )


def different(names: Iterable[str]) -> list[str]:
    """Return distinct names: a repeated name gets the suffix ``-2``, then ``-3``, .."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return result


def solver_names(results: Sequence[Results]) -> list[dict[str, str]]:
    """Return the names of each results folder's solvers, by their keys in it.

    The label identifies a solver: folders may use one key for different solvers, or different keys
    for the same. If solvers of different kinds share a label, names are ``label (kind)``.
    """
    kinds: dict[str, set[str]] = {}
    for one in results:
        for key in one.solvers:
            kinds.setdefault(one.label(key), set()).add(kind_of(one, key))

    def name(one: Results, key: str) -> str:
        label, kind = one.label(key), kind_of(one, key)
        return f"{label} ({kind})" if kind and len(kinds[label] - {""}) > 1 else label

    return [
        dict(zip(one.solvers, different(name(one, key) for key in one.solvers), strict=True))
        for one in results
    ]


def kind_of(results: Results, key: str) -> str:
    """Return the kind of a solver; empty if the config lacks it."""
    spec = results.experiment.solvers.get(key)
    return spec.kind if spec else ""


def all_solvers(shown: Iterable[Summary]) -> dict[str, str]:
    """Return the kind of every solver by its name, in the order of the first results."""
    solvers: dict[str, str] = {}
    for one in shown:
        solvers |= {name: solvers.get(name) or kind for name, kind in one.solvers.items()}
    return solvers


def all_measures(shown: Iterable[Summary]) -> list[Measure]:
    """Return the measures that any of the results shows."""
    measures = (
        measure for one in shown for measure in one.results.task.measures if one.shows(measure)
    )
    return list(dict.fromkeys(measures))


def all_outputs(shown: Iterable[Summary]) -> list[str]:
    """Return the tables and figures that any of the experiments asks for."""
    return list(dict.fromkeys(name for one in shown for name in one.results.experiment.outputs))


def all_axes(shown: Iterable[Summary]) -> str:
    """Return the title of the swept axis, or axes; empty without a sweep."""
    return " or ".join(dict.fromkeys(one.axis.title for one in shown if one.axis is not None))


_PARTS = re.compile(r", (?![^\[]*\])")
"""Separator of the parts of a setting; commas inside of an interval do not match."""


def settings(shown: Sequence[Summary]) -> str:
    """Return the setting of all fits for captions; may be empty.

    Parts that differ are followed by their datasets, and precede the common last parts:
    ``z-scores (iris), unscaled features (jain), an oracle choice``.
    """
    datasets: dict[str, list[str]] = {}
    for one in shown:
        datasets.setdefault(one.results.task.caption, []).append(one.heading)
    if len(datasets) == 1:
        return next(iter(datasets))
    captions = {setting: _PARTS.split(setting) for setting in datasets}
    shared: list[str] = []
    while (
        len({parts[-1] for parts in captions.values()}) == 1
        and min(map(len, captions.values())) > 1
    ):
        shared = [[parts.pop() for parts in captions.values()][-1], *shared]
    own = [
        f"{', '.join(parts)} ({', '.join(datasets[setting])})"
        for setting, parts in captions.items()
        if setting
    ]
    return ", ".join([*own, *shared])


def lowered(title: str) -> str:
    """Return a title with a lower-case first letter, for a sentence."""
    return title[:1].lower() + title[1:]


def check_recorded(results: Sequence[Results]) -> None:
    """Raise `ResultsError` without results, or for results without a recorded fit."""
    if not results:
        raise ResultsError("no results were named; name at least one results folder")
    for one in results:
        if not len(one.cells):
            raise ResultsError(f"{one.folder}: no fit is recorded yet; run the experiment first")
