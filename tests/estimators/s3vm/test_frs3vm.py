"""FRS3VM against a loop of one model and an exact supervised solution."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from dsgkit import FRS3VM
from dsgkit.errors import DsgWarning
from dsgkit.features import FourierFeatures
from tests.engine import reference
from tests.estimators.brute_force import problem

SETTING = {"C": 20.0, "C_star": 3.0, "sigma": 2.0, "step": 0.1, "loss": "shg", "ramp_s": 0.0}
EVERY_LOSS = [("shg", 0.0), ("sshg", 0.0), ("ramp", 0.0), ("ramp", -0.5), ("da", 0.0)]


def small(**params):
    sizes_ = {"batch_size": 8, "n_features": 10, "n_iterations": 16}
    return FRS3VM(**{**SETTING, **sizes_, "random_state": 3, **params})


def close(actual, expected):
    return np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()


def by_a_loop(X, y, U, **change):
    """That of TSGS3VM with the features of the first block for all of them."""
    every = reference.features
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "features", lambda X, seed, t, *of: every(X, seed, 0, *of))
        alphas = reference.tsgs3vm(X, y, U, **SETTING | change, T=16, b=8, m=10, seed=3)
        return reference.predict(U, alphas, 3, 10, SETTING["sigma"])


@pytest.mark.parametrize("step", [1.0, 0.1, 0.001])
@pytest.mark.parametrize(("loss", "ramp_s"), EVERY_LOSS)
def test_it_equals_a_plain_loop(loss, ramp_s, step):
    X, y, U = problem()
    change = {"loss": loss, "ramp_s": ramp_s, "step": step}
    fitted = small(**change).fit(X, y, U)
    assert close(fitted.decision_function(U), by_a_loop(X, y, U, **change))


def test_with_decreasing_steps_annealed_and_balanced_it_equals_a_plain_loop():
    X, y, U = problem()
    change = {"anneal": True, "balance": True}
    fitted = small(step="decreasing", first_move=5.0, **change).fit(X, y, U)
    step = reference.decreasing(1.0, 1.0, SETTING["C"] / 5.0)
    expected = by_a_loop(X, y, U, step=step, **change)
    assert close(fitted.decision_function(U), expected - expected.mean() + y.mean())


def test_without_unlabelled_loss_it_is_the_linear_svm_of_its_features():
    X, y, U = problem(n_labeled=60, n_unlabeled=4000)
    sizes_ = {"n_features": 20, "batch_size": 32, "n_iterations": 2500, "step": 0.002}
    fitted = FRS3VM(C=30.0, sigma=2.0, C_star=0, **sizes_).fit(X, y, U)
    features = FourierFeatures("gaussian", 2.0, 20, 0)
    exact = LinearSVC(loss="hinge", C=30.0 / 60, fit_intercept=False, tol=1e-8, max_iter=10**6)
    expected = exact.fit(features.transform(X, 0), y).decision_function(features.transform(U, 0))
    f = fitted.decision_function(U)
    assert np.sqrt(np.mean((f - expected) ** 2)) < 0.05 * np.abs(expected).max()


@pytest.mark.parametrize(("n_unlabeled", "m"), [(33, 7), (34, 8)])
def test_the_papers_m_is_the_root_of_all_rows(n_unlabeled, m):
    X, y, U = problem(n_labeled=16, n_unlabeled=n_unlabeled)
    assert FRS3VM(n_features=None).fit(X, y, U).function_.coef.shape == (1, 2 * m, 1)


def test_one_pass_is_as_many_as_asked_for():
    X, y, U = problem()  # 30 rows are 4 batches of 8
    with pytest.warns(DsgWarning, match="only 16 iterations"):
        assert small(n_iterations="one_pass", n_passes=4).fit(X, y, U).n_iter_ == 16
    assert small(n_iterations=None, n_passes=4)._iterations(30) == 500
    assert small(n_iterations=None, n_passes=126)._iterations(30) == 504
