"""Functions of ordinal estimators: the authors' loop, dense systems, binary models, scikit-learn.

The support vector machines are in `tests.exact.test_svor`, grids and folds in `test_folds`.
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
from dsgkit.errors import DataError, FitError, IndefiniteError
from dsgkit.random import draw_in_passes, draw_with_replacement
from tests.engine.reference import decreasing, features, predict
from tests.estimators.brute_force import folds_of, kernel
from tests.estimators.ordinal.problems import ordinal_problem

PER_CUT = (0.2, 1.0, 0.0)
X, CODES, U, _ = ordinal_problem()
ROWS = np.vstack([X, U])
STEPS = {"batch_size": 8, "n_features": 4, "n_iterations": 20, "random_state": 3}


def close(got, expected, tolerance):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


def author_loop(X, codes, XU, *, lam, sigma, gamma, theta_lam, t0):
    """Algorithm 1 for one function, every pair of classes of every cut; the coefficient vectors."""
    b, m, seed = (STEPS[n] for n in ("batch_size", "n_features", "random_state"))
    n, alphas, step = np.bincount(codes), [], decreasing(lam, theta_lam, t0)
    k = len(n)
    for t in range(STEPS["n_iterations"]):
        rows = {"u": XU[draw_in_passes(seed, k, t, 1, b, len(XU))[0]]}
        for source, c in enumerate(reversed(range(k))):
            rows[c] = X[codes == c][draw_with_replacement(seed, source, t, 1, b, n[c])[0]]
        f = {name: predict(x, alphas, seed, m, sigma) for name, x in rows.items()}
        c = {name: np.zeros(b) for name in rows}
        for j, g in enumerate(gamma, start=1):
            for p in range(j, k):
                for q in range(j):
                    w = n[p] / n[j:].sum() * n[q] / n[:j].sum() / len(gamma)
                    l1 = -2 * (1 - f[p] + f[q])
                    l3 = -2 * (1 - f[p] + f["u"])
                    l5 = -2 * (1 - f["u"] + f[q])
                    c[p] += w * (g * l1 + (1 - g) * l3)
                    c[q] += w * (g * -l1 + (1 - g) * -l5)
                    c["u"] += w * (1 - g) * (-l3 + l5)
        gradient = sum(features(rows[s], seed, t, m, sigma).T @ c[s] / b for s in rows)
        eta, decay = step(t + 1)
        alphas = [decay * alpha for alpha in alphas] + [-eta * gradient]
    return alphas


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize(("gamma", "theta_lam", "t0"), [(0.5, 1.5, 9.0), (PER_CUT, 2.0, 0.0)])
def test_qs3orao_is_the_loop_that_the_authors_write(gamma, theta_lam, t0, n_unlabeled):
    X, codes, XU, _ = ordinal_problem(40, n_unlabeled)
    rows = np.flatnonzero(np.arange(40) % 5 | (codes != 1))  # classes of unequal sizes
    X, codes, XU = X[rows].astype(np.float32), codes[rows], XU.astype(np.float32)
    setting = {"lam": 0.25, "sigma": 0.8, "theta_lam": theta_lam, "t0": t0}
    model = QS3ORAO(**setting, gamma=gamma, **STEPS).fit_function(X, codes, XU)
    alphas = author_loop(X, codes, XU, gamma=np.broadcast_to(gamma, 3), **setting)
    close(model.score_samples(X), predict(X, alphas, 3, 4, 0.8), 1e-4)
    assert model.n_cuts_ == 3 and model.n_iter_ == 20
    assert model.set_params(gamma=0.5).fit(X[codes > 0], codes[codes > 0], XU).n_cuts_ == 2


def test_the_exact_minimiser_of_the_stochastic_method_is_exact():
    """`test_diagnostics` compares it, and `RFFS2OR`, with the written-out objective."""
    for gamma, n in ((0.5, 90), (1.0, 40)):
        model = QS3ORAO(sigma=1.0, gamma=gamma, **STEPS).fit_function(X, CODES, U)
        exact = ExactS2OR(0.125, 1.0, (gamma,) * 3).fit_function(X, CODES, U)
        same = model.exact_minimiser(X, CODES, U).score_samples(U)
        np.testing.assert_array_equal(same, exact.score_samples(U))
        np.testing.assert_array_equal(exact.centers_, ROWS[:n])
    model = RFFS2OR(n_features=20).fit_function(X, CODES, U)
    assert model.features_.width == len(model.coef_) == 40


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


@pytest.mark.parametrize("solver", [MSAMULT, ExactS2OR])
def test_two_classes_have_one_column_and_the_values_of_the_binary_model(solver):
    y = (CODES > 1).astype(int)
    expected = SAMULT(sigma=1.0).fit(X, y, U).decision_function(U)
    model = solver(sigma=1.0).fit(X, y, U)
    np.testing.assert_allclose(model.score_samples(U), expected, atol=1e-12)
    assert model.thresholds_.shape == (1,)


def test_a_cut_without_rows_on_a_side_takes_the_nearest_model():
    rows = np.r_[np.flatnonzero(CODES == 0)[:1], np.flatnonzero((CODES == 1) | (CODES == 2))]
    Z, codes = np.vstack([X[rows], X[:1]]), np.append(CODES[rows], 3)
    ends, inside = np.array([0, 1, len(Z) - 1]), np.arange(2, 12)  # the first leaves two classes
    model = MSAMULT(sigma=0.3)
    values = model.fit_points([{}], folds=[ends, inside], X=Z, y=codes, X_unlabeled=U)[0]
    rest = np.delete(np.arange(len(Z)), ends)
    binary = SAMULT(sigma=0.3).fit(Z[rest], (codes[rest] > 1).astype(int), U)
    expected = np.tile(binary.decision_function(Z[ends])[:, None], 3)
    np.testing.assert_allclose(values[ends], expected)
    assert (values[inside][:, 0] != values[inside][:, 1]).all()


def test_what_has_no_solution_ends_in_one_line_and_is_nan_in_a_grid():
    model = MPNUAUC(0.5, 1.0, 0.0).fit_function(X, CODES, U)
    model.set_params(eta=-1.0, lam=1e-9, prior=0.02)
    with pytest.raises(FitError, match="no solution when a fold"):
        model.fit_thresholds(X, CODES, U)
    with pytest.raises(IndefiniteError, match="eta > 0 suits a prior of at most 1/2"):
        model.fit(X, CODES, U)
    points = [{"eta": (0.0, 0.0, -1.0)}, {"eta": 0.0}]
    got = model.fit_points(points, folds=folds_of(40, 4), X=X, y=CODES, X_unlabeled=U)
    assert np.isnan(got[0]).all() and np.isfinite(got[1]).all()  # a solution needs all cuts
    with pytest.raises(FitError, match="take a larger lam"):
        MSAMULT(lam=1e-30).fit(np.vstack([X, X]), np.append(CODES, CODES), U)


@pytest.mark.parametrize(
    ("lam", "sigma", "name"),
    [(0.1, 2.0, "gaussian"), (2.0**-18, 0.3, "gaussian"), (0.05, 1.0, "linear")],
)
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
    for one, binary in ((ExactS2OR, SAMULT), (RFFS2OR, None)):
        twice, once = one().cost(n), one(thresholds="share").cost(n)
        assert twice.flops == 2 * once.flops and one().cost(n, 10) == one(thresholds="share").cost(
            n, 10
        )
        assert binary is None or once.flops == binary().cost(n).flops
    cuts, binary = MSAMULT().cost(n), SAMULT().cost(n)
    assert cuts.flops == 3 * binary.flops and binary.memory < cuts.memory < 1.1 * binary.memory
    # the kernel is evaluated once, for all cuts
    assert binary.flops_per_row < cuts.flops_per_row < 1.3 * binary.flops_per_row
    assert MPNUAUC().cost(n).flops == 3 * PNUAUC(prior=0.5).cost(n).flops
    assert MSAMULT(gamma=1.0).cost(n).flops < cuts.flops / 100
    for solver in (KernelRidgeOrdinal, AllThresholdLogistic, SVOREX, SVORIM):
        cost = solver().cost(n)
        assert solver().cost(n._replace(labeled=200)).flops > 3.9 * cost.flops
        assert solver().cost(n, 10).flops > cost.flops > 0 and cost.memory > 8 * 100 * 5
        assert cost.flops_per_row > 0
