"""Fits that ended otherwise in B than in A, or that only one of them has."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dsgkit.report.compare.matching import size_of
from dsgkit.report.summary import Size


@dataclass(frozen=True)
class Mismatch:
    """Trials and sizes of one solver that have one status in A and another one in B.

    Attributes
    ----------
    solver : str
        Its key.
    sizes : tuple of Size
    trials : tuple of int
    a, b : str
        The statuses in words; ``not run`` where there is no record.
    """

    solver: str
    sizes: tuple[Size, ...]
    trials: tuple[int, ...]
    a: str
    b: str


def mismatches(matched: pd.DataFrame) -> list[Mismatch]:
    """Return the fits whose statuses differ, those of the same trials put together."""
    differing = matched[matched["status_a"] != matched["status_b"]]
    sizes: dict[tuple[str, tuple[int, ...], str, str], list[Size]] = {}
    columns = ["solver", "status_a", "status_b"]
    for _, fits in differing.groupby([*columns, "n_unlabeled"], sort=False):
        solver, a, b = (str(fits[column].iloc[0]) for column in columns)
        group = solver, tuple(int(trial) for trial in fits["trial"]), a, b
        sizes.setdefault(group, []).append(size_of(fits))
    return [
        Mismatch(solver, tuple(members), trials, a, b)
        for (solver, trials, a, b), members in sizes.items()
    ]
