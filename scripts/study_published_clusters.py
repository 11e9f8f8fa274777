"""Search for the published clusterings among all points of the paper's grids.

The paper on budgeted support vector clustering does not state how it chose gamma and C or how it
scaled features; and C may weigh the sum over rows, not their mean as in its equation. For its
methods, on datasets of the shipped configs, this fits every point of the grid with several seeds,
on raw and on scaled features and with C in either unit. A CSV file keeps purity, Rand index, NMI
and the number of clusters; points with all seeds are not fitted again. It prints, for each possible
published triple, the point with the nearest mean triple, and the number of published figures within
0.05 under every rule of choice, the last of which uses the figures themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pandas as pd
from kept import json_option, write_json

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import FitError
from dsgkit.estimators import catalogue
from dsgkit.experiment.plan import grid_points
from dsgkit.published import bsgd_svc
from dsgkit.published.audit import ROUNDING, findings
from dsgkit.published.clusterings import INDEX_TOLERANCE
from dsgkit.seeds import derive_seed
from dsgkit.tasks import metrics
from dsgkit.tasks.clustering import (
    MAX_CLUSTERS,
    MIN_CLUSTERS,
    ROWS,
    Clustering,
    ClusteringSpec,
)

CONFIGS = Path(__file__).parents[1] / "configs"
SCALES = ("raw", "standard")
METHODS_IN = {"mean": bsgd_svc.METHODS, "sum": ("SGD", "BSGD-R", "BSGD-PNN", "BSGD-PRN")}
UNITS = tuple(METHODS_IN)
"""Scales of the losses that C multiplies in the objective."""

TRIPLE = ["purity", "rand", "nmi"]
SETTING = ["scale", "C of the"]
KEYS = ["dataset", "method", *SETTING]
POINT = [*KEYS, "point"]

MEASURED = "measured_"
"""Prefix of the name of a measured index, next to the published one."""

NEAREST_RULE = "nearest to the published triple"
RULES = {"highest NMI": "nmi", "highest Rand index": "rand", "highest purity": "purity"}
SHAPE_RULE = f"lowest Davies-Bouldin index, {MIN_CLUSTERS} to {MAX_CLUSTERS} clusters"


def fits(dataset: str, scale: str, unit: str, seeds: int) -> Iterator[dict[str, Any]]:
    """Fit every point of the paper's methods, and return the indices of each as a row.

    For a sphere, C is the same in either unit, so SVC and FSVC are fitted with that of the mean.
    """
    experiment = load_experiment(CONFIGS / f"{dataset}_clustering.yaml")
    data = load_dataset(experiment.dataset)
    spec = ClusteringSpec.model_validate({**experiment.protocol.model_dump(), "scale": scale})
    for seed in range(seeds):
        trial = Clustering(data, spec, derive_seed(seed, "split"))
        X, classes = trial.training(trial.sizes)["X"], trial.classes(trial.sizes)
        for method in METHODS_IN[unit]:
            key = bsgd_svc.key_of(method)
            solver = experiment.solvers[key]
            info = catalogue.get(solver.kind)
            if len(X) > solver.at_most.get(ROWS.name, len(X)):
                continue
            drawn = {"random_state": seed} if "random_state" in info.params else {}
            for point in grid_points(solver.search[0].choices):
                text = ", ".join(f"{name} {value:g}" for name, value in point.items())
                row = dict(zip(POINT, (dataset, method, scale, unit, text), strict=True))
                if unit == "sum":
                    point = {**point, "C": len(X) * point["C"]}
                try:
                    model = info.load()(**{**solver.params, **drawn, **point}).fit(X)
                except FitError:
                    continue  # no domain at this point
                yield {**row, "seed": seed, **indices_of(X, classes, model.labels_)}


def indices_of(X: Any, classes: Any, labels: Any) -> dict[str, Any]:
    """Return the indices of a clustering."""
    indices = metrics.class_indices(classes, labels)
    return {
        **{name: indices[name] for name in ("purity", "rand", "nmi")},
        "davies_bouldin": metrics.davies_bouldin(metrics.Clusters(X, labels)),
        "clusters": int(labels.max()) + 1,
    }


def published() -> pd.DataFrame:
    """Return the published triples that some clustering with structure can have."""
    rows = [
        {
            "dataset": finding.dataset,
            "method": finding.method,
            **{name: bsgd_svc.value(finding.dataset, finding.method, name) for name in TRIPLE},
        }
        for finding in findings().values()
        if not finding.impossible and not finding.degenerate
    ]
    return pd.DataFrame(rows)


def means(fitted: pd.DataFrame) -> pd.DataFrame:
    """Return every point's mean over seeds, with its method's published values."""
    values = fitted.drop(columns="seed").groupby(POINT, as_index=False).mean()
    values = values.rename(columns={name: MEASURED + name for name in TRIPLE})
    both = values.merge(published(), on=["dataset", "method"])
    both["distance"] = distances(both).max(axis=1)
    return both


def distances(both: pd.DataFrame) -> pd.DataFrame:
    """Return the distances of measured indices to published ones."""
    return pd.DataFrame({name: (both[MEASURED + name] - both[name]).abs() for name in TRIPLE})


def chosen(points: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the point chosen by each rule for every dataset, method and scaling."""
    by_index = {
        rule: points.loc[points.groupby(KEYS)[MEASURED + name].idxmax()]
        for rule, name in RULES.items()
    }
    usual = points[points["clusters"].between(MIN_CLUSTERS, MAX_CLUSTERS)].dropna(
        subset="davies_bouldin"
    )
    by_index[SHAPE_RULE] = usual.loc[usual.groupby(KEYS)["davies_bouldin"].idxmin()]
    return {**by_index, NEAREST_RULE: points.loc[points.groupby(KEYS)["distance"].idxmin()]}


def counts(points: pd.DataFrame) -> pd.DataFrame:
    """Return the number of figures within the tolerance by scaling and rule."""
    rows = []
    for rule, of_rule in chosen(points).items():
        for (scale, unit), one in of_rule.groupby(SETTING):
            near = distances(one) <= INDEX_TOLERANCE + ROUNDING
            cells = {name: f"{near[name].sum()} of {len(near)}" for name in TRIPLE}
            cells["all three"] = f"{near.all(axis=1).sum()} of {len(near)}"
            rows.append({"choice": rule, "features": scale, "C of the": unit, **cells})
    return pd.DataFrame(rows)


def nearest(points: pd.DataFrame) -> pd.DataFrame:
    """Return the nearest point to every published triple under each scaling."""
    best = points.loc[points.groupby(["dataset", "method"])["distance"].idxmin()]

    def triple(prefix: str) -> pd.Series:
        columns = [best[prefix + name].map("{:.2f}".format) for name in TRIPLE]
        return columns[0].str.cat(columns[1:], sep=" / ")

    table = best[["dataset", "method"]].assign(published=triple(""), nearest=triple(MEASURED))
    table["off by"] = best["distance"].map("{:.2f}".format)
    table["clusters"] = best["clusters"].map("{:.1f}".format)
    return table.assign(
        **{"features": best["scale"], "C of the": best["C of the"], "at": best["point"]}
    )


def markdown(table: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    lines = [table.columns, ["---"] * len(table.columns), *table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def collect(
    path: Path,
    datasets: tuple[str, ...],
    scales: tuple[str, ...],
    units: tuple[str, ...],
    seeds: int,
) -> pd.DataFrame:
    """Add missing fits to the file and return its contents."""
    known = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=[*POINT, "seed"])
    for wanted in itertools.product(datasets, scales, units):
        have = known[known[["dataset", *SETTING]].eq(list(wanted)).all(axis=1)]
        if have["seed"].nunique() < seeds:
            added = pd.DataFrame(fits(*wanted, seeds))
            known = pd.concat([known.drop(have.index), added], ignore_index=True)
            known.to_csv(path, index=False)
    return known


@click.command(help=__doc__)
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("datasets", nargs=-1, type=click.Choice(list(bsgd_svc.datasets())))
@click.option("--scale", "scales", type=click.Choice(SCALES), multiple=True, default=SCALES)
@click.option("--unit", "units", type=click.Choice(UNITS), multiple=True, default=UNITS)
@click.option("--seeds", default=5, show_default=True)
@json_option
def main(
    path: Path,
    datasets: tuple[str, ...],
    scales: tuple[str, ...],
    units: tuple[str, ...],
    seeds: int,
    json_file: Path | None,
) -> None:
    """Add missing fits on some datasets to the file, and print results on all its fits."""
    fitted = collect(path, datasets, scales, units, seeds)
    if not len(fitted):
        raise click.ClickException(f"{path} holds nothing yet: name datasets to fit")
    points = means(fitted)
    agreeing, at_best = counts(points), nearest(points)
    click.echo(f"Published figures within {INDEX_TOLERANCE:g} of means over seeds\n")
    click.echo(markdown(agreeing))
    click.echo("\nPurity / Rand index / NMI\n")
    click.echo(markdown(at_best))
    numbers = {"counts": agreeing.to_dict("records"), "nearest": at_best.to_dict("records")}
    write_json(json_file, "study_published_clusters", numbers)


if __name__ == "__main__":
    main()
