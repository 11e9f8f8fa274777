"""Every ranker as it is constructed, on data that comes with scikit-learn."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import minmax_scale

from dsgkit import PNUAUC, QSGS2AUC, RFFS2AUC, SAMULT


def rows(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return minmax_scale(X), y % 2
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X), y


@functools.cache
def split(name):
    """Return labelled rows, their labels, the other rows and theirs."""
    X, y = rows(name)
    labeled, others = np.split(np.random.default_rng(0).permutation(len(X)), [60])
    return X[labeled], y[labeled], X[others], y[others]


@functools.cache
def best(name):
    """Return the AUC of the best of some exact solutions: 0.993, and 0.964 on the digits."""
    X, y, others, truth = split(name)
    return max(
        SAMULT(sigma=sigma).fit(X, y, others).score(others, truth) for sigma in (0.1, 0.3, 1.0)
    )


@pytest.mark.parametrize(
    ("solver", "margin", "name"),
    [
        (QSGS2AUC, 0.015, "digits"),
        *((solver, 0.015, "breast_cancer") for solver in (QSGS2AUC, SAMULT, PNUAUC)),
        (RFFS2AUC, 0.02, "breast_cancer"),
    ],
)
def test_defaults_rank_nearly_as_well_as_the_best_exact_solution(solver, margin, name):
    X, y, others, truth = split(name)
    assert solver().fit(X, y, others).score(others, truth) > best(name) - margin
