"""The evidence for claims: results of runs, and the numbers that studies wrote."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dsgkit.config.spec import is_finite
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.plan import SEARCHING_PREFIX
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.status import ending, status_words
from dsgkit.experiment.store import CELLS, Record
from dsgkit.experiment.timing import is_disturbed
from dsgkit.linalg import Array
from dsgkit.report.numbers import counted
from dsgkit.report.summary import Summary
from dsgkit.report.traces import Training, races
from dsgkit.tasks.measures import MEMORY, Measure
from dsgkit.text import tracked

STUDIES = "studies"
"""Folder next to results with the JSON files of studies."""

SEARCH = "search"
"""Clock of a solver's whole hyper-parameter search in one trial."""


class Fit(NamedTuple):
    """A fit, as criteria use it.

    Attributes
    ----------
    status : str
        As in its record, or for example ``timeout while searching`` if its search failed.
    params : dict
        The chosen hyper-parameters.
    values : dict of str to float
        Scores, seconds by clock, bytes and diagnostics.
    timeout : float
        Wall-time limit in seconds at which it was stopped; 0 if it was not.
    timing : dict
        Entry ``timing`` of its record: threads, slowdown, disturbance.
    """

    status: str
    params: Mapping[str, Any]
    values: Mapping[str, float]
    timeout: float
    timing: Mapping[str, Any]

    @property
    def misleads(self) -> bool:
        """Whether its times are wall times lengthened by other processes."""
        return is_disturbed(self.timing)


class Disturbances(NamedTuple):
    """Numbers of timed fits that other processes slowed down.

    Attributes
    ----------
    number, among : int
        Disturbed fits, and all fits.
    mislead : bool
        Whether their times are wall times, and so do not count.
    """

    number: int
    among: int
    mislead: bool

    def __str__(self) -> str:
        what = "left out" if self.mislead else "processor time"
        return f"{self.number} of {self.among} disturbed: {what}"


@dataclass(frozen=True)
class Sample:
    """The values of one solver at one size of one dataset, by finished trial.

    ``note`` says how the trials ended.
    """

    solver: str
    values: Mapping[int, float]
    note: str = ""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def array(self) -> Array:
        """The values as an array."""
        return np.array(list(self.values.values()), np.float64)

    @property
    def median(self) -> float:
        """The median of the values."""
        return float(np.median(self.array))


@dataclass(frozen=True)
class Case:
    """The results on one dataset for a criterion.

    Attributes
    ----------
    name : str
        The dataset, or the config if the claim names one.
    """

    name: str
    results: Results

    @cached_property
    def sizes(self) -> list[int]:
        """The recorded sizes, ascending; [0] without a sweep."""
        return sorted({int(size) for size in self.results.cells["size"]})

    @property
    def full(self) -> int | None:
        """The size with all rows, if recorded."""
        cells = self.results.cells
        return max((int(size) for size in cells.loc[cells["full"], "size"]), default=None)

    def measure(self, name: str) -> Measure | None:
        """Return the measure with a name or clock."""
        named = (m for m in self.results.task.measures if name in (m.name, m.clock))
        return next(named, None)

    def sample(
        self, solver: str, size: int, name: str, without: Mapping[str, Any] | None = None
    ) -> Sample:
        """Return the values of a solver's finished trials.

        Parameters
        ----------
        solver : str
        size : int
        name : str
            A measure, a clock or a diagnostic.
        without : mapping, optional
            Hyper-parameters of fits to leave out, such as ``gamma: 1``.
        """
        without = without or {}
        measure = self.measure(name)
        key = (measure.clock or measure.name) if measure else name
        fits = {t: fit for t, fit in self.fits(solver, size).items() if fit.status == "ok"}
        left_out = {t for t, fit in fits.items() if _is_at(fit, without)}
        disturbed = {t for t, fit in fits.items() if is_time(measure) and fit.misleads}
        counting = {t: fit for t, fit in fits.items() if t not in left_out | disturbed}
        values = {trial: fit.values[key] for trial, fit in counting.items() if key in fit.values}
        note = self.note(solver, size)
        if counting and not values:
            note = f"{solver} has no {name}"
        elif len(counting) < len(fits):
            settings = ", ".join(f"{name} = {value}" for name, value in without.items())
            why = [f"at {settings}"] * bool(left_out) + ["that were disturbed"] * bool(disturbed)
            note = f"{solver}: {counted(len(values), 'trial')} without those {' or '.join(why)}"
        return Sample(solver, values, note)

    def endings(self, solver: str, size: int, without: Mapping[str, Any]) -> set[str]:
        """Return the statuses of trials, without those at left out hyper-parameters."""
        fits = self.fits(solver, size).values()
        return {fit.status for fit in fits if not _is_at(fit, without)}

    def note(self, solver: str, size: int) -> str:
        """Describe the outcomes of a solver's trials."""
        if solver not in self.results.solvers:
            return f"{solver} was not run"
        endings = Counter(fit.status for fit in self.fits(solver, size).values())
        settings = [
            counted(number, "trial") if status == "ok" else f"{number} {status_words(status)}"
            for status, number in endings.most_common()
        ]
        return f"{solver}: {', '.join(settings)}" if settings else f"{solver} is left out"

    def disturbances(self, solvers: Iterable[str], sizes: Iterable[int]) -> Disturbances:
        """Count the disturbed finished fits of some solvers and sizes."""
        pairs = itertools.product(solvers, sizes)
        fits = [fit for pair in pairs for fit in self.fits(*pair).values() if fit.status == "ok"]
        disturbed = [fit for fit in fits if fit.timing.get("disturbed")]
        return Disturbances(len(disturbed), len(fits), any(fit.misleads for fit in disturbed))

    @cached_property
    def slowdown(self) -> float:
        """Largest ratio of wall time to processor time, over fits on one thread; at least 1."""
        timings = (fit.timing for fits in self._fits.values() for fit in fits.values())
        ratios = [timing["slowdown"] for timing in timings if timing.get("threads") == 1]
        return max([1.0, *ratios])

    def settings(self, solver: str, size: int, name: str) -> set[Any]:
        """Return the values of a hyper-parameter in the finished trials, fixed or chosen."""
        spec = self.results.experiment.solvers.get(solver)
        fixed = spec.params.get(name) if spec else None
        fits = self.fits(solver, size).values()
        return {fit.params.get(name, fixed) for fit in fits if fit.status == "ok"}

    def fits(self, solver: str, size: int) -> Mapping[int, Fit]:
        """Return the fits of a solver by trial; empty if the config leaves them out."""
        return self._fits.get((solver, size), {})

    @cached_property
    def _fits(self) -> dict[tuple[str, int], dict[int, Fit]]:
        axis, search = self.results.task.axis, self.results.search
        searches = search.groupby(["solver", "trial"])["search_seconds"].sum().to_dict()
        fits: dict[tuple[str, int], dict[int, Fit]] = {}
        for record in self.results.records:
            if record["kind"] != "fit":
                continue
            solver, trial = record["solver"], record["trial"]
            fit = _fit(record, searches.get((solver, trial)))
            for size in (record["at"][axis.name] if axis else 0, *record.get("also_at", ())):
                fits.setdefault((solver, size), {})[trial] = fit
        return fits

    @property
    def summary(self) -> Summary:
        """The results' summary for reports, with solvers named by their keys."""
        return Summary(self.results, self.name, {key: key for key in self.results.solvers})

    def trainings(self, measure: Measure, size: int | None = None) -> dict[str, Training]:
        """Return every solver's training at one size, by default the largest with any."""
        raced = races(self.summary, measure)
        race = [race for race in raced if size is None or race.size.n == size][-1:]
        return {one.entry.solver: one for each in race for one in each.trainings}


def _is_at(fit: Fit, point: Mapping[str, Any]) -> bool:
    """Return whether a fit has all these hyper-parameters; False for an empty mapping."""
    return bool(point) and point.items() <= fit.params.items()


def _fit(record: Record, search: float | None) -> Fit:
    searching = (record.get("message") or "").startswith(SEARCHING_PREFIX)
    status = f"{ending(record)} {SEARCHING_PREFIX.rstrip(': ')}" if searching else ending(record)
    values: dict[str, Any] = {SEARCH: search, MEMORY.name: record.get(MEMORY.name)}
    for part in ("diagnostics", "scores", "times"):
        values |= record.get(part) or {}
    timeout = record.get("timeout") if status == "timeout" else None
    finite = {name: value for name, value in values.items() if is_finite(value)}
    timing = record.get("timing") or {}
    return Fit(status, record.get("params") or {}, finite, timeout or 0.0, timing)


def is_time(measure: Measure | None) -> bool:
    """Return whether a measure is in seconds."""
    return measure is not None and measure.unit == "seconds"


@dataclass(frozen=True)
class Evidence:
    """Results and studies by which claims are judged.

    Attributes
    ----------
    folders : dict of str to Results
        Results by the experiment's name, profile included.
    studies : dict of str to dict
        The ``numbers`` of studies, by file name.
    """

    folders: Mapping[str, Results] = field(default_factory=dict)
    studies: Mapping[str, Any] = field(default_factory=dict)
    _cases: dict[tuple[str, str], Case] = field(default_factory=dict, init=False, repr=False)

    def case(self, name: str, config: str, profiles: Sequence[str]) -> Case | None:
        """Return the results of a config by the first profile that has any."""
        for profile in profiles:
            experiment = f"{config}-{profile}" if profile else config
            results = self.folders.get(experiment)
            if results is not None and len(results.cells):
                return self._cases.setdefault((name, experiment), Case(name, results))
        return None

    def has(self, name: str) -> bool:
        """Return whether there is a study or an experiment of this name."""
        return name in self.studies or name in self.folders


def read_evidence(paths: Sequence[Path], names: Container[str] | None = None) -> Evidence:
    """Read results folders, and folders of results folders, with their studies.

    Parameters
    ----------
    paths : sequence of Path
    names : container of str, optional
        Names to read from a folder of results folders; by default all.

    Raises
    ------
    ResultsError
        If a path has no results (unless ``names`` is given), or if two folders have the same
        experiment.
    """
    folders: dict[str, Results] = {}
    studies: dict[str, Any] = {}
    by_path = [(path, _results_folders(path, names)) for path in paths]
    found = [folder for _, inside in by_path for folder in inside]
    for folder in tracked(found, "reading results"):
        results = load_results(folder)
        name = results.experiment.name
        if name in folders:
            raise ResultsError(
                f"{folder}: holds {name}, as {folders[name].folder} does; name one of them"
            )
        folders[name] = results
    for path, inside in by_path:
        parent = path.parent if inside == [path] else path
        studies |= {file.stem: _numbers(file) for file in sorted((parent / STUDIES).glob("*.json"))}
    return Evidence(folders, studies)


def _results_folders(path: Path, names: Container[str] | None) -> list[Path]:
    """Return a results folder itself, or the results folders in a folder."""
    if (path / CONFIG).is_file():
        return [path]
    if not path.is_dir():
        raise ResultsError(f"{path}: no such folder; name results folders, or a folder of them")
    folders = [one for one in sorted(path.iterdir()) if (one / CONFIG).is_file()]
    folders = [one for one in folders if list(one.glob(f"{CELLS}*"))]
    if names is not None:
        return [one for one in folders if one.name in names]
    if not folders:
        raise ResultsError(f"{path}: neither a results folder nor one of folders with records")
    return folders


def _numbers(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))["numbers"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{file}: is not what a study writes with --json") from error
