"""Extrapolate the time of the author-style loop for an experiment's QSG-S2AUC models.

Measures the loop (`author_loop.py`) on the rows of CONFIG for a few of the planned models (its time
depends on T, b, m and the number of columns only), and multiplies by the number of models: every
grid point on every fold of every trial, and every fit of the sweep. Scoring is left out. The result
is an extrapolation, not a measurement.
"""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import author_loop
import click
from timing import keep_freed_memory, seconds

from dsgkit import QSGS2AUC
from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.experiment.plan import make_plan
from dsgkit.tasks.semi_supervised import SemiSupervisedSpec, Split, semi_supervised_split

Sizes = tuple[int, int, int, int]


def models_by_size(experiment: Experiment, dataset: Dataset) -> Counter[Sizes]:
    """Return the number of planned models by unlabelled rows, T, b and m."""
    models: Counter[Sizes] = Counter()
    folds = _protocol(experiment).folds
    for cell in make_plan(experiment, dataset).cells:
        spec = experiment.solvers[cell.solver]
        if spec.kind == "qsg_s2auc":
            count = len(cell.points) * folds if cell.kind == "search" else 1
            estimator: Any = QSGS2AUC(**{**cell.points[0], **spec.params})
            n = cell.at["unlabeled"]
            T = estimator.settled(n_unlabeled=n).n_iterations
            models[n, T, estimator.batch_size, estimator.n_features] += count
    return models


def _protocol(experiment: Experiment) -> SemiSupervisedSpec:
    assert isinstance(experiment.protocol, SemiSupervisedSpec)
    return experiment.protocol


def loop_seconds(split: Split, sizes: Sizes) -> float:
    """Return the seconds of one fit by the author-style loop on the rows of a trial."""
    n_unlabeled, T, b, m = sizes
    XU = split.X_unlabeled[:n_unlabeled]
    X, y = split.X[:], split.y
    return seconds(lambda: author_loop.fit(X, y, XU, n_iterations=T, batch_size=b, n_features=m))


@click.command(help=__doc__)
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--sample", default=3, show_default=True, help="Measured models of each size.")
def main(config: Path, sample: int) -> None:
    """Print the table and the total."""
    keep_freed_memory()
    experiment = load_experiment(config)
    dataset = load_dataset(experiment.dataset)
    protocol = _protocol(experiment)
    split = semi_supervised_split(
        dataset, labeled=protocol.labeled, folds=protocol.folds, seed=0, scale=protocol.scale
    )
    times: dict[tuple[int, int, int], float] = {}
    total = 0.0
    click.echo("unlabelled    T    b    m  models  seconds each (measured)  hours (extrapolated)")
    for sizes, count in sorted(models_by_size(experiment, dataset).items()):
        n_unlabeled, T, b, m = sizes
        if (T, b, m) not in times:
            measured = [loop_seconds(split, sizes) for _ in range(sample)]
            times[T, b, m] = statistics.median(measured)
        each = times[T, b, m]
        total += count * each
        click.echo(
            f"{n_unlabeled:>10} {T:>4} {b:>4} {m:>4} {count:>7} {each:>24.2f}"
            f" {count * each / 3600:>21.2f}"
        )
    click.echo(f"all models, extrapolated: {total / 3600:.1f} hours ({total / 86400:.1f} days)")


if __name__ == "__main__":
    main()
