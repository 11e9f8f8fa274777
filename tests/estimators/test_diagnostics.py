"""The objective that a fitted estimator tells is the one it minimises, spelled out row by row."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.risks.margin import KINK_ROUNDING
from tests.estimators.brute_force import kernel, problem
from tests.estimators.ordinal.brute_force import ordinal_problem
from tests.estimators.similar.problems import parts, squared, su_problem
from tests.estimators.similar.problems import risk as su_risk

SIGMA = 0.7
SMALL = {
    "batch_size": 8,
    "n_features": 8,
    "n_iterations": 12,
    "n_blocks": 3,
    "n_landmarks": 10,
    "n_centers": 20,
    "max_iter": 5,
}
"""Sizes that a fit of few rows can do with; a solver is given those that it has."""


def made(name, **params):
    """A solver with small sizes."""
    solver = SOLVERS[name].load()
    known = inspect.signature(solver).parameters
    small = {key: value for key, value in SMALL.items() if key in known}
    return solver(**{**small, "sigma": SIGMA, **params})


def expansion_norm(model):
    return model.coef_ @ kernel(model.centers_, model.centers_, SIGMA) @ model.coef_


def weights_norm(model):
    return (np.asarray(model.coef_) ** 2).sum()


def blocks(model):
    """The coefficients of a trained function's blocks, of features whose products are a kernel."""
    return model.function_.coef[:, :, 0].astype(float) / model.function_.blocks.scale


def swept_norm(model):
    return len(blocks(model)) * (blocks(model) ** 2).sum()


def streamed_norm(model):
    return sum((w @ w) ** 0.5 for w in blocks(model)) ** 2


def pairs_mean(above, below):
    """R_AB, by a double loop."""
    return np.mean([[(1 - a + b) ** 2 for b in below] for a in above])


def samult(p, n, u, gamma):
    return gamma * pairs_mean(p, n) + (1 - gamma) * (pairs_mean(p, u) + pairs_mean(u, n) - 0.5)


PAIRWISE = [
    ("samult", {}, expansion_norm),
    ("samult", {"gamma": 1.0}, expansion_norm),
    ("nystrom_s2auc", {}, expansion_norm),
    ("rff_s2auc", {}, weights_norm),
    ("qsg_s2auc", {}, streamed_norm),
    ("qsg_s2auc_p", {}, swept_norm),
]


def checked(found, risk, squared_norm, penalty):
    """Compare the numbers of a fit with those spelled out."""
    assert found["risk"] == pytest.approx(risk, rel=2e-5)
    assert found["squared_norm"] == pytest.approx(squared_norm, rel=2e-5)
    assert found["objective"] == pytest.approx(risk + penalty * squared_norm, rel=2e-5)


@pytest.mark.parametrize(("name", "params", "norm"), PAIRWISE)
def test_pairwise_risks(name, params, norm):
    X, y, U = problem()
    model = made(name, **{"lam": 0.1, "gamma": 0.4, **params}).fit(X, y, U)
    p, n, u = (model.decision_function(rows) for rows in (X[y > 0], X[y < 0], U))
    checked(
        model.diagnostics(X=X, y=y, X_unlabeled=U), samult(p, n, u, model.gamma), norm(model), 0.05
    )


@pytest.mark.parametrize("eta", [-0.6, 0.0, 0.3])
def test_pnu_auc_tells_its_own_risk(eta):
    X, y, U = problem()
    prior = 0.4 if eta > 0 else 0.6
    model = made("pnu_auc", lam=0.1, eta=eta, prior=prior).fit(X, y, U)
    p, n, u = (model.decision_function(rows) for rows in (X[y > 0], X[y < 0], U))
    if eta >= 0:
        corrected = (pairs_mean(p, u) - prior * pairs_mean(p, p)) / (1 - prior)
    else:
        corrected = (pairs_mean(u, n) - (1 - prior) * pairs_mean(n, n)) / prior
    risk = (1 - abs(eta)) * pairs_mean(p, n) + abs(eta) * corrected
    checked(model.diagnostics(X=X, y=y, X_unlabeled=U), risk, weights_norm(model), 0.1)


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        ("exact_s2or", expansion_norm),
        ("rff_s2or", weights_norm),
        ("qs3orao", streamed_norm),
        ("qs3orao_p", swept_norm),
    ],
)
def test_ordinal_risks(name, norm):
    X, y, U = ordinal_problem()
    gammas = (0.2, 0.5, 0.9)
    model = made(name, lam=0.1, gamma=gammas).fit(X, y, U)
    f, u = model.score_samples(X), model.score_samples(U)
    risk = np.mean(
        [samult(f[y > cut], f[y <= cut], u, g) for cut, g in zip((1, 2, 3), gammas, strict=True)]
    )
    checked(model.diagnostics(X=X, y=y, X_unlabeled=U), risk, norm(model), 0.05)


def hinge(z):
    return max(0.0, 1 - z)


def rounded(z):
    u = 1 - z
    return (u + KINK_ROUNDING) ** 2 / (4 * KINK_ROUNDING) if abs(u) < KINK_ROUNDING else hinge(z)


def symmetric(z):
    return hinge(abs(z))


def ramp(s):
    def one_side(z):
        return hinge(z) - max(0.0, s - z)

    return lambda z: one_side(z) + one_side(-z)


S3VMS = [
    ("tsgs3vm", {}, hinge, symmetric, streamed_norm),
    ("tsgs3vm", {"loss": "sshg"}, hinge, lambda z: symmetric(z) ** 2 / 2, streamed_norm),
    (
        "tsgs3vm",
        {"loss": "ramp", "ramp_s": -0.3, "balance": True},
        hinge,
        ramp(-0.3),
        streamed_norm,
    ),
    ("tsgs3vm_p", {}, rounded, lambda z: rounded(abs(z)), swept_norm),
    ("frs3vm", {"loss": "da"}, hinge, lambda z: np.exp(-5 * z * z), swept_norm),
    ("bgs3vm", {}, hinge, symmetric, expansion_norm),
    ("bls3vm", {"ramp_s": -0.3}, hinge, ramp(-0.3), expansion_norm),
]


@pytest.mark.parametrize(("name", "params", "labeled_loss", "loss", "norm"), S3VMS)
def test_s3vms(name, params, labeled_loss, loss, norm):
    X, y, U = problem(n_labeled=20)
    model = made(name, C=5.0, C_star=3.0, **params).fit(X, y, U)
    f, u = model.decision_function(X), model.decision_function(U)
    found = model.diagnostics(X=X, y=y, X_unlabeled=U)
    margins = list(y * f)
    risk = 5 * np.mean([labeled_loss(z) for z in margins]) + 3 * np.mean([loss(z) for z in u])
    checked(found, risk, norm(model), 0.5)
    common = 5 * np.mean([hinge(z) for z in margins]) + 3 * np.mean([symmetric(z) for z in u])
    common += norm(model) / 2
    assert found["symmetric_hinge_objective"] == pytest.approx(common, rel=2e-5)


def test_s3vm_light_tells_the_objective_of_the_labels_that_it_gave():
    X, y, U = problem(n_labeled=20)
    model = made("s3vm_light", C=5.0, C_star=3.0).fit(X, y, U)
    found = model.diagnostics(X=X, y=y, X_unlabeled=U)
    assert found["objective"] == model.objective_
    assert found["squared_norm"] == pytest.approx(expansion_norm(model))
    assert found["risk"] == pytest.approx(model.objective_ - expansion_norm(model) / 2)


SIMILAR = [
    ("su_sl", {}, None, expansion_norm),
    ("su_sl", {"kernel": "linear"}, None, weights_norm),
    ("rff_su_sl", {}, None, weights_norm),
    ("cuu", {"delta": "relu"}, lambda r: max(0.0, r), weights_norm),
    ("tsgsu", {"delta": "abs"}, abs, streamed_norm),
    ("tsgsu", {"tail": "last", "delta": "none"}, None, streamed_norm),
    ("tsgsu_p", {"delta": "leaky_relu"}, lambda r: r if r >= 0 else -0.5 * r, swept_norm),
]


@pytest.mark.parametrize(("name", "params", "delta", "norm"), SIMILAR)
def test_similar_unlabelled_risks(name, params, delta, norm):
    pairs, U, _ = su_problem(n_similar=60, n_unlabeled=40)
    model = made(name, lam=0.05, prior=0.85, **params).fit(pairs, U)
    at_pairs = model.decision_function(pairs.reshape(-1, 3)).reshape(-1, 2)
    at_unlabeled = model.decision_function(U)
    if delta is None:
        risk = su_risk(at_pairs, at_unlabeled, 0.85, squared)
    else:
        risk = sum(map(delta, parts(at_pairs, at_unlabeled, 0.85, squared)))
    checked(model.diagnostics(X_similar=pairs, X_unlabeled=U), risk, norm(model), 0.025)


def test_su_dh_tells_its_minimum():
    pairs, U, _ = su_problem(n_similar=60, n_unlabeled=40)
    model = made("su_dh", prior=0.85).fit(pairs, U)
    assert model.diagnostics(X_similar=pairs, X_unlabeled=U) == {"objective": model.objective_}


def pairs_and_rows():
    return su_problem(n_similar=60, n_unlabeled=40)[:2]


MINIMISERS = [
    ("samult", problem),
    ("nystrom_s2auc", problem),
    ("rff_s2auc", problem),
    ("pnu_auc", problem),
    ("exact_s2or", ordinal_problem),
    ("rff_s2or", ordinal_problem),
    ("su_sl", pairs_and_rows),
    ("rff_su_sl", pairs_and_rows),
    ("qsg_s2auc_p", problem),
    ("qs3orao_p", ordinal_problem),
    ("tsgsu_p", pairs_and_rows),
]
SWEEPS = {"n_sweeps": 150, "batch_size": 1000, "delta": "none"}
"""Of all rows, and without a correction: to the minimum."""


@pytest.mark.parametrize(("name", "rows"), MINIMISERS)
def test_no_function_near_a_minimiser_has_a_smaller_objective(name, rows):
    """Along a line the objective is a parabola, whose vertex is where the fit is."""
    training, known = rows(), SOLVERS[name].params
    priors = {"prior": 0.85 if "su" in name else 0.5} if "prior" in known else {}
    model = made(name, lam=0.1, **priors, **{k: v for k, v in SWEEPS.items() if k in known})
    model.fit(*training)
    names = ("X_similar", "X_unlabeled") if len(training) == 2 else ("X", "y", "X_unlabeled")
    arrays = dict(zip(names, training, strict=True))
    coefficients = model.function_.coef if "n_sweeps" in known else model.coef_
    found, rng = coefficients.copy(), np.random.default_rng(0)
    for _ in range(5):
        step = 0.1 * rng.normal(size=found.shape) * np.abs(found).max()
        values = []
        for place in (-1, 0, 1):
            coefficients[:] = found + place * step
            values.append(model.diagnostics(**arrays)["objective"])
        curvature = values[0] + values[2] - 2 * values[1]
        assert abs(values[2] - values[0]) < 2e-3 * curvature
        assert curvature > 0


@pytest.mark.parametrize("name", ["samult", "tsgs3vm"])
def test_what_was_fitted_stays_as_it_is(name):
    X, y, U = problem()
    model = made(name).fit(X, y, U)
    before = dict(vars(model))
    model.diagnostics(X=X, y=y, X_unlabeled=U)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())
    assert clone(model).get_params() == model.get_params()
