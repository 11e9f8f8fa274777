"""Settings without a solution: a fit says what to change; a grid has values of the others."""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit.errors import DivergedError, FitError, IndefiniteError, TimeLimitError
from dsgkit.tasks.base import function_of
from tests.estimators.small import arrays, folds_for, made, rows_at

pytestmark = [
    pytest.mark.filterwarnings("ignore:prior .* is so close"),
    pytest.mark.filterwarnings("ignore:sigma=.* makes nearly all kernel values"),
]

INDEFINITE = {"lam": 1e-6, "sigma": 4.0, "prior": 0.1}
TSGSU = {"step": "paper", "delta": "none", "n_iterations": 60}
CUU = {"step": "paper", "n_iterations": 100}
DIVERGED = DivergedError, "diverged with C=1e\\+3"
# a solver, its settings, those that have no solution, and what is said of them
HOPELESS = [
    ("rff_s2auc", {"n_features": 60}, {"lam": 2.0**-21.1}, FitError, "take a larger lam"),
    ("rff_su_sl", {"n_features": 60}, {"lam": 2.0**-30}, FitError, "take a larger lam"),
    ("pnu_auc", {}, {"eta": -1.0, **INDEFINITE}, IndefiniteError, "eta > 0 suits"),
    ("m_pnu_auc", {}, {"eta": (0.0, 0.0, -1.0), **INDEFINITE}, IndefiniteError, "suits"),
    ("qsg_s2auc", {"t0": 0.0}, {"lam": 1e-9}, DivergedError, "t0='stable'"),
    ("qs3orao", {"t0": 0.0}, {"lam": 1e-9}, DivergedError, "t0='stable'"),
    ("qsg_s2auc_p", {"n_features": 64}, {"lam": 1e-300, "gamma": 1.0}, FitError, "is singular to"),
    ("tsgsu_p", {"n_features": 64}, {"lam": 1e-300}, FitError, "a block is singular to rounding"),
    ("tsgs3vm_p", {}, {"C": 1e300}, FitError, r"with C=1e\+300 a block is singular.* lower C"),
    # with all blocks, and with the first ones forgotten
    ("tsgs3vm", {"step": 0.5, "n_iterations": 40, "C_star_ratio": None}, {"C": 1e36}, *DIVERGED),
    ("tsgs3vm", {"step": 1.0, "n_iterations": 300, "C_star_ratio": None}, {"C": 1e39}, *DIVERGED),
    ("tsgsu", TSGSU, {"theta": 8.0, "lam": 1.0}, FitError, "a step of 1/lam or more with lam=1"),
    ("tsgsu", TSGSU, {"theta": 3e4, "lam": 1e-6}, DivergedError, "or set step='measured'"),
    ("cuu", CUU, {"lam": 1e-9, "theta": 1e7}, DivergedError, "take a smaller theta"),
    ("su_dh", {}, {"max_seconds": 1e-9}, TimeLimitError, "took longer than 1e-09 s"),
    ("svorex", {}, {"C": 1e4, "max_iter": 10}, FitError, "no solution after 10 steps"),
    ("bls3vm", {"C_star": None}, {"C": 1e308}, DivergedError, "overflows; take a smaller C"),
]
STREAMING = ("qsg_s2auc", "qs3orao", "tsgs3vm")
CASES = [(*case, n) for case in HOPELESS for n in ((30, 3000) if case[0] in STREAMING else (30,))]


@pytest.mark.parametrize(("name", "params", "hopeless", "error", "text", "n_unlabeled"), CASES)
def test_a_fit_says_so_and_a_grid_has_the_values_of_others(
    name, params, hopeless, error, text, n_unlabeled
):
    training, model = arrays(name, n_unlabeled), made(name, **params)
    rows = rows_at(training)
    alone = function_of(model.fit(**training))(rows)
    with pytest.raises(error, match=text) as caught:
        clone(model).set_params(**hopeless).fit(**training)
    assert "\n" not in str(caught.value)
    both = clone(model).fit_points([hopeless, {}], **training).decision_function(rows)
    both = both.reshape(len(rows), 2, -1)  # with a column for every cut
    assert np.isnan(both[:, 0]).all()
    size = abs(alone).max()
    np.testing.assert_allclose(both[:, 1], alone.reshape(len(rows), -1), atol=1e-4 * size)
    values = clone(model).fit_points([hopeless, {}], folds=folds_for(training), **training)
    for part in values if isinstance(values, tuple) else (values,):
        assert np.isnan(part[0]).all() and np.isfinite(part[1][:-1]).all()
