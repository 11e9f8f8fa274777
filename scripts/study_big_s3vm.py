"""Train TSGS3VM on a large file in one pass: time, memory, error, and the hardware's limit.

Writes the dataset of `make_big_data.py` into FOLDER if it is missing, and trains on its memory map
with 200 labelled rows. Prints the wall-clock time, the processor time of all threads, and the time
per row, feature and block: a drawn row is evaluated on every block that the steps have not made
negligible. The limit is that of `bench_engine.py` (the same projections as bare matrix products,
their cosines and sines as one vectorised loop), measured before and after the fit: other load slows
down both.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click
import make_big_data
import numpy as np
from hardware_limit import product_seconds, sincos_seconds
from kept import json_option, write_json

from dsgkit import TSGS3VM
from dsgkit.engine.streaming import remembered
from dsgkit.experiment.timing import Clock, peak_memory, reset_peak_memory

N_LABELED = 200
N_TESTED = 20_000
"""Number of unlabelled rows for measuring the error."""


def blocks_met(n_iterations: int, step: float) -> int:
    """Return the total number of earlier blocks on which one row per iteration is evaluated."""
    kept = min(n_iterations, remembered(step))
    return sum(min(t, kept) for t in range(n_iterations))


def limit_seconds(n_inputs: int, n_features: int) -> float:
    """Return the least seconds for the features of a row in one block."""
    return product_seconds(n_inputs, n_features) + n_features * sincos_seconds()


def measure(folder: Path, **params: Any) -> dict[str, Any]:
    """Train on one dataset and return the figures."""
    X, y = (np.load(folder / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
    rows, labels, rest = np.array(X[:N_LABELED]), np.array(y[:N_LABELED]), X[N_LABELED:]
    few = TSGS3VM(n_iterations=40, batch_size=8, n_features=8)  # compiles
    few.fit(rows, labels, rest[:2000]).decision_function(rows)
    model: Any = TSGS3VM(**params)  # sizes are settled: they are numbers
    m, b = model.n_features, model.batch_size
    limits = [limit_seconds(X.shape[1], m)]
    clock, cpu = Clock(), time.process_time()
    reset_peak_memory()  # memory of the compilation does not count
    with clock.phase("fit"):
        model.fit(rows, labels, rest)
    cpu, memory = time.process_time() - cpu, peak_memory()
    limits.append(limit_seconds(X.shape[1], m))
    T, seconds = model.n_iter_, clock.wall["fit"]
    evaluations = b * blocks_met(T, model.step) + (b + N_LABELED) * T
    X_tested, y_tested = (part[N_LABELED : N_LABELED + N_TESTED] for part in (X, y))
    best = np.where(make_big_data.score(X_tested) >= make_big_data.MEAN_SCORE, 1, -1)
    return {
        "rows": len(X),
        "inputs": X.shape[1],
        "iterations": T,
        "blocks": len(model.function_.coef),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "load": os.getloadavg()[0],
        "memory": memory,
        "ns_per_feature": seconds / (evaluations * m) * 1e9,
        "limit_ns_per_feature": [1e9 * limit / m for limit in limits],
        "over_limit": seconds / (evaluations * float(np.mean(limits))),
        "error": float(np.mean(model.predict(X_tested) != y_tested)),
        "best_possible_error": float(np.mean(best != y_tested)),
    }


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--inputs", default=54, show_default=True)
@click.option("--features", default=1000, show_default=True, help="m.")
@click.option("--batch", default=256, show_default=True, help="b.")
@click.option("--step", default=0.1, show_default=True)
@json_option
def main(
    folder: Path,
    rows: int,
    inputs: int,
    features: int,
    batch: int,
    step: float,
    json_file: Path | None,
) -> None:
    """Measure and print."""
    f = measure(
        make_big_data.write(folder, rows, inputs),
        C=10.0,
        sigma=8 / inputs,
        step=step,
        n_features=features,
        batch_size=batch,
        n_iterations=-(-(rows - N_LABELED) // batch),  # one pass
    )
    write_json(json_file, "study_big_s3vm", f)
    click.echo(f"{f['rows']} x {f['inputs']}, T = {f['iterations']}, {f['blocks']} blocks kept")
    click.echo(
        f"fit {f['seconds']:.1f} s (processor time {f['cpu_seconds']:.1f} s,"
        f" load {f['load']:.1f}), {f['memory'] / 2**20:.0f} MiB"
    )
    before, after = f["limit_ns_per_feature"]
    click.echo(
        f"{f['ns_per_feature']:.3f} ns per feature; limit {before:.3f} before,"
        f" {after:.3f} after: {f['over_limit']:.2f} times the limit"
    )
    click.echo(f"error {f['error']:.3f} (best possible {f['best_possible_error']:.3f})")


if __name__ == "__main__":
    main()
