"""What all estimators have in common: scikit-learn's conventions, grids, folds, files, costs."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dsgkit.cli.explain import described
from dsgkit.costs import MILLISECOND
from dsgkit.errors import DataError, SolverError
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.tasks.base import cost_of, function_of
from tests.estimators.small import arrays, folds_for, made, of_task, rows_at

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")

OTHER_VALUES = {
    **{"lam": 0.5, "sigma": 2.0, "kernel": "laplacian", "frequencies": "structured"},
    **{"gamma": 0.25, "eta": 0.25, "prior": 0.4, "n_centers": 7, "n_landmarks": 7},
    **{"batch_size": 8, "n_features": 6, "n_iterations": 9, "n_blocks": 3, "n_sweeps": 1},
    **{"theta_lam": 1.25, "t0": 3.0, "C": 2.0, "C_star": 0.75, "C_star_ratio": 0.5},
    **{"first_move": 3.0, "sign_at_zero": 1, "class_weight": "balanced", "anneal": True},
    **{"ridge": 0.5, "balance": False, "max_iter": 500, "tol": 0.01, "thresholds": "absolute"},
    **{"positive_share": 0.3, "pairs_per_switch": 2, "labeled_budget": 7, "unlabeled_budget": 0.5},
    **{"max_memory": 2.0, "random_state": 5, "loss": "da", "ramp_s": -0.5, "step": 0.25},
    **{"n_passes": 2, "unlabeled_label": "?", "max_seconds": 50.0, "delta": "relu", "leak": -0.25},
    "correction_at": "batch",
    **{"theta": 0.25, "tail": "decay", "momentum": 0.5, "budget": 7, "strategy": "prn"},
    **{"n_neighbors": 3, "stop": "epoch", "epsilon": 0.3, "starts": "all", "n_segment": 10},
    **{"outliers": True, "max_rows": 100, "share": 0.75, "radius": 0.25, "most_rows": 15},
    **{"threshold": 0.6, "classes": (0, 1, 2, 3)},
}
LINEAR_OR_GAUSSIAN = [
    *("BGS3VM", "BLS3VM", "S3VMLight", "SelfTraining", "SupervisedSVM", "AllLabelsSVM"),
    *("SVOREX", "SVORIM"),
]
OTHERS_OF = {
    **{name: {"kernel": "linear"} for name in LINEAR_OR_GAUSSIAN},
    **{name: {"tol": 0.02} for name in ("BSGDLMOC", "SGDLMOC")},
    **{name: {"balance": True} for name in ("TSGS3VM", "FRS3VM")},
    "TSGSU": {"step": "paper"},
    "CUU": {"step": "paper", "loss": "logistic"},
    "TSGS3VMP": {"anneal": False},
}
EXCLUDED = {"C_star": None, "frequencies": "independent"}
"""Parameters that cannot have another value along with those above: there is a ratio already, and
frequencies of a Laplacian kernel are not structured."""


def others(solver, **excluded):
    """Return a value of every parameter that is not its default."""
    values = OTHER_VALUES | OTHERS_OF.get(solver.__name__, {}) | excluded
    return {name: values[name] for name in solver().get_params()}


@pytest.fixture(params=SOLVERS)
def name(request):
    return request.param


def assert_near(got, expected, relative=1e-4):
    np.testing.assert_allclose(got, expected, rtol=0, atol=relative * max(1, np.nanmax(expected)))


def test_every_solver_is_declared_as_it_was():
    """The file has names, versions, tasks and parameters: a change of it is one of results."""
    lines = []
    for key, info in SOLVERS.items():
        lines.append(f"{key}: version {info.version}, for {', '.join(info.tasks)}")
        texts = described(info.load())
        for p in info.parameters.values():
            kind, text = texts[p.name].split("\n", 1)
            default = "optional" if p.default is None else f"default {p.default!r}"
            assert kind.endswith(default.replace("'", '"')), p.name
            smoother = p.smoother and f"smoother where {p.smoother}"
            per = p.one_per and f"one for each of {p.one_per}"
            marks = filter(None, ["one pass" * p.per_model, smoother, per])
            lines.append("; ".join([f"  {p.name}: {kind}", *marks]))
            assert p.types and text.endswith("."), p.name
    expected = Path(__file__).with_name("declared.txt")
    assert lines == expected.read_text().splitlines(), "write it again, if this was intended"


def test_parameters_go_round(name):
    solver = SOLVERS[name].load()
    model, other = solver(), others(solver)
    assert all(other[key] != value for key, value in model.get_params().items())
    assert solver(**other).get_params() == other
    assert model.set_params(**other).get_params() == other
    model.set_params(**(other := others(solver, **EXCLUDED)))
    training = arrays(name)
    copy = clone(model.fit(**training))
    assert copy is not model and copy.get_params() == other and not hasattr(copy, "n_features_in_")
    same = copy.fit(**training).decision_function(rows_at(training))
    np.testing.assert_array_equal(same, model.decision_function(rows_at(training)))
    assert eval(repr(model), {solver.__name__: solver}).get_params() == other
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        model.set_params(lamda=1.0)


def test_only_a_fitted_model_predicts_and_only_rows_of_its_width(name):
    training = arrays(name)
    rows, model = rows_at(training), made(name)
    with pytest.raises(NotFittedError):
        model.decision_function(rows)
    assert model.fit(**training) is model
    assert model.n_features_in_ == 3
    values = model.decision_function(rows)
    assert len(values) == len(rows) and values.dtype == np.float64
    with pytest.raises(DataError, match="X has 2 features"):
        model.decision_function(rows[:, :2])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(rows), values)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", [n for n in SOLVERS if n not in of_task("clustering")])
def test_settings_of_any_parameter_are_the_separate_fits(name):
    training = arrays(name)
    model, rows = made(name), rows_at(training)
    points = [{}, *({key: value} for key, value in others(type(model)).items())]
    apart = {"thresholds", "unlabeled_label", "classes"}
    points = [point for point in points if not apart & set(point)]
    if "C_star_ratio" in model.get_params():
        model.set_params(C_star=None, C_star_ratio=None)
    together = model.fit_points(points, **training).decision_function(rows)
    together = together.reshape(len(rows), len(points), -1)  # with a column for every cut
    for i, point in enumerate(points):
        try:
            expected = function_of(clone(model).set_params(**point).fit(**training))(rows)
        except SolverError:
            expected = np.full(len(rows), np.nan)
        assert_near(together[:, i], expected.reshape(len(rows), -1))


STREAMED = ("qsg_s2auc", "qsg_s2auc_p", "tsgs3vm", "tsgs3vm_p", "frs3vm")
ON_FOLDS = [
    *((name, 30) for name in of_task("semi_supervised_auc", "semi_supervised_svm")),
    *(("supervised_sl", 30), ("majority_class", 30)),
    *((name, 3000) for name in STREAMED),
]


@pytest.mark.parametrize(("name", "n_unlabeled"), ON_FOLDS)
def test_values_on_folds_are_those_of_fits_without_the_fold(
    name, n_unlabeled, double_precision, same_centers
):
    training = arrays(name, n_unlabeled)
    model, folds = made(name), folds_for(training)
    known = {"lam", "sigma", "gamma", "eta", "C"}
    changes = {key: value for key, value in others(type(model)).items() if key in known}
    points = [{}, *({key: value} for key, value in changes.items()), changes]
    got = model.fit_points(points, folds=folds, **training)
    assert got.shape == (len(points), 24) and np.isnan(got[:, -1]).all()
    for values, point in zip(got, points, strict=True):
        for fold in folds:
            rest = {k: np.delete(training[k], fold, axis=0) for k in ("X", "y")}
            alone = clone(model).set_params(**point).fit(**training | rest)
            assert_near(values[fold], alone.decision_function(training["X"][fold]))


n, d = 10**6, 3
PASS = {"n_features": 256, "n_iterations": "one_pass"}
CENTRE = 4 * d + 220 + 4  # d + 2 products of doubles, an exponential as measured, one product
BLOCKS = 10**4 * 256 * (2 * d + 24)  # features 2d + 20, their sum 4
# operations of a fit, and of a prediction at a row
LEADING_TERMS = [
    # double precision counts twice: n^3/3 of a Cholesky factorisation, n^3 of a symmetric product
    ("samult", {}, n, 2 * n**3 / 3, n * CENTRE),
    ("pnu_auc", {}, n, 2 * (n**3 + n**3 / 3), n * CENTRE),
    # a symmetric product of n rows of 2 x 1000 features, in single precision; for a row d products,
    # cosine and sine, and two products of doubles
    ("rff_s2auc", {"n_features": 1000}, n, n * 2000**2, 1000 * (2 * d + 20 + 8)),
    # kernel values, and steps for each row, as heavy as so many operations
    ("bls3vm", {}, n, n**2 * (300 + 6 * d + 1.5 * 350), n * CENTRE),
    ("all_labels_svm", {}, n, 20_000**2 * (300 + 6 * d + 3 * 100), 20_000 * CENTRE),
    ("self_training", {}, n, 30 * n**2 * (300 + 6 * d + 3 * 100), n * CENTRE),
    ("s3vm_light", {}, n, n**2 * 50 * 1000, n * CENTRE),
    # 0.2 n support vectors at two rows of a step, of which 10 labelled ones are in every 21 steps
    ("bgs3vm", {}, n, n * 0.2 * n * ((1 + 10 / 21) * CENTRE + 8), 0.2 * n * CENTRE),
    # one pass: triplet t of a batch meets t blocks, or the last ln(2^30) / 0.1
    ("qsg_s2auc", {"n_iterations": 10**4}, 256 * 10**4, 256 * 10**4 / 2 * BLOCKS, BLOCKS),
    # and a quarter of a millisecond for each of the few steps
    (
        "tsgs3vm",
        {"step": 0.1, **PASS},
        256 * 10**4,
        256 * 198 * BLOCKS + 0.25 * 10**4 * MILLISECOND,
        BLOCKS * 198 / 10**4,
    ),
    # ten passes: features 2d + 20, a value and a gradient of a cosine and a sine each, and a tenth
    # of a millisecond for each step
    (
        "frs3vm",
        PASS,
        256 * 10**4,
        256 * 10**5 * 256 * (2 * d + 28) + 0.105 * 10**5 * MILLISECOND,
        256 * (2 * d + 24),
    ),
]


@pytest.mark.parametrize(("name", "params", "size", "fit", "predict"), LEADING_TERMS)
def test_operations_of_a_large_fit_are_those_of_its_leading_term(name, params, size, fit, predict):
    cost = cost_of(SOLVERS[name].load()(**params), d, {"n_labeled": 10, "n_unlabeled": size})
    assert cost.flops == pytest.approx(fit, rel=0.03)
    assert cost.flops_per_row == pytest.approx(predict, rel=1e-3)
