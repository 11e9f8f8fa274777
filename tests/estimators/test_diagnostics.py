"""The objective that a fit tells is that of its paper, row by row; minimisers have the smallest."""

import numpy as np
import pytest

from dsgkit import SAMULT
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import UNLABELED, hinge, ordinal, pnu, rounded, semi_supervised
from tests.estimators.similar import problems
from tests.estimators.small import arrays, made
from tests.test_kernels import KERNELS

WHOLE = {"n_sweeps": 150, "batch_size": 1000, "delta": "none"}
"""Sweeps of all rows, and without a correction: to the minimum."""


# Squared norms.


def of_kernel(model):
    kernel = KERNELS[getattr(model, "kernel", "gaussian")]
    return model.coef_ @ kernel(*[np.float64(model.centers_)] * 2, model.sigma_) @ model.coef_


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
    return ordinal([f[y == label] for label in np.unique(y)], u, model.gamma)


def similar(model, f, y, u):
    if getattr(model, "delta", "none") == "none":
        return problems.risk(f, u, model.prior, problems.squared)
    below = {"abs": -1.0, "relu": 0.0}.get(model.delta, model.leak)
    parts = problems.parts(f, u, model.prior, problems.squared)
    return sum(r if r >= 0 else below * r for r in parts)


def margins(model, f, y, u, loss=None):
    loss, s = loss or getattr(model, "loss", "ramp"), getattr(model, "ramp_s", 0.0)
    return model.C * hinge(y * f).mean() + model.C_star * UNLABELED[loss](u, s).mean()


def symmetric(model, f, y, u):
    return margins(model, f, y, u, "shg")


def rounded_margins(model, f, y, u):
    return model.C * rounded(y * f).mean() + model.C_star * rounded(abs(u)).mean()


G, L = {"lam": 0.1, "gamma": 0.4}, {"lam": 0.1, "gamma": (0.2, 0.5, 0.9)}
S, P = {"lam": 0.05, "prior": 0.9}, {"lam": 0.1, "eta": -0.6, "prior": 0.6}
M = {"C": 5.0, "C_star": 3.0, "C_star_ratio": None, "anneal": False, "balance": False}
RAMP = {"loss": "ramp", "ramp_s": -0.3, "balance": True}
CASES = [
    # name, settings, risk, squared norm, and for a minimiser how near its minimum it is
    ("samult", G, auc, of_kernel, 1e-7),
    ("samult", G | {"gamma": 1.0}, auc, of_kernel, 1e-7),
    ("samult", {"lam": 1e-4, "gamma": 0.0}, auc, of_kernel, 1e-6),
    ("samult", {"lam": 8.0, "gamma": 0.9}, auc, of_kernel, 1e-7),
    *(
        ("samult", G | {"kernel": kernel}, auc, of_kernel, 1e-7)
        for kernel in ("laplacian", "dot_product(3)", "linear")
    ),
    ("nystrom_s2auc", G, auc, of_kernel, 1e-7),
    ("rff_s2auc", G, auc, of_weights, 1e-4),
    ("qsg_s2auc", G, auc, streamed, None),
    ("qsg_s2auc_p", G | WHOLE, auc, swept, 2e-3),
    ("pnu_auc", P, by_prior, of_weights, 1e-7),
    ("pnu_auc", P | {"lam": 1e-3, "eta": 0.3, "prior": 0.4}, by_prior, of_weights, 1e-7),
    ("pnu_auc", P | {"eta": 0.0, "n_centers": None}, by_prior, of_weights, 1e-7),
    ("exact_s2or", L, of_cuts, of_kernel, 1e-7),
    ("exact_s2or", {"lam": 1e-4, "gamma": (0.2, 1.0, 0.0)}, of_cuts, of_kernel, 1e-6),
    ("exact_s2or", {"lam": 1.0, "gamma": (1.0, 1.0, 1.0)}, of_cuts, of_kernel, 1e-7),
    ("rff_s2or", L, of_cuts, of_weights, 1e-4),
    ("qs3orao", L, of_cuts, streamed, None),
    ("qs3orao_p", L | WHOLE, of_cuts, swept, 2e-3),
    ("su_sl", S, similar, of_kernel, 1e-7),
    ("su_sl", {"lam": 1e-3, "prior": 0.1}, similar, of_kernel, 1e-6),
    ("su_sl", S | {"kernel": "linear"}, similar, of_weights, 1e-7),
    ("rff_su_sl", S, similar, of_weights, 1e-4),
    ("cuu", S | {"delta": "relu"}, similar, of_weights, None),
    ("tsgsu", S | {"delta": "abs"}, similar, streamed, None),
    ("tsgsu", S | {"tail": "last", "delta": "none"}, similar, streamed, None),
    ("tsgsu_p", S | {"delta": "leaky_relu"}, similar, swept, None),
    ("tsgsu_p", S | WHOLE, similar, swept, 2e-3),
    ("tsgs3vm", M, margins, streamed, None),
    ("tsgs3vm", M | {"loss": "sshg"}, margins, streamed, None),
    ("tsgs3vm", M | RAMP, margins, streamed, None),
    ("tsgs3vm_p", M, rounded_margins, swept, None),
    ("frs3vm", M | {"loss": "da"}, margins, swept, None),
    ("bgs3vm", M, symmetric, of_kernel, None),
    ("bls3vm", M | {"ramp_s": -0.3, "balance": True}, margins, of_kernel, None),
]


@pytest.mark.parametrize(("name", "params", "risk", "norm", "near"), CASES)
def test_the_objective_is_that_of_the_paper_and_a_minimiser_has_the_smallest(
    name, params, risk, norm, near
):
    known, training = SOLVERS[name].params, arrays(name)
    model = made(name, **{k: v for k, v in params.items() if k in known}).fit(**training)
    score = getattr(model, "score_samples", model.decision_function)
    X, y, u = training.get("X"), training.get("y"), score(training["X_unlabeled"])
    f = score(training["X_similar"].reshape(-1, 3)).reshape(-1, 2) if X is None else score(X)
    penalty = 0.5 if "C" in params else params["lam"] if name == "pnu_auc" else params["lam"] / 2
    value, squared_norm, before = risk(model, f, y, u), norm(model), dict(vars(model))
    found = model.diagnostics(**training)
    assert vars(model) == before
    assert found["risk"] == pytest.approx(value, rel=2e-5)
    assert found["squared_norm"] == pytest.approx(squared_norm, rel=2e-5)
    assert found["objective"] == pytest.approx(value + penalty * squared_norm, rel=2e-5)
    if "C" in params:
        common = symmetric(model, f, y, u) + squared_norm / 2
        assert found["symmetric_hinge_objective"] == pytest.approx(common, rel=2e-5)
    if near is not None:
        coef = model.function_.coef if "n_sweeps" in known else model.coef_
        assert_smallest(coef, lambda: model.diagnostics(**training)["objective"], near)


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
    model = made("s3vm_light", C=5.0, C_star=3.0).fit(**arrays("s3vm_light"))
    found = model.diagnostics(**arrays("s3vm_light"))
    assert found["objective"] == model.objective_
    assert found["squared_norm"] == pytest.approx(of_kernel(model))
    assert found["risk"] == pytest.approx(model.objective_ - of_kernel(model) / 2)


def test_samult_remarks_that_it_did_without_the_unlabelled_rows():
    rng = np.random.default_rng(0)
    X, y, U = rng.random((20, 2)), np.repeat([-1, 1], 10), rng.random((30, 2))
    model = SAMULT(gamma=1).fit(X, y, U)
    assert model.remark_ == "gamma = 1: unlabelled rows were not used"
    assert len(model.centers_) == 20
    assert model.set_params(gamma=0.9).fit(X, y, U).remark_ == ""
