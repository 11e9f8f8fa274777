"""Training of the large-margin one-class machine."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dsgkit.linalg import solve_qp
from dsgkit.random import DRAWS, draw_with_replacement, words
from dsgkit.solvers.clustering import one_class
from dsgkit.solvers.clustering.budget import NEAREST, RANDOM, REMOVAL
from dsgkit.solvers.clustering.one_class import Descent
from tests.solvers.brute_force import kernel
from tests.solvers.clustering.oracle import load, rows_and_domain

SETTING = Descent(
    C=6.0,
    gamma=0.8,
    budget=15,
    strategy=REMOVAL,
    n_neighbors=3,
    tol=0.02,
    patience=1,
    max_iter=400,
    seed=3,
)


def some_rows(n=60):
    return np.random.default_rng(1).normal(size=(n, 2))


def neighbors(descent, t, K, gone, others):
    """Return what the vector that goes in step t is projected onto."""
    if descent.strategy == REMOVAL:
        return []
    k = min(descent.n_neighbors, len(others))
    if descent.strategy == NEAREST:
        return sorted(others, key=lambda j: -K[gone, j])[:k]
    per_step = min(descent.n_neighbors, descent.budget)
    drawn = words(descent.seed, (t - 1) * per_step, k, DRAWS + 1)
    left = list(others)
    return [left.pop((int(word) >> 32) * len(left) >> 32) for word in drawn]


def written_out(descent, X):
    """Return coefficients, steps and removals of a descent on dense vectors, term by term."""
    n = len(X)
    K = kernel(X, X, descent.gamma)
    rows = draw_with_replacement(descent.seed, 0, 0, descent.max_iter, 1, n)[:, 0]
    alpha, order, n_small, n_removals = np.zeros(n), [], 0, 0
    for t, i in enumerate(rows, 1):
        before = alpha.copy()
        alpha = alpha * (t - 1) / t
        if before @ K[i] < 1:
            alpha[i] += descent.C / t
            if i not in order:
                order.append(int(i))
        if descent.budget is not None and len(order) > descent.budget:
            sizes = np.abs(alpha[order])
            gone = order.pop(np.flatnonzero(sizes <= sizes.min() * (1 + 1e-9))[0])
            onto = neighbors(descent, t, K, gone, order)
            part = np.linalg.lstsq(K[np.ix_(onto, onto)], K[onto, gone], rcond=1e-8)[0]
            alpha[onto] += alpha[gone] * part
            alpha[gone] = 0
            n_removals += 1
        change = alpha - before
        small = t > 1 and change @ K @ change <= descent.tol**2
        n_small = n_small + 1 if small else 0
        if n_small == descent.patience:
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
        {"budget": None, "gamma": 8.0, "tol": 0.0},  # more support vectors than fit a tile
    ],
)
def test_training_is_what_the_algorithm_says(changes, patience, monkeypatch):
    monkeypatch.setattr(one_class, "CHUNK_STEPS", 70)  # chunks are no part of the result
    X = some_rows(400 if "gamma" in changes else 60)
    descent = replace(SETTING, **changes, patience=patience)
    alpha, n_steps, n_removals = written_out(descent, X)
    machine = descent.train(X)
    assert (machine.n_steps, machine.n_removals) == (n_steps, n_removals)
    assert len(machine.coefficients) <= (descent.budget or len(X))
    assert "gamma" not in changes or len(machine.coefficients) > one_class.TILE_VECTORS
    found = kernel(X, machine.support_vectors, descent.gamma) @ machine.coefficients
    np.testing.assert_allclose(found, kernel(X, X, descent.gamma) @ alpha, atol=1e-7)
    assert machine.coefficients.sum() == pytest.approx(alpha.sum(), abs=1e-6)


def test_rows_drawn_equally_often_have_equal_coefficients():
    machine = replace(SETTING, budget=None, tol=0.0, max_iter=57).train(some_rows(40))
    counts = machine.coefficients * 57 / SETTING.C
    np.testing.assert_allclose(counts, np.rint(counts), rtol=1e-12)
    assert len(set(machine.coefficients)) == len(set(np.rint(counts)))


def dual(K, bound):
    """Return the solution of the dual: ``min a'Ka/2 - sum a`` where ``0 <= a <= bound``."""
    n = len(K)
    box = sparse.vstack([-sparse.eye_array(n), sparse.eye_array(n)])
    none = sparse.csc_array((0, n)), np.empty(0)
    at_most = box, np.concatenate([np.zeros(n), np.full(n, bound)])
    return solve_qp(sparse.csc_array(K), -np.ones(n), none, at_most, dense=True)


@pytest.mark.parametrize("name", ["svctoolbox_ringg_2_SEPCG", "svctoolbox_moons_1_CG"])
def test_the_minimum_is_that_of_the_svc_toolbox(name):
    """The dual is that of the toolbox, and the descent comes near it as it should.

    At the rate 1/t, f is within 1e-3 after 500,000 steps and within 1e-4 after 5 million, 10 s of
    them; 1e-5 would take 100 s. That the limit is the same is told by the rate.
    """
    stored = load(name)
    X, domain = rows_and_domain(stored, "alpha_qp")
    K = kernel(X, X, domain.gamma)
    weight = 2 * float(stored["C"])  # C/n
    alpha = dual(K, weight)
    np.testing.assert_allclose(K @ alpha - 1, domain.values(X), atol=1e-5)
    assert alpha @ K @ alpha / 2 - alpha.sum() == pytest.approx(2 * stored["objective"], rel=1e-6)

    def objective(values, squared_norm):
        return squared_norm / 2 + weight * np.maximum(0, 1 - values).sum()

    best = objective(K @ alpha, alpha @ K @ alpha)
    errors = []
    for n_steps in (20_000, 500_000):
        descent = replace(
            SETTING, C=weight * len(X), gamma=domain.gamma, budget=None, tol=0.0, max_iter=n_steps
        )
        machine = descent.train(X)
        S, a = machine.support_vectors, machine.coefficients
        values = kernel(X, S, domain.gamma) @ a
        reached = objective(values, a @ kernel(S, S, domain.gamma) @ a)
        errors.append((reached / best - 1, np.abs(values - K @ alpha).max()))
    early, late = np.array(errors)
    assert 0 < late[0] < 1e-3
    assert late[1] < 1.5e-3
    assert (late < early / 10).all()  # at the rate 1/t that would be 25
