"""What tables, figures and findings share: statistics per solver and size, and wanted measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.experiment.runs import LEFT_OUT, NOT_RUN, TO_COME, Run
from dsgkit.tasks.measures import TRIVIAL, Measure


class Entry(NamedTuple):
    """The trials of one solver at one size: a row of `entries`."""

    solver: str
    name: str
    size: int
    values: tuple[float, ...]  # of the finished trials
    planned: int
    centre: float  # the median of times, else the mean
    mean: float
    std: float
    low: float  # the ends of the values, for the time of a single trial those of its repeats
    high: float
    ending: str  # "ok", or the most frequent other one
    others: Counter[str]  # how unfinished trials ended
    remarks: Counter[str]
    needed: float
    disturbed: int
    level: bool  # the fits do not depend on the size
    competes: bool  # the solver can be called the best: it had no data that no user has

    @property
    def partial(self) -> str:
        """``7/10`` if only some of the trials finished, else empty."""
        n = len(self.values)
        return f"{n}/{self.planned}" if 0 < n < self.planned else ""


def entries(run: Run, measure: Measure) -> list[Entry]:
    """Return an entry for every solver and size, sizes ascending."""
    fits, column = run.sized, run.column(measure)
    values = fits[column].to_numpy() if column in fits else np.full(len(fits), np.nan)
    sizes = full_at(run)
    groups = fits.groupby(["solver", "size"]).indices
    timed = measure.unit == "seconds"
    names = ("ending", "remark", "needed", "level", "disturbed")
    known = {name: fits[name].to_numpy() for name in names}
    ranges = fits.get(f"timing.range.{measure.clock}") if measure.clock else None
    result = []
    for key, name in run.names.items():
        for size in sizes:
            rows = groups.get((key, size), np.array([], int))
            endings = known["ending"][rows]
            done = rows[(endings == "ok") & ~np.isnan(values[rows])]
            others = Counter(end for end in endings.tolist() if end not in ("ok", LEFT_OUT))
            planned = max(run.experiment.protocol.trials, len(rows) - others[TO_COME])
            if LEFT_OUT in endings:
                others[LEFT_OUT] = planned = run.experiment.protocol.trials
            if missing := planned - len(done) - others.total():
                others[NOT_RUN] = missing
            found = values[done]
            low, high = (found.min(), found.max()) if len(found) else (math.nan, math.nan)
            if ranges is not None and len(done) == 1 and ranges.iloc[done[0]]:
                low, high = ranges.iloc[done[0]]
            mean = math.fsum(found) / len(found) if len(found) else math.nan
            result.append(
                Entry(
                    key,
                    name,
                    size,
                    tuple(found.tolist()),
                    planned,
                    float(np.median(found)) if timed and len(found) else mean,
                    mean,
                    float(found.std(ddof=1)) if len(found) > 1 else math.nan,
                    float(low),
                    float(high),
                    "ok" if len(found) else others.most_common(1)[0][0],
                    others,
                    Counter(text for text in known["remark"][done].tolist() if text),
                    float(pd.Series(known["needed"][rows]).max()),
                    int(known["disturbed"][done].sum()) if measure.clock else 0,
                    bool(known["level"][rows].any()),
                    bool(measure.unit) or not (run.task.oracle or oracle_data(run, key)),
                )
            )
    return result


def full_at(run: Run) -> dict[int, bool]:
    """Return the planned and recorded sizes, ascending, and whether each is all rows."""
    # only finished fits record `full`; it holds for all fits at that size
    full = run.sized.groupby("size")["full"].any()
    return {int(size): bool(whole) for size, whole in full.items()}


def largest(found: Iterable[Entry]) -> list[Entry]:
    """Return each solver's entry at its largest size with a finished trial, else at the first."""
    last: dict[str, Entry] = {}
    for entry in found:
        if entry.solver not in last or entry.values:
            last[entry.solver] = entry
    return list(last.values())


def size_text(size: int, full: bool) -> str:
    return f"all ({size:,})" if full else f"{size:,}"


def oracle_data(run: Run, key: str) -> str:
    """Return the data that a solver gets although no user has them; empty for none."""
    facts = run.task.solvers.get(key)
    return facts.told if facts else ""


def is_trivial(run: Run, key: str) -> bool:
    """Return whether a solver predicts the same for every row."""
    spec = run.solvers.get(key)
    return spec is not None and spec.kind in TRIVIAL


def sizes_with(run: Run, measure: Measure) -> set[int]:
    """Return the sizes at which a finished fit has a value."""
    fits, column = run.sized, run.column(measure)
    if measure not in run.task.measures or column not in fits:
        return set()
    return set(fits.loc[(fits["ending"] == "ok") & fits[column].notna(), "size"])


def shows(run: Run, measure: Measure) -> bool:
    """Return whether tables and figures show a measure, with or without values."""
    wanted = run.task.published is not None or not measure.for_published
    has_room = not measure.optional or bool(sizes_with(run, measure))
    return measure in run.task.measures and wanted and has_room


def measures_of(runs: Iterable[Run]) -> list[Measure]:
    return list(dict.fromkeys(m for run in runs for m in run.task.measures if shows(run, m)))


def outputs_asked(runs: Iterable[Run]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.experiment.outputs))


def solver_names(runs: Iterable[Run]) -> list[str]:
    """Return the names of all solvers, in the order of the first run."""
    return list(dict.fromkeys(name for run in runs for name in run.names.values()))


def axis_title(runs: Iterable[Run]) -> str:
    """Return the title of the swept axis, or axes; empty without a sweep."""
    title = " or ".join(dict.fromkeys(lowered(run.axis.title) for run in runs if run.axis))
    return title[:1].upper() + title[1:]


def lowered(title: str) -> str:
    return title[:1].lower() + title[1:]


def finished(run: Run) -> bool:
    return bool((run.fits["ending"] == "ok").any())


def progress(run: Run) -> str:
    """Return progress such as ``3 of 10 fits have run``; empty when all have."""
    planned = run.fits["ending"].ne(LEFT_OUT).sum()
    left = run.fits["ending"].eq(TO_COME).sum()
    return f"{planned - left:,} of {planned:,} fits have run" if left else ""


def settings(runs: Sequence[Run]) -> str:
    """Return the setting of all fits for captions, with the datasets of each; may be empty."""
    datasets: dict[str, list[str]] = {}
    for run in runs:
        datasets.setdefault(run.task.caption, []).append(run.heading)
    if len(datasets) < 2:
        return next(iter(datasets), "")
    return "; ".join(f"{one} ({', '.join(of)})" for one, of in datasets.items() if one)


def about(runs: Sequence[Run]) -> str:
    """Return a sentence on the dataset, if it is a single one, and the setting; may be empty."""
    parts = [*(run.heading for run in runs if len(runs) == 1), settings(runs)]
    return f"{', '.join(filter(None, parts))}." if any(parts) else ""


def check_named(results: Sequence[object]) -> None:
    if not results:
        raise ResultsError("no results were named; name at least one results folder")


def check_recorded(runs: Sequence[Run]) -> None:
    """Raise `ResultsError` without runs, or for a run without a recorded fit."""
    check_named(runs)
    for run in runs:
        if not (run.fits["status"] != "").any():
            raise ResultsError(f"{run.folder}: no fit is recorded yet; run the experiment first")
