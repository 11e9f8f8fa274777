"""What the estimators of the family have in common: grids are many fits, and the classes' signs."""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit import TSGSU, TSGSUP
from dsgkit.engine import streaming
from tests.estimators.similar.problems import su_problem

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close")

FOLDS = [(np.arange(0, 140, 2), np.arange(30)), (np.arange(1, 60, 2), np.arange(40, 120))]
STEPS = [
    {"lam": 0.05, "theta": 1.0, "delta": "abs"},
    {"lam": 0.5, "theta": 0.25, "delta": "relu"},
    {"lam": 1e-4, "theta": 1.0, "delta": "none", "prior": 0.15},
    {"lam": 0.05, "theta": 0.5, "delta": "leaky_relu", "leak": -0.4, "prior": 0.9},
]
SWEEPS = [{"lam": 0.1}, {"lam": 0.02, "delta": "relu"}, {"lam": 0.02, "prior": 0.9}]
STREAM = {"sigma": 1.0, "lam": 0.05, "batch_size": 20, "n_features": 16, "n_iterations": 15}
SWEPT = {"sigma": 1.0, "lam": 2.0**-5, "n_features": 8, "n_blocks": 3}
CASES = {
    "tsgsu average": (TSGSU(**STREAM), STEPS, 1e-4),
    "tsgsu last": (TSGSU(**STREAM, tail="last"), STEPS, 1e-4),
    "tsgsu decay": (TSGSU(**STREAM, tail="decay"), STEPS, 1e-4),
    "tsgsu_p parts": (TSGSUP(**SWEPT, batch_size=12), SWEEPS, 1e-4),
    "tsgsu_p all": (TSGSUP(**SWEPT, batch_size=200), SWEEPS, 1e-4),
}


@pytest.fixture
def data():
    return su_problem(n_similar=140, n_unlabeled=120)[:2]


@pytest.fixture(params=CASES)
def case(request):
    model, points, tolerance = CASES[request.param]
    return clone(model).set_params(prior=0.85), points, tolerance


def agree(got, expected, tolerance):
    return np.abs(got - expected).max() <= tolerance * max(1, np.abs(expected).max())


def test_a_grid_on_folds_equals_single_fits_on_the_rest(case, data):
    model, points, tolerance = case
    pairs, U = data
    similar, unlabeled = model.fit_points(points, folds=FOLDS, X_similar=pairs, X_unlabeled=U)
    assert similar.shape == (len(points), 140, 2) and unlabeled.shape == (len(points), 120)
    for g, point in enumerate(points):
        for held_pairs, held_rows in FOLDS:
            one = clone(model).set_params(**point)
            one.fit(np.delete(pairs, held_pairs, axis=0), np.delete(U, held_rows, axis=0))
            expected = one.decision_function(pairs[held_pairs].reshape(-1, 3)).reshape(-1, 2)
            assert agree(similar[g, held_pairs], expected, tolerance)
            assert agree(unlabeled[g, held_rows], one.decision_function(U[held_rows]), tolerance)
    models = model.fit_points(points, X_similar=pairs, X_unlabeled=U)
    failed = np.isnan(similar).all(axis=(1, 2))
    assert np.array_equal(np.isnan(models.decision_function(U)).all(axis=0), failed)
    assert np.isnan(similar[:, 61::2]).all() and np.isnan(unlabeled[:, 30:40]).all()


def test_settings_on_folds_are_trained_in_one_pass(data, monkeypatch):
    trained, train = [], streaming._Run.train
    monkeypatch.setattr(streaming._Run, "train", lambda self: trained.append(self.G) or train(self))
    training = {"X_similar": data[0], "X_unlabeled": data[1]}
    TSGSU(**STREAM, prior=0.85).fit_points(STEPS, folds=FOLDS, **training)
    assert trained == [8]
    TSGSU(**STREAM, prior=0.85).fit_points([*STEPS, {"sigma": 2.0}], **training)
    assert trained == [8, 4, 1]


def test_the_other_class_as_the_positive_one_turns_the_sign(case, data):
    model = case[0]
    for delta in ("abs", "relu", "leaky_relu", "none") if hasattr(model, "delta") else (None,):
        other = {"delta": delta} if delta else {}
        values, turned = (
            clone(model).set_params(prior=prior, **other).fit(*data).decision_function(data[1])
            for prior in (0.8, 0.2)
        )
        assert agree(values, -turned, 1e-5)
