"""Measure the cost of the budget and the early stop of support vector clustering.

The paper on budgeted support vector clustering reports clusters that are better than those of exact
SVC. For growing budgets, and for both stopping rules, this fits the methods on a grid of gamma and
C and takes the fit with the highest NMI, as the shipped configs do; indices are means over seeds.
The exact sphere (SVC) and the descent without a budget are fitted for comparison.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd
from study import Result, show, study

from dsgkit import BSGDLMOC, SGDLMOC, BenHurSVC
from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import FitError
from dsgkit.seeds import derive_seed
from dsgkit.tasks import metrics
from dsgkit.tasks.clustering import Clustering, ClusteringSpec

CONFIGS = Path(__file__).parents[1] / "configs"
DATASETS = ("jain", "flame", "iris", "aggregation", "pathbased", "rings", "moons")
BUDGETS = (25, 50, 100, 200)
STRATEGIES = {"removal": "BSGD-R", "pnn": "BSGD-PNN"}
STOPS = {"paper": "paper's stop", "epoch": "epoch"}
GAMMAS = [2.0**e for e in range(-5, 6, 2)]  # of the profile ``reference``, as the next two,
MARGIN_C = [2.0**e for e in range(1, 12, 2)]  # without values that leave no row inside the domain
SPHERE_C = [2.0**e for e in range(-9, 2, 2)]
INDICES = ["purity", "nmi", "adjusted_rand", "compactness"]
METHOD = ["method", "stop", "budget"]


def methods(budgets: Sequence[int]) -> Iterator[tuple[tuple[str, str, int], type, dict[str, Any]]]:
    """Yield the name, stop and budget (0 without one), the class and the parameters of methods."""
    yield ("SVC", "exact", 0), BenHurSVC, {}
    for stop, title in STOPS.items():
        yield ("SGD-LMOC", title, 0), SGDLMOC, {"stop": stop}
        for (strategy, name), budget in itertools.product(STRATEGIES.items(), budgets):
            fixed = {"stop": stop, "strategy": strategy, "budget": budget}
            yield (name, title, budget), BSGDLMOC, fixed


def best_fit(kind: type, fixed: dict[str, Any], X: Any, classes: Any) -> dict[str, float]:
    """Return the indices of the fit with the highest NMI on the grid."""
    found = []
    for gamma, C in itertools.product(GAMMAS, SPHERE_C if kind is BenHurSVC else MARGIN_C):
        try:
            labels = kind(gamma=gamma, C=C, **fixed).fit(X).labels_
        except FitError:
            continue  # no domain at this point
        found.append((metrics.nmi(classes, labels), labels))
    nmi, labels = max(found, key=lambda fit: fit[0])
    indices = metrics.class_indices(classes, labels)
    compactness = metrics.compactness(metrics.Clusters(X, labels))
    return {**indices, "nmi": nmi, "compactness": compactness}


def fits(dataset: str, budgets: Sequence[int], seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the best fit of every method and seed on a dataset of the shipped configs."""
    experiment = load_experiment(CONFIGS / f"{dataset}_clustering.yaml")
    data = load_dataset(experiment.dataset)
    spec = ClusteringSpec.model_validate(experiment.protocol.model_dump())
    for seed in range(seeds):
        trial = Clustering(data, spec, derive_seed(seed, "split"))
        X, classes = trial.training(trial.sizes)["X"], trial.classes(trial.sizes)
        for method, kind, fixed in methods(budgets):
            drawn = fixed if kind is BenHurSVC else {**fixed, "random_state": seed}
            row = {"dataset": dataset, **dict(zip(METHOD, method, strict=True))}
            yield row | best_fit(kind, drawn, X, classes)


@study
@click.argument("datasets", nargs=-1)
@click.option("--budget", "budgets", multiple=True, type=int, default=BUDGETS, show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(datasets: tuple[str, ...], budgets: tuple[int, ...], seeds: int) -> Result:
    rows = [row for name in datasets or DATASETS for row in fits(name, budgets, seeds)]
    means = pd.DataFrame(rows).groupby(["dataset", *METHOD], sort=False)[INDICES].mean()
    overall = means.groupby(level=METHOD, sort=False).mean()
    numbers = {"means": means.reset_index(), "overall": overall.reset_index()}
    for name, table in numbers.items():
        show(f"{name} over {seeds} seeds; of the grid, the fit with the highest NMI", table)
    records = {name: table.to_dict("records") for name, table in numbers.items()}
    return records, []
