"""Sweeps against a loop that is written out; measured curvature against eigenvalues."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit import QSGS2AUC
from dsgkit.engine import curvature, sizes, sweeps
from dsgkit.engine.hessians import ByRows, Shared
from dsgkit.engine.problem import Data, Fold, Problem, stacked
from dsgkit.engine.sweeps import sweep, sweep_cost
from dsgkit.kernels import gaussian_gram
from dsgkit.risks.margin import RoundedMargin
from dsgkit.risks.pairwise import SemiSupervisedAUC
from tests.engine import reference
from tests.engine.problems import auc, blocks, close, problem, rows
from tests.estimators.allocated import peak_of
from tests.exact.problems import written_form

T, S, FOLDS = 3, 2, [np.arange(0, 30, 4), np.arange(1, 8)]
POINTS = [(2.0**-4, 0.5), (2.0**-6, 1.0), (2.0**-4, 0.0), (2.0**-6, 0.5)]  # lam, gamma


def quadratic_form(gamma, codes, n_unlabeled):
    """Return M and v of a loss ``f'M f - 2 v'f`` of the values at all rows."""
    form = stacked([SemiSupervisedAUC(gamma)], [np.bincount(codes)]).form
    one = {name: getattr(form, name)[0] for name in ("diagonal", "cross", "linear")}
    return written_form(SimpleNamespace(**one), codes, n_unlabeled)


def written_out(p, features, b, lam, gamma):
    order = np.argsort(p.data.codes, kind="stable")

    def bound(step, f):
        M, v = quadratic_form(gamma, p.data.codes[order], len(f) - len(order))
        return 2 * (M @ f - v), 2 * M

    size = {"T": T, "n_sweeps": S, "b": b, "seed": features.seed, "source": 2}
    return reference.swept(features, p.data.X[order], p.data.U, lam=lam, bound=bound, **size)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(2)"])
@pytest.mark.parametrize("b", [7, 16, 60])
def test_the_written_out_loop(b, kernel):
    """With 7 rows not all are drawn; with 16, rows of the first pass come again in the second."""
    features, other = blocks(4, kernel=kernel, sigma=2.0), rows(2, n_unlabeled=30)[2]
    p, lam = auc(*(gamma for _, gamma in POINTS), n_unlabeled=60), [lam for lam, _ in POINTS]
    model = sweep(p, features, np.array(lam), T, S, b)
    at_tables = sweep(replace(p, values_only=True), features, np.array(lam), T, S, b).tables
    alphas = [written_out(p, features, b, *point) for point in POINTS]
    for table, got in ((other, model.values(other)), (p.data.X, at_tables[0])):
        expected = np.column_stack([reference.of_blocks(features, a, table) for a in alphas])
        assert close(got, expected, 2e-5)


RISKS = {
    "form": [SemiSupervisedAUC(gamma) for _, gamma in POINTS],
    "curvatures": [RoundedMargin(C, 55.0 - C) for C in (5.0, 50.0, 20.0, 9.0)],
}


def folds_of(pooled):
    parts = [np.arange(0, 60, 2), np.arange(5)] if pooled else [None, None]
    return [Fold(fold, part) for fold, part in zip(FOLDS, parts, strict=True)]


def on_folds(folds, risks, lam, b):
    p = problem(risks, n_unlabeled=60, folds=folds)
    model = sweep(p, blocks(4), np.tile(lam, len(folds)), T, S, b)
    return model.values(np.concatenate(p.data.tables))


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("b", [16, 60])
@pytest.mark.parametrize("risk", RISKS)
def test_folds_in_one_pass_are_trained_on_their_own_rows(risk, b, pooled, monkeypatch):
    """Also in chunks of rows and models, and by both kinds of Hessians."""
    folds, own = folds_of(pooled), (RISKS[risk], [lam for lam, _ in POINTS], b)
    alone = np.hstack([on_folds([fold], *own) for fold in folds])
    assert close(on_folds(folds, *own), alone, 1e-5)
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 2 * sizes.sweep_bytes(T, 8, 90, 90))
    monkeypatch.setattr(sizes, "MAX_FEATURE_BYTES", 3 * 12 * 8)
    for kind in (Shared, ByRows):
        monkeypatch.setattr(sweeps, "Shared", kind)
        monkeypatch.setattr(sweeps, "ByRows", kind)
        assert close(on_folds(folds, *own), alone, 1e-5)


@pytest.mark.parametrize("majorised", [False, True])
@pytest.mark.parametrize(("n_models", "m"), [(1, 256), (39, 32)])
def test_predicted_memory_is_what_training_allocates(n_models, m, majorised):
    losses = [RoundedMargin(50.0, 9.0) if majorised else SemiSupervisedAUC(0.5)] * n_models
    p, features = problem(losses, n_unlabeled=20_000), blocks(m)
    cost = sweep_cost(features, p.data.sizes, T, S, 700, n_models, majorised=majorised)
    peak = peak_of(lambda: sweep(p, features, np.ones(n_models), T, S, 700))
    assert 0.5 * cost.memory < peak < cost.memory


# Measured curvature


def measured(X, codes, U, sigma, gammas, folds=None, kernel="gaussian"):
    """Return the curvatures without their margin, of every gamma outside of every fold."""
    models = [QSGS2AUC(gamma=gamma) for gamma in gammas]
    p = Problem.of(models, Data(X, codes, U), folds)
    return curvature.curvatures(p, kernel, sigma) / curvature.CURVATURE_MARGIN


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 100.0])
def test_curvature_is_the_largest_eigenvalue_of_the_hessian(gamma, sigma):
    rng = np.random.default_rng(0)
    X, U, codes = rng.random((30, 3)), rng.random((50, 3)), np.arange(30) % 3 // 2
    together = np.concatenate([X, U])
    M, _ = quadratic_form(gamma, codes, 50)
    largest = np.linalg.eigvals(2 * M @ gaussian_gram(together, together, sigma)).real.max()
    folds = [Fold(np.arange(0)), Fold(np.arange(25, 30))]
    found = measured(X, codes, U, sigma, [gamma, gamma], folds)
    alone = measured(X[:25], codes[:25], U, sigma, [gamma])[0]
    assert found[0] == found[1]
    assert found[2] == pytest.approx(alone, rel=0.08)
    assert found[0] == pytest.approx(largest, rel=0.08)  # of 25%
    assert found[0] <= largest * (1 + 1e-9)


def test_some_of_many_rows_stand_for_all(monkeypatch):
    rng = np.random.default_rng(1)
    X, U, codes = rng.random((20, 2)), rng.random((20_000, 2)), np.arange(20) % 2
    few, every = (measured(X, codes, rows_u, 1.0, [0.5])[0] for rows_u in (U[:1000], U))
    assert every == pytest.approx(few, rel=0.05)
    X, U, codes = rng.random((600, 2)), rng.random((50, 2)), (np.arange(600) >= 590).astype(int)
    folds, read = [Fold(np.arange(0)), Fold(np.arange(1, 600, 2))], []
    exact = measured(X, codes, U, 1.0, [0.5], folds)
    monkeypatch.setattr(curvature, "MAX_LABELED_ROWS", 100)
    gram = SimpleNamespace(gram=lambda A, *rest: read.append(len(A)) or gaussian_gram(A, *rest))
    monkeypatch.setattr(curvature, "kernel_named", lambda _: gram)
    assert measured(X, codes, U, 1.0, [0.5], folds) == pytest.approx(exact, rel=0.2)
    assert read == [50 + 10 + 50]


def test_rows_that_are_all_equal_and_a_kernel_that_is_0_have_no_curvature():
    for value, kernel in ((1.0, "gaussian"), (0.0, "dot_product(3)")):
        X, codes = np.full((10, 2), value), np.arange(10) % 2
        assert measured(X, codes, X, 1.0, [0.5], kernel=kernel) == pytest.approx(0, abs=1e-9)
