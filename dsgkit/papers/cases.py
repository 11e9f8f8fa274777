"""The values of a run that the criteria of claims compare."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dsgkit.experiment.plan import SEARCHING_PREFIX
from dsgkit.experiment.runs import Run
from dsgkit.linalg import Array
from dsgkit.report.frame import is_trivial
from dsgkit.report.numbers import LARGEST, counted
from dsgkit.tasks.measures import TIME, Measure

MARGIN, MAE_MARGIN = 0.01, 0.05
"""The smallest differences that matter: of AUC, accuracy or error, and of a mean absolute error."""

LEAST_AUC = 0.7
"""Below it discrimination is poor (Hosmer, Lemeshow and Sturdivant, Applied Logistic Regression,
2013, sect. 5.2.4)."""

TIMED = ("faster", "crosses")  # tests in which a stopped trial counts with its time limit


class Case:
    """The fits of a run that have ended, as arrays with a row per size at which a fit holds."""

    def __init__(self, name: str, run: Run) -> None:  # of the dataset, or of a claim's config
        self.name, self.run, self._columns = name, run, dict[str, Array]()
        self.fits = fits = run.sized[run.sized["status"] != ""].reset_index(drop=True)
        self.places = fits.groupby(["solver", "size"]).indices
        self.sizes = sorted({*fits["size"].tolist()})  # [0] without a sweep
        self.trials, self.params = fits["trial"].to_numpy(), fits["params"].to_numpy(object)
        # how each fit ended, for example "timeout while searching" if its search failed
        searching = fits["message"].str.startswith(SEARCHING_PREFIX)
        words = np.where(searching, f" {SEARCHING_PREFIX.rstrip(': ')}", "")
        self.endings = (fits["ending"] + words).to_numpy(object)
        self.disturbed = fits["disturbed"].to_numpy(bool)
        # least seconds of fits that were stopped at their time limit, which is a wall time: divided
        # by the largest slowdown of a fit on one thread, a lower bound on the processor time
        limits = np.where(self.endings == "timeout", self.numbers("timeout"), np.nan)
        slowdowns = self.numbers("timing.slowdown")[(fits["timing.threads"] == 1).to_numpy()]
        self.limits = np.where(limits > 0, limits, np.nan) / np.nanmax([1.0, *slowdowns])

    def numbers(self, column: str) -> Array:
        """Return a column of the fits as numbers; NaN for what is not a finite one."""
        if column not in self._columns:
            values = self.fits.get(column, pd.Series(np.nan, self.fits.index))
            self._columns[column] = numeric(values)
        return self._columns[column]

    def rows(self, key: str, size: int, left_out: Mapping[str, Any] | None = None) -> Array:
        """Return the rows of a solver's fits at one size, but for those with all of some values."""
        rows = self.places.get((key, size), np.empty(0, int))
        if not left_out:
            return rows
        at = [left_out.items() <= (self.params[row] or {}).items() for row in rows]
        return rows[~np.array(at, bool)]

    def finished(self, key: str, size: int) -> Array:
        rows = self.rows(key, size)
        return rows[self.endings[rows] == "ok"]

    def measure(self, name: str) -> Measure | None:
        """Return the measure with a name or clock; None for a diagnostic."""
        return next((m for m in self.run.task.measures if name in (m.name, m.clock)), None)

    def unit(self, name: str) -> str:
        """Return ``seconds``, ``bytes``, ``percent``, or nothing for other numbers."""
        measure = self.measure(name)
        return (measure.unit or "percent" * measure.percent) if measure else ""

    def values(self, name: str, rows: Array) -> Array:
        """Return values of a measure, a clock or a diagnostic; NaN for unfinished fits."""
        measure = self.measure(name)
        column = self.run.column(measure) if measure else f"diagnostics.{name}"
        return np.where(self.endings[rows] == "ok", self.numbers(column)[rows], np.nan)

    def constant(self, name: str, size: int) -> float:
        """Return the value of a measure by the best constant prediction; NaN if unknown."""
        if name.startswith("balanced_"):
            return 0.5
        keys = [key for key in self.run.names if name == "error" or is_trivial(self.run, key)]
        rows = np.concatenate([np.empty(0, int), *(self.rows(key, size) for key in keys)])
        if name == "error":
            share = self.numbers("scores.positive_true")[rows]
            values = np.minimum(share, 1 - share)
        else:
            values = self.values(name, rows)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else math.nan

    def ended(self, key: str, size: int) -> str:
        """Describe how a solver's trials ended."""
        if key not in self.run.names:
            return f"{key} was not run"
        ways = Counter(self.endings[self.rows(key, size)]).most_common()
        texts = [counted(n, "trial") if how == "ok" else f"{n} {how}" for how, n in ways]
        return f"{key}: {', '.join(texts)}" if texts else f"{key} is left out"

    def course(self, key: str, size: int, name: str) -> pd.DataFrame:
        """Return a solver's checkpoints; of trials without any, their end as iteration 0."""
        rows = self.finished(key, size)
        table = self.run.traces
        at = (table["solver"] == key) & (table["size"] == size)
        table = table[at & table["trial"].isin(self.trials[rows])]
        values = numeric(table[name]) if name in table else np.nan
        table = table[["trial", "iteration", "seconds"]].assign(value=values)
        table = table[table["value"].abs() <= LARGEST].dropna()
        ends = pd.DataFrame({"trial": self.trials[rows], "iteration": 0.0})
        ends["seconds"] = self.numbers(f"times.{TIME.clock}")[rows]
        ends["value"] = self.values(name, rows)
        return pd.concat([table, ends[~ends["trial"].isin(table["trial"])].dropna()])


@dataclass(frozen=True)
class Sample:
    """The values of one solver's trials at one size; ``stopped`` if some are time limits."""

    key: str
    size: int
    trials: Array
    values: Array
    stopped: bool

    def __len__(self) -> int:
        return len(self.values)

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def mean(self) -> float:
        return float(self.values.mean())


def sample(case: Case, key: str, size: int, c: Any) -> Sample:
    """Return the values of a solver's trials that count, limits of stopped ones first."""
    rows = case.rows(key, size, c.leave_out)
    values, limits, trials = case.values(c.measure, rows), case.limits[rows], case.trials[rows]
    known = ~np.isnan(values)
    if case.unit(c.measure) == "seconds":
        known &= ~case.disturbed[rows]
    stopped = ~np.isnan(limits) & (c.test in TIMED and c.measure == "fit")
    found = np.concatenate([limits[stopped], values[known]])
    trials = np.concatenate([trials[stopped], trials[known]])
    return Sample(key, size, trials, found, bool(stopped.any()))


def lack(case: Case, key: str, size: int, c: Any) -> str:
    """Return why a solver has few values."""
    text, number = case.ended(key, size), len(sample(case, key, size, c))
    if number >= len(case.finished(key, size)):
        return text
    return f"{text}, of which {number} have a {c.measure} that counts"


def learns(case: Case, samples: Sequence[Sample], name: str) -> bool:
    """Return whether one of some solvers learns something, as far as a measure tells.

    By the AUC it has `LEAST_AUC`, by others it is a margin better than the best constant
    prediction, unless it is compared with that.
    """
    measure = case.measure(name)
    if measure is None or measure.unit or any(is_trivial(case.run, one.key) for one in samples):
        return True
    side = -1 if measure.better == "lower" else 1
    least = LEAST_AUC
    if name != "auc":
        least = case.constant(name, samples[0].size) + side * margin_of(name)
    if math.isnan(least):
        return True
    return any(side * one.mean >= side * least for one in samples)


def margin_of(measure: str) -> float:
    """Return the smallest difference of a measure that matters."""
    return MAE_MARGIN if measure.endswith("mae") else MARGIN


def least_gain(c: Any) -> float:
    """Return the smallest gain that matters to a criterion of superiority."""
    return max(c.least, margin_of(c.measure) if c.margin is None else c.margin)


def margin_text(margin: float, *, percent: bool) -> str:
    """Return a margin of a measure in its unit: ``0.01``, or ``1 point`` of percent."""
    points = 100 * margin
    return f"{points:g} point{'s' * (points != 1)}" if percent else f"{margin:g}"


def numeric(values: pd.Series) -> Array:
    """Return values as floats; NaN for what is not a finite number."""
    floats = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    return np.where(np.isfinite(floats), floats, np.nan)
