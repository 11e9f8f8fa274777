"""Comparison of two results folders: their common fits, and how these differ."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.experiment.status import status_words
from dsgkit.experiment.timing import is_disturbed
from dsgkit.report.compare.differences import (
    ABSENT,
    Choice,
    Difference,
    changed_settings,
    choices,
    config_differences,
    environment_differences,
    timing_problems,
)
from dsgkit.report.effects import Effect, adjusted, effects, is_ratio, match
from dsgkit.report.numbers import ranges
from dsgkit.report.summary import (
    LEFT_OUT_WORDS,
    NOT_RUN,
    Size,
    Summary,
    all_axes,
    all_solvers,
    check_recorded,
    kind_of,
    lowered,
    solver_names,
    titles,
)
from dsgkit.tasks.measures import Axis, Measure

FIT_COLUMNS = ["name", "size", "trial"]
"""Columns that identify a fit across folders."""


class Mismatch(NamedTuple):
    """Trials and sizes of one solver whose statuses, in words, differ between A and B."""

    solver: str
    sizes: tuple[Size, ...]
    trials: tuple[int, ...]
    a: str
    b: str


@dataclass(frozen=True)
class Comparison:
    """Comparison of two results folders, A and B.

    Attributes
    ----------
    solvers : dict of str to str
        Each solver's kind by its name.
    axis : Axis or None
        The swept axis.
    unpaired : list of str
        Why trials of the same number are different splits; empty if trials are paired.
    common, identical : int
        Fits in both folders, and those of them with the same status, scores and
        hyper-parameters.
    effects : list of (Measure, list of Effect)
        For the common measures.
    choices : list of Choice
        Chosen hyper-parameters.
    mismatches : list of Mismatch
        Statuses that differ, and fits missing on one side.
    changed : list of Difference
        Settings of the config that common fits depend on.
    timing_problems : list of str
        Why times cannot be compared; empty if they can.
    disturbed : int
        Fits in both folders that other processes disturbed in either: their times are not compared.
    """

    a: Results
    b: Results
    solvers: dict[str, str]
    axis: Axis | None
    unpaired: list[str]
    common: int
    identical: int
    effects: list[tuple[Measure, list[Effect]]]
    choices: list[Choice]
    mismatches: list[Mismatch]
    config: list[Difference]
    environment: list[Difference]
    changed: list[Difference]
    timing_problems: list[str]
    disturbed: int

    @property
    def paired(self) -> bool:
        """Whether trials of the same number are the same splits."""
        return not self.unpaired


def compare(a: Results, b: Results) -> Comparison:
    """Compare two results folders.

    Raises
    ------
    ResultsError
        If no fit is in both.
    """
    check_recorded([a, b])
    shown = [Summary(*one) for one in zip((a, b), titles([a, b]), _common_names(a, b), strict=True)]
    matched = _match(shown)
    unpaired = _split_differences(a, b)
    # a measure's caption also names its rows
    theirs = {(measure.name, measure.caption) for measure in b.task.measures}
    common = [m for m in a.task.measures if (m.name, m.caption) in theirs]
    judged = [measure for measure in common if measure.better]
    timings = matched[["timing_a", "timing_b"]].where(matched["common"], None)
    disturbed = timings.map(is_disturbed).any(axis=1)
    families = [
        (m, adjusted(effects(matched[~(disturbed & is_ratio(m))], m, paired=not unpaired)))
        for m in judged
    ]
    return Comparison(
        a=a,
        b=b,
        solvers=all_solvers(shown),
        axis=a.task.axis,
        unpaired=unpaired,
        common=int(matched["common"].sum()),
        identical=int(_identical(matched, common).sum()),
        effects=[(measure, members) for measure, members in families if members],
        choices=choices(*shown),
        mismatches=_mismatches(matched),
        config=config_differences(a, b),
        environment=environment_differences(a, b),
        changed=changed_settings(a, b),
        timing_problems=timing_problems(a, b),
        disturbed=int(disturbed.sum()),
    )


def _common_names(a: Results, b: Results) -> list[dict[str, str]]:
    """Return the names of A's and of B's solvers, by their keys.

    A solver with the same kind and key but another label in B gets the name ``a → b``.
    """
    names_a, names_b = solver_names([a, b])
    for key in names_a.keys() & names_b.keys():
        alone = names_a[key] not in names_b.values() and names_b[key] not in names_a.values()
        if alone and kind_of(a, key) == kind_of(b, key):
            names_a[key] = names_b[key] = f"{names_a[key]} → {names_b[key]}"
    return [names_a, names_b]


def _match(shown: list[Summary]) -> pd.DataFrame:
    """Return one row per fit of either folder.

    The columns are `FIT_COLUMNS`, ``full``, the fits' columns with suffixes ``_a`` and ``_b``, and
    ``common``: whether both folders have a record. Statuses are in words.
    """
    a, b = (one.results for one in shown)
    sides = [
        one.results.cells.assign(name=one.results.cells["solver"].map(one.names)) for one in shown
    ]
    found = match(_aligned(*sides), FIT_COLUMNS, "outer")
    found["common"] = found["key_a"].notna() & found["key_b"].notna()
    axes = [one.results.task.axis and one.results.task.axis.name for one in shown]
    if axes[0] != axes[1] or not found["common"].any():
        size = f", a number of {lowered(all_axes(shown))} (or `all`)" if any(axes) else ""
        raise ResultsError(
            f"no fit is in both: {a.folder} has {_extent(shown[0])}; {b.folder} has "
            f"{_extent(shown[1])}; to be compared, they must share a solver (by its label){size} "
            "and a trial"
        )
    for status, one in zip(("status_a", "status_b"), shown, strict=True):
        lacking = [_lacking(one, *fit) for fit in found[["name", "size"]].itertuples(index=False)]
        absent = pd.Series(lacking, index=found.index)
        found[status] = found[status].fillna(absent).map(status_words)
    found["full"] = found["full_a"].eq(True) | found["full_b"].eq(True)
    order = list(all_solvers(shown))
    found = found.sort_values(
        FIT_COLUMNS, key=lambda c: c.map(order.index) if c.name == "name" else c
    )
    return found.reset_index(drop=True)


def _aligned(a: pd.DataFrame, b: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the fits of A and of B, with B's sizes changed so that corresponding fits match.

    Fits on all rows correspond, even if their numbers of rows differ, unless B has other fits of
    A's size. So do fits of a solver that does not depend on the swept axis. Both get A's size.
    """
    of_all = _last_size(a[a["full"]])
    if not set(of_all) & set(b.loc[~b["full"] & ~b["level"], "size"]):
        b = b.assign(size=_with_sizes(b, b["full"], of_all))
    for name in set(a["name"]) & set(b["name"]):
        sides = [one[one["name"] == name] for one in (a, b)]
        if any(one["level"].any() for one in sides) and all(map(_has_one_size, sides)):
            a, b = (_one_per_trial(one, name) for one in (a, b))
            b = b.assign(size=_with_sizes(b, b["name"] == name, _last_size(a[a["name"] == name])))
    return [a, b]


def _last_size(fits: pd.DataFrame) -> pd.Series:
    """Return the largest size of every trial."""
    return fits.groupby("trial")["size"].max()


def _with_sizes(fits: pd.DataFrame, which: pd.Series, sizes: pd.Series) -> pd.Series:
    """Return the fits' sizes, those in ``which`` replaced by their trial's (or the common) size."""
    known = fits["trial"].map(sizes)
    if sizes.nunique() == 1:
        known = known.fillna(sizes.iloc[0])
    return fits["size"].mask(which, known.fillna(fits["size"])).astype(int)


def _has_one_size(fits: pd.DataFrame) -> bool:
    """Return whether a solver has one fit per trial, possibly recorded at several sizes."""
    return bool(fits["level"].all()) or fits["size"].nunique() == 1


def _one_per_trial(fits: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return fits, of the named solver only those at the largest size."""
    own = fits["name"] == name
    largest = fits["trial"].map(_last_size(fits[own]))
    return fits[~own | (fits["size"] == largest)]


def _extent(summary: Summary) -> str:
    """Describe the solvers, sizes and trials of a folder's fits."""
    cells, axis = summary.results.cells, summary.results.task.axis
    solvers = ", ".join(dict.fromkeys(cells["solver"].map(summary.names)))
    full = set(cells.loc[cells["full"], "size"])
    sizes = ", ".join(Size(n, n in full).text for n in sorted(set(cells["size"])))
    at = f" at {sizes} {axis.noun}" if axis else ""
    trials = [int(trial) + 1 for trial in cells["trial"]]
    return f"{solvers}{at}, trial{'s' if len(set(trials)) > 1 else ''} {ranges(trials, '-')}"


def _lacking(summary: Summary, name: str, size: int) -> str:
    """Return the status of a solver without a record at a size."""
    planned = summary.results.fits_at
    at_size = {solver: count for (solver, n), count in planned.items() if n == size}
    keys = [key for key, known in summary.names.items() if known == name]
    left_out = at_size and keys and not any(at_size.get(key) for key in keys)
    return LEFT_OUT_WORDS if left_out else NOT_RUN


def _identical(matched: pd.DataFrame, measures: list[Measure]) -> pd.Series:
    """Return a mask of the common fits with equal status, scores and hyper-parameters."""
    same = matched["common"] & (matched["status_a"] == matched["status_b"])
    scores = [measure.name for measure in measures if not measure.unit]
    for name in (*scores, "params"):
        one, other = matched[f"{name}_a"], matched[f"{name}_b"]
        same &= (one == other) | (one.isna() & other.isna())
    return same


def _mismatches(matched: pd.DataFrame) -> list[Mismatch]:
    """Return the fits whose statuses differ, sizes with the same trials in one entry."""
    differing = matched[matched["status_a"] != matched["status_b"]]
    sizes: dict[tuple[str, tuple[int, ...], str, str], list[Size]] = {}
    columns = ["name", "status_a", "status_b"]
    for _, fits in differing.groupby([*columns, "size"], sort=False):
        solver, a, b = (str(fits[column].iloc[0]) for column in columns)
        group = solver, tuple(int(trial) for trial in fits["trial"]), a, b
        size = Size(int(fits["size"].iloc[0]), bool(fits["full"].any()))
        sizes.setdefault(group, []).append(size)
    return [
        Mismatch(solver, tuple(members), trials, a, b)
        for (solver, trials, a, b), members in sizes.items()
    ]


def _split_differences(a: Results, b: Results) -> list[str]:
    """Return the reasons why the trials of two folders are different splits; empty if they are not.

    Splits depend on the rows, the protocol and the seed only.
    """
    others = {*a.task.not_of_splits, *b.task.not_of_splits}
    settings = [_settings(one, others) for one in (a, b)]
    names = dict.fromkeys([*settings[0], *settings[1]])
    values = {name: [side.get(name, ABSENT) for side in settings] for name in names}
    different = [f"{name} is {x} in A and {y} in B" for name, (x, y) in values.items() if x != y]
    return [*_data_differences(a, b), *different]


def _data_differences(a: Results, b: Results) -> list[str]:
    """Return how the data differ, by the content hashes stored in the folders."""
    hashes = [one.data.get("content_hash") for one in (a, b)]
    if all(hashes) and hashes[0] != hashes[1]:
        if a.dataset == b.dataset:
            return [f"the rows of {a.dataset} differ"]
        return [f"the data are {a.dataset} in A and {b.dataset} in B"]
    # A cell key also hashes the data: a common key proves equal data without stored hashes.
    if all(hashes) or set(a.cells["key"]) & set(b.cells["key"]):
        return []
    return ["the hash of the data is not stored in both (run them again: finished cells are kept)"]


def _settings(results: Results, others: Set[str]) -> dict[str, Any]:
    """Return the settings that determine a trial's rows: seed and protocol without ``others``."""
    dumped = results.experiment.model_dump(mode="json")
    written = dumped["protocol"].items()
    # older results lack newer settings: treat them as not set
    protocol = {k: v for k, v in written if k not in others and v is not None}
    axis = results.task.axis
    if axis and axis.drawn:
        protocol[axis.name] = f"up to {results.experiment.sizes[-1]}"
    return {"seed": dumped["seed"]} | {f"protocol.{name}": v for name, v in protocol.items()}
