"""Times of the alternatives to QSG-S2AUC on generated rows.

These are the same loop in numpy on scikit-learn's fixed random features, and the exact solution.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import author_loop
import make_big_data
import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from timing import medians

from dsgkit import QSGS2AUC, SAMULT
from dsgkit.tasks.metrics import auc

SETTING: dict[str, Any] = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5}
N_LABELED = 200
N_TEST = 20_000
BATCH = 256
SAMPLER_SIZES = (512, 2000, 10_000)
EXACT_SIZES = (500, 1000, 2000, 4000, 8000)

Rows = NDArray[np.float32]


def fixed_features_fit(
    X: Rows, y: NDArray, XU: Rows, n_iterations: int, n_components: int
) -> Callable[[Rows], NDArray]:
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
    X, y = make_big_data.make_rows(N_LABELED + n_iterations * BATCH + N_TEST, 18)
    X_l, y_l, test = X[:N_LABELED], y[:N_LABELED], slice(-N_TEST, None)
    XU = X[N_LABELED:-N_TEST]
    model = QSGS2AUC(**SETTING, n_iterations=n_iterations)
    functions: dict[str, Callable[[Rows], NDArray]] = {}

    def engine() -> None:
        functions["engine"] = model.fit(X_l, y_l, XU).decision_function

    def fixed(name: str, size: int) -> None:
        functions[name] = fixed_features_fit(X_l, y_l, XU, n_iterations, size)

    runs: dict[str, Callable[[], object]] = {"engine": engine}
    for size in SAMPLER_SIZES:
        name = f"rbf_sampler_{size}"
        runs[name] = partial(fixed, name, size)
    times = medians(runs, repeats)
    result: dict[str, Any] = {
        name: {"seconds": times[name], "auc": auc(y[test], function(X[test]))}
        for name, function in functions.items()
    }
    result["best_possible_auc"] = auc(y[test], make_big_data.score(X[test]))
    result["samult"] = measure_samult(X_l, y_l, XU, times["engine"], repeats)
    return result


def measure_samult(X: Rows, y: NDArray, XU: Rows, engine: float, repeats: int) -> dict[str, Any]:
    """Return the exact solution's seconds by unlabelled rows, and the rows at the engine's time."""
    sizes = [n for n in EXACT_SIZES if n <= len(XU)]
    runs = {str(n): partial(SAMULT(**SETTING).fit, X, y, XU[:n]) for n in sizes}
    times = np.maximum.accumulate(list(medians(runs, repeats).values()))
    crossing = float(np.exp(np.interp(np.log(engine), np.log(times), np.log(sizes))))
    return {
        "seconds": dict(zip(runs, times, strict=True)),
        "crossing": crossing if times[0] < engine < times[-1] else None,
    }
