"""BGS3VM against kernel stochastic gradient descent row by row, its budgets and its limits."""

import numpy as np
import pytest

from dsgkit.data.dataset import Rows
from dsgkit.errors import MemoryLimitError
from dsgkit.random import draw_in_passes
from dsgkit.solvers.s3vm.bgs3vm import BGS3VM
from dsgkit.trainers import budgeted_descent
from tests.solvers.brute_force import kernel, problem

far_apart = pytest.mark.filterwarnings("ignore:sigma=.* makes nearly all kernel values 0")


def gram(model, A, B):
    return A @ B.T + 1.0 if model.kernel == "linear" else kernel(A, B, model.sigma_)


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
        return sum(coef[k] @ gram(model, rows[k], x[None])[:, 0] for k in (0, 1))

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
    (16, 60, {"C": 9.0, "kernel": "linear", "C_star": 2.0, "unlabeled_budget": 0.5}),
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
    f = gram(model, rows, np.vstack([X, U])) @ expected
    np.testing.assert_allclose(model.decision_function(rows), f, atol=1e-10 * model.C)
    coef = np.sort(expected[expected != 0])
    np.testing.assert_allclose(np.sort(model.coef_), coef, atol=1e-10 * model.C)


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


def test_memory_is_that_of_the_budgets_not_of_all_pairs():
    # 200,100 support vectors of 50 inputs, and 64 MiB of kernel values
    assert BGS3VM().cost(50, n_labeled=200, n_unlabeled=10**6).memory < 5 * 8 * 200_100 * 50 + 2**27
    X, y, _ = problem()
    endless = Rows(np.broadcast_to(X[:1], (10**9, 3)))
    with pytest.raises(MemoryLimitError):
        BGS3VM().fit(X, y, endless)
