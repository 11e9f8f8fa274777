"""The ordinal AUC objective against the risk as it is defined, pair by pair."""

import itertools

import numpy as np
import pytest

from dsgkit.objectives.ordinal_auc import OrdinalAUCObjective, open_cuts
from dsgkit.objectives.pnu_auc import PNUAUCObjective

GAMMA = np.array([[0.5, 0.5], [0.0, 0.25], [0.9, 1.0], [0.3, 0.7]])
POOLS = [np.arange(0, 2), np.arange(2, 3), np.arange(3, 6)]  # rows of each class
UNLABELED = np.arange(6, 8)
MISSING = [None, 0, 1, 2]  # the class that a model has no rows of


def pair_loss(f, a, b):
    return np.mean([(1 - f[i] + f[j]) ** 2 for i in a for j in b])


def risk(f, pools, gamma):
    """Mean over the cuts with rows on both sides, each row of a side with the same weight."""
    total, n_cuts = 0.0, 0
    for cut in range(1, len(pools)):
        p, n = np.concatenate(pools[cut:]), np.concatenate(pools[:cut])
        if len(p) and len(n):
            g, n_cuts = gamma[cut - 1], n_cuts + 1
            rest = pair_loss(f, p, UNLABELED) + pair_loss(f, UNLABELED, n) - 0.5
            total += g * pair_loss(f, p, n) + (1 - g) * rest
    return total / n_cuts


def without(missing):
    return [pool[:0] if c == missing else pool for c, pool in enumerate(POOLS)]


def test_over_all_tuples_the_mean_of_the_coefficients_is_the_gradient_of_the_risk():
    f = np.random.default_rng(0).normal(size=(8, 4))  # one column per model
    counts = np.array([[len(pool) for pool in without(missing)] for missing in MISSING])
    tuples = np.array(list(itertools.product(*POOLS[::-1], UNLABELED)))
    values = [f[rows].astype(np.float32) for rows in tuples.T]
    coefficients = OrdinalAUCObjective(GAMMA, counts).coefficients(values)
    gradient = np.zeros_like(f)
    for rows, c in zip(tuples.T, coefficients, strict=True):
        np.add.at(gradient, rows, c)
    h = 1e-5
    for g, missing in enumerate(MISSING):
        for i in range(len(f)):
            up, down = f[:, g].copy(), f[:, g].copy()
            up[i] += h
            down[i] -= h
            rise = risk(up, without(missing), GAMMA[g]) - risk(down, without(missing), GAMMA[g])
            assert gradient[i, g] == pytest.approx(rise / (2 * h), abs=1e-5)


def draws(n_sources, n_models):
    rng = np.random.default_rng(1)
    return [rng.normal(size=(7, n_models)).astype(np.float32) for _ in range(n_sources)]


def test_with_two_classes_it_is_the_binary_objective_bit_for_bit():
    values, gamma = draws(3, 5), np.array([0.0, 0.1, 0.3, 0.77, 1.0])
    counts = np.array([[3, 8], [1, 1], [100, 7], [5, 5], [2, 9]])
    expected = PNUAUCObjective(gamma).coefficients(values)
    np.testing.assert_array_equal(
        OrdinalAUCObjective(gamma[:, None], counts).coefficients(values), expected
    )


def test_some_of_the_models_have_the_coefficients_that_they_have_among_all():
    counts = np.array([[4, 0, 2], [3, 3, 3], [0, 1, 6], [1, 2, 3]])
    objective, values = OrdinalAUCObjective(GAMMA, counts), draws(4, 4)
    some = objective.take(slice(1, 3)).coefficients([v[:, 1:3] for v in values])
    np.testing.assert_array_equal(some, [c[:, 1:3] for c in objective.coefficients(values)])


def test_cuts_without_rows_on_one_side_are_not_open():
    counts = np.array([[1, 1, 1, 1], [0, 2, 0, 3], [0, 0, 4, 0]])
    assert open_cuts(counts).tolist() == [[True] * 3, [False, True, True], [False] * 3]
