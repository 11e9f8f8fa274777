from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit import QSGS2AUC
from dsgkit.engine import ConstantStep, Problem, Source, sizes, train, training
from dsgkit.engine.sizes import MAX_FORGOTTEN_SHARE
from dsgkit.features import FourierFeatures, tiles
from dsgkit.objectives.pnu_auc import PNUAUCObjective
from dsgkit.system.progress import listening
from tests.engine import reference
from tests.engine.threads import threads


def problem(seed, n_labeled=30, n_unlabeled=50, d=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n_labeled, d), dtype=np.float32)
    positive = np.arange(n_labeled) % 3 == 0
    X[positive] += np.float32(0.3)
    return X, positive, rng.random((n_unlabeled, d), dtype=np.float32)


def close(actual, expected):
    """1e-4 relative to the size of the function."""
    return np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()


configurations = st.fixed_dictionaries(
    {
        "lam": st.sampled_from([0.125, 0.5, 1.0, 4.0]),
        "sigma": st.floats(0.1, 8.0),
        "gamma": st.sampled_from([0.0, 0.3, 1.0]),
        "theta_lam": st.sampled_from([1.0, 1.3, 1.5, 2.0, 3.0]),
        "t0": st.sampled_from([0.0, 2.0, 7.5]),
    }
)
shapes = st.fixed_dictionaries(
    {"T": st.integers(1, 25), "b": st.integers(1, 40), "m": st.integers(1, 33)}
)


@settings(max_examples=40)
@given(configurations, shapes, st.integers(0, 2**64 - 1), st.sampled_from([20, 200, 5000]))
def test_one_model_equals_the_authors_loop(setting, size, seed, n_unlabeled):
    X, positive, XU = problem(0, n_unlabeled=n_unlabeled)
    model = QSGS2AUC(
        **setting,
        n_iterations=size["T"],
        batch_size=size["b"],
        n_features=size["m"],
        random_state=seed,
    ).fit(X, positive, XU)
    alphas = reference.qsg_s2auc(X, positive, XU, **setting, **size, seed=seed)
    expected = reference.predict(XU[:100], alphas, seed, size["m"], setting["sigma"])
    assert close(model.decision_function(XU[:100]), expected)


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (Problem, "resident", lambda self, table: table == 0),
        (Problem, "resident", lambda self, table: True),
        (sizes, "MAX_BLOCK_ROWS", 3 * 16),
        (training, "_SMALLEST_SCALE", 0.3),
    ],
    ids=["streamed", "resident", "panels", "scales that are multiplied out"],
)
def test_how_rows_are_met_does_not_change_the_model(monkeypatch, owner, name, value):
    X, positive, XU = problem(3, n_unlabeled=1500)
    fit = QSGS2AUC(n_iterations=60, batch_size=16, n_features=8, lam=0.5).fit
    expected = fit(X, positive, XU).decision_function(XU)
    monkeypatch.setattr(owner, name, value)
    assert close(fit(X, positive, XU).decision_function(XU), expected)


def test_a_zero_decay_forgets_everything_before():
    X, positive, XU = problem(5)
    model = QSGS2AUC(theta_lam=4.0, lam=1.0, n_iterations=10, batch_size=8, n_features=4, t0=0)
    fitted = model.fit(X, positive, XU).model_
    assert fitted.first_block == 3
    assert len(fitted.coefficients) == 7
    assert fitted.coefficients.any(axis=(1, 2)).all()


def constant_step_problem(etas, T=300, n_unlabeled=6000):
    X, positive, XU = problem(10, n_unlabeled=n_unlabeled)
    pools = [np.flatnonzero(positive)], [np.flatnonzero(~positive)]
    return Problem(
        tables=[X, XU],
        sources=[Source(0, pools[0]), Source(0, pools[1]), Source(1, in_passes=True)],
        objective=PNUAUCObjective(np.full(len(etas), 0.5)),
        step=ConstantStep(np.array(etas), np.ones(len(etas))),
        features=FourierFeatures("gaussian", 1.0, 6, 3),
        n_iterations=T,
        batch_size=20,
        group=np.zeros(len(etas), np.int64),
    )


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.2, 1.0])
def test_forgotten_blocks_are_dropped_and_the_model_is_the_same(eta, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 5 * 20)
    constant = constant_step_problem([eta], T=150, n_unlabeled=3000)
    X, XU = constant.tables
    model = train(constant)
    needed = 1 if eta == 1 else np.log(MAX_FORGOTTEN_SHARE) / np.log(1 - eta)
    assert len(model.coefficients) == 150 - model.first_block
    assert abs(len(model.coefficients) - min(150, needed)) <= max(20, 0.2 * needed)
    positive = np.arange(30) % 3 == 0
    given = {"sigma": 1.0, "gamma": 0.5, "T": 150, "b": 20, "m": 6, "seed": 3}
    alphas = reference.s2auc(X, positive, XU, step=lambda t: (eta, 1 - eta), **given)
    values = model.decision_function(XU[:200])[:, 0]
    assert close(values, reference.predict(XU[:200], alphas, 3, 6, 1.0))


@pytest.mark.parametrize("lam", [0.0, 0.25, 4.0])
def test_a_constant_step_shrinks_by_its_regularisation(lam):
    constant = constant_step_problem([0.1, 0.1], T=60)
    constant = replace(constant, step=ConstantStep(np.full(2, 0.1), np.array([1.0, lam])))
    X, XU = constant.tables
    positive = np.arange(30) % 3 == 0
    sizes_ = {"sigma": 1.0, "gamma": 0.5, "T": 60, "b": 20, "m": 6, "seed": 3}
    step = lambda t: (0.1, 1 - 0.1 * lam)  # noqa: E731
    alphas = reference.s2auc(X, positive, XU, step=step, **sizes_)
    values = train(constant).decision_function(XU[:200])[:, 1]
    assert close(values, reference.predict(XU[:200], alphas, 3, 6, 1.0))


@pytest.mark.parametrize("n_unlabeled", [20, 5000])
def test_one_thread_and_all_threads_give_the_same_bits(n_unlabeled, monkeypatch):
    monkeypatch.setattr(tiles, "TERMS_PER_THREAD", 1)
    X, positive, XU = problem(11, n_unlabeled=n_unlabeled)
    model = QSGS2AUC(lam=0.5, sigma=1.0, n_iterations=40, batch_size=30, n_features=100)
    expected = model.fit(X, positive, XU).decision_function(XU)
    with threads(1):
        alone = model.fit(X, positive, XU).decision_function(XU)
    np.testing.assert_array_equal(alone, expected)


def test_several_passes_within_the_memory_budget_give_the_same_values(monkeypatch):
    X, positive, XU = problem(7, n_unlabeled=3000)
    folds = [np.arange(15), np.arange(15, 30)]
    points = [{"lam": lam, "gamma": gamma} for lam in (0.5, 1.0) for gamma in (0.0, 0.5, 1.0)]
    model = QSGS2AUC(n_iterations=20, batch_size=8, n_features=4)
    expected = model.fit_points(points, folds=folds, X=X, y=positive, X_unlabeled=XU)
    runs = []
    run = training._Training.run
    monkeypatch.setattr(
        training._Training, "run", lambda self: runs.append(self.p.n_models) or run(self)
    )
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 5 * sizes.model_bytes(20, 8, len(X)) + 1)
    heard = []
    with listening(heard.append):
        split = model.fit_points(points, folds=folds, X=X, y=positive, X_unlabeled=XU)
    np.testing.assert_allclose(split, expected, rtol=1e-4, atol=1e-5)
    assert runs == [5, 5, 2]
    assert heard == sorted(heard) and heard[-1] == 1 and {5 / 12, 10 / 12} <= set(heard)


@pytest.mark.parametrize("resident", [True, False])
def test_a_block_of_frequencies_is_made_once_or_once_per_panel(resident, monkeypatch):
    made = []
    half_turns = FourierFeatures.half_turns
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 8 * 20)
    monkeypatch.setattr(
        FourierFeatures,
        "half_turns",
        lambda self, first, count, d: made.append(count) or half_turns(self, first, count, d),
    )
    train(constant_step_problem([0.01], T=32, n_unlabeled=100 if resident else 6000))
    assert sum(made) == 32 + (0 if resident else 8 + 16 + 24)


def test_problems_that_cannot_be_drawn_from_are_refused():
    good = constant_step_problem([0.1, 0.1])
    with pytest.raises(ValueError, match="no rows"):
        replace(good, tables=[good.tables[0], good.tables[1][:0]])
    with pytest.raises(ValueError, match="no rows"):
        replace(good, sources=[Source(0, [np.arange(0)]), *good.sources[1:]])
    with pytest.raises(ValueError, match=r"groups must ascend within 0\.\.0"):
        replace(good, group=np.array([0, 1]))
    with pytest.raises(ValueError, match="groups must ascend"):
        replace(good, sources=[Source(0, [np.arange(3)] * 2)], group=np.array([1, 0]))


def test_a_table_too_large_to_keep_is_streamed(monkeypatch):
    counted = constant_step_problem([0.1], n_unlabeled=100)
    assert counted.resident(1)
    monkeypatch.setattr(sizes, "MAX_TABLE_BYTES", 4 * 100 * 3 - 1)
    assert not counted.resident(1)
    assert counted.resident(0)  # pools differ between groups


@pytest.mark.parametrize(
    ("n_rows", "per_iteration", "T", "expected"),
    [(1000, 1, 20, True), (2001, 1, 20, False), (4000, 2, 20, True)],
)
def test_the_choice_of_residents_counts_features(n_rows, per_iteration, T, expected):
    X = np.zeros((n_rows, 2), np.float32)
    counted = Problem(
        tables=[X],
        sources=[Source(0)] * per_iteration,
        objective=None,
        step=None,
        features=FourierFeatures("gaussian", 1.0, 4, 0),
        n_iterations=T,
        batch_size=200,
        group=np.zeros(1, np.int64),
    )
    assert counted.resident(0) is expected
