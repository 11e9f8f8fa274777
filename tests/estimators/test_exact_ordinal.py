"""The closed forms of ordinal risks, and a function per cut: dense solutions and refits."""

import numpy as np
import pytest

from dsgkit import MPNUAUC, MSAMULT, PNUAUC, QS3ORAO, QS3ORAOP, RFFS2OR, SAMULT, ExactS2OR
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FitError, IndefiniteError
from dsgkit.features import FourierFeatures
from tests.estimators.brute_force import folds_of, kernel, minimise
from tests.estimators.ordinal.brute_force import ordinal_form
from tests.estimators.ordinal.problems import ordinal_problem

PER_CUT, ETA = (0.2, 1.0, 0.0), (-0.5, 0.25, 0.5)
X, CODES, U, _ = ordinal_problem()
ROWS = np.vstack([X, U])


def close(got, expected, tolerance):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize(
    ("lam", "sigma", "gamma"),
    [(0.125, 1.0, 0.4), (1e-4, 8.0, PER_CUT), (8.0, 0.125, 0.0), (1.0, 2.0, 1.0)],
)
def test_exact_solves_the_dense_system_of_all_pairs(lam, sigma, gamma):
    model = ExactS2OR(lam, sigma, gamma).fit_function(X, CODES, U)
    M, v = ordinal_form(CODES, len(U), np.broadcast_to(gamma, 3))
    K = kernel(ROWS, ROWS, sigma)
    a = np.linalg.solve(lam * np.eye(len(K)) + 2 * M @ K, 2 * v)
    close(model.score_samples(ROWS), K @ a, 1e-9)
    n = 40 if gamma == 1.0 else 90
    close(model.coef_, a[:n], 1e-7)
    np.testing.assert_array_equal(model.centers_, ROWS[:n])


@pytest.mark.parametrize(("lam", "gamma"), [(0.125, 0.4), (1e-3, PER_CUT), (1.0, 1.0)])
def test_random_features_solve_the_dense_primal_of_all_pairs(double_precision, lam, gamma):
    model = RFFS2OR(lam, 1.0, gamma, n_features=20).fit_function(X, CODES, U)
    Phi = FourierFeatures("gaussian", 1.0, 20, 0).transform(ROWS.astype(np.float32), 0)
    M, v = ordinal_form(CODES, len(U), np.broadcast_to(gamma, 3))
    close(model.score_samples(ROWS), Phi @ minimise(M, v, Phi, lam / 2), 1e-9)
    assert model.features_.width == len(model.coef_) == 40


def test_full_batches_of_sweeps_converge_to_the_dense_primal():
    setting = {"lam": 2.0**-5, "sigma": 1.0, "n_features": 8, "n_blocks": 3, "n_sweeps": 150}
    model = QS3ORAOP(**setting, gamma=(0.2, 0.5, 1.0)).fit_function(X, CODES, U)
    blocks = [model.function_.blocks.transform(ROWS, t) for t in range(3)]
    Phi = np.hstack(blocks) / np.sqrt(3)
    M, v = ordinal_form(CODES, len(U), (0.2, 0.5, 1.0))
    close(model.score_samples(ROWS), Phi @ minimise(M, v, Phi, 2.0**-6), 1e-5)


def test_the_exact_minimiser_of_the_stochastic_method_is_exact():
    model = QS3ORAO(sigma=1.0, gamma=PER_CUT, n_features=8, batch_size=8, n_iterations=20)
    exact = model.fit_function(X, CODES, U).exact_minimiser(X, CODES, U)
    expected = ExactS2OR(0.125, 1.0, PER_CUT).fit_function(X, CODES, U).score_samples(U)
    np.testing.assert_array_equal(exact.score_samples(U), expected)


BINARY = [
    *((MSAMULT, SAMULT, {"gamma": g}) for g in (0.4, (0.0, 0.3, 1.0))),
    *((MPNUAUC, PNUAUC, {"eta": ETA, "prior": prior}) for prior in (None, 0.4, (0.7, 0.5, 0.2))),
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


def test_two_classes_have_one_column_and_the_values_of_the_binary_model():
    y = (CODES > 1).astype(int)
    for two, binary in (
        (MSAMULT(sigma=1.0), SAMULT(sigma=1.0)),
        (ExactS2OR(sigma=1.0), SAMULT(sigma=1.0)),
    ):
        expected = binary.fit(X, y, U).decision_function(U)
        np.testing.assert_allclose(two.fit(X, y, U).score_samples(U), expected, atol=1e-12)
        assert two.thresholds_.shape == (1,)


def test_a_cut_without_rows_on_a_side_takes_the_nearest_model():
    rows = np.r_[np.flatnonzero(CODES == 0)[:1], np.flatnonzero((CODES == 1) | (CODES == 2))]
    Z, codes = np.vstack([X[rows], X[:1]]), np.append(CODES[rows], 3)
    folds = [np.array([0, 1, len(Z) - 1]), np.arange(2, 12)]  # the first leaves classes 1 and 2
    values = MSAMULT(sigma=0.3).fit_points([{}], folds=folds, X=Z, y=codes, X_unlabeled=U)[0]
    assert np.ptp(values[folds[0]], axis=1).max() < 1e-12  # with two threads, not the same bits
    assert (values[folds[1]][:, 0] != values[folds[1]][:, 1]).all()
    rest = np.setdiff1d(np.arange(len(Z)), folds[0])
    binary = SAMULT(sigma=0.3).fit(Z[rest], (codes[rest] > 1).astype(int), U)
    np.testing.assert_allclose(values[folds[0], 1], binary.decision_function(Z[folds[0]]))


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


def test_costs_count_cuts_and_thresholds():
    n = Sizes(5, 100, 900, sources=4)
    exact, shared = ExactS2OR().cost(n), ExactS2OR(thresholds="share").cost(n)
    assert exact.flops == 2 * shared.flops == 2 * SAMULT().cost(n).flops
    assert RFFS2OR().cost(n).flops == 2 * RFFS2OR(thresholds="share").cost(n).flops
    assert ExactS2OR().cost(n, 10) == ExactS2OR(thresholds="share").cost(n, 10)
    cuts, binary = MSAMULT().cost(n), SAMULT().cost(n)
    assert cuts.flops == 3 * binary.flops and binary.memory < cuts.memory < 1.1 * binary.memory
    # the kernel is evaluated once, for all cuts
    assert binary.flops_per_row < cuts.flops_per_row < 1.3 * binary.flops_per_row
    assert MPNUAUC().cost(n).flops == 3 * PNUAUC(prior=0.5).cost(n).flops
    assert MSAMULT(gamma=1.0).cost(n).flops < cuts.flops / 100
