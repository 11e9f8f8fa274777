"""Compare estimates of the class prior with the truth, on generated and on real data.

From similar pairs and unlabelled rows: the larger prior by the formula of
`dsgkit.priors.similar_prior` and by that of TSGSU's paper, ``(1 + sqrt(2 pi_S - 1))/2``, with KM1,
KM2 or penalised L1 for the shares; and the ends of `similar_prior_interval`. The paper uses the
share of similar points in the unlabelled rows as ``pi_S``. From as many positive rows as pairs, and
unlabelled rows: penalised L1. Rows are drawn by the prior, without replacement; a cell has the mean
over the seeds and the standard deviation. Prints Markdown. ``gaussians`` are two normal
distributions of variance 1 in four dimensions, whose means are 3 apart; other names are those of
the catalogue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from kept import json_option, write_json

from dsgkit.data import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.linalg import Array
from dsgkit.objectives.similar_unlabeled import similar_share
from dsgkit.priors import km1_share, km2_share, penalised_l1_share, similar_prior_interval
from dsgkit.seeds import derive_seed, permutation

GENERATED = "gaussians"
SHARES = {"km1": km1_share, "km2": km2_share, "penalised_l1": penalised_l1_share}
PAPERS = "{}, paper's formula"
"""Column of a method's estimate by the paper's formula."""


def classes_of(name: str, n_rows: int) -> tuple[Array, Array]:
    """Return positive and negative rows: generated, or all of a dataset scaled to [0, 1]."""
    if name == GENERATED:
        rows = np.random.default_rng(0).normal(size=(2 * n_rows, 4))
        rows[:n_rows] += 1.5  # 1.5 in each of four dimensions: the means are at distance 3
        return rows[:n_rows], rows[n_rows:]
    dataset = load_dataset(DatasetSpec(name=name))
    X = np.asarray(dataset.X[:], np.float64)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)
    return X[dataset.y == 1], X[dataset.y == -1]


def drawn(
    classes: tuple[Array, Array], prior: float, n_pairs: int, n_unlabeled: int, seed: int
) -> tuple[Array, Array, Array]:
    """Return the points of similar pairs, positive rows and unlabelled rows, all different.

    Classes of pairs and of unlabelled rows are random, as in practice.
    """
    rng = np.random.default_rng(derive_seed(seed, "classes"))
    of_pairs = int(rng.binomial(n_pairs, prior**2 / similar_share(prior)))
    of_rows = int(rng.binomial(n_unlabeled, prior))
    counts = (
        (2 * of_pairs, n_pairs, of_rows),
        (2 * (n_pairs - of_pairs), 0, n_unlabeled - of_rows),
    )
    parts = []
    for number, (rows, of_class) in enumerate(zip(classes, counts, strict=True)):
        if sum(of_class) > len(rows):
            raise click.ClickException(f"class {number} has {len(rows)} rows, not {sum(of_class)}")
        order = rows[permutation(len(rows), derive_seed(seed, "rows", number))[: sum(of_class)]]
        parts.append(np.split(order, np.cumsum(of_class)[:-1]))
    similar, positive, unlabeled = (np.vstack(both) for both in zip(*parts, strict=True))
    return similar, positive, unlabeled


def papers_prior(share: float) -> float:
    """Return the larger prior by the paper's formula, from the share of similar points."""
    return (1 + math.sqrt(max(0.0, 2 * share - 1))) / 2


def estimates(
    similar: Array, positive: Array, unlabeled: Array, methods: Sequence[str], seed: int
) -> dict[str, float]:
    """Return the estimates by column."""
    priors = {}
    for method in methods:
        forth, back = (
            SHARES[method](component, mixture, random_state=seed)
            for component, mixture in ((similar, unlabeled), (unlabeled, similar))
        )
        priors[method] = 1 / (1 + forth * back)  # as in `similar_prior`
        priors[PAPERS.format(method)] = papers_prior(forth)
    pairs = similar.reshape(-1, 2, similar.shape[1])
    low, high = similar_prior_interval(pairs, unlabeled, random_state=seed)
    priors |= {"interval, low": low, "interval, high": high}
    share = penalised_l1_share(positive, unlabeled, random_state=seed)
    return priors | {"penalised_l1, positive-unlabelled": share}


def cell(values: Any) -> str:
    """Return the mean and the standard deviation as text."""
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1):.3f})"


@click.command(help=__doc__)
@click.argument("datasets", nargs=-1, default=(GENERATED, "skin", "codrna"))
@click.option("--prior", "priors", multiple=True, type=float, default=(0.6, 0.7, 0.9))
@click.option("--pairs", multiple=True, type=int, default=(50, 500))
@click.option("--unlabeled", default=2000, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(list(SHARES)), default=tuple(SHARES)
)
@json_option
def main(
    datasets: tuple[str, ...],
    priors: tuple[float, ...],
    pairs: tuple[int, ...],
    unlabeled: int,
    seeds: int,
    methods: tuple[str, ...],
    json_file: Path | None,
) -> None:
    """Print the table, row by row."""
    cases: list[dict[str, Any]] = []
    for name in datasets:
        classes = classes_of(name, 2 * max(pairs) + max(pairs) + unlabeled)
        for prior, n_pairs in itertools.product(priors, pairs):
            by_seed = [
                estimates(*drawn(classes, prior, n_pairs, unlabeled, seed), methods, seed)
                for seed in range(seeds)
            ]
            if not cases:
                columns = ("dataset", "prior", "pairs", *by_seed[0])
                click.echo(f"| {' | '.join(columns)} |\n|" + "---|" * len(columns))
            by_column = {column: [one[column] for one in by_seed] for column in by_seed[0]}
            click.echo(
                f"| {name} | {prior:g} | {n_pairs} | {' | '.join(map(cell, by_column.values()))} |"
            )
            cases.append(
                {"dataset": name, "prior": prior, "pairs": n_pairs, "estimates": by_column}
            )
    write_json(json_file, "study_priors", {"cases": cases, **errors(cases, methods)})


def errors(cases: Sequence[dict[str, Any]], methods: Sequence[str]) -> dict[str, Any]:
    """Return the mean absolute errors of both formulas, in the order of cases and methods."""
    formulas = {"similar_prior": "{}", "paper_formula": PAPERS}
    return {
        formula: {
            "errors": [
                float(
                    np.abs(np.subtract(case["estimates"][column.format(m)], case["prior"])).mean()
                )
                for case in cases
                for m in methods
            ]
        }
        for formula, column in formulas.items()
    }


if __name__ == "__main__":
    main()
