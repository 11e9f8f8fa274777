"""What all estimators have in common: scikit-learn's conventions, and how they count costs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dsgkit.solvers.base import Estimator
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.text.errors import DataError
from tests.solvers.brute_force import problem
from tests.solvers.given import given

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.text.errors.DsgWarning")

OTHER_VALUES = {
    "lam": 0.5,
    "sigma": 2.0,
    "kernel": "laplacian",
    "frequencies": "structured",
    "gamma": 0.25,
    "eta": 0.25,
    "prior": 0.4,
    "n_centers": 7,
    "n_landmarks": 7,
    "batch_size": 8,
    "n_features": 6,
    "n_iterations": 9,
    "n_blocks": 3,
    "n_sweeps": 1,
    "theta_lam": 1.25,
    "t0": 3.0,
    "C": 2.0,
    "C_star": 0.75,
    "C_star_ratio": 0.5,
    "first_move": 3.0,
    "sign_at_zero": 1,
    "class_weight": "balanced",
    "anneal": True,
    "ridge": 0.5,
    "balance": False,
    "max_iter": 500,
    "tol": 0.01,
    "thresholds": "absolute",
    "positive_share": 0.3,
    "pairs_per_switch": 2,
    "labeled_budget": 7,
    "unlabeled_budget": 0.5,
    "max_memory": 2.0,
    "random_state": 5,
    "loss": "da",
    "ramp_s": -0.5,
    "step": 0.25,
    "n_passes": 2,
    "unlabeled_label": "?",
    "max_seconds": 50.0,
    "delta": "relu",
    "leak": -0.25,
    "theta": 0.25,
    "tail": "decay",
    "momentum": 0.5,
    "budget": 7,
    "strategy": "prn",
    "n_neighbors": 3,
    "stop": "epoch",
    "epsilon": 0.3,
    "starts": "all",
    "n_segment": 10,
    "outliers": True,
    "max_rows": 100,
    "share": 0.75,
    "radius": 0.25,
    "most_rows": 15,
    "threshold": 0.6,
}
OTHERS_OF = {
    "TSGSU": {"step": "paper"},
    "CUU": {"step": "paper", "loss": "logistic"},
    "BGS3VM": {"kernel": "linear"},
    "BLS3VM": {"kernel": "linear"},
    "S3VMLight": {"kernel": "linear"},
    "SelfTraining": {"kernel": "linear"},
    "SupervisedSVM": {"kernel": "linear"},
    "SVOREX": {"kernel": "linear"},
    "SVORIM": {"kernel": "linear"},
    "AllLabelsSVM": {"kernel": "linear"},
    "BSGDLMOC": {"tol": 0.02},
    "SGDLMOC": {"tol": 0.02},
    "TSGS3VM": {"balance": True},
    "FRS3VM": {"balance": True},
    "TSGS3VMP": {"anneal": False},
}
EXCLUDED = {"C_star": None, "frequencies": "independent"}
"""Parameters that cannot have another value beside those above: there is a ratio already, and
frequencies of a Laplacian kernel are not structured."""


def others(solver):
    """Return a value of every parameter that is not its default."""
    values = OTHER_VALUES | OTHERS_OF.get(solver.__name__, {})
    return {name: values[name] for name in solver().get_params()}


def others_together(solver):
    """Return such values as a fit can have all at once."""
    values = others(solver)
    return values | {name: value for name, value in EXCLUDED.items() if name in values}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param].load()


def test_parameters_go_round(solver):
    model = solver()
    other = others(solver)
    assert all(other[name] != value for name, value in model.get_params().items())
    assert solver(**other).get_params() == other
    assert model.set_params(**other).get_params() == other
    other = others_together(solver)
    model.set_params(**other)
    rows = given(solver, *problem())
    copy = clone(model.fit(**rows))
    assert copy is not model and copy.get_params() == other and not hasattr(copy, "n_features_in_")
    U = rows.get("X_unlabeled", rows.get("X"))
    same = copy.fit(**rows).decision_function(U)
    np.testing.assert_array_equal(same, model.decision_function(U))
    assert eval(repr(model), {solver.__name__: solver}).get_params() == other
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        model.set_params(lamda=1.0)


@pytest.mark.parametrize(
    "name", ["qsg_s2auc", "qsg_s2auc_p", "samult", "pnu_auc", "rff_s2auc", "nystrom_s2auc"]
)
def test_signatures_of_rankers_agree(name):
    solver = SOLVERS[name].load()
    parameters = list(inspect.signature(solver).parameters.values())
    names = ["lam", "sigma", "eta" if "PNU" in repr(solver) else "gamma"]
    first, rest = parameters[:3], parameters[3:]
    assert [p.name for p in first] == names
    assert [p.default for p in first[:2]] == [0.125, "scale"]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in first)
    assert all(p.kind is p.KEYWORD_ONLY for p in rest)


def test_only_a_fitted_model_predicts_and_only_rows_of_its_width(solver):
    X, y, U = problem()
    model = solver().set_params(**others_together(solver))
    with pytest.raises(NotFittedError):
        model.decision_function(X)
    assert model.fit(**given(solver, X, y, U)) is model
    assert model.n_features_in_ == 3
    values = model.decision_function(U)
    assert values.shape == (30,) and values.dtype == np.float64
    with pytest.raises(DataError, match="X has 2 features"):
        model.decision_function(U[:, :2])


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if "max_memory" in s.params])
@pytest.mark.parametrize("value", [0, -1.0, "2 GiB", np.nan])
def test_a_memory_limit_is_a_number(name, value):
    model = SOLVERS[name].load()(max_memory=value)
    with pytest.raises(DataError, match="max_memory must be a number > 0 or null"):
        model.fit(**given(model, *problem()))


n, d = 10**6, 3
LEADING_TERMS = [
    # double precision counts twice: n^3/3 of a Cholesky factorisation, n^3 of a symmetric product
    ("samult", {}, n, 2 * n**3 / 3),
    ("pnu_auc", {}, n, 2 * (n**3 + n**3 / 3)),
    # a symmetric product of n rows of 2 x 1000 features, in single precision
    ("rff_s2auc", {"n_features": 1000}, n, n * 2000**2),
    # a symmetric product of n rows, and half as much for leading directions, in double precision
    ("nystrom_s2auc", {"n_landmarks": 2000}, n, 2 * n * 1.5 * 2010**2),
    # kernel values, and 1.5 steps for each row, as heavy as so many operations
    ("bls3vm", {}, n, n**2 * (300 + 6 * d + 1.5 * 350)),
    # one pass: triplet t of a batch meets t blocks; features 2d + 20, their sum 4
    ("qsg_s2auc", {"n_iterations": 10**4}, 256 * 10**4, 256 * 10**8 / 2 * 256 * (2 * d + 24)),
    # the same, all blocks kept; and of the last ln(2^30) / 0.1 only
    (
        "tsgs3vm",
        {"step": 1e-6, "n_features": 256, "n_iterations": "one_pass"},
        256 * 10**4,
        256 * 10**8 / 2 * 256 * (2 * d + 24),
    ),
    (
        "tsgs3vm",
        {"step": 0.1, "n_features": 256, "n_iterations": "one_pass"},
        256 * 10**4,
        256 * 10**4 * 197 * 256 * (2 * d + 24),
    ),
    # ten passes: features 2d + 20, and a value and a gradient of a cosine and a sine each
    (
        "frs3vm",
        {"n_features": 256, "n_iterations": "one_pass"},
        256 * 10**4,
        256 * 10**5 * 256 * (2 * d + 28),
    ),
]


@pytest.mark.parametrize(("name", "params", "size", "expected"), LEADING_TERMS)
def test_operations_of_a_large_fit_are_those_of_its_leading_term(name, params, size, expected):
    cost = SOLVERS[name].load()(**params).cost(d, n_labeled=10, n_unlabeled=size)
    assert cost.flops == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("name", "per_row"),
    [
        # per centre: d + 2 products of doubles, an exponential as measured, one product
        ("samult", 1010 * (4 * d + 220 + 4)),
        ("pnu_auc", 1010 * (4 * d + 220 + 4)),
        ("nystrom_s2auc", 1010 * (4 * d + 220 + 4)),
        ("bls3vm", 1010 * (4 * d + 220 + 4)),
        # per frequency: d products, cosine and sine, two products of doubles
        ("rff_s2auc", 1000 * (2 * d + 20 + 8)),
        ("qsg_s2auc", 200 * 256 * (2 * d + 20 + 4)),
        # 500 blocks of m, the root of 1010 rows; and one of 500
        ("tsgs3vm", 500 * 32 * (2 * d + 20 + 4)),
        ("frs3vm", 500 * (2 * d + 20 + 4)),
    ],
)
def test_operations_of_a_prediction_are_counted_in_the_same_unit(name, per_row):
    model = SOLVERS[name].load()()
    cost = model.cost(d, n_labeled=10, n_unlabeled=1000)
    assert cost.flops_per_row == pytest.approx(per_row, rel=1e-9)


def depth(kind):
    """Return how many classes a class is below `Estimator`; 0 for any other."""
    return max(
        (1 + depth(base) for base in kind.__bases__ if issubclass(base, Estimator)), default=0
    )


@pytest.mark.parametrize("name", SOLVERS)
def test_no_solver_is_more_than_three_classes_below_the_base(name):
    """What it shares with others further up are values: risks, trainers, features."""
    assert depth(SOLVERS[name].load()) <= 3
