"""Pairwise AUC: the authors' program, limits of the approximations, centres and the prior."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit import PNUAUC, QSGS2AUC, SAMULT, NystromS2AUC
from dsgkit.data.dataset import Rows
from dsgkit.engine.problem import Sizes
from dsgkit.errors import IndefiniteError
from dsgkit.estimators import auc
from dsgkit.exact import explicit
from dsgkit.priors import PenL1Prior
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import folds_of, problem

ORACLES = Path(__file__).parents[1] / "oracles"
X, Y, U = problem()
ROWS = np.vstack([X, U]).astype(np.float64)


def close(got, expected, tolerance):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize(("rows", "iterations"), [(1000, 200), (256_000, 1000), (10**7, 2000)])
def test_iterations_are_a_pass_within_bounds(rows, iterations):
    n, fixed = Sizes(3, 10, rows), QSGS2AUC(n_iterations=iterations)
    assert QSGS2AUC().settled(n_labeled=10, n_unlabeled=rows).n_iterations == iterations
    assert QSGS2AUC().cost(n).flops == fixed.cost(n).flops
    given, estimated = (PNUAUC(n_centers=5, prior=p).cost(n).memory for p in (0.5, "penl1"))
    assert estimated == max(given, PenL1Prior().memory_needed(rows))


@pytest.mark.parametrize(
    "name", ["gauss_etap05_allcentres", "moons_etap09_200centres", "indefinite_pi03_etam1"]
)
def test_the_authors_program_is_reproduced(name, monkeypatch):
    """With its centres instead of drawn ones; where it finds a saddle point, there is an error."""
    with np.load(ORACLES / f"pnuauc_{name}.npz") as stored:
        z = dict(stored)
    rows = np.vstack([z["xp"], z["xn"]])
    chosen = np.vstack([rows, z["xu"]])[z["center_index"]]
    monkeypatch.setattr(auc, "centres", lambda *kind: explicit.centres(*kind[:2], chosen))
    sigma = 0.5 / float(z["sigma"]) ** 2
    model = PNUAUC(float(z["lambda"]), sigma, float(z["eta"]), prior=float(z["prior"]))
    training = rows, np.arange(len(rows)) < len(z["xp"]), z["xu"]
    if name.startswith("indefinite"):
        with pytest.raises(IndefiniteError, match="eta > 0 suits a prior of at most 1/2"):
            model.fit(*training)
        return
    values = model.fit(*training).decision_function(z["xt"])
    close(model.coef_, z["theta"], 1e-9)
    close(values, z["ft"], 1e-9)
    assert roc_auc_score(z["yt"] > 0, values) == pytest.approx(float(z["auc"]), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "size", "first"),
    [(PNUAUC(prior=0.5), "n_centers", 0), (NystromS2AUC(), "n_landmarks", 16)],
)
def test_centres_are_distinct_rows_that_the_seed_chooses(model, size, first):
    def drawn(n, seed):
        return model.set_params(random_state=seed, **{size: n}).fit(X, Y, U).centers_

    few = drawn(12, 0)
    places = (few[:, None] == ROWS).all(axis=2).argmax(axis=1)
    np.testing.assert_array_equal(few, ROWS[places])
    assert len(few) == first + 12 and list(places[:first]) == list(range(first))
    assert (np.diff(places) > 0).all()
    np.testing.assert_array_equal(few, drawn(12, 0))
    assert not np.array_equal(few, drawn(12, 1))
    np.testing.assert_array_equal(drawn(1000, 0), ROWS)


@pytest.mark.parametrize(("lam", "sigma", "gamma"), [(1e-4, 8.0, 0.9), (1e-6, 0.2, 0.5)])
def test_with_every_row_as_a_landmark_nystrom_is_samult(lam, sigma, gamma):
    exact = SAMULT(lam, sigma, gamma).fit(X, Y, U).decision_function(U)
    close(NystromS2AUC(lam, sigma, gamma).fit(X, Y, U).decision_function(U), exact, 1e-6)


def test_a_few_centres_take_no_memory_of_all_rows():
    tables = [X, Rows(np.broadcast_to(np.float32(9), (10**8, 3)))]
    model = SimpleNamespace(n_centers=50, _seed=0)
    assert peak_of(lambda: auc.drawn_centers(model, tables, "centers")) < 2**17


def test_the_prior_is_estimated_once_from_the_rows_that_are_not_held_out(monkeypatch):
    X, y, U = problem(40, 60)
    model = PNUAUC(random_state=3).fit(X, y, U)
    assert model.prior_ == PenL1Prior(random_state=3).estimate(X[y > 0], U)
    points, folds = [{"eta": 0.5}, {"eta": 0.1}], folds_of(len(y), 2)
    rows, made, estimate = {"X": X, "y": y, "X_unlabeled": U}, [], PenL1Prior.estimate
    monkeypatch.setattr(PenL1Prior, "estimate", lambda *of: made.append(of) or estimate(*of))
    estimated = PNUAUC().fit_points(points, folds=folds, **rows)
    assert len(made) == len(folds)
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
            # what rounding the kernel's values to 2^-53 does to either
            close(row[fold], one.decision_function(X[fold]), 1e-13 / point["lam"])


@pytest.mark.slow
def test_qsg_s2auc_converges_to_the_exact_solution_at_the_rate_of_the_theorem():
    setting, iterations = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5}, (64, 128, 256, 512, 1024)
    rng = np.random.default_rng(0)
    X = rng.random((1200, 8), dtype=np.float32)
    score = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=1200)
    rows = X[:200], score[:200] > np.median(score), X[200:]
    exact = SAMULT(**setting).fit(*rows).decision_function(X)
    errors = np.zeros(len(iterations))
    for seed in range(4):
        for k, T in enumerate(iterations):
            sizes = {"batch_size": 64, "n_features": 64, "n_iterations": T, "random_state": seed}
            model = QSGS2AUC(**setting, theta_lam=1.5, t0=0.0, **sizes).fit(*rows)
            distance = ((model.decision_function(X) - exact) ** 2).mean()
            errors[k] += distance / np.mean(exact**2) / 4
    assert np.polyfit(np.log(iterations), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.3)
    assert errors[-1] < 0.005  # the right limit, not just a rate
