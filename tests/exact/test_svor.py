"""SVOREX and SVORIM against the authors' program, optimality, and a general solver."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit import SVOREX, SVORIM
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FitError
from dsgkit.exact import svor
from dsgkit.exact.columns import kernel_columns
from dsgkit.exact.svor_newton import _inverse
from tests.estimators.brute_force import kernel

ORACLES = Path(__file__).parents[1] / "oracles"
BOTH = pytest.mark.parametrize("method", [SVOREX, SVORIM])


def problem(n=60, n_classes=4, seed=0, noise=0.5, distinct=None):
    """Rows, many of them equal if asked for, and classes 0..k-1, all of which occur."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(distinct or n, 2))[rng.permutation(n) % (distinct or n)]
    rank = np.argsort(np.argsort(rows[:, 0] + noise * rng.normal(size=n)))
    return rows, rank * n_classes // n


@pytest.mark.parametrize("name", ["svorex_toy3_k1_C1", "svorex_toy5_k5_C10", "svorim_toy3_k5_C10"])
def test_the_authors_program_and_an_interior_point_method_agree(name):
    z = np.load(ORACLES / f"{name}.npz")
    explicit, C, sigma = name.startswith("svorex"), float(z["C"]), float(z["k"])
    method = SVOREX if explicit else SVORIM
    model = method(C, sigma, ridge=0.001, tol=1e-4).fit(z["X"], z["y"])
    ft = model.score_samples(z["Xt"])
    np.testing.assert_allclose(ft, z["ft_qp"], atol=2.7e-3)
    np.testing.assert_allclose(ft, z["ft"], atol=4e-3)  # both are that far from the solution
    np.testing.assert_allclose(model.thresholds_, z["th_qp"], atol=7e-3)
    assert (model.predict(z["Xt"]) == z["pred"]).mean() > 0.99


@given(
    n=st.integers(4, 60),
    n_classes=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    explicit=st.booleans(),
    noise=st.sampled_from([0.0, 0.5, 5.0]),
    distinct=st.sampled_from([None, 3]),
    ridge=st.sampled_from([0.0, 0.1]),
    capacity=st.sampled_from([2, 10**6]),
)
def test_solutions_are_feasible_and_optimal(
    n, n_classes, seed, C, explicit, noise, distinct, ridge, capacity
):
    n_classes = min(n, n_classes)
    rows, codes = problem(n, n_classes, seed, noise=noise, distinct=distinct)
    order, tol = np.argsort(codes, kind="stable"), 1e-4
    rows, codes = rows[order], codes[order]
    columns = kernel_columns(rows.T.copy(), "gaussian", 1.0, capacity)
    program = svor.OrdinalProgram(columns, codes, explicit, ridge)
    program.solve(C, tol, 10**6)
    cuts = np.arange(n_classes - 1)[:, None]
    side = np.where(codes > cuts, 1, -1)  # and 0 at rows on neither side
    side[explicit & (codes != cuts) & (codes != cuts + 1)] = 0
    alphas = side * program.variables
    assert ((alphas >= 0) & (alphas <= C)).all()
    assert not program.variables[side == 0].any()
    sums = program.variables.sum(axis=1).cumsum()
    np.testing.assert_allclose(sums, -program.slacks, atol=1e-9 * C * n)
    assert (program.slacks >= 0).all() and (explicit or not program.slacks.any())
    K = kernel(rows, rows, 1.0) + ridge * np.eye(n)
    f, thresholds = K @ program.variables.sum(axis=0), program.thresholds()
    rounding = 2**-22 * (1 + abs(program.variables.sum(axis=0)).sum())
    np.testing.assert_allclose(program.values, f, atol=rounding)
    # with implicit ones it takes an exact solution to be ordered exactly
    assert (np.diff(thresholds) >= (0 if explicit else -2 * tol)).all()
    np.testing.assert_array_equal(np.diff(thresholds)[program.slacks[:-1] > 0], 0)
    excess = 1 - side * (f - thresholds[:, None])
    assert (excess[(side != 0) & (alphas < C)] <= tol + rounding).all()
    assert (excess[(side != 0) & (alphas > 0)] >= -tol - rounding).all()


@BOTH
def test_moving_the_free_variables_changes_the_way_alone(method, monkeypatch):
    rows, codes = problem(150, 4)
    model = method(300.0, 1.0, tol=1e-5).fit(rows, codes)
    monkeypatch.setattr(svor, "MAX_FREE_VARIABLES", 0)
    pairs = method(300.0, 1.0, tol=1e-5).fit(rows, codes)
    assert model.n_iter_ < pairs.n_iter_ / 5
    np.testing.assert_allclose(model.score_samples(rows), pairs.score_samples(rows), atol=1e-3)
    np.testing.assert_allclose(model.thresholds_, pairs.thresholds_, atol=1e-3)
    wide = method(0.01, 1.0).fit([[-1.0], [1.0]], [0, 1])  # any of an interval is optimal
    assert wide.thresholds_[0] == pytest.approx(0)


def test_kernel_matrices_that_rounding_makes_indefinite_are_inverted():
    inverse = _inverse(np.ones((3, 3)) - 1e-4 * np.eye(3))
    assert np.linalg.eigvalsh(inverse).min() > 0
    np.testing.assert_array_equal(inverse, inverse.T)


@BOTH
def test_with_less_memory_the_model_is_the_same_and_costs_more_with_more_cuts(method):
    (rows, codes), n = problem(1200, 3), Sizes(2, 1200, 0, 3)
    whole, little = method(sigma=1.0), method(sigma=1.0, max_memory=0.0355)
    assert little.cost(n).memory < whole.cost(n).memory
    values, same = (model.fit(rows, codes).score_samples(rows[:50]) for model in (whole, little))
    np.testing.assert_array_equal(values, same)
    few, many = whole.cost(n).flops, whole.cost(n._replace(sources=9)).flops
    assert many > few if method is SVORIM else many == few
    with pytest.raises(FitError, match="overflow"):
        method(1e308).fit(rows, codes)
