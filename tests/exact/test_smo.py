"""The quadratic program against its optimality conditions, which are sufficient, and LIBSVM."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from dsgkit.errors import FitError
from dsgkit.exact.columns import kernel_columns
from dsgkit.exact.smo import Gains, QuadraticProgram
from tests.estimators.brute_force import kernel

TOL = 1e-3


def random_gains(rng, n, is_free, scale):
    """Boxes around anything, some of no width, with a kink inside, at an end, or none."""
    knots = scale * np.sort(rng.normal(size=(n + 1, 3)), axis=1)
    slopes = -np.sort(-rng.normal(size=(n + 1, 2)), axis=1)
    knots[: n // 4] = knots[: n // 4, :1]
    straight = rng.random(n + 1) < 0.4
    slopes[straight, 1] = slopes[straight, 0]
    knots[rng.random(n + 1) < 0.2, 1] = np.inf
    knots[:, 1] = np.minimum(knots[:, 1], knots[:, 2])
    knots[-1] = [-np.inf, np.inf, np.inf] if is_free else 0
    slopes[-1] = slopes[-1, 0] if is_free else 0
    return Gains(*knots.T.copy(), *slopes.T.copy())


@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    is_free=st.booleans(),
    has_mean=st.booleans(),
    capacity=st.integers(2, 50),
    scale=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_solutions_are_optimal_and_inside_of_the_boxes(n, seed, is_free, has_mean, capacity, scale):
    rng = np.random.default_rng(seed)
    rows, gains = rng.normal(size=(n, 2)), random_gains(rng, n, is_free, scale)
    mean_from = n // 2 if has_mean else None
    program = QuadraticProgram(kernel_columns(rows.T.copy(), "gaussian", 1.0, capacity, mean_from))
    # some variables inside of the boxes
    low, high = np.nan_to_num(gains.lower, neginf=-1), np.nan_to_num(gains.upper, posinf=1)
    start = np.clip(low + rng.random(n + 1) * (high - low), low, high)
    program.move(start)
    program.solve(gains, TOL, 10**6)
    coef = program.coef
    assert (gains.lower <= coef).all() and (coef <= gains.upper).all()
    assert coef.sum() == pytest.approx(start.sum(), abs=1e-9 * scale)
    combine = np.vstack([np.eye(n), np.zeros(n)])  # rows and anchor
    if has_mean:
        combine[-1, mean_from:] = 1 / (n - mean_from)
    values = combine @ kernel(rows, rows, 1.0) @ combine.T @ coef
    np.testing.assert_allclose(program.values, values, atol=1e-5 * scale)
    assert program.norm() == pytest.approx(coef @ values, abs=1e-4 * scale**2)
    rise = np.where(coef < gains.kink, gains.below, gains.above) - values
    fall = np.where(coef <= gains.kink, gains.below, gains.above) - values
    can_rise, can_fall = coef < gains.upper, coef > gains.lower
    most, least = rise[can_rise].max(initial=-np.inf), fall[can_fall].min(initial=np.inf)
    assert most - least < TOL + 1e-5 * scale


def svm_gains(y, C):
    """The boxes of a support vector machine."""
    lower, upper = np.append(np.minimum(0, C * y), 0.0), np.append(np.maximum(0, C * y), 0.0)
    return Gains(lower, upper, upper, np.append(y, 0.0), np.append(y, 0.0))


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("sigma", [0.1, 2.0])
def test_it_takes_the_steps_of_libsvm_and_goes_on_from_a_solution(C, sigma):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 2))
    y = np.where(rows[:, 0] + 0.7 * rng.normal(size=120) > 0.3, 1.0, -1.0)
    program = QuadraticProgram(kernel_columns(rows.T.copy(), "gaussian", sigma, 1000))
    for most in (1, 30):
        with pytest.raises(FitError, match=f"no solution after {most} steps; take a larger tol"):
            program.solve(svm_gains(y, C), 1e-6, most)
    assert program.n_steps == 31
    program.solve(svm_gains(y, C), 1e-6, 10**6)
    svc = SVC(C=C, gamma=sigma, tol=1e-6).fit(rows, y)
    coef = np.zeros(121)
    coef[svc.support_] = svc.dual_coef_[0]
    np.testing.assert_allclose(program.coef, coef, atol=2e-3 * C)
    cold = program.n_steps
    assert cold < 1.5 * svc.n_iter_[0]  # which selects pairs in the same way
    program.solve(svm_gains(y, C), 1e-6, 1)
    assert program.n_steps == cold
    if C == 1:  # with less, all coefficients are at their bounds, and move
        program.solve(svm_gains(y, 1.01), TOL, 10**6)
        assert 0 < program.n_steps - cold < cold / 2


def test_equal_rows_with_other_labels_meet_at_their_bounds():
    program = QuadraticProgram(kernel_columns(np.ones((2, 4)), "gaussian", 1.0, 4))
    y = np.array([1.0, -1.0, 1.0, -1.0])
    program.solve(svm_gains(y, 3.0), TOL, 100)
    np.testing.assert_array_equal(program.coef, np.append(3 * y, 0))
