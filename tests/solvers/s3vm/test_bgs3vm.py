"""BGS3VM against kernel stochastic gradient descent row by row, its budgets and its limits."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from dsgkit.data.rows import Rows
from dsgkit.random.draws import draw_in_passes
from dsgkit.solvers.s3vm.bgs3vm import BGS3VM
from dsgkit.text.errors import MemoryLimitError
from dsgkit.trainers import budgeted_descent
from tests.solvers.brute_force import kernel, problem

far_apart = pytest.mark.filterwarnings("ignore:sigma=.* makes nearly all kernel values 0")


def step_of(model, t):
    return 1 / (t + model.C / model.first_move) if model.step == "decreasing" else model.step


def descend(model, X, y, U):
    """The method as it is written: every step decays all coefficients and evaluates the sum.

    Returns the coefficients of all labelled and of all unlabelled rows.
    """
    n_l, n_u = len(X), len(U)
    C_star = model.C * n_l / n_u if model.C_star is None else model.C_star
    budgets = (model.labeled_budget, np.ceil(model.unlabeled_budget * n_u))
    rows = [X, U]
    coef, born = [np.zeros(n_l), np.zeros(n_u)], [{}, {}]
    T = max(n_l, n_u)
    order = [draw_in_passes(model.random_state, k, 0, T, 1, len(rows[k]))[:, 0] for k in (0, 1)]

    def f(x):
        return sum(coef[k] @ kernel(rows[k], x[None], model.sigma_)[:, 0] for k in (0, 1))

    for t in range(1, T + 1):
        i, j = order[0][t - 1], order[1][t - 1]
        f_l, f_u = f(X[i]), f(U[j])
        gradients = (
            -model.C * y[i] if y[i] * f_l < 1 else 0.0,
            0.0 if abs(f_u) >= 1 else -C_star * (np.sign(f_u) or model.sign_at_zero),
        )
        eta = step_of(model, t)
        for k, row in ((0, i), (1, j)):
            coef[k] *= 1 - eta
            coef[k][row] -= gradients[k] * eta
            coef[k][abs(coef[k]) < 1e-12] = 0
            born[k] = {r: born[k].get(r, t) for r in np.flatnonzero(coef[k])}
            if len(born[k]) > budgets[k]:
                sizes = np.round(abs(coef[k]), 10)
                coef[k][min(born[k], key=lambda r: (sizes[r], born[k][r]))] = 0
                born[k] = {r: s for r, s in born[k].items() if coef[k][r] != 0}
    return coef


CASES = [
    (16, 60, {"C": 1.0, "labeled_budget": 5, "unlabeled_budget": 0.2}),
    (16, 60, {"C": 100.0, "sigma": 4.0, "labeled_budget": 3, "unlabeled_budget": 0.3}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "unlabeled_budget": 0.1, "random_state": 7}),
    (40, 16, {"C": 5.0, "C_star": 4.0, "labeled_budget": 9, "unlabeled_budget": 0.5}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "labeled_budget": 1, "unlabeled_budget": 0.0}),
    (16, 60, {"C": 10.0, "C_star": 0.0}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "sign_at_zero": 1, "first_move": 0.5}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "sigma": 1e4, "unlabeled_budget": 1.0}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "unlabeled_budget": 0.1, "step": 0.1}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "labeled_budget": 4, "step": 1.0}),
]


@far_apart
@pytest.mark.slow
@pytest.mark.parametrize(("n_labeled", "n_unlabeled", "params"), CASES)
@pytest.mark.parametrize("panel", [1, 7, 128])
def test_it_is_the_descent_row_by_row(n_labeled, n_unlabeled, params, panel, monkeypatch):
    monkeypatch.setattr(budgeted_descent, "MAX_PANEL_STEPS", panel)
    X, y, U = problem(n_labeled, n_unlabeled)
    model = BGS3VM(**params).fit(X, y, U)
    expected = np.concatenate(descend(model, X, y, U))
    rows = np.random.default_rng(1).random((20, 3))
    f = kernel(rows, np.vstack([X, U]), model.sigma_) @ expected
    np.testing.assert_allclose(model.decision_function(rows), f, atol=1e-10 * model.C)
    coef = np.sort(expected[expected != 0])
    np.testing.assert_allclose(np.sort(model.coef_), coef, atol=1e-10 * model.C)


def test_with_budgets_for_all_rows_it_is_plain_kernel_descent():
    X, y, U = problem(20, 50)
    model = BGS3VM(50.0, 1.0, C_star=2.0, labeled_budget=20, unlabeled_budget=1.0).fit(X, y, U)
    order = [draw_in_passes(0, k, 0, 50, 1, n)[:, 0] for k, n in ((0, 20), (1, 50))]
    rows = np.vstack([X, U])
    K, f = kernel(rows, rows, 1.0), np.zeros(70)  # the values at all rows
    for t, (i, j) in enumerate(zip(*order, strict=True), 1):
        step = np.zeros(70)
        if y[i] * f[i] < 1:
            step += 50.0 * y[i] * K[i]
        if abs(f[20 + j]) < 1:
            step += 2.0 * np.sign(f[20 + j]) * K[20 + j]
        f += (step - f) / (t + 50.0 / 10)
    np.testing.assert_allclose(model.decision_function(rows), f, atol=1e-9)
    assert model.n_support_[1] > 10  # what the default budget would be


@far_apart
def test_a_row_of_which_nothing_is_known_has_no_sign():
    """At this width no row is near another: all unlabelled values are 0."""
    X, y, U = problem(16, 60)
    assert BGS3VM(10.0, 1e9, C_star_ratio=1).fit(X, y, U).n_support_[1] == 0
    papers = BGS3VM(10.0, 1e9, C_star_ratio=1, sign_at_zero=1).fit(X, y, U)
    assert papers.n_support_[1] > 0 and (papers.coef_[papers.n_support_[0] :] > 0).all()


@far_apart
def test_coefficients_that_a_constant_step_forgets_leave_their_budget():
    X, y, U = problem(16, 5000)
    U = U + 1e6  # far from all that is known: nothing is added but labelled rows
    model = BGS3VM(10.0, 1e4, labeled_budget=16, step=1.0).fit(X, y, U)
    assert model.n_support_[0] == 1  # the last one


@pytest.mark.parametrize(("labeled", "share", "most"), [(6, 0.25, (6, 50)), (1, 0.003, (1, 1))])
def test_budgets_are_kept_and_used(labeled, share, most):
    X, y, U = problem(40, 200)
    model = BGS3VM(1.0, 1.0, labeled_budget=labeled, unlabeled_budget=share).fit(X, y, U)
    np.testing.assert_array_equal(model.n_support_, most)
    assert len(model.centers_) == len(model.coef_) == sum(most)
    rows = {tuple(row) for row in np.vstack([X, U]).astype(np.float64)}
    assert len({tuple(c) for c in model.centers_} & rows) == sum(most)
    labeled_rows = {tuple(row) for row in X.astype(np.float64)}
    assert {tuple(c) for c in model.centers_[: most[0]]} <= labeled_rows


def test_without_unlabelled_loss_it_is_a_supervised_machine():
    """That without an offset, on features whose products are the kernel, after many steps."""
    rng = np.random.default_rng(0)
    X, y, _ = problem(60, 1, seed=3)
    U = np.broadcast_to(X[:1], (40_000, 3))  # they only count the steps
    model = BGS3VM(20.0, 2.0, C_star=0, labeled_budget=60).fit(X, y, U)
    exact = LinearSVC(loss="hinge", C=20.0 / 60, fit_intercept=False, tol=1e-9, max_iter=10**6)
    rows = np.vstack([X, rng.random((50, 3))])
    values, vectors = np.linalg.eigh(kernel(rows, rows, 2.0))
    features = vectors * np.sqrt(np.maximum(values, 0))
    expected = exact.fit(features[:60], y).decision_function(features)
    f = model.decision_function(rows)
    assert np.sqrt(np.mean((f - expected) ** 2)) < 0.02 * np.abs(expected).max()
    assert model.n_support_[1] == 0


def test_the_seed_alone_decides():
    X, y, U = problem(16, 100)
    model = BGS3VM(10.0, random_state=3).fit(X, y, U)
    np.testing.assert_array_equal(BGS3VM(10.0, random_state=3).fit(X, y, U).coef_, model.coef_)
    other = BGS3VM(10.0, random_state=4).fit(X, y, U)
    assert not np.allclose(other.decision_function(U), model.decision_function(U))


def test_it_learns_two_clouds():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(2200) % 2, 1, -1)
    rows = rng.normal(size=(2200, 2)) + np.outer(y, [1.5, 0])
    model = BGS3VM(100.0, 0.5).fit(rows[:200], y[:200], rows[200:])
    best = np.mean(np.sign(rows[200:, 0]) != y[200:])  # of the Bayes rule
    assert np.mean(np.sign(model.decision_function(rows[200:])) != y[200:]) < best + 0.03
    assert model.n_iter_ == 2000 and model.intercept_ == 0


@pytest.mark.parametrize(
    ("n_unlabeled", "n_inputs", "share"),
    [(1000, 20, 0.2), (4000, 5, 0.2), (2000, 200, 0.2), (20_000, 20, 0.005)],
)
def test_predicted_memory_is_what_is_allocated(n_unlabeled, n_inputs, share):
    X, y, U = problem(100, n_unlabeled, n_inputs)
    model = BGS3VM(10.0, unlabeled_budget=share)
    needed = model.cost(n_inputs, n_labeled=100, n_unlabeled=n_unlabeled).memory
    model.fit(X, y, U)  # compiles
    tracemalloc.start()
    try:
        model.fit(X, y, U)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert needed == pytest.approx(peak, rel=0.1)


def test_memory_is_that_of_the_budgets_not_of_all_pairs():
    # 200,100 support vectors of 50 inputs, and 64 MiB of kernel values
    assert BGS3VM().cost(50, n_labeled=200, n_unlabeled=10**6).memory < 5 * 8 * 200_100 * 50 + 2**27
    X, y, _ = problem()
    endless = Rows(np.broadcast_to(X[:1], (10**9, 3)))
    with pytest.raises(MemoryLimitError):
        BGS3VM().fit(X, y, endless)
