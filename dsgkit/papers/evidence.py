"""What claims are judged by: results of runs, and the numbers that studies wrote."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.limits import status_words
from dsgkit.experiment.outlasted import OutlastedError
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.selection import WHILE
from dsgkit.experiment.store import CELLS
from dsgkit.tasks.measures import Measure

STUDIES = "studies"
"""The folder beside results that has what studies wrote."""

SEARCH = "search"
"""The clock of a solver's hyper-parameter search in one trial, all shares together."""


@dataclass(frozen=True)
class Sample:
    """What a solver got at one size of one dataset.

    Attributes
    ----------
    solver : str
        Its key in the config.
    values : dict of int to float
        By trial, of the finished ones.
    """

    solver: str
    values: Mapping[int, float]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def array(self) -> NDArray[np.float64]:
        """The values alone."""
        return np.array(list(self.values.values()), np.float64)


@dataclass(frozen=True)
class Case:
    """The results of one dataset that a claim is judged by.

    Attributes
    ----------
    name : str
        The dataset, or the config where a claim names one.
    results : Results
    """

    name: str
    results: Results

    @property
    def sizes(self) -> list[int]:
        """Every recorded size, ascending; a single 0 without a sweep."""
        return sorted({int(size) for size in self.results.cells["size"]})

    @property
    def full(self) -> int | None:
        """The size that is all there is, if it was recorded."""
        cells = self.results.cells
        return max((int(size) for size in cells.loc[cells["full"], "size"]), default=None)

    def measure(self, name: str) -> Measure | None:
        """Return the measure that has a name or a clock."""
        named = (m for m in self.results.task.measures if name in (m.name, m.clock))
        return next(named, None)

    def sample(
        self, solver: str, size: int, measure: str, without: Mapping[str, Any] | None = None
    ) -> Sample:
        """Return what the finished trials of a solver got.

        Parameters
        ----------
        solver : str
        size : int
        measure : str
            A measure's name, a clock, or the name of a diagnostic.
        without : mapping, optional
            Hyper-parameters of fits that do not count, such as ``gamma: 1``.
        """
        fits = [
            fit
            for fit in self._fits(solver, size)
            if fit["status"] == "ok" and not (without and _has(fit["params"], without))
        ]
        values = {fit["trial"]: self._value(fit, measure) for fit in fits}
        return Sample(solver, {trial: v for trial, v in values.items() if not math.isnan(v)})

    def settings(self, solver: str, size: int, name: str) -> list[Any]:
        """Return a hyper-parameter of the finished trials, fixed or chosen."""
        spec = self.results.experiment.solvers.get(solver)
        fixed = spec.params.get(name) if spec else None
        fits = self._fits(solver, size)
        return [fit["params"].get(name, fixed) for fit in fits if fit["status"] == "ok"]

    def limits(self, solver: str, size: int) -> dict[int, float]:
        """Return the seconds after which fits were stopped, by trial."""
        stopped = [
            (fit["trial"], self._timeouts.get((solver, size, fit["trial"])))
            for fit in self._fits(solver, size)
            if fit["status"] == OutlastedError.status
        ]
        return {trial: seconds for trial, seconds in stopped if seconds}

    def endings(self, solver: str, size: int) -> Counter[str]:
        """Return how many trials ended in which way; nothing where the config leaves them out."""
        return Counter(fit["status"] for fit in self._fits(solver, size))

    def absence(self, solver: str, sizes: Sequence[int]) -> str:
        """Return in words how the trials of a solver ended at the smallest of some sizes."""
        if solver not in self.results.solvers:
            return f"{solver} was not run"
        endings = next(filter(None, (self.endings(solver, size) for size in sizes)), None)
        if endings is None:
            return f"{solver} is left out"
        told = [
            f"{number} trials" if status == "ok" else f"{number} {status_words(status)}"
            for status, number in endings.most_common()
        ]
        return f"{solver}: {', '.join(told)}"

    def _fits(self, solver: str, size: int) -> list[dict[str, Any]]:
        return self._by_solver.get((solver, size), [])

    @cached_property
    def _by_solver(self) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """The fits of every solver at each size; what ended a search is none of a fit's endings."""
        cells = self.results.cells.drop_duplicates(["solver", "size", "trial"], keep="last")
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for fit in cells.to_dict("records"):
            if fit["message"].startswith(WHILE):
                fit["status"] += f" {WHILE.rstrip(': ')}"
            found.setdefault((fit["solver"], fit["size"]), []).append(fit)
        return found

    def _value(self, fit: Mapping[str, Any], name: str) -> float:
        if measure := self.measure(name):
            return float(fit[measure.name])
        if name == SEARCH:
            return self._searches.get((fit["solver"], fit["trial"]), math.nan)
        return float(fit["diagnostics"].get(name, math.nan))

    @cached_property
    def _searches(self) -> dict[tuple[str, int], float]:
        """The seconds of every solver's search in each trial."""
        by_trial = self.results.search.groupby(["solver", "trial"])["search_seconds"].sum()
        return {(str(solver), int(trial)): value for (solver, trial), value in by_trial.items()}

    @cached_property
    def _timeouts(self) -> dict[tuple[str, int, int], float]:
        """The time limit of every fit that was stopped; a fit of a level line has several sizes."""
        axis = self.results.task.axis
        return {
            (one["solver"], size, one["trial"]): one.get("timeout") or 0.0
            for one in self.results.records
            if one["status"] == OutlastedError.status and one["kind"] == "fit"
            for size in (one["at"][axis.name] if axis else 0, *one.get("also_at", ()))
        }


def _has(params: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in params and params[name] == value for name, value in wanted.items())


@dataclass(frozen=True)
class Evidence:
    """Everything that there is to judge claims by.

    Attributes
    ----------
    folders : dict of str to Results
        By the name of the experiment, its profile included.
    studies : dict of str to dict
        The ``numbers`` of each, by the name of its file.
    """

    folders: Mapping[str, Results] = field(default_factory=dict)
    studies: Mapping[str, Any] = field(default_factory=dict)
    _cases: dict[tuple[str, str], Case] = field(default_factory=dict, init=False, repr=False)

    def case(self, name: str, config: str, profiles: Sequence[str]) -> Case | None:
        """Return the results of a config by the first of some profiles that has any."""
        for profile in profiles:
            experiment = f"{config}-{profile}" if profile else config
            results = self.folders.get(experiment)
            if results is not None and len(results.cells):
                return self._cases.setdefault((name, experiment), Case(name, results))
        return None

    def has(self, name: str) -> bool:
        """Tell whether a study or an experiment of this name was kept."""
        return name in self.studies or name in self.folders


def read_evidence(paths: Sequence[Path]) -> Evidence:
    """Read results folders, and folders of such with their studies.

    Raises
    ------
    ResultsError
        If a path has no results, or two folders have the same experiment.
    """
    folders: dict[str, Results] = {}
    studies: dict[str, Any] = {}
    for path in paths:
        inside = _results_folders(path)
        for folder in inside:
            results = load_results(folder)
            name = results.experiment.name
            if name in folders:
                raise ResultsError(
                    f"{folder}: holds {name}, as {folders[name].folder} does; name one of them"
                )
            folders[name] = results
        beside = path.parent if inside == [path] else path
        studies |= {file.stem: _numbers(file) for file in sorted((beside / STUDIES).glob("*.json"))}
    return Evidence(folders, studies)


def _results_folders(path: Path) -> list[Path]:
    """Return a results folder, or those with records in a folder of such."""
    if (path / CONFIG).is_file():
        return [path]
    if not path.is_dir():
        raise ResultsError(f"{path}: no such folder; name results folders, or a folder of them")
    found = [one for one in sorted(path.iterdir()) if (one / CONFIG).is_file()]
    found = [one for one in found if list(one.glob(f"{CELLS}*"))]
    if not found:
        raise ResultsError(f"{path}: neither a results folder nor one of folders with records")
    return found


def _numbers(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))["numbers"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{file}: is not what a study writes with --json") from error


def number_at(numbers: Any, path: str) -> Any:
    """Return what is at a place in the numbers of a study, such as ``arms.0.slope``.

    Raises
    ------
    ResultsError
        If nothing is there.
    """
    found = numbers
    for part in path.split("."):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise ResultsError(
                f"the study's numbers have no {path} (nothing at {part!r})"
            ) from None
    return found
