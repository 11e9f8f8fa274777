"""Tables 1 to 8 of the paper on budgeted support vector clustering [1]_.

``bsgd_svc.csv`` holds all figures of Tables 2 to 8 as printed, means of five runs, and
``bsgd_svc_datasets.csv`` Table 1 with the class sizes of the datasets that we use: in these, Glass
has 6 classes instead of 7, Shuttle 7 instead of 5, and Musk 166 features instead of 198.

``bsgd_svc_flags.csv`` says which figures cannot be right, or mean nothing. By the sizes of the
classes there are bounds on purity, Rand index and NMI that hold for every clustering and for means
over runs; a triple (``indices``) that violates one by more than its rounding is impossible. Others
have the Rand index of one cluster, or of single rows. Times are flagged that contradict the paper's
text: projection onto nearest vectors (PNN) is "a little slower" than onto random ones (PRN), and
clusters are found faster than by the baselines, fastest with removal.

References
----------
.. [1] Pham, Le & Dang, "Scalable support vector clustering using budget", 2017.
"""

from __future__ import annotations

from functools import cache

from dsgkit.published import rows_of
from dsgkit.tasks.measures import Published, PublishedFigure

METHODS = ("SVC", "SGD", "FSVC", "BSGD-R", "BSGD-PNN", "BSGD-PRN")
"""Names of the methods in the paper: SGD is SGD-LMOC, the last three are strategies of BSGD."""

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

INDICES = ("purity", "rand", "nmi")
SOURCE = "Pham, Le & Dang (2017), who do not say how they chose parameters"
INDEX_TOLERANCE = 0.05  # at which a published purity, Rand index or NMI agrees with a measured one


def key_of(method: str) -> str:
    """Return the key in our configs of a method with the paper's stopping rule.

    For example ``bsgd_pnn_paper``; ``bsgd_pnn`` trains longer. Removal, and methods without
    descent, have only the plain key.
    """
    key = method.lower().replace("-", "_")
    return f"{key}_paper" if method in ("SGD", "BSGD-PNN", "BSGD-PRN") else key


def datasets() -> list[str]:
    """Return the names of the datasets of Table 1."""
    return [row["dataset"] for row in rows_of("bsgd_svc_datasets.csv")]


def value(dataset: str, method: str, measure: str) -> float:
    return float(_printed()[measure, dataset][method])


def published_of(dataset: str | None) -> Published | None:
    """Return the published figures of a dataset with their flags; None without any."""
    if dataset not in datasets():
        return None
    figures = []
    for measure in MEASURES:
        is_index = measure in INDICES
        for method in METHODS:
            text = _printed()[measure, dataset][method]
            flag = _flags().get((dataset, method, "indices" if is_index else measure), "")
            figures.append(
                PublishedFigure(
                    solver=key_of(method),
                    measure="fit_seconds" if measure == "training_seconds" else measure,
                    value=float(text),
                    decimals=len(text.partition(".")[2]),
                    tolerance=INDEX_TOLERANCE if is_index else None,
                    flag=flag,
                )
            )
    return Published(source=SOURCE, figures=tuple(figures))


def bounds() -> dict[str, list[int]]:
    """Return how many bounds each published triple of indices violates, as numbers of a study."""
    triples = [(name, method, "indices") for name in datasets() for method in METHODS]
    flags = [_flags().get(triple, "") for triple in triples]
    return {"violated": [f.startswith("impossible") * (1 + f.count(";")) for f in flags]}


@cache
def _printed() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["measure"], row["dataset"]): row for row in rows_of("bsgd_svc.csv")}


@cache
def _flags() -> dict[tuple[str, str, str], str]:
    rows = rows_of("bsgd_svc_flags.csv")
    return {(row["dataset"], row["method"], row["measure"]): row["flag"] for row in rows}
