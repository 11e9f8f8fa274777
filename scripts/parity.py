"""Tell whether the values of all estimators are those of another checkout, on one machine.

::

    python scripts/parity.py take before.npz [NAME ..]   # in one checkout
    python scripts/parity.py take after.npz [NAME ..]    # in the other
    python scripts/parity.py compare before.npz after.npz

It fits every estimator with several settings, and grids on folds and without; what is not equal to
the last bit is told, with its largest difference relative to the range of the values. Seconds are
processor time of one fit and one grid, the least of three.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

import dsgkit  # noqa: E402


def grid(**values: Any) -> list[dict[str, Any]]:
    """Return all combinations of the values of some parameters."""
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


LAM = [2.0**-10, 0.125, 8.0]
BLOCKS = {"n_features": [24], "batch_size": [32]}
RFF = {"n_features": [60]}
AUC = grid(gamma=[0.0, 0.3, 1.0], lam=[2.0**-10, 0.125, 2.0], sigma=["scale", 0.05])
OTHER_KERNELS = grid(kernel=["laplacian", "dot_product(3)"], random_state=[3, 2**63 + 5], **BLOCKS)
RULES = grid(t0=[0.0, 5.0], theta_lam=[1.0, 1.5], lam=[0.01, 0.5], **BLOCKS)
STEPS = grid(n_iterations=[150], **BLOCKS)
SVM = grid(C=[0.5, 20.0], sigma=["scale", 0.5])


def times(settings: list[Any], others: list[Any]) -> list[Any]:
    """Return the settings, each with all parameters of each of the others."""
    return [{**a, **b} for a, b in itertools.product(settings, others)]


SETTINGS = {
    "QSGS2AUC": times(AUC, grid(**BLOCKS)) + RULES + OTHER_KERNELS
    + grid(n_iterations=[7], **BLOCKS) + grid(frequencies=["structured"], **BLOCKS),
    "QSGS2AUCP": times(AUC, grid(**BLOCKS)) + OTHER_KERNELS
    + grid(n_blocks=[3], n_sweeps=[1, 5], batch_size=[50, 10**6], n_features=[24]),
    "SAMULT": AUC + grid(kernel=["laplacian", "dot_product(3)", "linear"]),
    "PNUAUC": grid(lam=LAM, eta=[-1, -0.3, 0, 0.5, 1], prior=[0.3, 0.7], sigma=[0.1])
    + grid(prior=["penl1"], n_centers=[60], sigma=["scale"]),
    "RFFS2AUC": times(AUC, grid(**RFF)),
    "NystromS2AUC": times(AUC, grid(n_landmarks=[50])),
    "QS3ORAO": times(AUC[:6], grid(**BLOCKS)) + RULES[:4] + OTHER_KERNELS[:2]
    + grid(thresholds=["hinge", "share", "absolute"], gamma=[(0.1, 0.5, 1.0)], **BLOCKS),
    "QS3ORAOP": times(AUC[:6], grid(**BLOCKS)) + OTHER_KERNELS[:2],
    "ExactS2OR": AUC + grid(gamma=[(0.1, 0.5, 1.0)], thresholds=["hinge", "share"]),
    "RFFS2OR": times(AUC, grid(**RFF)),
    "SVOREX": times(SVM, grid(tol=[1e-3, 1e-6])) + grid(kernel=["laplacian"]),
    "SVORIM": times(SVM, grid(tol=[1e-3, 1e-6])) + grid(kernel=["linear"]),
    "MSAMULT": grid(lam=LAM, gamma=[0.0, 0.4, 1.0, (0.0, 0.5, 1.0)], sigma=[0.2]),
    "MPNUAUC": grid(lam=LAM, eta=[-0.2, 0.0, 0.3], sigma=[0.2]),
    "KernelRidgeOrdinal": grid(lam=LAM, sigma=["scale", 0.3]),
    "AllThresholdLogistic": grid(lam=LAM, sigma=["scale", 0.3]),
    "ConstantMedian": [{}],
    "TSGS3VM": times(STEPS, grid(
        C=[1.0, 100.0], step=["decreasing", 0.1], loss=["shg", "ramp", "da"]))
    + times(STEPS, grid(balance=[True], anneal=[True, False], sigma=["scale", 0.5]))
    + grid(C_star_ratio=[1.0], n_iterations=["one_pass", None], n_features=[None], batch_size=[64]),
    "TSGS3VMP": grid(C=[1.0, 100.0], C_star_ratio=[None, 1.0], anneal=[True, False], **BLOCKS)
    + grid(sigma=[0.5], n_features=[24], batch_size=[10**6]),
    "FRS3VM": times(STEPS, grid(C=[1.0, 100.0], step=["decreasing", 0.1], balance=[True, False]))
    + grid(n_iterations=["one_pass"], n_passes=[2], **BLOCKS),
    "BGS3VM": SVM + grid(C_star=[0.5], random_state=[3]),
    "BLS3VM": times(SVM, grid(balance=[True, False])) + grid(ramp_s=[-0.5]),
    "S3VMLight": SVM + grid(C_star=[0.75]),
    "SupervisedSVM": SVM,
    "AllLabelsSVM": SVM + grid(most_rows=[40]),
    "SelfTraining": SVM,
    "TSGSU": grid(tail=["average", "last", "decay"], step=["measured", "paper"], lam=[1e-3, 0.3],
                  prior=[0.8], **BLOCKS)
    + grid(delta=["abs", "relu", "leaky_relu", "none"], prior=[0.3], leak=[-0.2], **BLOCKS)
    + grid(prior=["estimate"], **BLOCKS),
    "TSGSUP": grid(delta=["abs", "none"], lam=[1e-3, 0.3], prior=[0.8], n_sweeps=[1, 2], **BLOCKS)
    + grid(batch_size=[10**6], n_features=[24], prior=[0.8]),
    "CUU": grid(n_iterations=[50], delta=["abs", "none"], lam=[1e-3, 0.1], prior=[0.8],
                sigma=["scale", 0.1])
    + grid(n_iterations=[30], n_centers=[40], batch_size=[16], prior=[0.7]),
    "SUSL": grid(lam=LAM, prior=[0.2, 0.7], kernel=["gaussian", "linear", "laplacian"], sigma=[0.1])
    + grid(prior=["estimate"]),
    "RFFSUSL": grid(lam=LAM, prior=[0.7], sigma=["scale", 0.1], **RFF),
    "SUDH": grid(lam=[1e-3, 0.1], prior=[0.3, 0.7], kernel=["gaussian", "linear"], sigma=[0.1],
                 n_centers=[50]),
    "SupervisedSL": grid(
        lam=LAM, sigma=[0.02, 0.3], kernel=["gaussian", "linear", "dot_product(3)"]),
    "MajorityClass": [{}],
    "BSGDLMOC": [{}, *grid(strategy=["removal", "prn", "pnn"], budget=[30], C=[64.0])],
    "SGDLMOC": grid(C=[16.0, 64.0]),
    "BenHurSVC": grid(C=[0.1, 1.0]),
    "FSVC": [{"C": 0.1}, {"share": 0.5, "radius": 0.3}],
}  # fmt: skip
STREAMING = ("QSGS2AUC", "QS3ORAO", "TSGS3VM", "TSGSU", "QSGS2AUCP", "TSGS3VMP", "FRS3VM")
POINTS = {
    "lam": grid(lam=LAM, sigma=[0.1, 1.0]),
    "gamma": grid(lam=LAM, gamma=[0.0, 0.3, 1.0], sigma=[0.1, "scale"]),
    "eta": grid(lam=LAM, eta=[-0.3, 0.0, 0.5], sigma=[0.1]),
    "C": grid(C=[1.0, 20.0], sigma=[0.1, 1.0]),
    "gamma of clusters": grid(gamma=[1.0, 8.0]),
}
FITTED = (
    "thresholds_", "corrected_", "n_iter_", "n_cuts_", "sigma_", "prior_", "labels_", "n_clusters_",
    "classes_", "gamma_", "support_vectors_", "remark_", "objective_",
)  # fmt: skip


def rows(kind: str, n: int, n_unlabeled: int, d: int = 6) -> dict[str, Any]:
    """Return training arrays by name: two noisy moons in d columns."""
    rng = np.random.default_rng(7)

    def drawn(count: int) -> Any:
        z, angle = rng.integers(0, 2, count), np.pi * rng.random(count)
        X = rng.normal(scale=0.3, size=(count, d))
        X[:, 0] += np.cos(angle) * (1 - 2 * z) + z
        X[:, 1] += np.sin(angle) * (1 - 2 * z) + z / 2
        return X, z

    (X, z), (U, hidden) = drawn(n), drawn(n_unlabeled)
    own = [np.flatnonzero(z == label) for label in (0, 1)]
    pairs = [X[o[rng.integers(0, len(o), 2)]] for o in (own[i] for i in z)]
    return {
        "pairs": {"X_similar": np.stack(pairs), "X_unlabeled": U},
        "ordinal": {"X": X, "y": np.digitize(X[:, 0], [-0.5, 0.5, 1.2]), "X_unlabeled": U},
        "labels": {"X": X, "y": z, "X_unlabeled": U},
        "all labels": {"X": X, "y": z, "X_unlabeled": U, "y_unlabeled": hidden},
        "supervised": {"X": X, "y": z},
        "ordinal labels": {"X": X, "y": np.digitize(X[:, 0], [-0.5, 0.5, 1.2])},
        "clusters": {"X": X[:, :2]},
    }[kind]


def kind_of(name: str) -> str:
    """Return what an estimator is trained on."""
    if name in ("KernelRidgeOrdinal", "AllThresholdLogistic", "ConstantMedian", "SVOREX", "SVORIM"):
        return "ordinal labels"
    if name in ("BSGDLMOC", "SGDLMOC", "BenHurSVC", "FSVC"):
        return "clusters"
    if name in ("TSGSU", "TSGSUP", "CUU", "SUSL", "RFFSUSL", "SUDH"):
        return "pairs"
    if name in ("QS3ORAO", "QS3ORAOP", "ExactS2OR", "RFFS2OR", "MSAMULT", "MPNUAUC"):
        return "ordinal"
    special = {"AllLabelsSVM": "all labels", "SupervisedSL": "supervised"}
    return special.get(name, "supervised" if name == "MajorityClass" else "labels")


def points_of(name: str) -> list[dict[str, Any]]:
    """Return a grid for a search."""
    parameters = getattr(dsgkit, name)().get_params()
    if kind_of(name) == "clusters":
        return POINTS["gamma of clusters"]
    first = next((p for p in ("gamma", "eta", "lam", "C") if p in parameters), None)
    return [{}] if first is None else POINTS[first]


def folds_of(arrays: dict[str, Any]) -> list[Any]:
    """Return five folds of the labelled rows, or of pairs and unlabelled rows."""
    if "X_similar" in arrays:
        n, m = len(arrays["X_similar"]), len(arrays["X_unlabeled"])
        return [(np.arange(k, n, 5), np.arange(k, m, 5)) for k in range(5)]
    order = np.argsort(arrays["y"], kind="stable")
    return [np.sort(order[k::5]) for k in range(5)]


def seconds(call: Callable[..., Any], *points: Any, **arrays: Any) -> float:
    """Return the least processor time of three calls, after another one."""
    least = math.inf
    for _ in range(3):
        begin = time.process_time()
        call(*points, **arrays)
        least = min(least, time.process_time() - begin)
    return least


def taken(name: str) -> dict[str, Any]:
    """Return all values of an estimator, by what they are."""
    out: dict[str, Any] = {}
    estimator = getattr(dsgkit, name)
    quick: dict[str, Any] = {k: v[0] for k, v in {**BLOCKS, "n_iterations": [60]}.items()}
    quick = {k: v for k, v in quick.items() if k in estimator().get_params()}
    if name in ("TSGSU", "TSGSUP", "CUU", "SUSL", "RFFSUSL", "SUDH"):
        quick["prior"] = 0.8
    sizes = [(90, 700)]
    if name in STREAMING:
        sizes.append((90, 9000))  # too many rows to keep their values
    if name == "TSGSU":
        sizes.append((2500, 9000))
    for n, m in sizes:
        arrays = rows(kind_of(name), n if kind_of(name) != "clusters" else 300, m)
        table = arrays["X_unlabeled" if "X_unlabeled" in arrays else "X"][:1000]
        for setting in SETTINGS[name] if m == 700 else SETTINGS[name][:12]:
            key = f"{name} {n}+{m} {setting}"
            try:
                model = estimator(**setting).fit(**arrays)
            except Exception as error:
                out[key] = np.array(f"{type(error).__name__}: {error}")
                continue
            values = getattr(model, "score_samples", None) or model.decision_function
            out[f"{key} values"] = values(table)
            if hasattr(model, "predict"):
                out[f"{key} predict"] = model.predict(table)
            for attribute in FITTED:
                value = getattr(model, attribute, None)
                if value is not None and not callable(value):
                    out[f"{key} {attribute}"] = np.asarray(value)
            if hasattr(model, "diagnostics"):
                numbers = model.diagnostics(**arrays)
                for what, number in numbers.items():
                    out[f"{key} {what}"] = np.asarray(number)
        model, points = estimator(**quick), points_of(name)
        out[f"{name} {n}+{m} seconds fit"] = seconds(model.fit, **arrays)
        if hasattr(model, "fit_points") and kind_of(name) != "clusters":
            one_sigma = [p for p in points if p.get("sigma") == points[0].get("sigma")]
            functions = model.fit_points(one_sigma, **arrays)
            out[f"{name} {n}+{m} grid"] = functions.decision_function(table)
            folds = folds_of(arrays)
            held = model.fit_points(points, folds=folds, **arrays)
            for part, values in enumerate(held if isinstance(held, tuple) else [held]):
                out[f"{name} {n}+{m} folds {part}"] = values
            out[f"{name} {n}+{m} seconds grid"] = seconds(
                model.fit_points, points, folds=folds, **arrays
            )
    return out


def take(path: str, names: list[str]) -> None:
    """Write the values of estimators to a file."""
    out: dict[str, Any] = {}
    for name in names or SETTINGS:
        start = time.process_time()
        out |= taken(name)
        print(f"{name} {time.process_time() - start:.1f} s", flush=True)
    arrays: Any = {key.replace("/", "|"): np.asarray(v) for key, v in out.items()}
    np.savez_compressed(path, **arrays)


def compare(before: str, after: str) -> None:
    """Print what differs, one line per estimator and kind of value."""
    old, new = np.load(before), np.load(after)
    names = dict.fromkeys(key.split()[0] for key in new.files)
    for name in names:
        keys = [key for key in old.files if key.split()[0] == name]
        other: list[str] = []
        equal, worst, where = 0, 0.0, ""
        for key in keys:
            if " seconds " in key:
                continue
            if key not in new.files:
                other.append(f"missing: {key}")
                continue
            a, b = old[key], new[key]
            if a.shape == b.shape and (
                np.array_equal(a, b, equal_nan=True) if a.dtype.kind == "f" else (a == b).all()
            ):
                equal += 1
            elif a.dtype.kind != "f" or a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
                other.append(f"{key}: {str(a)[:90]} | {str(b)[:90]}")
            else:
                finite = np.isfinite(a)
                size = np.ptp(a[finite]) if finite.sum() > 1 else abs(a[finite]).max()
                difference = np.abs(a - b)[finite].max() / max(size, 1e-300)
                if difference >= worst:
                    worst, where = difference, key
        compared = sum(" seconds " not in key for key in keys)
        print(f"{name:20} {equal} of {compared} equal; largest difference {worst:.1e} {where}")
        for line in other[:12]:
            print("    ", line)
        more = [key for key in new.files if key.split()[0] == name and key not in old.files]
        for key in more[:3]:
            print("     new:", key)
        for key in (key for key in keys if " seconds " in key and key in new.files):
            print(f"     {key}: {float(old[key]):.4f} -> {float(new[key]):.4f}"
                  f" x{float(new[key]) / max(float(old[key]), 1e-9):.2f}")  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, *rest = sys.argv[1:]
    if command == "take":
        take(rest[0], rest[1:])
    else:
        compare(*rest)
