"""Stored machines and clusterings of the SVC and MSC toolboxes."""

from pathlib import Path

import numpy as np

from dsgkit.clustering.domain import Domain


def load(name):
    with np.load(Path(__file__).parents[1] / "oracles" / f"{name}.npz") as stored:
        return dict(stored)


def rows_and_domain(stored, alpha="alpha"):
    """Return the rows and the domain of a stored machine: our coefficients are twice its."""
    X = stored.get("tin", stored["X"])
    used = stored[alpha] > 0
    return X, Domain(X[used], 2 * stored[alpha][used], float(stored["rbf_gamma"]))
