"""A change of a solver's values needs a new version: else stored results would pass for its own.

``python -m tests.estimators.test_fingerprints`` writes ``fingerprints.json`` again, and says which
solvers' values have changed.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.tasks.base import function_of
from tests.estimators.given import given

FILE = Path(__file__).with_name("fingerprints.json")
COMMAND = "python -m tests.estimators.test_fingerprints"

_SIGMA = {"sigma": 1.0, "random_state": 3}
_ENGINE = {**_SIGMA, "batch_size": 8, "n_features": 8}
_SWEEPS = {**_ENGINE, "n_blocks": 3, "n_sweeps": 2}
_STEPS = {**_ENGINE, "n_iterations": 30}
_AUC = {"lam": 0.125, "sigma": 1.0, "gamma": 0.4}
_DECREASING = {"theta_lam": 1.5, "t0": "stable"}
_SIMILAR = {"lam": 0.01, "sigma": 1.0, "prior": 0.7}
_RFF = {"n_features": 8, "random_state": 3}
_S3VM = {"C": 2.0, "C_star": 0.75, "ramp_s": -0.5}
_SVM = {"C": 50.0, "sigma": 1.0, "tol": 1e-6}
_CLUSTERS = {"gamma": 8.0, "C": 8.0, "random_state": 3}
_BALANCED = {"step": "decreasing", "first_move": 5.0, "anneal": True, "balance": True}

PARAMS = {
    "qsg_s2auc": _STEPS | _AUC | _DECREASING,
    "qsg_s2auc_p": _SWEEPS | _AUC,
    "samult": _AUC,
    "pnu_auc": {"lam": 0.125, "sigma": 1.0, "eta": 0.25, "prior": "penl1", "n_centers": 20},
    "rff_s2auc": _AUC | _RFF,
    "nystrom_s2auc": {**_AUC, "n_landmarks": 12, "random_state": 3},
    "tsgs3vm": {**_STEPS, "C": 50.0, "C_star_ratio": 0.5, **_BALANCED},
    "tsgs3vm_p": {**_SWEEPS, "C": 50.0, "C_star_ratio": 0.5, "anneal": True},
    "frs3vm": {**_ENGINE, **_S3VM, "n_iterations": 18, "step": 0.1, "loss": "ramp"},
    "bgs3vm": {**_SIGMA, "C": 2.0, "C_star": 0.75},
    "bls3vm": {**_S3VM, "sigma": 1.0, "balance": True, "tol": 1e-4},
    "qs3orao": _STEPS | _AUC | _DECREASING,
    "qs3orao_p": _SWEEPS | _AUC,
    "exact_s2or": _AUC,
    "rff_s2or": _AUC | _RFF,
    "svorex": {"C": 2.0, "sigma": 1.0, "tol": 1e-6},
    "svorim": {"C": 2.0, "sigma": 1.0, "tol": 1e-6},
    "m_samult": _AUC,
    "m_pnu_auc": {"lam": 0.125, "sigma": 1.0, "eta": 0.25, "n_centers": 20},
    "kernel_ridge": {"lam": 0.01, "sigma": 1.0},
    "all_threshold": {"lam": 0.01, "sigma": 1.0},
    "constant_median": {},
    "su_sl": _SIMILAR,
    "rff_su_sl": _SIMILAR | _RFF,
    "su_dh": {**_SIMILAR, "lam": 0.1, "n_centers": 20},
    "tsgsu": _STEPS | {"lam": 0.01, "prior": 0.7},
    "tsgsu_p": _SWEEPS | {"lam": 0.01, "prior": 0.7},
    "cuu": {**_SIMILAR, "n_iterations": 20, "batch_size": 8},
    "supervised_sl": {"lam": 0.01, "sigma": 1.0},
    "majority_class": {},
    "bsgd_lmoc": {**_CLUSTERS, "budget": 12, "strategy": "pnn"},
    "sgd_lmoc": _CLUSTERS,
    "svc": {"gamma": 8.0, "C": 0.2},
    "fsvc": {**_CLUSTERS, "C": 0.2, "share": 0.8},
    "s3vm_light": {"C": 2.0, "sigma": 1.0, "C_star": 0.75},
    "supervised_svm": _SVM,
    "all_labels_svm": {**_SVM, "most_rows": 40, "random_state": 3},
    "self_training": _SVM,
}
"""What the defaults are does not matter: they are no part of a solver's version."""


def problem():
    """Return rows in the unit cube by a formula, so that no library's random numbers matter."""
    numbers = np.sin(np.arange(1.0, 64 * 3 + 1) * 12.9898) * 43758.5453
    rows = (numbers - np.floor(numbers)).reshape(64, 3).astype(np.float32)
    y = np.where(rows[:20, 0] + rows[:20, 1] ** 2 > 0.8, 1, -1)
    return rows[:20], y, rows[20:]


def taken(name):
    """Return the version and the values at the unlabelled rows of a solver as it is."""
    X, y, U = problem()
    model = SOLVERS[name].load()(**PARAMS[name])
    values = function_of(model.fit(**given(model, X, y, U)))(U)
    return {"version": SOLVERS[name].version, "values": values.round(9).tolist()}


def same(values, others):
    """Tell whether values agree to 1e-5 of their size."""
    a, b = np.array(values), np.array(others)
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-5 * abs(b).max())


# a few pairs tell little at any prior: the class of each moves the risk
@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", SOLVERS)
def test_values_change_only_with_the_version(name):
    old, new = json.loads(FILE.read_text()).get(name), taken(name)
    assert old, f"{name} has no fingerprint: run {COMMAND}"
    assert new["version"] == old["version"], f"{name} has a new version: run {COMMAND}"
    assert same(new["values"], old["values"]), (
        f"the values of {name} have changed: raise its `version`, then run {COMMAND}"
    )


def main():
    """Write the file, leaving entries that still agree as they are."""
    before, after = json.loads(FILE.read_text()), {}
    for name in SOLVERS:
        new, old = taken(name), before.get(name)
        kept = old and old["version"] == new["version"] and same(new["values"], old["values"])
        after[name] = old if kept else new
        if not kept:
            print(f"{name}: version {new['version']}")
    FILE.write_text(json.dumps(after, indent=1) + "\n")


if __name__ == "__main__":
    main()
