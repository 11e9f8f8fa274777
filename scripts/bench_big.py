"""Train on large generated files: time, memory and quality by the number of rows.

Rows are uniform in the unit cube. The score of a row is Friedman's first function of its first five
columns, ``10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5``; the others are noise. The label is 1
with the probability ``1 / (1 + exp(m - score))``, m the mean score, else -1: no method can rank
better than the score itself. A file of n rows is the first part of every larger one; missing files
are written into FOLDER.

Each size is measured in its own process, on a memory map, with the same iterations for every size:

- auc, ordinal: QSG-S2AUC with 200 labelled rows, QS3ORAO with 500 of five classes, the quintiles of
  the noisy score; 500,000 and 5,000,000 x 18;
- su: TSGSU with 5,000 similar pairs and the paper's setting (T = 100, b = m = 1,000), 100,000 and
  5,000,000 x 14;
- s3vm: TSGS3VM with 200 labelled rows in one pass over 1,000,000 x 54. ``over_limit`` compares its
  time with the hardware's limit (`bench_engine.py`), measured before and after the fit. The bar is
  an SVM of the 200 rows alone. C, sigma and the step are those of the least error on 5,000 further
  rows, by their labels, as in the paper. In that search, which is not timed, TSGS3VM has 5,000
  unlabelled rows, as many frequencies as suit these, the final C*/C, and 700 iterations, after
  which the shortest step, too, has forgotten the start.

Memory is that of the process during the fit, without mapped files. ``quality`` is an AUC (its mean
over the cuts) or an accuracy on unlabelled rows, ``best_quality`` that of the law itself. The
script exits with code 1 if training on the larger file takes more than 1.2 times the memory.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
from hardware import feature_seconds
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from sklearn.base import clone
from study import Result, show, study

from dsgkit import QS3ORAO, QSGS2AUC, TSGS3VM, TSGSU, SupervisedSVM
from dsgkit.engine.streaming import remembered
from dsgkit.tasks.base import function_of
from dsgkit.tasks.metrics import auc, cut_aucs

SIZES = {  # rows and columns, by task
    "auc": ((500_000, 18), (5_000_000, 18)),
    "ordinal": ((500_000, 18), (5_000_000, 18)),
    "su": ((100_000, 14), (5_000_000, 14)),
    "s3vm": ((1_000_000, 54),),
}
N_LABELED = {"auc": 200, "ordinal": 500, "su": 20_000, "s3vm": 200}  # rows; half the pairs are kept
PRIOR = 0.7  # of similar pairs: share of positive rows, which have the highest scores
N_TESTED = 20_000
N_SEARCHED = 5000  # unlabelled rows of a search, and rows that judge its models
SEARCH_ITERATIONS = 700
GRID = {"C": [2.0**k for k in range(-2, 18)], "sigma": [0.001, 0.01, 0.1, 1.0, 10.0]}
STEPS = [0.1, 0.03, 0.01]
CHUNK_ROWS = 2**16  # generated at a time, by their own seed
MEAN_SCORE = 14.413
MAX_MEMORY_GROWTH = 1.2


def score(X: NDArray) -> NDArray[np.float64]:
    """Return Friedman's function at rows."""
    x = X[:, :5].astype(np.float64).T
    return 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]


def make_chunk(number: int, n_inputs: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return the rows from ``number * CHUNK_ROWS`` on, with their labels."""
    rng = np.random.default_rng((n_inputs, number))
    X = rng.random((CHUNK_ROWS, n_inputs), dtype=np.float32)
    positive = rng.random(CHUNK_ROWS) < 1 / (1 + np.exp(MEAN_SCORE - score(X)))
    return X, np.where(positive, 1, -1).astype(np.int8)


def make_rows(n_rows: int, n_inputs: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return the first rows and their labels in memory."""
    chunks = [make_chunk(k, n_inputs) for k in range(-(-n_rows // CHUNK_ROWS))]
    X, y = (np.concatenate(parts)[:n_rows] for parts in zip(*chunks, strict=True))
    return X, y


def written(parent: Path, n_rows: int, n_inputs: int) -> Path:
    """Write a file of rows, unless it exists, and return its path."""
    path = parent / f"friedman_{n_rows}x{n_inputs}.npy"
    if not path.exists():
        parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        X = open_memmap(unfinished, "w+", np.float32, (n_rows, n_inputs))
        for number, start in enumerate(range(0, n_rows, CHUNK_ROWS)):
            X[start : start + CHUNK_ROWS] = make_chunk(number, n_inputs)[0][: n_rows - start]
        X.flush()
        unfinished.rename(path)
    return path


def own_memory(ended: threading.Event) -> int:
    """Return this process's peak memory without mapped files until an event, every 5 ms."""
    process, peak = psutil.Process(), 0
    while True:
        memory = process.memory_info()
        peak = max(peak, memory.rss - memory.shared)
        if ended.wait(0.005):
            return peak


def problem(
    task: str, head: NDArray, n_rows: int
) -> tuple[Any, tuple[Any, ...], NDArray, NDArray[np.float64]]:
    """Return the estimator, its labelled data, and of the other first rows labels and the law."""
    n, d, f = N_LABELED[task], head.shape[1], score(head)
    if task == "su":
        positive = f > np.quantile(f, 1 - PRIOR)
        pairs, same = head[:n].reshape(-1, 2, d), positive[:n:2] == positive[1:n:2]
        y = np.where(positive, 1, -1)[n:]
        return TSGSU(lam=2.0**-12, sigma=0.5, prior=PRIOR), (pairs[same][: n // 4],), y, 1.0 * y
    y = make_rows(len(head), d)[1]
    if task == "ordinal":
        noisy = f + np.random.default_rng(0).logistic(size=len(f))
        y = np.searchsorted(np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]), noisy).astype(np.int8)
        model: Any = QS3ORAO(sigma=2 / d, n_iterations=400)
    elif task == "auc":
        model = QSGS2AUC(sigma=2 / d, n_iterations=400)
    else:
        one_pass: Any = {"n_iterations": -(-(n_rows - n) // 256), "batch_size": 256}
        model = TSGS3VM(C_star_ratio=n / (n_rows - n), n_features=1000, **one_pass)
    return model, (head[:n], y[:n]), y[n:], f[n:] - MEAN_SCORE


def searched(model: Any, labeled: tuple[Any, ...], grid: dict[str, Any]) -> dict[str, float]:
    """Return the point of a grid with the least error on further rows."""
    d, first = labeled[0].shape[1], N_LABELED["s3vm"] + N_TESTED
    X, y = (part[first:] for part in make_rows(first + 2 * N_SEARCHED, d))
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    named = dict(zip(("X", "y", "X_unlabeled"), (*labeled, X[:N_SEARCHED]), strict=True))
    values = model.fit_points(points, **named).decision_function(X[N_SEARCHED:])
    right = (values >= 0) == (y[N_SEARCHED:, None] > 0)
    return points[int(np.argmax(right.mean(axis=0)))]


def quality(task: str, y: NDArray, values: NDArray) -> float:
    """Return the AUC of values, or the accuracy of their signs."""
    if task == "auc":
        return auc(y, values)
    if task == "ordinal":
        return float(np.mean([cut for cut in cut_aucs(y, values, 5) if cut is not None]))
    return float(np.mean((values >= 0) == (y > 0)))


def measure(task: str, path: Path) -> dict[str, Any]:
    X, n = np.load(path, mmap_mode="r"), N_LABELED[task]
    head, rest = np.array(X[: n + N_TESTED]), X[n:]
    model, labeled, y, law = problem(task, head, len(X))
    if task == "s3vm":
        short = min(model.n_iterations, SEARCH_ITERATIONS)
        few = clone(model).set_params(n_iterations=short, n_features=None)
        model.set_params(**searched(few, labeled, GRID | {"step": STEPS}))
    few = clone(model).set_params(n_iterations=40, batch_size=8, n_features=8)
    function_of(few.fit(*labeled, rest[:2000]))(head[:100])  # compiles
    d, m = X.shape[1], model.n_features
    figures: dict[str, Any] = {"rows": len(X), "inputs": d}
    limits = [feature_seconds(d, m)]
    start, cpu, ended = time.perf_counter(), time.process_time(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        memory = pool.submit(own_memory, ended)
        try:
            model.fit(*labeled, rest)
        finally:
            ended.set()
    figures |= {"seconds": time.perf_counter() - start, "memory": memory.result()}
    figures["mebibytes"] = figures["memory"] / 2**20
    figures |= {"cpu_seconds": time.process_time() - cpu, "load": os.getloadavg()[0]}
    figures["quality"] = quality(task, y, function_of(model)(head[n:]))
    figures["best_quality"] = quality(task, y, law)
    if task == "s3vm":  # a drawn row is evaluated on every earlier block that is not negligible
        T, b, kept = model.n_iter_, model.batch_size, remembered(model.step)
        evaluations = b * sum(min(t, kept) for t in range(T)) + (b + n) * T
        limits.append(feature_seconds(d, m))
        figures["over_limit"] = figures["seconds"] / (evaluations * float(np.mean(limits)))
        figures["error"] = 1 - figures["quality"]
        figures |= {name: getattr(model, name) for name in (*GRID, "step")}
        alone = SupervisedSVM()
        alone.set_params(**(chosen := searched(alone, labeled, GRID))).fit(*labeled)
        figures |= {f"{name}_labeled_rows_alone": value for name, value in chosen.items()}
        error = 1 - quality(task, y, function_of(alone)(head[n:]))
        figures |= {"error_labeled_rows_alone": error, "excess_error": figures["error"] - error}
    return figures


@study
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--task", type=click.Choice(list(SIZES)), required=True)
@click.option("--size", "sizes", nargs=2, type=int, multiple=True, help="Rows and columns.")
@click.option("--one", is_flag=True, hidden=True, help="Measure the file FOLDER.")
def main(folder: Path, task: str, sizes: tuple[tuple[int, int], ...], one: bool) -> Result:
    if one:
        click.echo(json.dumps(measure(task, folder)))
        sys.exit()
    measured = []
    for size in sizes or SIZES[task]:
        command = [sys.executable, __file__, str(written(folder, *size)), "--task", task, "--one"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        measured.append(json.loads(done.stdout))
    show(task, measured)
    growth = measured[-1]["memory"] / measured[0]["memory"]
    missed = [f"memory grows {growth:.2f} times"] if growth > MAX_MEMORY_GROWTH else []
    return {**measured[-1], "sizes": measured}, missed
