"""Functions of ordinal estimators: the authors' loop, binary models, optimality, scikit-learn.

Written-out objectives are in `test_diagnostics`, SVOREX and SVORIM in `tests.exact.test_svor`.
"""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.kernel_ridge import KernelRidge

from dsgkit import (
    MPNUAUC,
    MSAMULT,
    PNUAUC,
    QS3ORAO,
    RFFS2OR,
    SAMULT,
    SVOREX,
    SVORIM,
    AllThresholdLogistic,
    ConstantMedian,
    ExactS2OR,
    KernelRidgeOrdinal,
)
from dsgkit.engine.problem import Sizes
from dsgkit.errors import DataError, FitError
from tests.engine.reference import algorithm_1, decreasing, predict
from tests.estimators.brute_force import kernel
from tests.estimators.ordinal.problems import ordinal_problem

PER_CUT = (0.2, 1.0, 0.0)
X, CODES, U, _ = ordinal_problem()
STEPS = {"batch_size": 8, "n_features": 4, "n_iterations": 20, "random_state": 3}


def close(got, expected, tolerance):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


def author_slopes(n, gamma):
    """Return the slopes of Algorithm 1, of every pair of classes of every cut, from the highest."""

    def slopes(t, *values):
        k, u, f = len(n), values[-1], values[-2::-1]  # f from the lowest class
        c, c_u = np.zeros((k, len(u))), np.zeros(len(u))
        for j, g in enumerate(gamma, start=1):
            for p in range(j, k):
                for q in range(j):
                    w = n[p] / n[j:].sum() * n[q] / n[:j].sum() / len(gamma)
                    l1 = -2 * (1 - f[p] + f[q])
                    l3 = -2 * (1 - f[p] + u)
                    l5 = -2 * (1 - u + f[q])
                    c[p] += w * (g * l1 + (1 - g) * l3)
                    c[q] += w * (g * -l1 + (1 - g) * -l5)
                    c_u += w * (1 - g) * (-l3 + l5)
        return *c[::-1], c_u

    return slopes


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize(("gamma", "theta_lam", "t0"), [(0.5, 1.5, 9.0), (PER_CUT, 2.0, 0.0)])
def test_qs3orao_is_the_loop_that_the_authors_write(gamma, theta_lam, t0, n_unlabeled):
    X, codes, XU, _ = ordinal_problem(40, n_unlabeled)
    rows = np.flatnonzero(np.arange(40) % 5 | (codes != 1))  # classes of unequal sizes
    X, codes, XU = X[rows].astype(np.float32), codes[rows], XU.astype(np.float32)
    model = QS3ORAO(0.25, 0.8, gamma, theta_lam=theta_lam, t0=t0, **STEPS)
    model.fit_function(X, codes, XU)
    slopes = author_slopes(np.bincount(codes), np.broadcast_to(gamma, 3))
    sources, size = [X[codes == c] for c in (3, 2, 1, 0)], {"T": 20, "b": 8, "m": 4, "seed": 3}
    step = decreasing(0.25, theta_lam, t0)
    alphas = algorithm_1(sources, XU, slopes, step, sigma=0.8, **size)
    close(model.score_samples(X), predict(X, alphas, 3, 4, 0.8), 1e-4)
    assert model.n_cuts_ == 3 and model.n_iter_ == 20
    assert model.set_params(gamma=0.5).fit(X[codes > 0], codes[codes > 0], XU).n_cuts_ == 2


BINARY = [
    *((MSAMULT, SAMULT, {"gamma": g}) for g in (0.4, (0.0, 0.3, 1.0))),
    *(
        (MPNUAUC, PNUAUC, {"eta": (-0.5, 0.25, 0.5), "prior": prior})
        for prior in (None, 0.4, (0.7, 0.5, 0.2))
    ),
]


@pytest.mark.parametrize("kind", ["gaussian", "linear"])
@pytest.mark.parametrize(("solver", "binary", "weights"), BINARY)
def test_every_cut_has_the_binary_model_of_its_sides(solver, binary, weights, kind):
    """With its own gamma, eta or prior, which by default is the share of labelled rows above."""
    centers = {} if solver is MSAMULT else {"n_centers": 30, "random_state": 7}
    model = solver(0.1, 2.0, kernel=kind, **centers, **weights).fit(X, CODES, U)
    got, objectives = model.score_samples(U), []
    for j in range(3):
        y = (j < CODES).astype(int)
        own = {
            name: float(np.mean(y) if value is None else np.broadcast_to(value, 3)[j])
            for name, value in weights.items()
        }
        one = binary(0.1, 2.0, kernel=kind, **centers, **own).fit(X, y, U)
        np.testing.assert_allclose(got[:, j], one.decision_function(U), atol=1e-9)
        objectives.append(one.diagnostics(X=X, y=y, X_unlabeled=U)["objective"])
    found = model.diagnostics(X=X, y=CODES, X_unlabeled=U)
    assert found["objective"] == pytest.approx(np.mean(objectives))
    assert model.coef_.shape == (len(model.centers_), 3)


def test_what_has_no_solution_ends_in_one_line():
    model = MPNUAUC(0.5, 1.0, 0.0).fit_function(X, CODES, U)
    with pytest.raises(FitError, match="no solution when a fold"):
        model.set_params(eta=-1.0, lam=1e-9, prior=0.02).fit_thresholds(X, CODES, U)
    with pytest.raises(FitError, match="take a larger lam"):
        MSAMULT(lam=1e-30).fit(np.vstack([X, X]), np.append(CODES, CODES), U)


OPTIMA = [(0.1, 2.0, "gaussian"), (2.0**-18, 0.3, "gaussian"), (0.05, 1.0, "linear")]


@pytest.mark.parametrize(("lam", "sigma", "name"), OPTIMA)
def test_all_threshold_logistic_has_no_slope_in_any_direction(lam, sigma, name):
    """Of the mean over the rows of sum_j log(1 + exp(-z (f - b_j))), plus lam/2 ||f||^2."""
    model = AllThresholdLogistic(lam, sigma, kernel=name).fit(X, CODES)
    K = X @ X.T if name == "linear" else kernel(X, X, sigma)
    z = np.where(CODES[:, None] > np.arange(3), 1, -1)
    slopes = -z * expit(-z * ((K @ model.coef_)[:, None] - model.own_thresholds_)) / len(X)
    assert abs(K @ (slopes.sum(axis=1) + lam * model.coef_)).max() < 1e-6
    assert abs(slopes.sum(axis=0)).max() < 1e-6


@pytest.mark.parametrize("solver", [AllThresholdLogistic, SVOREX, SVORIM])
@pytest.mark.parametrize("missing", range(5))
def test_a_class_that_a_fold_leaves_out_is_never_predicted(solver, missing):
    """Its two thresholds are one, that of its neighbours; at the ends they are infinite."""
    X, codes, U, _ = ordinal_problem(n_classes=5)
    rows, model = np.flatnonzero(codes != missing), solver(sigma=1.0)
    model._fit_to(model.data(X, codes, U).take(rows, None))
    b = np.concatenate([[-np.inf], model.own_thresholds_, [np.inf]])
    assert b[missing] == pytest.approx(b[missing + 1], abs=1e-4)
    own = np.delete(b, missing)[1:-1]
    assert np.isfinite(own).all() and (np.diff(own) >= 0).all()
    if solver is not AllThresholdLogistic:
        np.testing.assert_array_equal(own, solver(sigma=1.0).fit(X[rows], codes[rows]).thresholds_)


RIDGES = [(0.1, 1.0, "rbf"), (2.0**-18, 0.3, "rbf"), (8.0, 8.0, "laplacian"), (0.1, 1.0, "linear")]


@pytest.mark.parametrize(("lam", "sigma", "name"), RIDGES)
def test_kernel_ridge_is_that_of_scikit_learn_on_the_numbers_of_the_classes(lam, sigma, name):
    """The linear kernel has a penalised bias."""
    numbers, kind, bias = CODES + 1.0, name.replace("rbf", "gaussian"), name == "linear"
    X1, U1 = (np.column_stack([rows, np.full(len(rows), float(bias))]) for rows in (X, U))
    gamma = {} if bias else {"gamma": sigma}
    oracle = KernelRidge(alpha=len(X) * lam, kernel=name, **gamma)
    expected = numbers.mean() + oracle.fit(X1, numbers - numbers.mean()).predict(U1)
    model = KernelRidgeOrdinal(lam, sigma, kernel=kind).fit(X, CODES * 10, U)
    np.testing.assert_allclose(model.score_samples(U), expected, atol=1e-8)
    equal = KernelRidgeOrdinal(1e-12, kernel=kind).fit(np.ones_like(X), CODES, U)
    np.testing.assert_allclose(equal.score_samples(np.ones((2, 3))), CODES.mean() + 1)


@pytest.mark.parametrize(
    ("y", "median"),
    [([1, 2, 5], 2), ([1, 1, 5, 5], 1), ([3, 5, 5], 5), (["a", "b", "b"], "b")],
)
def test_every_row_gets_the_median_class(y, median):
    X = np.arange(len(y))[:, None]
    model = ConstantMedian().fit(X, y)
    assert (model.predict(X) == median).all() and (model.score_samples(X) == 0).all()
    assert model.score(X, y) == 0.5
    with pytest.raises(DataError, match="holds NaN in row"):
        model.predict([[np.nan]])


def test_costs_count_cuts_and_thresholds():
    n = Sizes(5, 100, 900, sources=4)
    for solver in (ExactS2OR, RFFS2OR):
        twice, once = solver(), solver(thresholds="share")
        assert twice.cost(n).flops == 2 * once.cost(n).flops
        assert twice.cost(n, 10) == once.cost(n, 10)
    cuts, binary = MSAMULT().cost(n), SAMULT().cost(n)
    assert cuts.flops == 3 * binary.flops and binary.memory < cuts.memory < 1.1 * binary.memory
    # the kernel is evaluated once, for all cuts
    assert binary.flops_per_row < cuts.flops_per_row < 1.3 * binary.flops_per_row
    for solver in (KernelRidgeOrdinal, AllThresholdLogistic, SVOREX, SVORIM):
        small, large = (solver().cost(n._replace(labeled=k)).flops for k in (100, 200))
        assert large > 3.9 * small and solver().cost(n, 10).flops > small
