"""The objective that a fit tells is that of its paper, row by row; minimisers have the smallest."""

import inspect

import numpy as np
import pytest

from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import (
    UNLABELED,
    hinge,
    kernel,
    ordinal,
    pnu,
    problem,
    rounded,
    semi_supervised,
)
from tests.estimators.ordinal.problems import ordinal_problem
from tests.estimators.similar import problems

SIGMA = 0.7
SMALL = {"batch_size": 8, "n_features": 8, "n_iterations": 12, "n_blocks": 3, "max_iter": 5}
SMALL |= {"n_landmarks": 10, "n_centers": 20}
WHOLE = {"n_sweeps": 150, "batch_size": 1000, "delta": "none"}
"""Sweeps of all rows, and without a correction: to the minimum."""


def made(name, **params):
    """Return a solver with small sizes, those that it has."""
    solver = SOLVERS[name].load()
    known = inspect.signature(solver).parameters
    small = {key: value for key, value in SMALL.items() if key in known}
    return solver(**{**small, "sigma": SIGMA, **params})


def rows_of(name):
    """Return the arrays of a fit."""
    if "similar_unlabeled" in SOLVERS[name].tasks:
        pairs, U, _ = problems.su_problem(n_similar=60, n_unlabeled=40)
        return {"X_similar": pairs, "X_unlabeled": U}
    rows = ordinal_problem()[:3] if "ordinal" in SOLVERS[name].tasks else problem(n_labeled=20)
    return dict(zip(("X", "y", "X_unlabeled"), rows, strict=True))


# Squared norms.


def of_kernel(model):
    return model.coef_ @ kernel(model.centers_, model.centers_, SIGMA) @ model.coef_


def of_weights(model):
    return (np.asarray(model.coef_) ** 2).sum()


def blocks(model):
    """Return the coefficients of the blocks, of features whose products are a kernel."""
    return model.function_.coef[:, :, 0].astype(float) / model.function_.blocks.scale


def swept(model):
    return len(blocks(model)) * (blocks(model) ** 2).sum()


def streamed(model):
    return sum((w @ w) ** 0.5 for w in blocks(model)) ** 2


# Risks of a model with values f at its labelled rows (of shape (n, 2) at pairs) and u.


def auc(model, f, y, u):
    return semi_supervised(f[y > 0], f[y < 0], u, model.gamma)


def by_prior(model, f, y, u):
    return pnu(f[y > 0], f[y < 0], u, model.eta, model.prior)


def of_cuts(model, f, y, u):
    return ordinal([f[y == label] for label in range(4)], u, model.gamma)


def margins(loss, labeled=hinge):
    """Return the risk with a loss of unlabelled rows."""

    def risk(model, f, y, u):
        return model.C * labeled(y * f).mean() + model.C_star * loss(u).mean()

    return risk


def symmetric(z):
    return hinge(abs(z))


def ramp(z):
    return UNLABELED["ramp"](z, -0.3)


def similar(delta):
    def risk(model, f, y, u):
        if delta is None:
            return problems.risk(f, u, model.prior, problems.squared)
        return sum(map(delta, problems.parts(f, u, model.prior, problems.squared)))

    return risk


G, L = {"lam": 0.1, "gamma": 0.4}, {"lam": 0.1, "gamma": (0.2, 0.5, 0.9)}
S, M = {"lam": 0.05, "prior": 0.85}, {"C": 5.0, "C_star": 3.0}
RAMP = {"loss": "ramp", "ramp_s": -0.3, "balance": True}
CASES = [
    # name, settings, risk, squared norm, and for a minimiser how near its minimum it is
    ("samult", G, auc, of_kernel, 1e-7),
    ("samult", G | {"gamma": 1.0}, auc, of_kernel, 1e-7),
    ("samult", {"lam": 1e-4, "gamma": 0.0}, auc, of_kernel, 1e-6),
    ("samult", {"lam": 8.0, "gamma": 0.9}, auc, of_kernel, 1e-7),
    ("nystrom_s2auc", G, auc, of_kernel, 1e-7),
    ("rff_s2auc", G, auc, of_weights, 1e-4),
    ("qsg_s2auc", G, auc, streamed, None),
    ("qsg_s2auc_p", G | WHOLE, auc, swept, 2e-3),
    ("pnu_auc", {"lam": 0.1, "eta": -0.6, "prior": 0.6}, by_prior, of_weights, 1e-7),
    ("pnu_auc", {"lam": 1e-3, "eta": 0.3, "prior": 0.4}, by_prior, of_weights, 1e-7),
    (
        "pnu_auc",
        {"lam": 1.0, "eta": 0.0, "prior": 0.5, "n_centers": None},
        by_prior,
        of_weights,
        1e-7,
    ),
    ("exact_s2or", L, of_cuts, of_kernel, 1e-7),
    ("exact_s2or", {"lam": 1e-4, "gamma": (0.2, 1.0, 0.0)}, of_cuts, of_kernel, 1e-6),
    ("exact_s2or", {"lam": 1.0, "gamma": (1.0, 1.0, 1.0)}, of_cuts, of_kernel, 1e-7),
    ("rff_s2or", L, of_cuts, of_weights, 1e-4),
    ("qs3orao", L, of_cuts, streamed, None),
    ("qs3orao_p", L | WHOLE, of_cuts, swept, 2e-3),
    ("su_sl", S, similar(None), of_kernel, 1e-7),
    ("su_sl", {"lam": 1e-3, "prior": 0.1}, similar(None), of_kernel, 1e-6),
    ("su_sl", S | {"kernel": "linear"}, similar(None), of_weights, 1e-7),
    ("rff_su_sl", S, similar(None), of_weights, 1e-4),
    ("cuu", S | {"delta": "relu"}, similar(lambda r: max(0.0, r)), of_weights, None),
    ("tsgsu", S | {"delta": "abs"}, similar(abs), streamed, None),
    ("tsgsu", S | {"tail": "last", "delta": "none"}, similar(None), streamed, None),
    ("tsgsu_p", S | {"delta": "leaky_relu"}, similar(lambda r: max(r, -r / 2)), swept, None),
    ("tsgsu_p", S | WHOLE, similar(None), swept, 2e-3),
    ("tsgs3vm", M, margins(symmetric), streamed, None),
    ("tsgs3vm", M | {"loss": "sshg"}, margins(lambda z: symmetric(z) ** 2 / 2), streamed, None),
    ("tsgs3vm", M | RAMP, margins(ramp), streamed, None),
    ("tsgs3vm_p", M, margins(lambda z: rounded(abs(z)), rounded), swept, None),
    ("frs3vm", M | {"loss": "da"}, margins(lambda z: np.exp(-5 * z * z)), swept, None),
    ("bgs3vm", M, margins(symmetric), of_kernel, None),
    ("bls3vm", M | {"ramp_s": -0.3}, margins(ramp), of_kernel, None),
]


@pytest.mark.parametrize(("name", "params", "risk", "norm", "near"), CASES)
def test_the_objective_is_that_of_the_paper_and_a_minimiser_has_the_smallest(
    name, params, risk, norm, near
):
    known, arrays = SOLVERS[name].params, rows_of(name)
    model = made(name, **{k: v for k, v in params.items() if k in known}).fit(**arrays)
    score = getattr(model, "score_samples", model.decision_function)
    X, y, u = arrays.get("X"), arrays.get("y"), score(arrays["X_unlabeled"])
    f = score(arrays["X_similar"].reshape(-1, 3)).reshape(-1, 2) if X is None else score(X)
    penalty = 0.5 if "C" in params else params["lam"] if name == "pnu_auc" else params["lam"] / 2
    value, squared_norm, before = risk(model, f, y, u), norm(model), dict(vars(model))
    found = model.diagnostics(**arrays)
    assert vars(model) == before
    assert found["risk"] == pytest.approx(value, rel=2e-5)
    assert found["squared_norm"] == pytest.approx(squared_norm, rel=2e-5)
    assert found["objective"] == pytest.approx(value + penalty * squared_norm, rel=2e-5)
    if "C" in params:
        common = margins(symmetric)(model, f, y, u) + squared_norm / 2
        assert found["symmetric_hinge_objective"] == pytest.approx(common, rel=2e-5)
    if near is not None:
        coef = model.function_.coef if "n_sweeps" in known else model.coef_
        assert_smallest(coef, lambda: model.diagnostics(**arrays)["objective"], near)


def assert_smallest(coef, objective, near):
    """Along a line the objective is a parabola, whose vertex is where the fit is."""
    found, rng = coef.copy(), np.random.default_rng(0)
    for _ in range(5):
        step, values = 0.1 * rng.normal(size=found.shape) * np.abs(found).max(), []
        for place in (-1, 0, 1):
            coef[:] = found + place * step
            values.append(objective())
        curvature = values[0] + values[2] - 2 * values[1]
        assert abs(values[2] - values[0]) < near * curvature


def test_s3vm_light_tells_the_objective_of_the_labels_that_it_gave():
    arrays = rows_of("s3vm_light")
    model = made("s3vm_light", C=5.0, C_star=3.0).fit(**arrays)
    found = model.diagnostics(**arrays)
    assert found["objective"] == model.objective_
    assert found["squared_norm"] == pytest.approx(of_kernel(model))
    assert found["risk"] == pytest.approx(model.objective_ - of_kernel(model) / 2)
