"""PNU-AUC against the authors' program, a dense solution, and its limits."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit.data.dataset import Rows
from dsgkit.errors import IndefiniteError
from dsgkit.priors import PenL1Prior
from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.trainers.explicit_features import OnCenters
from tests.solvers.allocated import peak_of
from tests.solvers.brute_force import folds_of, kernel, minimise, pnu_form, problem

ORACLES = Path(__file__).parents[2] / "oracles"


def oracle(name):
    """Return the stored arrays, X, which rows are positive, and the model with its centres."""
    with np.load(ORACLES / f"{name}.npz") as stored:
        z = dict(stored)
    X = np.vstack([z["xp"], z["xn"]])
    positive = np.arange(len(X)) < len(z["xp"])
    centers = np.vstack([X, z["xu"]])[z["center_index"]]
    model = PNUAUC(
        lam=float(z["lambda"]),
        sigma=0.5 / float(z["sigma"]) ** 2,
        eta=float(z["eta"]),
        prior=float(z["prior"]),
    )
    return z, X, positive, centers, model


def fit_at(centers, model, X, positive, U):
    """Fit with given centres instead of drawn ones."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OnCenters, "_centers", lambda *_: centers)
        return model.fit(X, positive, U)


@pytest.mark.parametrize(
    "name", ["pnuauc_gauss_etap05_allcentres", "pnuauc_moons_etap09_200centres"]
)
def test_the_authors_program_is_reproduced(name):
    z, X, positive, centers, model = oracle(name)
    fit_at(centers, model, X, positive, z["xu"])
    values = model.decision_function(z["xt"])
    np.testing.assert_allclose(model.coef_, z["theta"], rtol=0, atol=1e-9 * abs(z["theta"]).max())
    np.testing.assert_allclose(values, z["ft"], rtol=1e-9, atol=1e-9 * abs(z["ft"]).max())
    assert roc_auc_score(z["yt"] > 0, values) == pytest.approx(float(z["auc"]), abs=1e-9)


def test_the_saddle_point_of_the_authors_program_is_an_error():
    z, X, positive, centers, model = oracle("pnuauc_indefinite_pi03_etam1")
    with pytest.raises(IndefiniteError, match="eta > 0 suits a prior of at most 1/2") as caught:
        fit_at(centers, model, X, positive, z["xu"])
    assert caught.value.status == "indefinite" and "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["gaussian", "linear"])
@pytest.mark.parametrize("n_centers", [None, 10])
@pytest.mark.parametrize(
    ("lam", "sigma", "eta", "prior"),
    [(0.1, 1.0, 0.6, 0.3), (1e-3, 4.0, -0.7, 0.8), (1.0, 0.2, 0.0, 0.5), (0.5, 2.0, -0.3, 0.4)],
)
def test_coefficients_solve_the_dense_system(lam, sigma, eta, prior, n_centers, kind):
    X, y, U = problem()
    model = PNUAUC(lam, sigma, eta, prior=prior, n_centers=n_centers, kernel=kind).fit(X, y, U)
    M, v = pnu_form(y > 0, len(U), eta, prior)
    rows = np.vstack([X, U]).astype(np.float64)
    linear = kind == "linear"
    K = rows @ model.centers_.T + 1 if linear else kernel(rows, model.centers_, sigma)
    expected = minimise(M, v, K, lam)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-8 * abs(expected).max())
    assert model.prior_ == prior and len(model.coef_) == (n_centers or len(X) + len(U))


def test_centres_are_distinct_rows_that_the_seed_chooses():
    X, y, U = problem()
    rows = np.vstack([X, U]).astype(np.float64)

    def centers(seed, n_centers):
        model = PNUAUC(prior=0.5, n_centers=n_centers, random_state=seed)
        return model.fit(X, y, U).centers_

    drawn = centers(0, 12)
    assert len(np.unique(drawn, axis=0)) == 12
    assert (drawn[:, None] == rows).all(axis=2).any(axis=1).all()
    np.testing.assert_array_equal(drawn, centers(0, 12))
    assert not np.array_equal(drawn, centers(1, 12))
    np.testing.assert_array_equal(centers(0, 1000), rows)


def test_a_few_centres_take_no_memory_of_all_rows():
    X = np.arange(8.0).reshape(4, 2)
    endless = Rows(np.broadcast_to(np.float32(9), (10**8, 2)))
    drawn = OnCenters("gaussian", 1.0, n_centers=50, random_state=0)
    assert drawn._centers(X, endless).shape == (50, 2)
    assert peak_of(lambda: drawn._centers(X, endless)) < 2**16


def test_the_prior_is_estimated_from_positives_and_unlabelled_rows():
    X, y, U = problem(40, 60)
    model = PNUAUC(prior="penl1", random_state=3).fit(X, y, U)
    assert model.prior_ == PenL1Prior(random_state=3).estimate(X[y > 0], U)


def test_the_grid_estimates_the_prior_without_the_held_out_rows():
    X, y, U = problem(40, 60)
    folds = folds_of(len(y), 2)
    estimated = PNUAUC().fit_points(
        [{"eta": 0.5}, {"eta": 0.1}], folds=folds, X=X, y=y, X_unlabeled=U
    )
    for fold in folds:
        train = np.setdiff1d(np.arange(len(y)), fold)
        prior = PenL1Prior().estimate(X[train][y[train] > 0], U)
        given = PNUAUC(prior=prior).fit_points(
            [{"eta": 0.5}, {"eta": 0.1}], folds=[fold], X=X, y=y, X_unlabeled=U
        )
        np.testing.assert_array_equal(estimated[:, fold], given[:, fold])
