from __future__ import annotations

import numpy as np
import pytest

from dsgkit import QSGS2AUC, QSGS2AUCP, SAMULT, load_model
from dsgkit.objectives.pairwise_risk import samult_risk
from dsgkit.random.folds import stratified_folds
from dsgkit.text.errors import FitError
from dsgkit.trainers.moments import feature_moments, solve
from tests.solvers.brute_force import problem

SETTINGS = {"lam": 2.0**-5, "sigma": 1.0, "gamma": 0.4, "n_features": 8, "n_blocks": 3}


def test_full_batches_converge_to_the_closed_form_on_the_same_features():
    X, y, U = problem()
    model = QSGS2AUCP(**SETTINGS, n_sweeps=150).fit(X, y, U)
    blocks = model._random_features().blocks()

    def features(rows):
        Phi = [blocks.transform(rows, t) for t in range(3)]
        return np.hstack(Phi).astype(np.float64) / np.sqrt(3)

    moments = feature_moments(features, X, U, 64)
    codes = np.where(y > 0, 0, 1)
    expected = features(U) @ solve(moments, codes, samult_risk(0.4), 2.0**-6)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * abs(expected).max())


@pytest.mark.parametrize("batch_size", [8, 1024])
def test_a_grid_on_folds_is_many_fits(batch_size):
    X, y, U = problem()
    model = QSGS2AUCP(**SETTINGS, batch_size=batch_size)
    folds = stratified_folds(np.where(y > 0, 1, 0), 3, 0)
    points = [{"lam": lam, "gamma": gamma} for lam in (0.1, 2.0**-7) for gamma in (0.5, 1.0)]
    values = model.fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U)
    for point, row in zip(points, values, strict=True):
        for held_out in folds:
            rows = np.setdiff1d(np.arange(len(y)), held_out)
            alone = QSGS2AUCP(**{**SETTINGS, **point}, batch_size=batch_size)
            expected = alone.fit(X[rows], y[rows], U).decision_function(X[held_out])
            np.testing.assert_allclose(row[held_out], expected, rtol=0, atol=1e-5)


def test_as_many_features_come_nearer_to_the_exact_minimiser_than_by_plain_steps():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 4))
    y = np.where(np.sin(8 * X[:, 0]) + np.sin(8 * X[:, 1]) > 0, 1, -1)
    settings = {"lam": 2.0**-12, "sigma": 4.0, "gamma": 0.9}
    features = {**settings, "n_features": 64}
    models = (
        SAMULT(**settings),
        QSGS2AUC(**features, n_iterations=16),
        QSGS2AUCP(**features, n_blocks=8, batch_size=256),
    )
    given = X[:150], y[:150], X[150:900]
    exact, plain, sweeps = (model.fit(*given).decision_function(X[900:]) for model in models)
    assert np.std(plain - exact) > 0.6 * np.std(exact) > 1.4 * np.std(sweeps - exact)


def test_the_file_is_that_of_every_engine_model(tmp_path):
    X, y, U = problem()
    model = QSGS2AUCP(**SETTINGS).fit(X, y, U)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.coefficients.shape == (3, 16, 1)
    np.testing.assert_array_equal(loaded.decision_function(U)[:, 0], model.decision_function(U))


def test_what_cannot_be_solved_is_said():
    X, y, U = problem()
    with pytest.raises(FitError, match="so small that a block is singular to rounding"):
        QSGS2AUCP(**SETTINGS | {"lam": 1e-300, "gamma": 1.0, "n_features": 64}).fit(X, y, U)
