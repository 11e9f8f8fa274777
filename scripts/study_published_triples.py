"""Search for clusterings with the published triples that no clustering should have.

The paper on budgeted support vector clustering prints purity, Rand index and NMI of 6 methods on 15
datasets. `dsgkit.published.audit` proves that no clustering has 22 of these 90 triples. For each,
this searches for a clustering under other readings of the indices: purity by the size of the class,
as the paper's formula may be read; other means of the entropies in the NMI; and only a part of the
rows. Simulated annealing moves rows of a class from one cluster to another until all three indices
are within rounding. A clustering proves that a reading makes a triple possible; failure proves
nothing, so it also searches for the triples that no bound excludes, by the usual reading, and
prints how many it misses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from kept import json_option, write_json
from numba import njit

from dsgkit.published import bsgd_svc
from dsgkit.published.audit import ROUNDING, findings

TRIPLE = ("purity", "rand", "nmi")
PURITIES = ("cluster", "class")
"""Purity divides the largest class count in a cluster by the size of one of these."""

MEANS = ("arithmetic", "geometric", "maximum", "minimum", "joint entropy")
"""Mean of the entropies of classes and clusters that divides the mutual information."""

ROWS = ("all", "a part")
MAX_CLUSTERS = 800
MIN_KEPT_SHARE = 0.1
"""Least share of kept rows, if a part may be left out."""


class Reading(NamedTuple):
    """Definition of the three indices: a value each of `PURITIES`, `MEANS` and `ROWS`."""

    purity: str
    mean: str
    rows: str


USUAL = Reading("cluster", "arithmetic", "all")
OTHERS = {
    "purity by the size of the class": [USUAL._replace(purity="class")],
    "another mean in the NMI": [USUAL._replace(mean=mean) for mean in MEANS[1:]],
    "a part of the rows": [USUAL._replace(rows="a part")],
}
"""Readings that differ from the usual one in one respect."""

ANY = "any of these together"


@njit
def _changed(counts: Any, M: Any, sums: Any, cluster: int, sign: float, by_class: bool) -> None:
    """Add a cluster's terms to the sums over clusters, or subtract them."""
    size, squares, logs, most = 0.0, 0.0, 0.0, 0.0
    for j in range(len(M)):
        n = counts[cluster, j]
        if n > 0:
            size += n
            squares += n * n
            logs += n * np.log(n)
            most = max(most, n / M[j] if by_class else float(n))
    if size > 0:
        sums[0] += sign * squares
        sums[1] += sign * size * size
        sums[2] += sign * logs
        sums[3] += sign * size * np.log(size)
        sums[4] += sign * (size * most if by_class else most)


@njit
def _misfit(sums: Any, kept: Any, mean: int, target: Any, tolerance: float) -> float:
    """Return the total distance of the three indices to a triple, beyond rounding."""
    n = kept.sum()
    squares = (kept * kept).sum()
    logs = 0.0
    for m in kept:
        if m > 0:
            logs += m * np.log(m)
    of_classes, of_clusters = np.log(n) - logs / n, np.log(n) - sums[3] / n
    joint = np.log(n) - sums[2] / n
    shared = of_classes + of_clusters - joint
    if mean == 0:
        scale = (of_classes + of_clusters) / 2
    elif mean == 1:
        scale = np.sqrt(max(0.0, of_classes * of_clusters))
    elif mean == 2:
        scale = max(of_classes, of_clusters)
    elif mean == 3:
        scale = min(of_classes, of_clusters)
    else:
        scale = joint
    nmi = shared / scale if scale > 1e-12 else 0.0
    rand = 1 + (2 * sums[0] - sums[1] - squares) / (n * (n - 1))
    found = (sums[4] / n, rand, nmi)
    missed = 0.0
    for i in range(3):
        missed += max(0.0, abs(found[i] - target[i]) - tolerance)
    return missed


@njit
def _move(counts: Any, M: Any, sums: Any, kept: Any, move: Any, by_class: bool) -> None:
    """Move k rows of class j from cluster a to b; the last cluster has the rows left out."""
    a, b, j, k = move
    outside = len(counts) - 1
    for cluster, change in ((a, -k), (b, k)):
        if cluster == outside:
            kept[j] -= change
            counts[cluster, j] += change
        else:
            _changed(counts, M, sums, cluster, -1.0, by_class)
            counts[cluster, j] += change
            _changed(counts, M, sums, cluster, 1.0, by_class)


@njit
def _search(
    counts: Any,
    M: Any,
    target: Any,
    by_class: bool,
    mean: int,
    least: float,
    tolerance: float,
    steps: int,
    draw: np.random.Generator,
) -> float:
    """Move rows between clusters until a triple is met; return the remaining distance.

    The last row of ``counts`` has the rows left out; at least ``least`` rows are kept.
    """
    outside = len(counts) - 1
    sums = np.zeros(5)
    for cluster in range(outside):
        _changed(counts, M, sums, cluster, 1.0, by_class)
    kept = M - counts[outside]
    missed = _misfit(sums, kept, mean, target, tolerance)
    last = outside if least >= M.sum() else outside + 1
    for step in range(steps):
        if missed <= 0:
            break
        heat = 0.1 * 1e-4 ** (step / steps)
        j, b = draw.integers(0, len(M)), draw.integers(0, last)
        a = np.searchsorted(np.cumsum(counts[:last, j]), draw.random() * (M[j] - 0.5))
        if a in (b, last) or counts[a, j] == 0:
            continue
        k = min(counts[a, j], int(np.exp(draw.random() * np.log(counts[a, j] + 1.0))))
        if b == outside and kept.sum() - k < least:
            continue
        before = sums.copy()
        _move(counts, M, sums, kept, (a, b, j, k), by_class)
        now = _misfit(sums, kept, mean, target, tolerance)
        if now <= missed or draw.random() < np.exp((missed - now) / heat):
            missed = now
        else:
            _move(counts, M, sums, kept, (b, a, j, k), by_class)
            sums[:] = before
    return missed


def starts(sizes: Sequence[int], draw: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield starts with few to many clusters: the classes, and random clusterings."""
    M = np.asarray(sizes)
    most = min(int(M.sum()), MAX_CLUSTERS)
    for n_clusters in sorted({min(most, n) for n in (len(M), 3 * len(M), 100, MAX_CLUSTERS)}):
        for whole in (True, False):
            counts = np.zeros((n_clusters + 1, len(M)))
            for j, m in enumerate(M):
                if whole:
                    counts[j, j] = m
                else:
                    counts[:-1, j] = draw.multinomial(m, np.full(n_clusters, 1 / n_clusters))
            yield counts


def is_found(
    sizes: Sequence[int], triple: Sequence[float], reading: Reading, steps: int, seed: int
) -> bool:
    """Return whether the search finds a clustering with a triple under a reading."""
    M = np.asarray(sizes, dtype=float)
    least = M.sum() * (MIN_KEPT_SHARE if reading.rows == "a part" else 1.0)
    how = (reading.purity == "class", MEANS.index(reading.mean), least, ROUNDING, steps)
    draw = np.random.default_rng(seed)
    return any(
        _search(counts, M, np.asarray(triple), *how, draw) <= 0 for counts in starts(sizes, draw)
    )


def possible(dataset: str, method: str, steps: int, seed: int) -> dict[str, bool]:
    """Return for each reading whether the search finds a clustering with a published triple."""
    sizes = bsgd_svc.datasets()[dataset].class_sizes
    triple = [bsgd_svc.value(dataset, method, name) for name in TRIPLE]

    def found(readings: Sequence[Reading]) -> bool:
        return any(is_found(sizes, triple, one, steps, seed) for one in readings)

    answers = {name: found(readings) for name, readings in OTHERS.items()}
    tried = [USUAL, *itertools.chain(*OTHERS.values())]
    every = (Reading(*one) for one in itertools.product(PURITIES, MEANS, ROWS))
    further = [one for one in every if one not in tried]
    return {**answers, ANY: any(answers.values()) or found(further)}


@click.command(help=__doc__)
@click.option("--steps", default=100_000, show_default=True, help="Moves of a search.")
@click.option("--seed", default=0, show_default=True)
@json_option
def main(steps: int, seed: int, json_file: Path | None) -> None:
    """Search for clusterings, and print the readings under which there are some."""
    rows: list[dict[str, Any]] = []
    missed, n_usual = [], 0
    for (dataset, method), finding in findings().items():
        if finding.impossible:
            answers = possible(dataset, method, steps, seed)
            rows.append({"dataset": dataset, "method": method, **answers})
            shown = [what for what, answer in answers.items() if answer]
            click.echo(f"{dataset} {method}: {'; '.join(shown) or 'none'}")
            continue
        n_usual += 1
        sizes = bsgd_svc.datasets()[dataset].class_sizes
        triple = [bsgd_svc.value(dataset, method, name) for name in TRIPLE]
        if not is_found(sizes, triple, USUAL, steps, seed):
            missed.append(f"{dataset} {method}")
    counts = {what: sum(row[what] for row in rows) for what in (*OTHERS, ANY)}
    for what, count in counts.items():
        click.echo(f"{what}: {count} of {len(rows)}")
    click.echo(f"no clustering found of {len(missed)} of {n_usual} others: {', '.join(missed)}")
    numbers = {"triples": rows, "counts": counts, "others": n_usual, "missed": missed}
    write_json(json_file, "study_published_triples", numbers)


if __name__ == "__main__":
    main()
