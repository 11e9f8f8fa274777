"""Train and predict on large files: time, AUC and peak memory by the number of rows.

Writes missing datasets of `make_big_data.py` into FOLDER. Each size is measured in its own process,
on memory maps: a fit with the same T, b and m for every size, then a prediction for all rows.
``--ordinal`` takes QS3ORAO on five classes, the quintiles of the noisy score; the fit then includes
the thresholds. Exits with code 1 if training on ten times the rows takes more than 1.2 times the
memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import make_big_data
import numpy as np
from kept import json_option, write_json

from dsgkit import QS3ORAO, QSGS2AUC
from dsgkit.experiment.timing import Clock, peak_memory, reset_peak_memory
from dsgkit.tasks.metrics import auc, cut_aucs

N_LABELED = {False: 200, True: 500}
"""Numbers of labelled rows; the key says whether classes are ordinal."""

SIZES = {
    False: ((500_000, 18), (5_000_000, 18), (1_000_000, 54)),
    True: ((500_000, 14), (5_000_000, 14)),
}
MAX_MEMORY_GROWTH = 1.2
"""Largest ratio of the peak memory with 5,000,000 rows to that with 500,000."""


def ordered_classes(folder: Path) -> Any:
    """Return classes 0..4 of rows: the quintiles of their score with logistic noise.

    It maps the rows only temporarily: read pages count as memory while they are mapped.
    """
    score = make_big_data.score(np.load(folder / "X.npy", mmap_mode="r"))
    noisy = score + np.random.default_rng(0).logistic(size=len(score))
    return np.searchsorted(np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]), noisy).astype(np.int8)


def ranked(labels: Any, values: Any, ordinal: bool) -> float:
    """Return the AUC, or its mean over the cuts of ordinal classes."""
    if not ordinal:
        return auc(labels, values)
    return float(np.mean([cut for cut in cut_aucs(labels, values, 5) if cut is not None]))


def measure(folder: Path, iterations: int, ordinal: bool) -> dict[str, Any]:
    """Train and predict on one dataset and return the figures."""
    solver: Any = QS3ORAO if ordinal else QSGS2AUC
    y = ordered_classes(folder) if ordinal else np.load(folder / "y.npy", mmap_mode="r")
    X = np.load(folder / "X.npy", mmap_mode="r")
    n_labeled = N_LABELED[ordinal]
    labeled, rest = slice(0, n_labeled), slice(n_labeled, None)
    rows, labels = np.array(X[labeled]), np.array(y[labeled])
    few = solver(n_iterations=40, batch_size=8, n_features=8)  # compiles
    few.fit(rows, labels, X[n_labeled : n_labeled + 2000]).decision_function(rows)
    model = solver(sigma=2 / X.shape[1], n_iterations=iterations)
    clock = Clock()
    reset_peak_memory()  # memory of the compilation does not count
    with clock.phase("fit"):
        model.fit(rows, labels, X[rest])
    training_memory = peak_memory()
    reset_peak_memory()
    with clock.phase("predict"):
        values = model.decision_function(X[rest])
    prediction_memory = peak_memory()
    n, features = len(X), model.n_features * iterations
    predicting = clock.wall["predict"]
    return {
        "rows": n,
        "inputs": X.shape[1],
        "fit_seconds": clock.wall["fit"],
        "fit_memory": training_memory,
        "predict_seconds": predicting,
        "predict_memory": prediction_memory,
        "predict_ns_per_feature": predicting / ((n - n_labeled) * features) * 1e9,
        "auc": ranked(y[rest], values, ordinal),
        "best_possible_auc": ranked(y[rest], make_big_data.score(X[rest]), ordinal),
    }


def in_a_process(folder: Path, iterations: int, ordinal: bool) -> dict[str, Any]:
    """Measure in a new process, with no other memory."""
    command = [sys.executable, __file__, str(folder), "--one", "--iterations", str(iterations)]
    command += ["--ordinal"] * ordinal
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--iterations", default=400, show_default=True, help="T, for all sizes.")
@click.option("--ordinal", is_flag=True, help="Measure QS3ORAO on ordered classes.")
@json_option
@click.option("--one", is_flag=True, hidden=True)
def main(folder: Path, iterations: int, ordinal: bool, json_file: Path | None, one: bool) -> None:
    """Measure all sizes and print a table."""
    if one:
        click.echo(json.dumps(measure(folder, iterations, ordinal)))
        return
    sizes = [
        in_a_process(make_big_data.write(folder, *size), iterations, ordinal)
        for size in SIZES[ordinal]
    ]
    growth = sizes[1]["fit_memory"] / sizes[0]["fit_memory"]
    write_json(json_file, "study_big_data", {"sizes": sizes, "memory_growth": growth})
    click.echo("     rows   d   fit (s)   (MiB)   predict (s)   (MiB)  ns/feature    AUC  (best)")
    for f in sizes:
        click.echo(
            f"{f['rows']:>9} {f['inputs']:>3} {f['fit_seconds']:>9.2f}"
            f" {f['fit_memory'] / 2**20:>7.0f} {f['predict_seconds']:>13.2f}"
            f" {f['predict_memory'] / 2**20:>7.0f} {f['predict_ns_per_feature']:>11.3f}"
            f" {f['auc']:>6.3f} {f['best_possible_auc']:>7.3f}"
        )
    click.echo(f"memory of training, 5,000,000 rows over 500,000: {growth:.3f}")
    sys.exit(growth > MAX_MEMORY_GROWTH)


if __name__ == "__main__":
    main()
