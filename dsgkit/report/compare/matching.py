"""Which cells two results folders have in common, and whether their trials are the same."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dsgkit.errors import ResultsError
from dsgkit.experiment.limits import status_words
from dsgkit.experiment.results import SCORES, Results
from dsgkit.report.summary import NOT_RUN, Size, check_recorded

CELL = ["solver", "n_unlabeled", "trial"]
"""What a fit is identified by across folders."""


def match(a: Results, b: Results) -> pd.DataFrame:
    """Return one row per fit of either folder.

    Returns
    -------
    DataFrame
        With the columns `CELL`, ``full``, those of the fits with ``_a`` and ``_b`` at their end,
        and ``common``: whether both folders have a record. A status is in words.

    Raises
    ------
    ResultsError
        If a folder has no fit, or no fit is in both.
    """
    check_recorded([a, b])
    sides = [one.cells.drop_duplicates(CELL, keep="last") for one in (a, b)]
    found = sides[0].merge(sides[1], on=CELL, how="outer", suffixes=("_a", "_b"), indicator="side")
    found["common"] = found["side"] == "both"
    if not found["common"].any():
        raise ResultsError(
            f"{a.folder} and {b.folder}: no fit is in both; compare runs that share a solver "
            "(by its key in the config), a number of unlabelled rows and a trial"
        )
    for status in ("status_a", "status_b"):
        found[status] = found[status].fillna(NOT_RUN).map(status_words)
    found["full"] = found["full_a"].eq(True) | found["full_b"].eq(True)
    order = list(dict.fromkeys([*a.solvers, *b.solvers]))
    found = found.sort_values(CELL, key=lambda c: c.map(order.index) if c.name == "solver" else c)
    return found.drop(columns="side").reset_index(drop=True)


def size_of(fits: pd.DataFrame) -> Size:
    """Return the size that matched fits share."""
    return Size(int(fits["n_unlabeled"].iloc[0]), bool(fits["full"].any()))


def identical(matched: pd.DataFrame) -> pd.Series:
    """Return which common fits have the same status, scores and hyper-parameters, to the bit."""
    same = matched["common"] & (matched["status_a"] == matched["status_b"])
    for name in (*SCORES, "params"):
        one, other = matched[f"{name}_a"], matched[f"{name}_b"]
        same &= (one == other) | (one.isna() & other.isna())
    return same


def split_differences(a: Results, b: Results) -> list[str]:
    """Return in words why the trials of two folders are different splits; nothing if they are not.

    Splits follow from the rows, the protocol and the seed alone.
    """
    return [*_data_differences(a, b), *_setting_differences(a, b)]


def _data_differences(a: Results, b: Results) -> list[str]:
    """Compare the content of the data by its hash, where both folders have stored it."""
    hashes = [one.data.get("content_hash") for one in (a, b)]
    if all(hashes):
        return [] if hashes[0] == hashes[1] else [_other_data(a, b)]
    # A key is a hash of the data too: a common one settles what an earlier release did not store.
    if set(a.cells["key"]) & set(b.cells["key"]):
        return []
    return ["what data they are of is not stored in both (run them again: finished cells are kept)"]


def _other_data(a: Results, b: Results) -> str:
    """Say which data differ."""
    if a.dataset == b.dataset:
        return f"the rows of {a.dataset} differ"
    return f"the data are {a.dataset} in A and {b.dataset} in B"


def _setting_differences(a: Results, b: Results) -> list[str]:
    """Compare the settings that splits follow from."""
    settings = [_settings(one) for one in (a, b)]
    return [
        f"{name} is {value} in A and {settings[1][name]} in B"
        for name, value in settings[0].items()
        if value != settings[1][name]
    ]


def _settings(results: Results) -> dict[str, Any]:
    """Return the settings that the rows of a trial follow from, and how they are scaled."""
    protocol = results.experiment.protocol
    return {
        "seed": results.experiment.seed,
        "protocol.kind": protocol.kind,
        "protocol.labeled": protocol.labeled,
        "protocol.scale": list(protocol.scale),
    }
