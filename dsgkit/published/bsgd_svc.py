"""Tables 1 to 8 of the paper on budgeted support vector clustering [1]_.

``bsgd_svc.csv`` holds Tables 2 to 8, figure by figure as printed; all could be read.
``bsgd_svc_datasets.csv`` holds Table 1 and, in addition, the class sizes of the datasets as they
are at hand: Glass then has 6 classes rather than 7, Shuttle 7 rather than 5, and Musk 166 features
rather than 198.

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
"""As the paper calls them: SGD is SGD-LMOC, the last three are one method with three strategies."""


BASELINES, VARIANTS = METHODS[:3], METHODS[3:]
"""The methods compared with, and the proposed method with its three strategies."""


def key_of(method: str) -> str:
    """Return the key that a method has in this project's configs, with the paper's stopping rule.

    ``bsgd_pnn_paper``, say: ``bsgd_pnn`` trains longer. Of removal and of methods without descent,
    there is the plain key.
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
"""Measures of Tables 2 to 8 and their good sides.

The paper takes a large Davies-Bouldin index for good; by its own formula a small one is.
"""

N_RUNS = 5
"""Runs that every figure is the mean of."""


@dataclass(frozen=True)
class Figure:
    """One cell of a table, by its number in the paper.

    ``method`` is one of `METHODS`, ``measure`` a key of `MEASURES`; ``decimals`` are the digits
    after the point, as printed; ``budget`` is that of the three BSGD methods on that dataset.
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
    """A row of Table 1 as published, and the sizes of the classes as counted in the dataset."""

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
        If there is none.
    """
    return _values()[dataset, method, measure]


def contradiction(dataset: str, method: str, measure: str) -> str:
    """Return where a published time contradicts the paper's own text; empty where it does not.

    The text has projection onto nearest vectors (PNN) "a little slower" than onto random ones
    (PRN), and the clusters found faster than by the baselines, fastest of all with removal.
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
