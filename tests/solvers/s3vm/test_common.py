"""What all S3VMs have in common: parameters, many settings at once, defaults, examples."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.svm import SVC

from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.solvers.parameters import parameters
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.text.errors import DataError, MemoryLimitError
from tests.solvers.brute_force import folds_of, problem
from tests.solvers.test_conventions import others

QUICK = {"n_features": 16, "n_iterations": 30, "batch_size": 8, "n_blocks": 2}
LOADED = {name: info.load() for name, info in SOLVERS.items() if ".s3vm." in info.import_path}
CLASSES = {name: solver for name, solver in LOADED.items() if issubclass(solver, S3VM)}


STOCHASTIC = [
    *("C", "C_star", "C_star_ratio", "loss", "ramp_s", "step", "first_move", "anneal", "balance")
]


@pytest.fixture(params=CLASSES)
def solver(request):
    return CLASSES[request.param]


@pytest.fixture
def quick(solver):
    known = parameters(solver)
    return solver(
        C=10.0, sigma=0.3, **{name: value for name, value in QUICK.items() if name in known}
    )


def test_parameters_that_all_have_are_declared_alike(solver):
    known = parameters(solver)
    assert [name for name in known if name != "kernel"][:4] == [
        "C",
        "sigma",
        "C_star",
        "C_star_ratio",
    ] and list(known)[-1] == "unlabeled_label"
    assert all(p.types for p in known.values())
    assert {name: p.smoother for name, p in known.items() if p.smoother} == {
        "C": "smaller",
        "sigma": "smaller",
    }
    assert known["C_star"].parse(0) == 0 and known["C_star"].parse(None) is None
    signature = inspect.signature(solver).parameters.values()
    assert all((p.kind is p.KEYWORD_ONLY) == (p.name not in ("C", "sigma")) for p in signature)


@pytest.mark.parametrize(
    ("name", "per_model"),
    [
        ("tsgs3vm", STOCHASTIC),
        ("tsgs3vm_p", ["C", "C_star", "C_star_ratio", "anneal"]),
        ("frs3vm", STOCHASTIC),
        ("bgs3vm", []),
        ("bls3vm", ["C", "C_star", "C_star_ratio", "ramp_s"]),
        ("s3vm_light", []),
    ],
)
def test_what_models_of_one_pass_may_differ_in(name, per_model):
    assert list(SOLVERS[name].batched) == per_model
    second = ("tsgs3vm", "frs3vm", "bgs3vm", "bls3vm")
    assert SOLVERS[name].version == (2 if name in second else 1)
    assert SOLVERS[name].tasks == ("semi_supervised_svm",)


REFUSED = [
    ({"C": 0}, "C must be a number > 0, got 0"),
    ({"C": np.inf}, "C must"),
    ({"sigma": np.nan}, "sigma must be a number > 0 or 'scale', got nan"),
    ({"C_star": -1e-9}, "C_star must be a number >= 0 or null, got -1e-09"),
    ({"ramp_s": -1}, "ramp_s must be a number > -1 and <= 0, got -1"),
    ({"ramp_s": 0.5}, "ramp_s must be a number > -1 and <= 0, got 0.5"),
    ({"loss": "hinge"}, "loss must be 'shg' or 'sshg' or 'ramp' or 'da', got 'hinge'"),
    ({"loss": ["shg"]}, r"loss must be 'shg' or 'sshg' or 'ramp' or 'da', got \['shg'\]"),
    ({"step": 0}, "step must be a number > 0 and <= 1 or 'decreasing', got 0"),
    ({"step": 1.5}, "step must be a number > 0 and <= 1 or 'decreasing', got 1.5"),
    ({"n_features": 0}, "n_features must be a whole number >= 1.*, got 0"),
    ({"n_iterations": 0}, "n_iterations must be a whole number >= 1 or 'one_pass' or null, got 0"),
    ({"n_passes": 0}, "n_passes must be a whole number >= 1, got 0"),
    ({"batch_size": None}, "batch_size must be a whole number >= 1, got null"),
    ({"labeled_budget": 0}, "labeled_budget must be a whole number >= 1, got 0"),
    ({"unlabeled_budget": 1.5}, "unlabeled_budget must be a number between 0 and 1, got 1.5"),
    ({"balance": "yes"}, "balance must be true or false, got 'yes'"),
    ({"max_iter": 0}, "max_iter must be a whole number >= 1, got 0"),
    ({"tol": 0.0}, "tol must be a number > 0, got 0.0"),
    ({"positive_share": 1}, "positive_share must be a number strictly between 0 and 1 or null"),
    ({"pairs_per_switch": 0}, "pairs_per_switch must be a whole number >= 1 or null, got 0"),
    ({"max_memory": 0}, "max_memory must be a number > 0 or null, got 0"),
    ({"random_state": -1}, "random_state must be a whole number between 0 and"),
    ({"unlabeled_label": None}, "unlabeled_label must be a number or text, got null"),
]


@pytest.mark.parametrize(("params", "text"), REFUSED)
def test_no_class_takes_what_another_refuses(params, text):
    X, y, U = problem()
    owners = [kind for kind in CLASSES.values() if set(params) <= set(kind().get_params())]
    assert owners
    for kind in owners:
        with pytest.raises(DataError, match=text) as caught:
            kind(**params).fit(X, y, U)
        assert "\n" not in str(caught.value)
        with pytest.raises(DataError, match=text):
            kind().fit_points([params], X=X, y=y, X_unlabeled=U)


def test_unlabelled_rows_of_weight_0_do_not_count(quick):
    X, y, U = problem()
    quick.set_params(C_star=0)
    if "balance" in quick.get_params():
        quick.set_params(balance=False)  # which holds the mean over the unlabelled rows
    elsewhere = U[:, ::-1] ** 2
    f, g = (clone(quick).fit(X, y, rows).decision_function(U) for rows in (U, elsewhere))
    np.testing.assert_allclose(f, g, atol=1e-5 * np.abs(f).max())


def test_the_ratio_of_the_weights_is_another_way_to_say_the_same(quick):
    X, y, U = problem(n_labeled=16, n_unlabeled=64)
    papers = clone(quick).set_params(C_star=2.5).fit(X, y, U).decision_function(U)
    np.testing.assert_array_equal(quick.fit(X, y, U).decision_function(U), papers)
    by_weight = clone(quick).set_params(C_star=5.0).fit(X, y, U).decision_function(U)
    by_ratio = clone(quick).set_params(C_star_ratio=0.5).fit(X, y, U).decision_function(U)
    np.testing.assert_array_equal(by_ratio, by_weight)
    both = clone(quick).set_params(C_star=5.0, C_star_ratio=0.5)
    with pytest.raises(DataError, match=r"C_star is 5 and C_star_ratio is 0\.5: set one"):
        both.fit(X, y, U)
    with pytest.raises(DataError, match="set one"):
        both.fit_points([{"C": 1.0}], X=X, y=y, X_unlabeled=U)


@pytest.mark.parametrize("name", ["tsgs3vm", "frs3vm"])
def test_a_balance_costs_the_values_of_its_rows(name):
    sizes = {"n_models": 3, "n_labeled": 10, "n_unlabeled": 5000}
    plain, balanced = (CLASSES[name](n_features=7, balance=b) for b in (False, True))
    row = plain.cost(4, **sizes).flops_per_row
    n_coefficients = 14 * (500 if name == "tsgs3vm" else 1)
    more = balanced.cost(4, **sizes).flops - plain.cost(4, **sizes).flops
    assert more == pytest.approx(5000 * (row + 2 * 2 * n_coefficients))


def test_whole_numbers_may_be_floats(quick):
    X, y, U = problem()
    expected = quick.fit(X, y, U).decision_function(U)
    counts = {name: p for name, p in parameters(type(quick)).items() if p.types[0] is int}
    given = {n: float(v) for n, v in quick.get_params().items() if n in counts and v is not None}
    got = clone(quick).set_params(**given).fit(X, y, U).decision_function(U)
    np.testing.assert_array_equal(got, expected)


def test_rows_that_are_no_numbers_are_named_in_prediction_too(quick):
    X, y, U = problem()
    models = quick.fit_points([{"C": 1.0}, {"C": 5.0}], X=X, y=y, X_unlabeled=U)
    U[3, 1] = np.nan
    for model in (models, quick.fit(X, y, X)):
        with pytest.raises(DataError, match="NaN or infinite"):
            model.decision_function(U)


def test_out_of_fold_values_are_those_of_fits_without_the_fold(quick):
    X, y, U = problem()
    points, folds = [{"C": 1.0}, {"C": 30.0}], folds_of(16, 4)
    got = quick.fit_points(points, folds=folds, X=X, y=y, X_unlabeled=U)
    assert got.shape == (2, 16)
    for values, point in zip(got, points, strict=True):
        for held_out in folds:
            rest = np.setdiff1d(np.arange(16), held_out)
            model = clone(quick).set_params(**point).fit(X[rest], y[rest], U)
            expected = model.decision_function(X[held_out])
            atol = 1e-4 * np.abs(values).max()
            np.testing.assert_allclose(values[held_out], expected, atol=atol)


def test_settings_of_any_parameter_are_the_separate_fits(quick):
    X, y, U = problem()
    points = [{"C": 1.0}, {"C": 5.0, "sigma": 2.0}]
    points += [{name: value} for name, value in others(type(quick)).items()]
    together = quick.fit_points(points, X=X, y=y, X_unlabeled=U).decision_function(U)
    for values, point in zip(together.T, points, strict=True):
        expected = clone(quick).set_params(**point).fit(X, y, U).decision_function(U)
        np.testing.assert_allclose(values, expected, atol=1e-4 * np.abs(expected).max())


def test_more_than_the_memory_is_refused(quick):
    X, y, U = problem()
    if "max_memory" not in quick.get_params():
        pytest.skip("has no limit of its own")
    quick.set_params(max_memory=1e-6)
    with pytest.raises(MemoryLimitError, match="limit 1e-06 GiB"):
        quick.fit(X, y, U)
    with pytest.raises(MemoryLimitError):
        quick.fit_points([{}], X=X, y=y, X_unlabeled=U)


@pytest.mark.parametrize("n_unlabeled", [30, 1000])  # kept, and streamed
def test_unlabelled_values_that_are_no_numbers_are_named_in_training(quick, n_unlabeled):
    X, y, U = problem(n_unlabeled=n_unlabeled)
    U[n_unlabeled // 2 :, 1] = np.nan
    with pytest.raises(DataError, match="NaN or infinite"):
        quick.fit_points([{"C": 1.0}, {"C": 2.0}], X=X, y=y, X_unlabeled=U)


def test_many_points_can_be_evaluated_on_rows_of_any_kind(quick):
    X, y, U = problem()
    models = quick.fit_points([{"C": 1.0}, {"C": 5.0}], X=X, y=y, X_unlabeled=U)
    expected = models.decision_function(U)
    for rows in (U.astype(np.float64).tolist(), sparse.csr_matrix(U), pd.DataFrame(U)):
        np.testing.assert_allclose(models.decision_function(rows), expected, rtol=1e-9)
    with pytest.raises(DataError, match="X has 2 features"):
        models.decision_function(U[:, :2])


def in_unit_box(load):
    """Return rows scaled to [0, 1] and labels of two classes (of digits: even and odd)."""
    X, y = load(return_X_y=True)
    return (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-9), y % 2


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_defaults_do_about_as_well_as_a_supervised_machine(solver, load):
    """Within 3 points of error, over splits into 60 labelled rows and all others."""
    X, y = in_unit_box(load)
    gains = []
    for seed in range(1 if "Light" in solver.__name__ else 3):  # that takes 5 seconds
        order = np.random.default_rng(seed).permutation(len(y))
        labeled, rest = order[:60], order[60:]
        model = solver().fit(X[labeled], y[labeled], X[rest])
        supervised = SVC(C=1.0, gamma=0.3).fit(X[labeled], y[labeled])
        gains.append(model.score(X[rest], y[rest]) - supervised.score(X[rest], y[rest]))
    assert np.mean(gains) > -0.03
