"""TSGS3VM and FRS3VM against the authors' loop and liblinear, and how many steps they make."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from dsgkit import FRS3VM, TSGS3VM
from dsgkit.engine import curvature
from dsgkit.errors import DsgWarning
from dsgkit.features import FourierFeatures
from tests.engine import reference
from tests.estimators.brute_force import kernel, problem

SETTING = {"C": 20.0, "C_star": 3.0, "sigma": 2.0, "step": 0.1, "loss": "shg", "ramp_s": 0.0}
SIZE = {"T": 40, "b": 16, "m": 8, "seed": 3}


def small(solver=TSGS3VM, **params):
    sizes_ = {"batch_size": SIZE["b"], "n_features": SIZE["m"], "n_iterations": SIZE["T"]}
    return solver(**{**SETTING, **sizes_, "random_state": SIZE["seed"], **params})


LOSSES = [("shg", 0.0), ("sshg", 0.0), ("ramp", 0.0), ("ramp", -0.5), ("da", 0.0)]
DECREASING = {"step": "decreasing", "first_move": 5.0}
CHANGES = [
    *({"loss": loss, "ramp_s": s, "step": step} for loss, s in LOSSES for step in (1.0, 0.01)),
    *(DECREASING | {"anneal": a, "balance": b} for a in (False, True) for b in (False, True)),
]


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize("solver", [TSGS3VM, FRS3VM])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_it_equals_the_authors_loop(change, solver, n_unlabeled, monkeypatch):
    """FRS3VM has the features of the first block in all steps."""
    if solver is FRS3VM:
        every = reference.features
        monkeypatch.setattr(reference, "features", lambda X, seed, t, *of: every(X, seed, 0, *of))
    X, y, U = problem(n_unlabeled=n_unlabeled)
    values = small(solver, **change).fit(X, y, U).decision_function(U)
    change = SETTING | change
    if change.pop("first_move", None):
        change["step"] = reference.decreasing(1.0, 1.0, SETTING["C"] / 5.0)
    alphas = reference.tsgs3vm(X, y, U, **change, **SIZE)
    expected = reference.predict(U, alphas, SIZE["seed"], SIZE["m"], SETTING["sigma"])
    if change.get("balance"):
        expected += y.mean() - expected.mean()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * abs(expected).max())


def test_of_many_rows_some_stand_for_the_mean(monkeypatch):
    monkeypatch.setattr(curvature, "MAX_MEAN_ROWS", 600)
    X, y, U = problem(n_unlabeled=3000)
    values = small(step="decreasing", balance=True).fit(X, y, U).decision_function(U)
    assert values.mean() == pytest.approx(y.mean(), abs=4 * values.std() / np.sqrt(600))
    assert values.mean() != pytest.approx(y.mean(), abs=1e-6)


def test_without_unlabelled_loss_decreasing_steps_approach_the_machine_without_intercept():
    """liblinear's, on rows that have the kernel, or the fixed features, as their inner product."""
    X, y, U = problem(n_labeled=24)
    rows = np.vstack([X, U])
    root = np.linalg.cholesky(kernel(rows, rows, 2.0) + 1e-9 * np.eye(len(rows)))
    fixed = FourierFeatures("gaussian", 2.0, 64, SIZE["seed"]).transform(rows, 0)
    machine = LinearSVC(loss="hinge", C=20 / 24, fit_intercept=False, tol=1e-8, max_iter=10**6)
    for solver, features in ((TSGS3VM, root), (FRS3VM, fixed)):
        expected = machine.fit(features[:24], y).decision_function(features[24:])
        error = {}
        for T in (50, 800):
            size = {"n_iterations": T, "batch_size": 32, "n_features": 64}
            model = small(solver, C_star=0.0, step="decreasing", first_move=3.0, **size)
            off = model.fit(X, y, U).decision_function(U) - expected
            error[T] = np.sqrt(np.mean(off**2)) / np.abs(expected).max()
        assert error[800] < 0.03 and error[800] < error[50] / 2


@pytest.mark.parametrize(("solver", "passes"), [(TSGS3VM, {}), (FRS3VM, {"n_passes": 4})])
def test_iterations_are_some_passes_or_500_or_as_told(solver, passes):
    X, y, U = problem(n_unlabeled=40)  # 3 batches of 16
    few, k = {"batch_size": 16, "n_features": 2, **passes}, passes.get("n_passes", 1)
    assert solver(n_iterations=None, **few).fit(X, y, U).n_iter_ == 500
    assert solver(n_iterations=None, **few)._iterations(16 * 501) == 501 * k
    literal = solver(n_iterations="one_pass", **few)
    text = f"only {3 * k} iterations with 40 unlabelled rows"
    with pytest.warns(DsgWarning, match=text) as caught:
        assert literal.fit(X, y, U).n_iter_ == 3 * k
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert literal._iterations(16 * 200) == 200 * k


def test_a_settled_model_is_trained_on_a_part_as_on_the_whole():
    whole = TSGS3VM(batch_size=16, n_iterations="one_pass", C=7.0)
    settled = whole.settled(n_labeled=20, n_unlabeled=16 * 300)
    assert settled.get_params() == whole.get_params() | {"n_iterations": 300, "n_features": 70}
    assert whole.n_features is None
    fitted = settled.fit(*problem())
    assert fitted.n_iter_ == 300 and fitted.function_.blocks.n_frequencies == 70


@pytest.mark.parametrize(("n_unlabeled", "m"), [(33, 7), (34, 8), (300, 18)])
def test_the_papers_m_is_the_root_of_all_rows(n_unlabeled, m):
    training, steps = problem(16, n_unlabeled), {"batch_size": 16, "n_iterations": 19}
    assert TSGS3VM(**steps, step=0.01).fit(*training).function_.coef.shape == (19, 2 * m, 1)
    assert FRS3VM(**steps, n_features=None).fit(*training).function_.coef.shape == (1, 2 * m, 1)
