"""Training of the large-margin one-class machine, and how its support vectors keep to a budget."""

import numpy as np
import pytest

from dsgkit.clustering import one_class
from dsgkit.clustering.one_class import NEAREST, RANDOM, REMOVAL, SINGULAR_DISTANCE
from dsgkit.random import DRAWS, draw_with_replacement, words
from tests.clustering.oracle import load, rows_and_domain
from tests.estimators.brute_force import kernel

SETTING = {
    **{"C": 6.0, "gamma": 0.8, "budget": 15, "strategy": REMOVAL, "n_neighbors": 3},
    **{"tol": 0.02, "max_iter": 400, "seed": 3},
}


def written_out(X, *, C, gamma, budget, strategy, n_neighbors, tol, patience, max_iter, seed):
    """Return coefficients, steps and removals of a descent on dense vectors, term by term."""
    n, K = len(X), kernel(X, X, gamma)
    rows = draw_with_replacement(seed, 0, 0, max_iter, 1, n)[:, 0]
    alpha, order, n_small, n_removals = np.zeros(n), [], 0, 0

    def projected_onto(t, gone):
        k = 0 if strategy == REMOVAL else min(n_neighbors, len(order))
        if strategy != RANDOM:
            return sorted(order, key=lambda j: -K[gone, j])[:k]
        drawn = words(seed, (t - 1) * min(n_neighbors, budget), k, DRAWS + 1)
        left = list(order)
        return [left.pop((int(word) >> 32) * len(left) >> 32) for word in drawn]

    for t, i in enumerate(rows, 1):
        before = alpha.copy()
        alpha = alpha * (t - 1) / t
        if before @ K[i] < 1:
            alpha[i] += C / t
            if i not in order:
                order.append(int(i))
        if budget is not None and len(order) > budget:
            sizes = np.abs(alpha[order])
            gone = order.pop(np.flatnonzero(sizes <= sizes.min() * (1 + 1e-9))[0])
            onto = projected_onto(t, gone)
            part = np.linalg.lstsq(K[np.ix_(onto, onto)], K[onto, gone], rcond=1e-8)[0]
            alpha[onto] += alpha[gone] * part
            alpha[gone] = 0
            n_removals += 1
        change = alpha - before
        n_small = n_small + 1 if t > 1 and change @ K @ change <= tol**2 else 0
        if n_small == patience:
            break
    return alpha, t, n_removals


@pytest.mark.parametrize("patience", [1, 60])
@pytest.mark.parametrize(
    "changes",
    [
        {"budget": None},
        {"strategy": REMOVAL},
        {"strategy": NEAREST},
        {"strategy": RANDOM},
        {"strategy": NEAREST, "budget": 1},
        {"strategy": RANDOM, "tol": 0.0},
        {"budget": None, "gamma": 8.0, "tol": 0.0},
    ],
)
def test_training_is_what_the_algorithm_says(changes, patience, monkeypatch):
    monkeypatch.setattr(one_class, "CHUNK_STEPS", 70)  # chunks are no part of the result
    X = np.random.default_rng(1).normal(size=(400 if "gamma" in changes else 60, 2))
    setting = {**SETTING, **changes, "patience": patience}
    alpha, n_steps, n_removals = written_out(X, **setting)
    domain, *counts = one_class.one_class(X, **setting)
    assert counts == [n_steps, n_removals]
    assert len(domain.coefficients) <= (setting["budget"] or len(X))
    K = kernel(X, X, domain.gamma)
    np.testing.assert_allclose(domain.values(X), K @ alpha - 1, atol=1e-7)


@pytest.mark.parametrize("name", ["svctoolbox_ringg_2_SEPCG", "svctoolbox_moons_1_CG"])
def test_the_minimum_is_that_of_the_svc_toolbox(name):
    """The descent comes near it at the rate 1/t, with which errors would be 25 times smaller."""
    stored = load(name)
    X, best = rows_and_domain(stored, "alpha_qp")
    C = 2 * float(stored["C"]) * len(X)
    assert one_class.objective(best, C, X) == pytest.approx(-2 * stored["objective"], rel=1e-4)
    errors = []
    for n_steps in (20_000, 500_000):
        free = {"tol": 0.0, "patience": 1, "max_iter": n_steps, "seed": 3}
        found = one_class.one_class(X, C, best.gamma, **free)[0]
        excess = one_class.objective(found, C, X) / one_class.objective(best, C, X) - 1
        errors.append((excess, np.abs(found.values(X) - best.values(X)).max()))
    early, late = np.array(errors)
    assert 0 < late[0] < 1e-3
    assert late[1] < 1.5e-3
    assert (late < early / 10).all()


def test_removal_is_that_of_the_reference_program():
    """Its decay rounds, so that coefficients that are equal but for this tell what goes."""
    stored = load("nbsgd_removal")
    X, y, perm = stored["X"], stored["y"], stored["perm"]
    n, gamma, lam = len(X), float(stored["gamma"]), float(stored["lam"])
    chances = iter(stored["uniforms"])
    budget, n_removals = int(stored["BB_init"]), 0
    empty = np.empty((2, 100)), np.empty(100, np.int64), np.empty(100), np.zeros(1, np.int64)
    support, places, changes = one_class.Support(*empty), np.empty(1, np.int64), np.empty(1)
    one_class.add(support, 0, X[perm[0]], 0.0)
    for t in range(1, n + 1):
        size = support.size[0]
        coefficients = support.coefficients[:size]
        if t > 1:
            coefficients -= coefficients / t
        x = X[perm[t % n]]
        value = coefficients @ np.exp(-gamma * ((support.points[:, :size].T - x) ** 2).sum(axis=1))
        label = y[perm[t % n]]
        if label * value < 1:
            one_class.add(support, t % n, x, label / (lam * t))
            if support.size[0] > budget:
                if next(chances) < 1 - stored["beta_frac"] * n / t:
                    budget += 1
                else:
                    drawn, *buffers = np.empty(0, np.uint64), places, changes, np.empty(100)
                    assert one_class.maintenance(support, REMOVAL, gamma, drawn, *buffers) == 1
                    one_class.apply(support, places, changes)
                    n_removals += 1
    size = support.size[0]
    np.testing.assert_array_equal(support.rows[:size], stored["support_index_in_perm"])
    np.testing.assert_array_equal(support.coefficients[:size], stored["alpha"])
    assert n_removals == stored["maintenance"]


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-6])
def test_projection_onto_equal_vectors_is_that_onto_one(gap):
    points = np.array([[0.5, 0], [0, 0], [gap, 0], [0, 0], [1, 0], [1, gap]])
    found = np.empty(5)
    one_class.projection(points.T.copy(), np.arange(6), 1.0, found)
    K = kernel(points, points, 1.0)
    few = np.linalg.solve(K[np.ix_([1, 4], [1, 4])], K[[1, 4], 0])
    np.testing.assert_allclose([found[:3].sum(), found[3:].sum()], few, atol=10 * SINGULAR_DISTANCE)
    assert np.abs(found).max() < 1
