"""What the estimators of similar pairs have in common: grids, signs, kinds of rows, priors."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from dsgkit import CUU, RFFSUSL, SUDH, SUSL, TSGSU, TSGSUP, priors
from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning, FitError
from tests.estimators.similar.problems import SLOPES, su_problem

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close")

PAIRS, U, _ = su_problem()
ROWS = {"X_similar": PAIRS, "X_unlabeled": U}
FOLDS = [(np.arange(0, 150, 2), np.arange(20)), (np.arange(1, 60, 2), np.arange(30, 60))]
GRID = [{"lam": lam, "prior": p} for lam in (1e-3, 0.5) for p in (0.85, 0.3)] + [{"sigma": 0.7}]
STEPS = [
    {"lam": 0.05, "theta": 1.0, "delta": "abs"},
    {"lam": 0.5, "theta": 0.25, "delta": "relu"},
    {"lam": 1e-4, "theta": 1.0, "delta": "none", "prior": 0.15},
    {"lam": 0.05, "theta": 0.5, "delta": "leaky_relu", "leak": -0.4, "prior": 0.9},
]
NO_DECAY = [{"lam": 0.1, "theta": 1e9}, {"delta": "none", "momentum": 0.5}]
SWEEPS = [{"lam": 0.1}, {"lam": 0.02, "delta": "relu"}, {"lam": 0.02, "prior": 0.9}]
STREAM = {"sigma": 1.0, "lam": 0.05, "batch_size": 20, "n_features": 16, "n_iterations": 15}
SWEPT = {"sigma": 1.0, "lam": 2.0**-5, "n_features": 8, "n_blocks": 3}
SHORT = {"sigma": 2.0, "batch_size": 32, "n_iterations": 20}
CASES = {
    "tsgsu average": (TSGSU(**STREAM), [*STEPS, {"correction_at": "batch"}], 1e-4),
    "tsgsu last": (TSGSU(**STREAM, tail="last"), STEPS, 1e-4),
    "tsgsu decay": (TSGSU(**STREAM, tail="decay"), STEPS, 1e-4),
    "tsgsu_p parts": (TSGSUP(**SWEPT, batch_size=12), SWEEPS, 1e-4),
    "tsgsu_p all": (TSGSUP(**SWEPT, batch_size=200), SWEEPS, 1e-4),
    "su_sl": (SUSL(sigma=2.0), GRID, 1e-8),
    "su_sl linear": (SUSL(kernel="linear"), GRID, 1e-9),
    "rff_su_sl": (RFFSUSL(sigma=2.0, n_features=40), GRID, 2e-3),
    "su_dh": (SUDH(sigma=2.0, n_centers=15), GRID[:2], 1e-6),
    "su_dh linear": (SUDH(kernel="linear"), GRID[:1], 1e-6),
    "cuu": (CUU(**SHORT), STEPS + NO_DECAY, 1e-5),
    "cuu centers": (CUU(**SHORT, kernel="laplacian", n_centers=25), STEPS + NO_DECAY, 1e-5),
    "cuu linear": (CUU(**SHORT, kernel="linear", loss="logistic", step="paper"), STEPS, 1e-5),
    "cuu all": (CUU(**SHORT | {"batch_size": None}), STEPS[:2], 1e-5),
}


def agree(got, expected, tolerance):
    return np.abs(got - expected).max() <= tolerance * max(1, np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_a_grid_on_folds_equals_single_fits_on_the_rest(name):
    model, points, tolerance = CASES[name]
    model = clone(model).set_params(prior=0.85)
    similar, unlabeled = model.fit_points(points, folds=FOLDS, **ROWS)
    assert similar.shape == (len(points), 150, 2) and unlabeled.shape == (len(points), 60)
    failed = []
    for g, point in enumerate(points):
        for held_pairs, held_rows in FOLDS:
            one = clone(model).set_params(**point)
            try:
                one.fit(np.delete(PAIRS, held_pairs, axis=0), np.delete(U, held_rows, axis=0))
            except FitError:  # no step
                failed.append(g)
                continue
            expected = one.decision_function(PAIRS[held_pairs].reshape(-1, 3)).reshape(-1, 2)
            assert agree(similar[g, held_pairs], expected, tolerance)
            assert agree(unlabeled[g, held_rows], one.decision_function(U[held_rows]), tolerance)
    assert np.isnan(similar[failed]).all() and np.isnan(unlabeled[failed]).all()
    assert np.isnan(similar[:, 61::2]).all() and np.isnan(unlabeled[:, 20:30]).all()
    models = model.fit_points(points, **ROWS).decision_function(U)
    assert np.flatnonzero(np.isnan(models).all(axis=0)).tolist() == sorted({*failed})


@pytest.mark.parametrize("name", CASES)
def test_the_other_class_as_the_positive_one_turns_the_sign(name):
    model = CASES[name][0]
    for other in [{"delta": d} for d in SLOPES] if hasattr(model, "delta") else [{}]:
        fits = [clone(model).set_params(prior=p, **other).fit(PAIRS, U) for p in (0.8, 0.2)]
        values, turned = (fit.decision_function(U) for fit in fits)
        assert agree(values, -turned, 1e-4 if isinstance(model, SUDH) else 1e-5)
        np.testing.assert_array_equal(fits[0].predict(U), np.where(values >= 0, 1, -1))


def framed(rows):
    return pd.DataFrame(rows, columns=["a", "b", "c"])


@pytest.mark.parametrize("given", [framed, np.ndarray.tolist, sparse.csr_matrix, Rows])
@pytest.mark.parametrize("name", ["su_sl", "su_sl linear", "rff_su_sl", "su_dh", "cuu", "cuu all"])
def test_rows_of_any_kind(name, given):
    model = clone(CASES[name][0]).set_params(prior=0.85)
    expected = model.fit(PAIRS, U).decision_function(U)
    halves = [[given(PAIRS[:, half]) for half in (0, 1)]]
    for pairs in [PAIRS.tolist(), *(halves if given in (framed, sparse.csr_matrix) else [])]:
        got = clone(model).fit(pairs, given(U)).decision_function(given(U))
        assert agree(got, expected, 1e-5)


NO_PAIRS, NO_FOLD = r"X_similar must hold pairs of rows, shape \(n_sim", "a fold must be two arrays"
WRONG = [
    *((wrong, None, NO_PAIRS) for wrong in (PAIRS.reshape(150, 6), PAIRS[:0], 3, None)),
    (PAIRS.transpose(1, 0, 2), None, NO_PAIRS),
    (PAIRS[..., :2], None, "X_similar has 2 features, but X_unlabeled has 3"),
    (np.where(PAIRS[3, 1, 2] == PAIRS, np.nan, PAIRS), None, "holds NaN in row"),
    (
        [sparse.csr_matrix(PAIRS[n:, 0]) for n in (0, 1)],
        None,
        "as many first as second .* 150 and 149",
    ),
    *((PAIRS, folds, NO_FOLD) for folds in ([np.arange(3)], [1])),
    *((PAIRS, [fold], "a fold must be") for fold in ((np.arange(3), [10**6]), ([0.5], [1]))),
    (PAIRS, [(np.arange(150), [1])], "a fold must leave a pair and an unlabelled row"),
]


@pytest.mark.parametrize(("pairs", "folds", "text"), WRONG)
def test_pairs_and_folds_that_are_none_are_refused(pairs, folds, text):
    model, wrong = SUSL(prior=0.8), {"X_similar": pairs, "X_unlabeled": U}
    with pytest.raises(DataError, match=text):
        model.fit_points([{}], folds=folds, **wrong) if folds else model.fit(**wrong)


@pytest.mark.parametrize("prior", [0.5, 0.5 + 9e-7, 0.5 - 9e-7])
def test_a_prior_of_one_half_is_refused_with_the_reason(prior):
    with pytest.raises(DataError, match=r"differ from 1/2 by more than 1e-06.*2 prior - 1 = 0"):
        SUSL().fit_points([{"prior": prior}], folds=FOLDS, **ROWS)


@pytest.mark.filterwarnings("error:prior")
def test_a_prior_near_one_half_warns_of_noise():
    """The noise is the spread of the risk of the best classifier over labels drawn anew."""
    rng, prior = np.random.default_rng(0), 0.6
    signs = 2 * rng.binomial(500, prior**2 / 0.52, 20000) / 500 - 1  # means of pairs
    shares = rng.binomial(800, prior, 20000) / 800
    # zero-one risk of a perfect classifier: of pairs -0.52/scale each sign, of rows by class
    risks = (-0.52 * signs + prior * shares - (1 - prior) * (1 - shares)) / (2 * prior - 1)
    assert priors.label_noise(prior, 500, 800) == pytest.approx(risks.std(), rel=0.02)
    with pytest.warns(DsgWarning, match="prior 0.55 is so close to 1/2") as caught:
        SUSL().fit_points([{"prior": 0.55, "lam": lam} for lam in (1, 2)], folds=FOLDS, **ROWS)
    assert len(caught) == 1
    SUSL(prior=0.15).fit(PAIRS, U)


def test_an_estimated_prior_is_kept(monkeypatch):
    def estimated(pairs, _):
        return (0.8 if len(pairs) == 150 else 0.5), (0.7, 0.9)

    monkeypatch.setattr(priors, "checked_similar_prior", estimated)
    model, same = SUSL().fit(PAIRS, U), SUSL(prior=0.8).fit(PAIRS, U)
    assert model.prior == "estimate" and model.prior_ == 0.8
    assert model.prior_interval_ == (0.7, 0.9) and same.prior_interval_ is None
    np.testing.assert_array_equal(model.decision_function(U), same.decision_function(U))
    assert same.predict(np.full((1, 3), 1e3)).tolist() == [1]  # the value so far off is 0
    with pytest.raises(FitError, match="the estimated prior is 1/2"):
        SUSL().fit(PAIRS[:9], U)
