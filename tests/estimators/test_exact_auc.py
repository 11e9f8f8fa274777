"""SAMULT, its approximations and PNU-AUC: centres, the authors' program, and limits."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit import PNUAUC, RFFS2AUC, SAMULT, NystromS2AUC
from dsgkit.data.dataset import Rows
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FitError, IndefiniteError
from dsgkit.estimators import auc
from dsgkit.exact import explicit
from dsgkit.priors import PenL1Prior
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import folds_of, problem

ORACLES = Path(__file__).parents[1] / "oracles"
SETTINGS = [(0.125, 1.0, 0.4), (8.0, 0.125, 0.0), (1e-4, 8.0, 0.9), (1.0, 2.0, 1.0)]
X, Y, U = problem()
ROWS = np.vstack([X, U]).astype(np.float64)


def close(got, expected, tolerance):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


def test_without_unlabelled_rows_in_the_risk_they_have_no_coefficients():
    for gamma, n in ((0.4, 46), (1.0, 16)):
        model = SAMULT(sigma=1.0, gamma=gamma).fit(X, Y, U)
        np.testing.assert_array_equal(model.centers_, ROWS[:n])
        assert len(model.coef_) == n
        assert bool(model.remark_) == (gamma == 1) == (not model.uses("X_unlabeled"))


@pytest.mark.parametrize(("lam", "sigma", "gamma"), [*SETTINGS, (1e-6, 2.0, 0.5)])
def test_with_every_row_as_a_landmark_nystrom_is_samult(lam, sigma, gamma):
    exact = SAMULT(lam, sigma, gamma).fit(X, Y, U).decision_function(U)
    values = NystromS2AUC(lam, sigma, gamma).fit(X, Y, U).decision_function(U)
    close(values, exact, 1e-6)


def fit_to_oracle(name):
    """Return the stored arrays, and a model with the stored centres instead of drawn ones."""
    with np.load(ORACLES / f"{name}.npz") as stored:
        z = dict(stored)
    rows = np.vstack([z["xp"], z["xn"]])
    z["positive"] = np.arange(len(rows)) < len(z["xp"])
    chosen = np.vstack([rows, z["xu"]])[z["center_index"]]
    sigma = 0.5 / float(z["sigma"]) ** 2
    model = PNUAUC(float(z["lambda"]), sigma, float(z["eta"]), prior=float(z["prior"]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(auc, "centres", lambda *kind: explicit.centres(*kind[:2], chosen))
        return z, model.fit(rows, z["positive"], z["xu"])


@pytest.mark.parametrize("name", ["gauss_etap05_allcentres", "moons_etap09_200centres"])
def test_the_authors_program_is_reproduced(name):
    z, model = fit_to_oracle(f"pnuauc_{name}")
    values = model.decision_function(z["xt"])
    close(model.coef_, z["theta"], 1e-9)
    close(values, z["ft"], 1e-9)
    assert roc_auc_score(z["yt"] > 0, values) == pytest.approx(float(z["auc"]), abs=1e-9)


def test_the_saddle_point_of_the_authors_program_is_an_error():
    with pytest.raises(IndefiniteError, match="eta > 0 suits a prior of at most 1/2") as caught:
        fit_to_oracle("pnuauc_indefinite_pi03_etam1")
    assert caught.value.status == "indefinite" and "\n" not in str(caught.value)


def centers_of(model, n, seed):
    name = "n_centers" if isinstance(model, PNUAUC) else "n_landmarks"
    return model.set_params(random_state=seed, **{name: n}).fit(X, Y, U).centers_


@pytest.mark.parametrize("model", [PNUAUC(prior=0.5), NystromS2AUC()])
def test_centres_are_distinct_rows_that_the_seed_chooses(model):
    drawn = centers_of(model, 12, 0)
    own = 12 if isinstance(model, PNUAUC) else 28
    assert len(np.unique(drawn, axis=0)) == len(drawn) == own
    assert (drawn[:, None] == ROWS).all(axis=2).any(axis=1).all()
    np.testing.assert_array_equal(drawn, centers_of(model, 12, 0))
    assert not np.array_equal(drawn, centers_of(model, 12, 1))
    np.testing.assert_array_equal(centers_of(model, 1000, 0), ROWS)
    if own == 28:
        np.testing.assert_array_equal(drawn[:16], ROWS[:16])


def test_a_few_centres_take_no_memory_of_all_rows(monkeypatch):
    endless, seen = Rows(np.broadcast_to(np.float32(9), (10**8, 3))), []
    monkeypatch.setattr(auc, "minimise", lambda problem, space, penalties: seen.append(space))

    class Few:
        data = type("Data", (), {"tables": [X, endless]})

        def each(self, name):
            return np.ones(1)

    model = PNUAUC(n_centers=50)
    model.sigma_ = 1.0
    assert peak_of(lambda: auc.at_centres(model, Few())) < 2**17 and seen


def test_the_prior_is_estimated_from_positives_and_unlabelled_rows_that_are_not_held_out():
    X, y, U = problem(40, 60)
    model = PNUAUC(random_state=3).fit(X, y, U)
    assert model.prior_ == PenL1Prior(random_state=3).estimate(X[y > 0], U)
    points, folds = [{"eta": 0.5}, {"eta": 0.1}], folds_of(len(y), 2)
    rows = {"X": X, "y": y, "X_unlabeled": U}
    estimated = PNUAUC().fit_points(points, folds=folds, **rows)
    for fold in folds:
        train = np.setdiff1d(np.arange(len(y)), fold)
        prior = PenL1Prior().estimate(X[train][y[train] > 0], U)
        given = PNUAUC(prior=prior).fit_points(points, folds=[fold], **rows)
        np.testing.assert_allclose(estimated[:, fold], given[:, fold], rtol=1e-9)


@pytest.mark.parametrize("gamma", [0, 0.1, 1])
def test_the_grid_keeps_the_digits_of_fits_where_lam_is_small(gamma):
    X, y, U = problem(24, 40)
    folds, points = folds_of(len(y), 4), [{"lam": 2.0**k} for k in (-15, -20, -25)]
    model = SAMULT(sigma=4.0, gamma=gamma)
    got = model.fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U)
    for row, point in zip(got, points, strict=True):
        for fold in folds:
            rest = np.setdiff1d(np.arange(24), fold)
            one = SAMULT(sigma=4.0, gamma=gamma, **point).fit(X[rest], y[rest], U)
            exact = one.decision_function(X[fold])
            # what rounding the kernel's values to 2^-53 does to either
            close(row[fold], exact, 1e-13 / point["lam"])


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_regulariser_below_rounding_is_a_failed_fit_and_nan_in_a_grid(gamma):
    with pytest.raises(FitError, match="take a larger lam"):
        SAMULT(lam=1e-30).fit(np.vstack([X, X]), np.append(Y, Y), U)
    model, lams = RFFS2AUC(n_features=40, gamma=gamma), 2.0 ** np.arange(-24, -18)
    points, rows = [{"lam": lam} for lam in lams], {"X": X, "y": Y, "X_unlabeled": U}
    failed = lams < 2.0**-21  # the penalty is lam/2
    for folds in (None, folds_of(16, 2)):
        got = model.fit_points(points, folds=folds, **rows)
        values = got.decision_function(X).T if folds is None else got
        np.testing.assert_array_equal(np.isnan(values).all(axis=1), failed)
    with pytest.raises(FitError, match="take a larger lam"):
        model.set_params(lam=2.0**-22).fit(X, Y, U)


def test_costs_follow_what_is_computed():
    n = Sizes(5, labeled=100, unlabeled=900)
    both, labeled = SAMULT().cost(n), SAMULT(gamma=1.0).cost(n)
    assert both.memory > 8 * 1000**2 > 20 * labeled.memory
    assert both.flops > 500 * labeled.flops and both.flops_per_row == 10 * labeled.flops_per_row
    assert SAMULT().cost(n, 50).flops > both.flops
    few, all_rows = (PNUAUC(prior=0.5, n_centers=c).cost(n) for c in (50, None))
    assert few.flops * 20 < all_rows.flops and PNUAUC().cost(n).memory >= all_rows.memory
    narrow, wide = (RFFS2AUC(n_features=m).cost(n) for m in (100, 1000))
    assert wide.flops / narrow.flops > 20 and 12 * 2000**2 < wide.memory < 24 * 2000**2
    assert NystromS2AUC(n_landmarks=100).cost(n).flops < NystromS2AUC(n_landmarks=800).cost(n).flops
