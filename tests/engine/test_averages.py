"""Means of the last functions, against sums over all functions one by one."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.engine import (
    ConstantStep,
    DecreasingStep,
    LinearStep,
    Problem,
    Source,
    TableSize,
    sizes,
    train,
    train_in_passes,
    train_values,
    training,
    training_cost,
)
from dsgkit.features import FourierFeatures
from dsgkit.objectives.pnu_auc import PNUAUCObjective

LAM = np.array([0.5, 1.0, 3.0, 1e-3])
STEPS = {
    "constant": lambda T: ConstantStep(np.array([0.2, 0.9, 0.3, 0.1]), LAM),
    "erasing": lambda T: ConstantStep(1 / LAM * [1, 1, 1, 1e-3], LAM),
    "decreasing": lambda T: DecreasingStep(
        np.array([1.5, 4.0, 2.0, 1.0]), np.ones(4), np.array([0.0, 0.0, 5.0, 0.0])
    ),
    "linear": lambda T: LinearStep(np.array([0.2, 0.9, 0.3, 0.1]), LAM, T),
}


def problem(step="constant", T=21, n_unlabeled=50, n_groups=1):
    rng = np.random.default_rng(0)
    X, U = (rng.random((n, 3), dtype=np.float32) for n in (30, n_unlabeled))
    pools = [[np.arange(k, 30 - s, 2) for k in range(n_groups)] for s in (0, 3)]
    return Problem(
        tables=[X, U],
        sources=[Source(0, pools[0]), Source(0, pools[1]), Source(1, in_passes=True)],
        objective=PNUAUCObjective(np.array([0.5, 0.2, 1.0, 0.5])),
        step=STEPS[step](T),
        features=FourierFeatures("gaussian", 1.0, 6, 3),
        n_iterations=T,
        batch_size=20,
        group=np.arange(4) * n_groups // 4,
    )


def functions(given):
    """Values at both tables of the functions after every iteration, by runs of that length."""
    rows = np.vstack(given.tables)
    seen = []
    train(
        given,
        at=range(1, given.n_iterations + 1),
        observe=lambda t, seconds, model: seen.append(model.decision_function(rows)),
    )
    return rows, np.array(seen, np.float64)


def mean_of_last(values):
    T = len(values)
    return values[T // 2 :].sum(axis=0) / (T - T // 2)


@pytest.fixture(params=["resident", "streamed"])
def n_unlabeled(request):
    return 50 if request.param == "resident" else 3000


@pytest.mark.parametrize("step", STEPS)
def test_the_mean_of_functions_is_that_of_their_values(step, n_unlabeled, monkeypatch):
    monkeypatch.setattr(training, "_SMALLEST_SCALE", 0.05)  # what shrinks is often multiplied out
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 5 * 20)
    given = problem(step, n_unlabeled=n_unlabeled)
    rows, values = functions(given)
    size = np.abs(values).max(axis=(0, 1))
    shown = {}
    averaged = replace(given, average=True)
    model = train(
        averaged,
        at=[1, 2, 7, 21],
        observe=lambda t, seconds, shot: shown.update({t: shot.decision_function(rows)}),
    )
    for t, got in shown.items():
        assert (np.abs(got - mean_of_last(values[:t])) <= 1e-5 * size).all()
    np.testing.assert_array_equal(model.decision_function(rows), shown[21])


@pytest.mark.parametrize("step", STEPS)
def test_values_of_a_grid_with_folds_are_averaged(step, monkeypatch):
    monkeypatch.setattr(training, "_SMALLEST_SCALE", 0.05)
    given = problem(step, n_groups=2)
    rows, values = functions(given)
    expected, size = mean_of_last(values), np.abs(values).max(axis=(0, 1))
    averaged = replace(given, average=True)
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 3 * averaged.bytes_per_model(keep_blocks=False))
    got = train_values(averaged)
    assert (np.abs(np.vstack([got[0], got[1]]) - expected) <= 1e-5 * size).all()
    passes = train_in_passes(averaged)
    assert len(passes) > 1
    by_pass = np.hstack([model.decision_function(rows) for model in passes])
    assert (np.abs(by_pass - expected) <= 1e-5 * size).all()


def test_blocks_that_are_next_to_nothing_of_the_mean_are_left_out():
    given = replace(problem(T=100), step=ConstantStep(np.full(4, 0.9), np.ones(4)), average=True)
    model = train(given)
    assert 30 < model.first_block < 50
    rows, values = functions(replace(given, average=False))
    size = np.abs(values).max(axis=(0, 1))
    assert (np.abs(model.decision_function(rows) - mean_of_last(values)) <= 1e-5 * size).all()


def test_linear_steps_fall_to_nothing():
    rule = STEPS["linear"](4)
    np.testing.assert_allclose([rule(t)[0][0] for t in (1, 2, 3, 4)], [0.2, 0.15, 0.1, 0.05])
    for t in (1, 3):
        np.testing.assert_allclose(rule(t)[1], 1 - rule(t)[0] * LAM)
        np.testing.assert_array_equal(rule.take(slice(1, 3))(t), np.array(rule(t))[:, 1:3])


@pytest.mark.parametrize("result", ["model", "models", "values"])
@pytest.mark.parametrize("n_rows", [50, 3000])
def test_the_memory_of_means_is_counted(result, n_rows):
    given = replace(problem(n_unlabeled=n_rows), average=True)
    tables = [TableSize(30, in_pools=True, n_sources=2), TableSize(n_rows)]
    size = {"batch_size": 20, "n_iterations": 21, "n_models": 4}
    last, mean = (
        training_cost(given.features, 3, tables, result=result, average=average, **size).memory
        for average in (False, True)
    )
    per_model = [
        replace(given, average=average).bytes_per_model(keep_blocks=result != "values")
        for average in (False, True)
    ]
    assert mean - last == 4 * (per_model[1] - per_model[0])
    assert (mean > last) == (result == "values" or n_rows == 3000)
