"""Summaries of results for reports: names, sizes, and trials that are summed up once."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dsgkit.experiment.limits import LEFT_OUT, status_words
from dsgkit.experiment.results import Results
from dsgkit.experiment.timing import is_disturbed
from dsgkit.tasks.base import Axis
from dsgkit.tasks.measures import Measure
from dsgkit.text.errors import ResultsError

NOT_RUN = "not run"
"""Without a record, or a value, and without a word on why."""

TO_COME = "not yet run"
"""Planned, and without a record."""

LEFT_OUT_WORDS = status_words(LEFT_OUT)


class Size(NamedTuple):
    """How much of what is swept a fit had, and whether that is all of it; 0 without a sweep."""

    n: int
    full: bool

    @property
    def text(self) -> str:
        """The number, saying so if it is all there are."""
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
        Trials that the experiment has.
    others : Counter
        Statuses, in words, of the trials that did not finish.
    needed : int or None
        Bytes that a refused trial would have needed.
    remarks : Counter
        What finished trials say of themselves, in words.
    level : bool
        Whether these are the trials of another size, too: the fit does not depend on it.
    spread : tuple of float
        The lowest and the highest value: over trials, and of times of one trial over its repeats.
        Empty without a value.
    disturbed : int
        Trials whose time has that of other processes in it; 0 of what is no time.
    timed : bool
        Whether the values are times: chance makes them longer only, so that their median counts.
    competes : bool
        Whether it can be called the best: not if it was given, or chosen by, data that no user has.
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
        """The value that tables show: the median of times, else the mean; NaN without one."""
        return statistics.median(self.values) if self.timed and self.values else self.mean

    @cached_property
    def mean(self) -> float:
        """Mean of the finished trials, NaN without one."""
        return statistics.fmean(self.values) if self.values else math.nan

    @cached_property
    def std(self) -> float | None:
        """Sample standard deviation; None below two finished trials."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def status(self) -> str:
        """``ok`` with a finished trial, else what most of the trials ended with, in words."""
        return "ok" if self.values else self.others.most_common(1)[0][0]

    @property
    def to_come(self) -> int:
        """How many trials are planned and not yet run."""
        return self.others[TO_COME]

    @property
    def partial(self) -> str:
        """``7/10`` where only some of the trials finished, else nothing."""
        done = len(self.values)
        return f"{done}/{self.planned}" if 0 < done < self.planned else ""


class Summary:
    """One of the results that a report is on.

    Parameters
    ----------
    results : Results
    title : str
        What it is called among the others.
    names : dict of str to str
        What every solver is called, by its key. Others have no place.

    Attributes
    ----------
    solvers : dict of str to str
        The kind of every solver by its name; empty where the config does not have it.
    sizes : list of Size
        Those that are planned, or were recorded, ascending.
    """

    def __init__(self, results: Results, title: str, names: dict[str, str]) -> None:
        self.results, self.title, self.names = results, title, names
        self.solvers = {name: kind_of(results, key) for key, name in names.items()}
        # Only finished fits say that they had all; the others at that size had it too.
        full = results.cells.groupby("size")["full"].any()
        planned = {size for _, size in results.fits.at} if results.fits else set()
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
        """The dataset's own title where it is called by the dataset's name, else the title."""
        full = self.results.data.get("title") if self.title == self.results.dataset else ""
        return full or self.title

    @property
    def finished(self) -> bool:
        """Whether any fit finished."""
        return bool((self.results.cells["status"] == "ok").any())

    @cached_property
    def to_come(self) -> str:
        """In words, how many of the planned fits have run; nothing when all have."""
        if self.results.fits is None:
            return ""
        planned = self.results.fits.number
        done = len(self.results.cells[["solver", "trial", "key"]].drop_duplicates())
        return f"{done:,} of {planned:,} fits have run" if done < planned else ""

    def oracle_data(self, key: str) -> str:
        """Return in words what a solver, by its key, is given that no user has; else nothing."""
        facts = self.results.task.solvers.get(key)
        return facts.told if facts else ""

    def name_of(self, record: Mapping[str, Any]) -> str:
        """Return what the solver of a record is called."""
        return self.names.get(record["solver"]) or record.get("label") or record["solver"]

    def has(self, measure: Measure) -> bool:
        """Return whether any fit finished with a value."""
        return bool(self._sizes_with(measure))

    def has_curve(self, measure: Measure) -> bool:
        """Return whether fits finished with a value at two or more sizes: a line needs them."""
        return len(self._sizes_with(measure)) > 1

    def _sizes_with(self, measure: Measure) -> set[int]:
        """Return the sizes at which a fit finished with a value."""
        if measure not in self.results.task.measures:
            return set()
        cells = self.results.cells
        finished = cells[measure.name].notna() & (cells["status"] == "ok")
        return set(cells.loc[finished & cells["solver"].isin(self.names), "size"])

    def shows(self, measure: Measure) -> bool:
        """Return whether tables and figures show it, if only to say why there is no value."""
        known = measure in self.results.task.measures
        wanted = self.results.task.published is not None or not measure.for_published
        return known and wanted and (not measure.optional or self.has(measure))

    def entries(self, measure: Measure) -> dict[tuple[str, Size], Entry]:
        """Return the entries of every solver, at each size, ascending."""
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
        """The rows of every solver, by its key, at each size."""
        return dict(iter(self.results.cells.groupby(["solver", "size"])))

    def _entry(self, key: str, size: Size, rows: Any, measure: Measure) -> Entry:
        """Return the entry of the fits in ``rows``, which are those of a solver's key."""
        finished = rows[(rows["status"] == "ok") & rows[measure.name].notna()]
        others = Counter(
            status_words(status) for status in rows["status"].tolist() if status != "ok"
        )
        planned = max(self.results.trials, len(rows))
        if self.results.fits is not None:
            at = self.results.fits.at.get((key, size.n), 0)
            if at > len(rows):
                others[TO_COME] = at - len(rows)
            elif not at:
                others[LEFT_OUT_WORDS] = planned
        # A finished fit without this value, and a trial without a record, have nothing to show.
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
            disturbed=sum(is_disturbed({"timing": timing}) for timing in timings),
            timed=measure.unit == "seconds",
            competes=bool(measure.unit) or not (self.results.task.oracle or self.oracle_data(key)),
        )

    def threads(self, measure: Measure) -> set[int]:
        """Return on how many threads fits were timed, as far as is known; none of a score."""
        if not measure.clock:
            return set()
        known = self.results.cells["timing"].tolist()
        return {timing["threads"] for timing in known if timing}

    def largest(self, measure: Measure) -> dict[str, Entry]:
        """Return each solver's entry at the largest size with a finished trial.

        A solver that finished nowhere has its entry at the smallest size, with the reason.
        """
        found: dict[str, Entry] = {}
        for (solver, _), entry in self.entries(measure).items():
            if solver not in found or entry.values:
                found[solver] = entry
        return found


def summarise(results: Sequence[Results]) -> list[Summary]:
    """Return the summaries of the results that one report is on."""
    names = solver_names(results)
    return [Summary(*one) for one in zip(results, titles(results), names, strict=True)]


def titles(results: Sequence[Results]) -> list[str]:
    """Return a different name for each: the dataset's, or the experiment's if two share one."""
    datasets = Counter(one.dataset for one in results)
    return different(
        one.dataset if datasets[one.dataset] == 1 else one.experiment.name for one in results
    )


def different(names: Iterable[str]) -> list[str]:
    """Return names of which the second of a kind ends in ``-2``, and so on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found


def solver_names(results: Sequence[Results]) -> list[dict[str, str]]:
    """Return what the solvers of each results folder are called, by their keys in it.

    A solver is identified by its label: two folders may use one key for different solvers, and
    different keys for the same. Solvers of different kinds that share a label are called by both.
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
    """Return the kind of a solver, empty where the config does not have it."""
    spec = results.experiment.solvers.get(key)
    return spec.kind if spec else ""


def all_solvers(shown: Iterable[Summary]) -> dict[str, str]:
    """Return the kind of every solver by its name, in the order of the first results."""
    solvers: dict[str, str] = {}
    for one in shown:
        solvers |= {name: solvers.get(name) or kind for name, kind in one.solvers.items()}
    return solvers


def all_measures(shown: Iterable[Summary]) -> list[Measure]:
    """Return every measure that any of the results shows."""
    measures = (
        measure for one in shown for measure in one.results.task.measures if one.shows(measure)
    )
    return list(dict.fromkeys(measures))


def all_outputs(shown: Iterable[Summary]) -> list[str]:
    """Return the tables and figures that any of the experiments asks for."""
    return list(dict.fromkeys(name for one in shown for name in one.results.experiment.outputs))


def all_axes(shown: Iterable[Summary]) -> str:
    """Return what is swept, as at an axis; nothing where nothing is."""
    return " or ".join(dict.fromkeys(one.axis.title for one in shown if one.axis is not None))


_PARTS = re.compile(r", (?![^\[]*\])")
"""Between the parts of a setting, not of an interval in it."""


def settings(shown: Sequence[Summary]) -> str:
    """Return what holds in every fit, for captions; empty where no task says anything.

    What differs is said with its datasets, before the last parts that all have: ``z-scores (iris),
    unscaled features (jain), an oracle choice``.
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
    """Return a title as it stands in a sentence."""
    return title[:1].lower() + title[1:]


def check_recorded(results: Sequence[Results]) -> None:
    """Raise `ResultsError` for results without a single recorded fit."""
    if not results:
        raise ResultsError("no results were named; name at least one results folder")
    for one in results:
        if not len(one.cells):
            raise ResultsError(f"{one.folder}: no fit is recorded yet; run the experiment first")
