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
import statistics
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import author_loop
import click
import numba
import numpy as np
from bench_big import make_rows, score
from hardware import feature_seconds, medians, product_seconds, sincos_seconds
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from study import Result, show, study

from dsgkit import QSGS2AUC, SAMULT
from dsgkit.errors import DsgWarning
from dsgkit.features import Blocks, FourierFeatures, StructuredFeatures
from dsgkit.features.structured import matrix_size
from dsgkit.system.machine import single_blas_thread, threads_for
from dsgkit.tasks.metrics import auc

SETTING: dict[str, Any] = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5}
N_LABELED, N_TEST, BATCH, N_FREQUENCIES, N_FOLDS = 200, 20_000, 256, 256, 5
POINTS = [{"lam": 2.0**k, "gamma": j / 10} for k, j in itertools.product(range(-3, 4), range(11))]
N_MODELS = len(POINTS) * N_FOLDS
COLUMNS = (256, 784, 1000, 3072)  # of structured frequencies
SAMPLER_SIZES = (512, 2000, 10_000)
EXACT_SIZES = (500, 1000, 2000, 4000, 8000)
# columns times calls that are timed as one, for 0.2 s and more: after a pause, two threads may
# share a core for tens of milliseconds
CALL_COLUMNS = 50_000


def limits(n_inputs: int, n_iterations: int) -> tuple[float, float]:
    """Return the limits of one fit and of the grid, in seconds."""
    T = n_iterations
    # each drawn unlabelled row is evaluated on every earlier block, and each new block at the drawn
    # and the labelled rows
    rows = BATCH * T * (T - 1) / 2 + (BATCH + N_LABELED) * T
    one = feature_seconds(n_inputs, N_FREQUENCIES)
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
        few = QSGS2AUC(n_iterations=40, batch_size=8, n_features=8)  # compiles
        few.fit(self.X, self.y, self.XU[:1000])
        few.fit_points(POINTS[:2], folds=self.folds, X=self.X, y=self.y, X_unlabeled=self.XU[:1000])

    def fit(self) -> object:
        return self.model.fit(self.X, self.y, self.XU)

    def grid(self) -> object:
        rows = {"X": self.X, "y": self.y, "X_unlabeled": self.XU}
        return self.model.fit_points(POINTS, folds=self.folds, **rows)

    def author(self) -> object:
        return author_loop.fit(self.X, self.y, self.XU, n_iterations=self.T, **SETTING)


def measure_size(n_inputs: int, n_iterations: int, repeats: int) -> dict[str, float]:
    """Return the figures of one fit and of the grid for one number of inputs."""
    task = Task(n_inputs, n_iterations)
    measured: list[tuple[float, float]] = []
    runs = {
        "author": task.author,
        "fit": task.fit,
        "limit": lambda: measured.append(limits(n_inputs, n_iterations)),
        "grid": task.grid,
    }
    times = medians(runs, repeats)
    limit, grid_limit = np.median(measured, axis=0).tolist()
    return {
        "author_seconds": times["author"],
        "fit_seconds": times["fit"],
        "speedup": times["author"] / times["fit"],
        "fit_over_limit": times["fit"] / limit,
        "grid_seconds": times["grid"],
        "speedup_per_model": times["author"] / (times["grid"] / N_MODELS),
        "grid_over_limit": times["grid"] / grid_limit,
    }


def measure_threads(n_iterations: int, repeats: int) -> dict[str, float]:
    task = Task(18, n_iterations)

    def alone(run: Callable[[], object]) -> None:
        with threads_for(1, 1):
            run()

    runs = {"fit": task.fit, "grid": task.grid}
    slow = {f"{name}_1": partial(alone, run) for name, run in runs.items()}
    times = medians(runs | slow, repeats)
    speedups = {name: times[f"{name}_1"] / times[name] for name in runs}
    return {"threads": numba.get_num_threads(), **speedups}


def measure_scaling(n_iterations: int, repeats: int) -> dict[str, float]:
    """Return the exponents of the time of a one-pass fit in T, m and b (d = 18)."""
    lengths, sizes = [2 * n_iterations, 4 * n_iterations, 8 * n_iterations], [128, 256, 512, 1024]
    T, exponents = lengths[0], {}
    for name, grown in {"T": lengths, "n_features": sizes, "batch_size": sizes}.items():
        tasks = [Task(18, n) if name == "T" else Task(18, T, **{name: n}) for n in grown]
        runs = {str(n): task.fit for n, task in zip(grown, tasks, strict=True)}
        times = list(medians(runs, repeats).values())
        exponents[name] = float(np.polyfit(np.log(grown), np.log(times), 1)[0])
    return exponents


def measure_sincos() -> dict[str, float]:
    """Return nanoseconds per cosine and sine: vectorised on one thread, and by numpy."""
    with threads_for(1, 1):
        ours = statistics.median(sincos_seconds() for _ in range(5))
    z = np.random.default_rng(0).normal(size=(64, N_FREQUENCIES)).astype(np.float32)
    out = np.empty_like(z)

    def both() -> None:
        np.cos(z, out=out)
        np.sin(z, out=out)

    by_numpy = statistics.median(timeit.repeat(both, number=200)) / (200 * z.size)
    return {"ns": ours * 1e9, "numpy_ns": by_numpy * 1e9, "speedup": by_numpy / ours}


def measure_structured(n_inputs: int, repeats: int) -> dict[str, float]:
    """Return nanoseconds per projection with its cosine, with all threads."""
    rng, m = np.random.default_rng(0), max(1024, matrix_size(n_inputs, n_inputs))
    X = rng.normal(size=(4096, n_inputs)).astype(np.float32) / np.float32(np.sqrt(n_inputs))
    A = rng.normal(size=(1, 2 * m, 1)).astype(np.float32)
    values = np.zeros((len(X), 1), np.float32)
    limit: list[float] = []
    n_calls = max(1, CALL_COLUMNS // n_inputs)

    def add(features: Blocks) -> None:
        for _ in range(n_calls):
            features.add(X, 0, A, values)

    runs: dict[str, Callable[[], object]] = {
        "independent": partial(add, FourierFeatures("gaussian", 0.5, m, 0).in_order(n_inputs, 1)),
        "structured": partial(add, StructuredFeatures(0.5, m, 0)),
        "limit": lambda: limit.append(feature_seconds(n_inputs, m) / m),
    }
    with single_blas_thread():
        runs["independent"](), runs["structured"]()  # compiled, and drawn
        times = medians(runs, repeats)
    each = n_calls * len(X) * m
    ns = {name: 1e9 * times[name] / each for name in ("independent", "structured")}
    return {"m": m, **ns, "limit": 1e9 * statistics.median(limit)}


def fixed_features_fit(
    X: NDArray, y: NDArray, XU: NDArray, n_iterations: int, n_components: int
) -> Callable[[NDArray], NDArray]:
    """Train on scikit-learn's RBFSampler by the same loop in numpy; return the function."""
    sampler = RBFSampler(gamma=SETTING["sigma"], n_components=n_components, random_state=0)
    sampler.fit(X)
    draws = np.random.default_rng(0)
    positive, negative = sampler.transform(X[y > 0]), sampler.transform(X[y <= 0])
    w = np.zeros(n_components, np.float32)
    for t in range(1, n_iterations + 1):
        P = positive[draws.integers(0, len(positive), BATCH)]
        N = negative[draws.integers(0, len(negative), BATCH)]
        U = sampler.transform(XU[draws.integers(0, len(XU), BATCH)])
        c_p, c_n, c_u = author_loop.coefficients(P @ w, N @ w, U @ w, SETTING["gamma"])
        gradient = (P.T @ c_p + N.T @ c_n + U.T @ c_u) / BATCH
        w = (1 - 1.5 / t) * w - 1.5 / SETTING["lam"] / t * gradient
    return lambda rows: np.asarray(sampler.transform(rows) @ w)


def measure_peers(n_iterations: int, repeats: int) -> dict[str, Any]:
    """Return times and AUCs of the engine and its alternatives, d = 18."""
    X, y = make_rows(N_LABELED + n_iterations * BATCH + N_TEST, 18)
    given, test = (X[:N_LABELED], y[:N_LABELED], X[N_LABELED:-N_TEST]), slice(-N_TEST, None)
    model = QSGS2AUC(**SETTING, n_iterations=n_iterations)
    functions: dict[str, Callable[[NDArray], NDArray]] = {}

    def engine() -> None:
        functions["engine"] = model.fit(*given).decision_function

    def fixed(name: str, size: int) -> None:
        functions[name] = fixed_features_fit(*given, n_iterations, size)

    named = {f"rbf_sampler_{size}": size for size in SAMPLER_SIZES}
    exact = [n for n in EXACT_SIZES if n <= len(given[2])]
    runs: dict[str, Callable[[], object]] = {"engine": engine}
    runs |= {name: partial(fixed, name, size) for name, size in named.items()}
    runs |= {f"samult_{n}": partial(SAMULT(**SETTING).fit, *given[:2], given[2][:n]) for n in exact}
    times = medians(runs, repeats)
    grown = np.maximum.accumulate([times[f"samult_{n}"] for n in exact])
    # the number of unlabelled rows with which SAMULT takes the engine's time
    inside = grown[0] < times["engine"] < grown[-1]
    crossing = np.exp(np.interp(np.log(times["engine"]), np.log(grown), np.log(exact)))
    return {
        "seconds": times,
        "auc": {name: auc(y[test], function(X[test])) for name, function in functions.items()},
        "best_possible_auc": auc(y[test], score(X[test])),
        "crossing": float(crossing) if inside else None,
    }


@study
@click.option("--inputs", multiple=True, type=int, default=(3, 8, 18, 54, 128), show_default=True)
@click.option("--iterations", default=200, show_default=True, help="T; one pass over 256 T rows.")
@click.option("--repeats", default=3, show_default=True)
def main(inputs: tuple[int, ...], iterations: int, repeats: int) -> Result:
    # makes malloc keep freed memory, so that the author-style loop is 5 times faster: glibc raises
    # its thresholds after a large block has been freed
    np.empty(2**25 - 2**16, np.uint8)
    # random rows in many columns have kernel values of 0, which take the same time
    warnings.filterwarnings("ignore", "sigma=", DsgWarning)
    numbers: dict[str, Any] = {
        "inputs": {d: measure_size(d, iterations, repeats) for d in inputs},
        "structured": {d: measure_structured(d, repeats) for d in COLUMNS},
    }
    for title, rows in numbers.items():
        show(title, list(rows.values()), list(rows))
    others = {
        "threads": measure_threads(iterations, repeats),
        "scaling": measure_scaling(iterations, repeats),
        "sincos": measure_sincos(),
        "peers": measure_peers(iterations, repeats),
    }
    for title, values in others.items():
        click.echo(f"{title}: {values}")
    return numbers | others, []
