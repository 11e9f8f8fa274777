"""What the solvers of every learning setting are given of one small problem."""

import inspect

import numpy as np

from dsgkit.estimators.catalogue import SOLVERS


def arguments(solver):
    """Return the names of what a solver's ``fit`` takes."""
    return set(inspect.signature(solver.fit).parameters)


def given(solver, X, y, U):
    """Return what a solver's ``fit`` takes; pairs are rows of one class.

    The hidden labels are those of the nearest labelled rows.
    """
    pairs = [X[y == label][: 2 * (np.sum(y == label) // 2)] for label in np.unique(y)]
    X_similar = np.vstack(pairs).reshape(-1, 2, X.shape[1])
    nearest = np.argmin(((U[:, None] - X) ** 2).sum(axis=-1), axis=1)
    known = {"X": X, "y": y, "X_unlabeled": U, "y_unlabeled": y[nearest], "X_similar": X_similar}
    names = arguments(solver)
    return {name: rows for name, rows in known.items() if name in names}


WITH_LABELS = [name for name, info in SOLVERS.items() if "y" in arguments(info.load())]
SEMI_SUPERVISED = [name for name in WITH_LABELS if "unlabeled_label" in SOLVERS[name].parameters]
