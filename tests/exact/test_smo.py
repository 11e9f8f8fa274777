"""The quadratic program against its optimality conditions, which are sufficient, and LIBSVM."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from dsgkit.errors import FitError
from dsgkit.exact.columns import column, kernel_columns
from dsgkit.exact.smo import Gains, QuadraticProgram
from tests.estimators.brute_force import kernel

TOL = 1e-3


def random_gains(rng, n, anchor, scale=1.0):
    """Boxes around anything, some of no width, with a kink inside, at an end, or none."""
    knots = scale * np.sort(rng.normal(size=(n + 1, 3)), axis=1)
    slopes = -np.sort(-rng.normal(size=(n + 1, 2)), axis=1)
    knots[: n // 4] = knots[: n // 4, :1]
    straight = rng.random(n + 1) < 0.4
    slopes[straight, 1] = slopes[straight, 0]
    knots[rng.random(n + 1) < 0.2, 1] = np.inf
    knots[:, 1] = np.minimum(knots[:, 1], knots[:, 2])
    knots[-1], slopes[-1] = {
        "held": ([0, 0, 0], [0, 0]),
        "free": ([-np.inf, np.inf, np.inf], [slopes[-1, 0]] * 2),
    }[anchor]
    return Gains(*knots.T.copy(), *slopes.T.copy())


def violation(gains, coef, values):
    """How much the best pair gains, from the definition."""
    can_rise, can_fall = coef < gains.upper, coef > gains.lower
    rise = np.where(coef < gains.kink, gains.below, gains.above) - values
    fall = np.where(coef <= gains.kink, gains.below, gains.above) - values
    if not (can_rise.any() and can_fall.any()):
        return 0.0
    return rise[can_rise].max() - fall[can_fall].min()


def program_of(n, seed, mean_from=None, capacity=10**6, scale=1.0, d=2):
    rng = np.random.default_rng(seed)
    points = np.ascontiguousarray(scale * rng.normal(size=(d, n)))
    columns = kernel_columns(points, "gaussian", 1.0, capacity, mean_from)
    return QuadraticProgram(columns), points.T


def exact_kernel(rows, mean_from):
    """The kernel of rows and anchor, in double precision."""
    n = len(rows)
    combine = np.vstack([np.eye(n), np.zeros(n)])
    if mean_from is not None:
        combine[-1, mean_from:] = 1 / (n - mean_from)
    return combine @ kernel(rows, rows, 1.0) @ combine.T


def start_of(gains, rng):
    """Some variables inside of the boxes."""
    low, high = np.nan_to_num(gains.lower, neginf=-1), np.nan_to_num(gains.upper, posinf=1)
    return np.clip(low + rng.random(len(low)) * (high - low), low, high)


@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    anchor=st.sampled_from(["held", "free"]),
    mean=st.booleans(),
    capacity=st.integers(2, 50),
    scale=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_solutions_are_optimal_and_inside_of_the_boxes(n, seed, anchor, mean, capacity, scale):
    rng = np.random.default_rng(seed)
    mean_from = n // 2 if mean else None
    program, rows = program_of(n, seed, mean_from, capacity)
    gains = random_gains(rng, n, anchor, scale)
    start = start_of(gains, rng)
    program.move(start)
    program.solve(gains, TOL, 10**6)
    coef = program.coef
    assert (gains.lower <= coef).all() and (coef <= gains.upper).all()
    assert coef.sum() == pytest.approx(start.sum(), abs=1e-9 * scale)
    K = exact_kernel(rows, mean_from)
    np.testing.assert_allclose(program.values, K @ coef, atol=1e-5 * scale)
    assert program.norm() == pytest.approx(coef @ K @ coef, abs=1e-4 * scale**2)
    assert violation(gains, coef, K @ coef) < TOL + 1e-5 * scale


def svm_gains(y, C):
    """The boxes of a support vector machine."""
    lower, upper = np.append(np.minimum(0, C * y), 0.0), np.append(np.maximum(0, C * y), 0.0)
    return Gains(lower, upper, upper, np.append(y, 0.0), np.append(y, 0.0))


def svm(sigma=1.0, capacity=1000):
    """Return a program of some rows, these rows and their labels."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 2))
    y = np.where(rows[:, 0] + 0.7 * rng.normal(size=120) > 0.3, 1.0, -1.0)
    return QuadraticProgram(kernel_columns(rows.T.copy(), "gaussian", sigma, capacity)), rows, y


@pytest.mark.parametrize(("C", "sigma"), list(itertools.product([0.05, 1.0, 100.0], [0.1, 2.0])))
@pytest.mark.parametrize("capacity", [2, 1000])
def test_a_plain_svm_is_that_of_libsvm(C, sigma, capacity):
    program, rows, y = svm(sigma, capacity)
    program.solve(svm_gains(y, C), 1e-6, 10**6)
    svc = SVC(C=C, kernel="rbf", gamma=sigma, tol=1e-6).fit(rows, y)
    coef = np.zeros(len(y))
    coef[svc.support_] = svc.dual_coef_[0]
    # as in LIBSVM the offset is read off the free variables
    free = (abs(program.coef[:-1]) > 1e-8) & (abs(program.coef[:-1]) < C - 1e-8)
    assert free.any()
    offset = np.mean((y - program.values[:-1])[free])
    np.testing.assert_allclose(
        program.values[:-1] + offset, svc.decision_function(rows), atol=2e-4 * max(1, C**0.5)
    )
    K = kernel(rows, rows, sigma)
    values = [a @ K @ a / 2 - y @ a for a in (program.coef[:-1], coef)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)
    assert program.n_steps < 1.5 * svc.n_iter_[0]  # which selects pairs in the same way


def test_a_solution_is_solved_and_a_changed_problem_goes_on_from_there():
    program, _, y = svm()
    program.solve(svm_gains(y, 1.0), TOL, 10**6)
    cold = program.n_steps
    program.solve(svm_gains(y, 1.0), TOL, 1)
    assert program.n_steps == cold > 50
    program.solve(svm_gains(y, 1.01), TOL, 10**6)
    assert 0 < program.n_steps - cold < cold / 2


@pytest.mark.parametrize("most", [1, 30])
def test_too_few_steps_are_an_error(most):
    program, _, y = svm()
    with pytest.raises(FitError, match=f"no solution after {most} steps; take a larger tol"):
        program.solve(svm_gains(y, 1.0), TOL, most)
    assert program.n_steps == most


def test_equal_rows_with_other_labels_meet_at_their_bounds():
    points = np.ones((2, 4))
    program = QuadraticProgram(kernel_columns(points, "gaussian", 1.0, 4))
    y = np.array([1.0, -1.0, 1.0, -1.0])
    program.solve(svm_gains(y, 3.0), TOL, 100)
    np.testing.assert_array_equal(program.coef, np.append(3 * y, 0))
    np.testing.assert_array_equal(column(program._columns, 1), [1, 1, 1, 1, 0])
