"""Measure the engine: one fit and a whole grid, compared with the method as authors write it.

For each number of inputs d, in one run and in turn, medians of the repeats:

- the author-style loop in numpy with its default threads (`author_loop.py`, in float32: numpy's
  float64 cosines are several times slower still);
- the engine, one fit;
- the engine, the paper's grid at one sigma: 7 lam x 11 gamma x 5 folds = 385 models;
- the hardware's limit: the projections of all features that the method must evaluate as bare matrix
  products, plus their cosines and sines as one vectorised loop in the cache; for the grid also the
  product of the features with 385 columns. Each is the fastest of several shapes. (A single model
  can be below this limit: it needs one cosine with a phase and no sine.)

Then structured frequencies of many columns: nanoseconds per projection with its cosine, in blocks
of as many frequencies as a matrix has, or 1,024, compared with independent ones and the dense
limit.

Then the gain of a second thread, the growth of the cost with T, b and m, and the alternatives:
scikit-learn's RBFSampler with the same loop on fixed features, and the exact solution (SAMULT) by
the number of rows. Compilation is not measured.
"""

from __future__ import annotations

import itertools
import json
import statistics
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import author_loop
import click
import numba
import numpy as np
from hardware_limit import product_seconds, sincos_seconds
from peers import BATCH, N_LABELED, SETTING, measure_peers
from timing import keep_freed_memory, medians, seconds

from dsgkit import QSGS2AUC
from dsgkit.errors import DsgWarning
from dsgkit.experiment.folder import describe_environment
from dsgkit.features import Blocks, FourierFeatures, StructuredFeatures
from dsgkit.features.structured import matrix_size
from dsgkit.system.machine import single_blas_thread, threads_for

LAM = [2.0**k for k in range(-3, 4)]
GAMMA = [k / 10 for k in range(11)]
POINTS = [{"lam": lam, "gamma": gamma} for lam, gamma in itertools.product(LAM, GAMMA)]
N_FOLDS = 5
N_MODELS = len(POINTS) * N_FOLDS
N_FREQUENCIES = 256
CALL_COLUMNS = 50_000
"""Columns times calls that are timed as one, for 0.2 s and more: after a pause, two threads may
share a core for tens of milliseconds."""


def limits(n_inputs: int, n_iterations: int) -> tuple[float, float]:
    """Return the limits of one fit and of the grid, in seconds.

    Each drawn unlabelled row is evaluated on every earlier block, and each new block at the drawn
    and the labelled rows.
    """
    T = n_iterations
    rows = BATCH * T * (T - 1) / 2 + (BATCH + N_LABELED) * T
    one = product_seconds(n_inputs, N_FREQUENCIES) + N_FREQUENCIES * sincos_seconds()
    return rows * one, rows * (one + product_seconds(2 * N_FREQUENCIES, N_MODELS))


class Task:
    """Random rows of one size, and methods that train on them."""

    def __init__(self, n_inputs: int, n_iterations: int, **sizes: Any) -> None:
        rng = np.random.default_rng(0)
        self.T = n_iterations
        self.X = rng.random((N_LABELED, n_inputs), dtype=np.float32)
        self.y = np.where(self.X[:, 0] > np.median(self.X[:, 0]), 1, -1)
        n_unlabeled = n_iterations * sizes.get("batch_size", BATCH)
        self.XU = rng.random((n_unlabeled, n_inputs), dtype=np.float32)
        self.folds = np.array_split(rng.permutation(N_LABELED), N_FOLDS)
        self.model = QSGS2AUC(**SETTING, n_iterations=n_iterations, **sizes)

    def compile(self) -> None:
        """Compile the code of `fit` and `grid`."""
        few = QSGS2AUC(n_iterations=40, batch_size=8, n_features=8)
        few.fit(self.X, self.y, self.XU[:1000])
        few.fit_points(POINTS[:2], folds=self.folds, X=self.X, y=self.y, X_unlabeled=self.XU[:1000])

    def fit(self) -> object:
        """Train one model."""
        return self.model.fit(self.X, self.y, self.XU)

    def grid(self) -> object:
        """Train the grid of 385 models."""
        return self.model.fit_points(
            POINTS, folds=self.folds, X=self.X, y=self.y, X_unlabeled=self.XU
        )

    def author(self) -> object:
        """Train one model as authors write it."""
        return author_loop.fit(self.X, self.y, self.XU, n_iterations=self.T, **SETTING)


def measure_size(n_inputs: int, n_iterations: int, repeats: int) -> tuple[dict, dict]:
    """Return the figures of one fit and of the grid for one number of inputs."""
    task = Task(n_inputs, n_iterations)
    task.compile()
    measured: list[tuple[float, float]] = []
    runs = {
        "author": task.author,
        "fit": task.fit,
        "limit": lambda: measured.append(limits(n_inputs, n_iterations)),
        "grid": task.grid,
    }
    times = medians(runs, repeats)
    limit, grid_limit = (statistics.median(values) for values in zip(*measured, strict=True))
    one_fit = {
        "seconds": times["fit"],
        "author_seconds": times["author"],
        "limit_seconds": limit,
        "speedup": times["author"] / times["fit"],
        "over_limit": times["fit"] / limit,
    }
    grid = {
        "seconds": times["grid"],
        "limit_seconds": grid_limit,
        "speedup_per_model": times["author"] / (times["grid"] / N_MODELS),
        "over_limit": times["grid"] / grid_limit,
        "over_one_fit": times["grid"] / times["fit"],
    }
    return one_fit, grid


def measure_threads(n_iterations: int, repeats: int) -> dict[str, float]:
    """Return the speed-up of all threads over one, for a fit and for the grid."""
    available = numba.get_num_threads()
    task = Task(18, n_iterations)
    task.compile()

    def alone(run: Callable[[], object]) -> None:
        with threads_for(1, 1):
            run()

    runs: dict[str, Callable[[], object]] = {
        "fit": task.fit,
        "fit_1": lambda: alone(task.fit),
        "grid": task.grid,
        "grid_1": lambda: alone(task.grid),
    }
    times = medians(runs, repeats)
    return {
        "threads": available,
        f"speedup_{available}": times["fit_1"] / times["fit"],
        f"grid_speedup_{available}": times["grid_1"] / times["grid"],
    }


def exponent(sizes: list[int], repeats: int, task_of: Callable[[int], Task]) -> float:
    """Return the slope of log time against log size."""
    tasks = {str(size): task_of(size) for size in sizes}
    times = medians({size: task.fit for size, task in tasks.items()}, repeats)
    return float(np.polyfit(np.log(sizes), np.log(list(times.values())), 1)[0])


def measure_scaling(n_iterations: int, repeats: int) -> dict[str, float]:
    """Return the exponents of the time of a one-pass fit in T, m and b (d = 18)."""
    Task(18, n_iterations).compile()
    lengths, sizes = [2 * n_iterations, 4 * n_iterations, 8 * n_iterations], [128, 256, 512, 1024]
    T = lengths[0]
    return {
        "T": exponent(lengths, repeats, lambda length: Task(18, length)),
        "m": exponent(sizes, repeats, lambda m: Task(18, T, n_features=m)),
        "b": exponent(sizes, repeats, lambda b: Task(18, T, batch_size=b)),
    }


def measure_sincos() -> dict[str, float]:
    """Return nanoseconds per cosine and sine: vectorised on one thread, and by numpy."""
    with threads_for(1, 1):
        ours = statistics.median(sincos_seconds() for _ in range(5))
    z = np.random.default_rng(0).normal(size=(64, N_FREQUENCIES)).astype(np.float32)
    out = np.empty_like(z)

    def both() -> None:
        for _ in range(200):
            np.cos(z, out=out)
            np.sin(z, out=out)

    numpy_ns = statistics.median(seconds(both) for _ in range(5)) / (200 * z.size) * 1e9
    return {"ns": ours * 1e9, "numpy_ns": numpy_ns, "speedup": numpy_ns / (ours * 1e9)}


def measure_structured(n_inputs: int, repeats: int) -> dict[str, float]:
    """Return nanoseconds per projection with its cosine, with all threads."""
    rng, m = np.random.default_rng(0), max(1024, matrix_size(n_inputs, n_inputs))
    X = rng.normal(size=(4096, n_inputs)).astype(np.float32) / np.float32(np.sqrt(n_inputs))
    A = rng.normal(size=(1, 2 * m, 1)).astype(np.float32)
    values = np.zeros((len(X), 1), np.float32)
    dense = FourierFeatures("gaussian", 0.5, m, 0).in_order(n_inputs, 1)
    structured = StructuredFeatures(0.5, m, 0)
    limit: list[float] = []
    n_calls = max(1, CALL_COLUMNS // n_inputs)

    def add(features: Blocks) -> None:
        for _ in range(n_calls):
            features.add(X, 0, A, values)

    runs: dict[str, Callable[[], object]] = {
        "independent": partial(add, dense),
        "structured": partial(add, structured),
        "limit": lambda: limit.append(product_seconds(n_inputs, m) / m + sincos_seconds()),
    }
    with single_blas_thread():
        runs["independent"](), runs["structured"]()  # compiled, and drawn
        times = medians(runs, repeats)
    ns = {
        name: 1e9 * times[name] / (n_calls * len(X) * m) for name in ("independent", "structured")
    }
    ns["limit"] = 1e9 * statistics.median(limit)
    return {"m": m, **ns, "limit_over_structured": ns["limit"] / ns["structured"]}


def show(result: dict[str, Any]) -> None:
    """Print the figures as tables."""
    click.echo(f"{result['machine']['processor']}, {result['threads']['threads']} threads")
    click.echo("\n  d   author (s)  one fit (s)  speedup  / limit   grid (s)  per model  / limit")
    for d, one in result["one_fit"].items():
        grid = result["grid"][d]
        click.echo(
            f"{d:>3}  {one['author_seconds']:11.2f}  {one['seconds']:11.3f}"
            f"  {one['speedup']:7.1f}  {one['over_limit']:7.2f}   {grid['seconds']:8.2f}"
            f"  {grid['speedup_per_model']:9.0f}  {grid['over_limit']:7.2f}"
        )
    for key in ("structured", "threads", "scaling", "sincos", "peers"):
        click.echo(f"\n{key}")
        for name, value in result[key].items():
            click.echo(f"  {name}: {json.dumps(value)}")


@click.command(help=__doc__)
@click.option("--inputs", multiple=True, type=int, default=(3, 8, 18, 54, 128), show_default=True)
@click.option("--iterations", default=200, show_default=True, help="T; one pass over 256 T rows.")
@click.option(
    "--columns", multiple=True, type=int, default=(256, 784, 1000, 3072), show_default=True
)
@click.option("--repeats", default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def main(
    inputs: tuple[int, ...], iterations: int, columns: tuple[int, ...], repeats: int, as_json: bool
) -> None:
    """Measure and print."""
    keep_freed_memory()
    # random rows in many columns have kernel values of 0, which take the same time
    warnings.filterwarnings("ignore", "sigma=", DsgWarning)
    result: dict[str, Any] = {
        "machine": describe_environment(),
        "sizes": {"T": iterations, "b": BATCH, "m": N_FREQUENCIES, "repeats": repeats},
        "one_fit": {},
        "grid": {},
    }
    for d in inputs:
        click.echo(f"d = {d} ...", err=True)
        result["one_fit"][str(d)], result["grid"][str(d)] = measure_size(d, iterations, repeats)
    click.echo("structured, threads, scaling, peers ...", err=True)
    result["structured"] = {f"d = {d}": measure_structured(d, repeats) for d in columns}
    result["threads"] = measure_threads(iterations, repeats)
    result["scaling"] = measure_scaling(iterations, repeats)
    result["sincos"] = measure_sincos()
    result["peers"] = measure_peers(iterations, repeats)
    if as_json:
        click.echo(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
