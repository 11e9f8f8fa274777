"""Tables 1 to 8 of the paper on budgeted support vector clustering [1]_.

``bsgd_svc.csv`` holds all figures of Tables 2 to 8 as printed. ``bsgd_svc_datasets.csv`` holds
Table 1 and the class sizes of the datasets that we use: in these, Glass has 6 classes instead of 7,
Shuttle 7 instead of 5, and Musk 166 features instead of 198.

References
----------
.. [1] Pham, Le & Dang, "Scalable support vector clustering using budget", 2017.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

METHODS = ("SVC", "SGD", "FSVC", "BSGD-R", "BSGD-PNN", "BSGD-PRN")
"""Names of the methods in the paper: SGD is SGD-LMOC, the last three are strategies of BSGD."""


BASELINES, VARIANTS = METHODS[:3], METHODS[3:]
"""The baselines, and the proposed method with its three strategies."""


def key_of(method: str) -> str:
    """Return the key in our configs of a method with the paper's stopping rule.

    For example ``bsgd_pnn_paper``; ``bsgd_pnn`` trains longer. Removal, and methods without
    descent, have only the plain key.
    """
    key = method.lower().replace("-", "_")
    return f"{key}_paper" if method in ("SGD", "BSGD-PNN", "BSGD-PRN") else key


MEASURES = {
    "purity": "higher",
    "rand": "higher",
    "nmi": "higher",
    "compactness": "lower",
    "davies_bouldin": "lower",
    "training_seconds": "lower",
    "clustering_seconds": "lower",
}
"""Measures of Tables 2 to 8, and whether higher or lower is better.

The paper treats a large Davies-Bouldin index as good; by its own formula, a small one is.
"""

N_RUNS = 5
"""Number of runs that every figure is the mean of."""


@dataclass(frozen=True)
class Figure:
    """One cell of a table.

    ``table`` is its number in the paper, ``method`` one of `METHODS`, ``measure`` a key of
    `MEASURES`, ``decimals`` the printed digits after the point, and ``budget`` that of the three
    BSGD methods on that dataset.
    """

    table: int
    dataset: str
    method: str
    measure: str
    value: float
    decimals: int
    budget: int


@dataclass(frozen=True)
class PublishedDataset:
    """A row of Table 1 as published, and the class sizes as counted in the dataset."""

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    class_sizes: tuple[int, ...]


@cache
def datasets() -> dict[str, PublishedDataset]:
    """Return Table 1 by the datasets' names."""
    return {
        row["dataset"]: PublishedDataset(
            row["dataset"],
            int(row["rows"]),
            int(row["features"]),
            int(row["classes"]),
            tuple(map(int, row["class_sizes"].split())),
        )
        for row in _rows("bsgd_svc_datasets.csv")
    }


@cache
def figures() -> tuple[Figure, ...]:
    """Return all cells of Tables 2 to 8: 15 datasets, 6 methods, 7 measures."""
    return tuple(
        Figure(
            int(row["table"]),
            row["dataset"],
            method,
            row["measure"],
            float(row[method]),
            len(row[method].partition(".")[2]),
            int(row["budget"]),
        )
        for row in _rows("bsgd_svc.csv")
        for method in METHODS
    )


def value(dataset: str, method: str, measure: str) -> float:
    """Return one published figure.

    Raises
    ------
    KeyError
        If it was not published.
    """
    return _values()[dataset, method, measure]


def contradiction(dataset: str, method: str, measure: str) -> str:
    """Return how a published time contradicts the paper's own text; empty if it does not.

    According to the text, projection onto nearest vectors (PNN) is "a little slower" than onto
    random ones (PRN), and clusters are found faster than by the baselines, fastest with removal.
    """
    if measure not in ("training_seconds", "clustering_seconds"):
        return ""
    seconds = {name: value(dataset, name, measure) for name in METHODS}
    fastest = min(seconds[name] for name in VARIANTS)
    if method == "BSGD-PNN" and seconds[method] < seconds["BSGD-PRN"]:
        return "faster than PRN, which the text has a little faster"
    if measure == "clustering_seconds" and method in BASELINES and seconds[method] < fastest:
        return "faster than all three of BSGD, which the text has faster"
    if measure == "clustering_seconds" and method == "BSGD-R" and seconds[method] > fastest:
        return "slower than a projection, where the text has removal the fastest"
    return ""


@cache
def _values() -> dict[tuple[str, str, str], float]:
    return {(f.dataset, f.method, f.measure): f.value for f in figures()}


def _rows(name: str) -> Iterator[dict[str, str]]:
    with files(__package__).joinpath(name).open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines)
