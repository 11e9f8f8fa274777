"""TSGS3VM against the authors' loop, a reference program, and what it refuses."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from dsgkit import TSGS3VM
from dsgkit.engine import curvature
from dsgkit.errors import DsgWarning
from tests.engine import reference
from tests.estimators.brute_force import kernel, problem

SETTING = {"C": 20.0, "C_star": 3.0, "sigma": 2.0, "step": 0.1, "loss": "shg", "ramp_s": 0.0}
SIZE = {"T": 40, "b": 16, "m": 8, "seed": 3}


def small(**params):
    sizes_ = {"batch_size": SIZE["b"], "n_features": SIZE["m"], "n_iterations": SIZE["T"]}
    return TSGS3VM(**{**SETTING, **sizes_, "random_state": SIZE["seed"], **params})


def close(actual, expected):
    """1e-4 relative to the size of the function."""
    return np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()


LOSSES = [("shg", 0.0), ("sshg", 0.0), ("ramp", 0.0), ("ramp", -0.5), ("da", 0.0)]
DECREASING = {"step": "decreasing", "first_move": 5.0}
CHANGES = [
    *({"loss": loss, "ramp_s": s, "step": step} for loss, s in LOSSES for step in (1.0, 0.01)),
    *(DECREASING | {"anneal": a, "balance": b} for a in (False, True) for b in (False, True)),
]


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_it_equals_the_authors_loop(change, n_unlabeled):
    X, y, U = problem(n_unlabeled=n_unlabeled)
    values = small(**change).fit(X, y, U).decision_function(U)
    change = SETTING | change
    if change.pop("first_move", None):
        change["step"] = reference.decreasing(1.0, 1.0, SETTING["C"] / 5.0)
    alphas = reference.tsgs3vm(X, y, U, **change, **SIZE)
    expected = reference.predict(U, alphas, SIZE["seed"], SIZE["m"], SETTING["sigma"])
    if change.get("balance"):
        expected += y.mean() - expected.mean()
    assert close(values, expected)


def test_of_many_rows_some_stand_for_the_mean(monkeypatch):
    monkeypatch.setattr(curvature, "MAX_MEAN_ROWS", 600)
    X, y, U = problem(n_unlabeled=3000)
    model = small(step="decreasing", balance=True).fit(X, y, U)
    values = model.decision_function(U)
    assert values.mean() == pytest.approx(y.mean(), abs=4 * values.std() / np.sqrt(600))
    assert values.mean() != pytest.approx(y.mean(), abs=1e-6)


def test_without_unlabelled_loss_decreasing_steps_approach_the_machine_without_intercept():
    """liblinear's, on rows that have the kernel as their inner product."""
    X, y, U = problem(n_labeled=24)
    rows = np.vstack([X, U])
    root = np.linalg.cholesky(kernel(rows, rows, 2.0) + 1e-9 * np.eye(len(rows)))
    machine = LinearSVC(loss="hinge", C=20 / 24, fit_intercept=False, tol=1e-8, max_iter=10**6)
    expected = machine.fit(root[:24], y).decision_function(root[24:])
    error = {}
    for T in (50, 800):
        size = {"n_iterations": T, "batch_size": 32, "n_features": 64}
        fitted = small(C_star=0.0, step="decreasing", first_move=3.0, **size).fit(X, y, U)
        off = fitted.decision_function(U) - expected
        error[T] = np.sqrt(np.mean(off**2)) / np.abs(expected).max()
    assert error[800] < 0.03 and error[800] < error[50] / 2


def test_iterations_are_one_pass_or_500_or_as_told():
    X, y, U = problem(n_unlabeled=40)
    few = {"batch_size": 16, "n_features": 2}
    assert TSGS3VM(n_iterations=None, **few).fit(X, y, U).n_iter_ == 500
    assert TSGS3VM(n_iterations=None, **few)._iterations(16 * 501) == 501
    literal = TSGS3VM(n_iterations="one_pass", **few)
    with pytest.warns(DsgWarning, match=r"only 3 iterations with 40 unlabelled rows") as caught:
        assert literal.fit(X, y, U).n_iter_ == 3
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert literal._iterations(16 * 200) == 200


def test_a_settled_model_is_trained_on_a_part_as_on_the_whole():
    whole = TSGS3VM(batch_size=16, n_iterations="one_pass", C=7.0)
    settled = whole.settled(n_labeled=20, n_unlabeled=16 * 300)
    assert settled.get_params() == whole.get_params() | {"n_iterations": 300, "n_features": 70}
    assert whole.n_features is None
    X, y, U = problem()
    fitted = settled.fit(X, y, U)
    assert fitted.n_iter_ == 300 and fitted.function_.blocks.n_frequencies == 70


@pytest.mark.parametrize(("n_unlabeled", "m"), [(33, 7), (34, 8), (300, 18)])
def test_the_papers_m_is_the_root_of_all_rows(n_unlabeled, m):
    X, y, U = problem(n_labeled=16, n_unlabeled=n_unlabeled)
    fitted = TSGS3VM(batch_size=16, n_iterations=19, step=0.01).fit(X, y, U)
    assert fitted.function_.coef.shape == (19, 2 * m, 1)
