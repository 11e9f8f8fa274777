"""Block-preconditioned training against closed forms and a loop that is written out."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.engine import (
    BlockProblem,
    RowGroup,
    block_training_cost,
    preconditioned,
    sizes,
    train_blocks,
    train_blocks_in_passes,
    train_blocks_values,
)
from dsgkit.engine.block_problem import draw
from dsgkit.engine.hessians import BlockHessians
from dsgkit.engine.row_hessians import RowHessians
from dsgkit.features import random_features
from dsgkit.objectives.majorised_s3vm import MajorisedS3VMObjective
from dsgkit.objectives.pairwise_auc import PairwiseAUCObjective
from dsgkit.objectives.pairwise_risk import samult_risk
from dsgkit.random import draw_in_passes
from tests.engine import reference
from tests.solvers.allocated import peak_of
from tests.solvers.brute_force import written_form

D, SEED = 3, 5


def rows(n, seed=0):
    return np.random.default_rng(seed).random((n, D)).astype(np.float32)


X, U = rows(20), rows(60, 1)
CODES = np.arange(20) % 2
FOLDS = [np.arange(0, 20, 4), np.arange(1, 8)]
POINTS = [(2.0**-4, 0.5), (2.0**-6, 0.5), (2.0**-4, 0.9)]
"""Pairs of lam and gamma."""


def problem(*, batch_size, points=POINTS, folds=(), kernel="gaussian", unlabeled=U, m=4):
    pools = [np.setdiff1d(np.arange(len(X)), fold) for fold in folds] or [np.arange(len(X))]
    return BlockProblem(
        X=X,
        X_unlabeled=unlabeled,
        groups=[RowGroup([pool[CODES[pool] == c] for c in (0, 1)]) for pool in pools],
        group=np.repeat(np.arange(len(pools)), len(points)),
        objective=PairwiseAUCObjective([samult_risk(gamma) for _, gamma in points] * len(pools)),
        lam=np.array([lam for lam, _ in points] * len(pools)),
        features=random_features(kernel, 2.0, m, SEED),
        n_blocks=3,
        n_sweeps=2,
        batch_size=batch_size,
    )


def written_out(p, lam, gamma):
    """The coefficients of one model of all rows."""
    order = np.argsort(CODES, kind="stable")

    def bound(step, f):
        M, v = written_form(samult_risk(gamma), np.repeat([0, 1], 10), len(f) - 20)
        return 2 * (M @ f - v), 2 * M

    size = {"T": p.n_blocks, "n_sweeps": p.n_sweeps, "b": p.batch_size, "seed": SEED, "source": 2}
    return reference.swept(p.features, p.X[order], p.X_unlabeled, lam=lam, bound=bound, **size)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(2)"])
@pytest.mark.parametrize("batch_size", [7, 16, 60])
def test_the_written_out_loop(batch_size, kernel):
    """With 7 rows not all are drawn; with 16, rows of the first pass come again in the second."""
    p = problem(batch_size=batch_size, kernel=kernel)
    alphas = [written_out(p, lam, gamma) for lam, gamma in POINTS]
    for table, got in (
        (rows(30, 2), train_blocks(p).decision_function(rows(30, 2))),
        (X, train_blocks_values(p)[0]),
    ):
        expected = np.column_stack([reference.of_blocks(p.features, a, table) for a in alphas])
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 * abs(expected).max())


@pytest.mark.parametrize("batch_size", [16, 60])
def test_folds_in_one_pass_are_trained_on_their_own_rows(batch_size):
    p = problem(batch_size=batch_size, folds=FOLDS)
    values = train_blocks_values(p)[0].reshape(len(X), len(FOLDS), len(POINTS))
    for k, fold in enumerate(FOLDS):
        alone = train_blocks(problem(batch_size=batch_size, folds=[fold])).decision_function(X)
        np.testing.assert_allclose(values[:, k], alone, rtol=0, atol=1e-5 * abs(alone).max())


def weighted(p):
    """The problem with an objective whose models weigh every row by their own values."""
    C = np.tile([5.0, 50.0, 20.0], len(p.groups))
    objective = MajorisedS3VMObjective(C, C[::-1], np.zeros(len(C)))
    return replace(p, objective=objective, lam=np.ones(len(C)))


@pytest.mark.parametrize("pooled", [False, True])
def test_models_that_weigh_rows_themselves_are_trained_on_their_own_rows(pooled, monkeypatch):
    def groups(*numbers):
        p = problem(batch_size=16, folds=[FOLDS[k] for k in numbers])
        parts = np.arange(0, 60, 2), np.arange(5, 60)
        own = [RowGroup(g.labeled, parts[k]) for g, k in zip(p.groups, numbers, strict=True)]
        return weighted(replace(p, groups=own) if pooled else p)

    together = train_blocks(groups(0, 1)).decision_function(U)
    monkeypatch.setattr(sizes, "MAX_FEATURE_BYTES", 3 * 12 * 8)  # chunks of rows, and of models
    for k in range(2):
        own = together[:, 3 * k : 3 * k + 3]
        p = groups(k)
        C = groups(0, 1).objective.C_star[3 * k : 3 * k + 3]
        p = replace(p, objective=MajorisedS3VMObjective(p.objective.C, C, np.zeros(3)))
        alone = train_blocks(p).decision_function(U)
        np.testing.assert_allclose(own, alone, rtol=0, atol=1e-5 * abs(alone).max())


@pytest.mark.parametrize("pooled", [False, True])
def test_both_kinds_of_hessians_make_the_same_steps(pooled, monkeypatch):
    p = problem(batch_size=16, folds=FOLDS, points=[*POINTS, (2.0**-6, 1.0), (2.0**-6, 0.0)])
    if pooled:
        parts = np.arange(0, 60, 2), np.arange(5, 60)
        p = replace(
            p, groups=[RowGroup(g.labeled, r) for g, r in zip(p.groups, parts, strict=True)]
        )
    found = []
    for kind in (BlockHessians, RowHessians):
        monkeypatch.setattr(preconditioned, "_hessians", kind)
        found.append(train_blocks(p).decision_function(U))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-5 * abs(found[0]).max())


def test_many_models_of_few_rows_share_an_eigendecomposition():
    many = [(2.0**-k, gamma / 10) for k in range(8) for gamma in range(11)]
    for points, kind in ((POINTS[:1], BlockHessians), (many, RowHessians)):
        p = problem(batch_size=16, m=128, points=points)
        assert type(preconditioned._hessians(p, p.lam)) is kind


def test_predicted_memory_is_what_training_allocates():
    many = [(2.0**-k, 0.5) for k in range(39)]
    for points, m, majorised in (
        (POINTS[:1], 256, False),
        (many, 32, False),
        (POINTS, 256, True),
        (many, 32, True),
    ):
        p = problem(batch_size=700, m=m, points=points, unlabeled=rows(20_000, 3))
        if majorised:
            C = np.linspace(1, 100, len(points))
            objective = MajorisedS3VMObjective(C, C, np.zeros(len(C)))
            p = replace(p, objective=objective, lam=np.ones(len(C)))
        cost = block_training_cost(
            p.features, D, 20, 20_000, n_sources=2, batch_size=700, n_blocks=3, n_sweeps=2,
            n_models=len(points), majorised=majorised,
        )  # fmt: skip
        assert 0.5 * cost.memory < peak_of(lambda p=p: train_blocks(p)) < cost.memory


def test_several_passes_are_the_same_models(monkeypatch):
    p = problem(batch_size=16, folds=FOLDS)
    whole, values = train_blocks(p).decision_function(U), train_blocks_values(p)[0]
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 2 * p.bytes_per_model())
    models = train_blocks_in_passes(p)
    assert [model.coefficients.shape[2] for model in models] == [2, 2, 2]
    apart = np.hstack([model.decision_function(U) for model in models])
    np.testing.assert_allclose(apart, whole, rtol=0, atol=1e-5 * abs(whole).max())
    again = train_blocks_values(p)[0]
    np.testing.assert_allclose(again, values, rtol=0, atol=1e-5 * abs(values).max())


def test_only_drawn_rows_are_kept_and_the_first_done_come_first():
    p = problem(batch_size=4, unlabeled=rows(1000, 3))
    draws = draw(p)
    assert len(draws.kept) == len(np.unique(draws.kept)) == 4 * 6
    np.testing.assert_array_equal(draws.done, 4 * np.arange(1, 7))
    for step in range(6):
        expected = draw_in_passes(SEED, 2, step, 1, 4, 1000)[0]
        np.testing.assert_array_equal(draws.kept[draws.batch(0, step)], expected)
    assert p.bytes_per_model() == problem(batch_size=4, unlabeled=rows(5000, 3)).bytes_per_model()
