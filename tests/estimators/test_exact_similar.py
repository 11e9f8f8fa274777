"""SU-SL, SU-DH, CUU and the classifiers they are compared with; what the family has in common."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.kernel_ridge import KernelRidge

from dsgkit import CUU, RFFSUSL, SUDH, SUSL, MajorityClass, SupervisedSL, priors
from dsgkit.data.dataset import Rows
from dsgkit.engine.problem import Sizes
from dsgkit.errors import DataError, DivergedError, DsgWarning, FitError, TimeLimitError
from dsgkit.kernels import kernel_named
from dsgkit.priors import label_noise
from tests.estimators.similar.problems import double_hinge, minimiser, oracle, risk, su_problem

pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close")

PAIRS, U, Y = su_problem()
POINTS = PAIRS.reshape(-1, 3)
FOLDS = [(np.arange(0, 150, 2), np.arange(20)), (np.arange(1, 60, 2), np.arange(30, 60))]
GRID = [{"lam": lam, "prior": p} for lam in (1e-3, 0.5) for p in (0.85, 0.3)] + [{"sigma": 0.7}]
STEPS = [
    {"lam": 0.05, "theta": 1.0, "delta": "abs"},
    {"lam": 0.5, "theta": 0.25, "delta": "relu"},
    {"lam": 1e-4, "theta": 1.0, "delta": "none", "prior": 0.15},
    {"lam": 0.05, "theta": 0.5, "delta": "leaky_relu", "leak": -0.4, "prior": 0.9},
]
NO_DECAY = [{"lam": 0.1, "theta": 1e9}, {"delta": "none", "momentum": 0.5}]
SHORT = {"sigma": 2.0, "batch_size": 32, "n_iterations": 20}
CASES = {
    "su_sl": (SUSL(sigma=2.0), GRID, 1e-8),
    "su_sl linear": (SUSL(kernel="linear"), GRID, 1e-9),
    "rff_su_sl": (RFFSUSL(sigma=2.0, n_features=40), GRID, 2e-3),
    "su_dh": (SUDH(sigma=2.0, n_centers=15), GRID[:2], 1e-6),
    "su_dh linear": (SUDH(kernel="linear"), GRID[:1], 1e-6),
    "cuu": (CUU(**SHORT), STEPS + NO_DECAY, 1e-5),
    "cuu centers": (CUU(**SHORT, kernel="laplacian", n_centers=25), STEPS + NO_DECAY, 1e-5),
    "cuu linear": (CUU(**SHORT, kernel="linear", loss="logistic", step="paper"), STEPS, 1e-5),
    "cuu all": (CUU(**SHORT | {"batch_size": None}), STEPS[:2], 1e-5),
}


@pytest.fixture(params=CASES)
def case(request):
    model, points, tolerance = CASES[request.param]
    return clone(model).set_params(prior=0.85), points, tolerance


def agree(got, expected, tolerance):
    return np.abs(got - expected).max() <= tolerance * max(1, np.abs(expected).max())


def test_a_grid_on_folds_equals_single_fits_on_the_rest(case):
    model, points, tolerance = case
    rows = {"X_similar": PAIRS, "X_unlabeled": U}
    similar, unlabeled = model.fit_points(points, folds=FOLDS, **rows)
    assert similar.shape == (len(points), 150, 2) and unlabeled.shape == (len(points), 60)
    for g, point in enumerate(points):
        for held_pairs, held_rows in FOLDS:
            one = clone(model).set_params(**point)
            try:
                one.fit(np.delete(PAIRS, held_pairs, axis=0), np.delete(U, held_rows, axis=0))
            except FitError:  # no step
                assert np.isnan(similar[g]).all() and np.isnan(unlabeled[g]).all()
                continue
            expected = one.decision_function(PAIRS[held_pairs].reshape(-1, 3)).reshape(-1, 2)
            assert agree(similar[g, held_pairs], expected, tolerance)
            assert agree(unlabeled[g, held_rows], one.decision_function(U[held_rows]), tolerance)
    models = model.fit_points(points, **rows).decision_function(U)
    failed = np.isnan(similar).all(axis=(1, 2))
    assert np.array_equal(np.isnan(models).all(axis=0), failed)
    assert np.isnan(similar[:, 61::2]).all() and np.isnan(unlabeled[:, 20:30]).all()


def test_the_other_class_as_the_positive_one_turns_the_sign_and_pickles_stay(case):
    model = case[0]
    for delta in ("abs", "relu", "leaky_relu", "none") if hasattr(model, "delta") else (None,):
        other = {"delta": delta} if delta else {}
        fits = [clone(model).set_params(prior=p, **other).fit(PAIRS, U) for p in (0.8, 0.2)]
        values, turned = (fit.decision_function(U) for fit in fits)
        assert agree(values, -turned, 1e-4 if isinstance(model, SUDH) else 1e-5)
    copy = pickle.loads(pickle.dumps(fits[0]))
    np.testing.assert_array_equal(copy.decision_function(U), values)
    np.testing.assert_array_equal(fits[0].predict(U), np.where(values >= 0, 1, -1))


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "rff"])
@pytest.mark.parametrize(("lam", "prior"), [(0.1, 0.85), (1e-3, 0.3)])
def test_su_sl_minimises_the_risk_over_its_functions(kernel, lam, prior):
    every = np.vstack([POINTS, U])
    if kernel == "linear":
        model, features = SUSL(lam, kernel="linear", prior=prior), with_bias
    elif kernel == "rff":
        model = RFFSUSL(lam, 2.0, n_features=30, prior=prior)
    else:
        model = SUSL(lam, 2.0, prior=prior)
    model.fit(PAIRS, U)
    if kernel == "gaussian":
        gram = kernel_named("gaussian").gram
        spectrum, vectors = np.linalg.eigh(gram(every, every, 2.0))
        kept = spectrum > 1e-13 * spectrum[-1]
        half = vectors[:, kept] / np.sqrt(spectrum[kept])

        def features(rows):
            return gram(rows, every, 2.0) @ half

        np.testing.assert_array_equal(model.centers_, every)
    elif kernel == "rff":

        def features(rows):
            return model.function_.centers(rows).astype(float)

    expected = features(U) @ minimiser(features, POINTS, U, lam, prior)
    assert agree(model.decision_function(U), expected, 1e-4 if kernel == "rff" else 1e-7)
    assert hasattr(model, "centers_") == (kernel == "gaussian") and model.prior_ == prior


def with_bias(rows):
    return np.column_stack([rows, np.ones(len(rows))])


def test_the_authors_linear_solutions_are_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])
    z = oracle("sudh_linear_gauss_p07_lam1")
    model = SUDH(float(z["lam"]), kernel="linear", prior=float(z["prior"])).fit(z["xs"], z["xu"])
    assert model.objective_ == pytest.approx(float(z["objective_corrected"]), abs=1e-6)
    assert model.objective_ < float(z["objective_original"])
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft_correctedQP"], atol=1e-4)
    assert model.diagnostics(X_similar=z["xs"], X_unlabeled=z["xu"]) == {
        "objective": model.objective_
    }


@pytest.mark.parametrize("prior", [0.85, 0.2])
def test_su_dh_minimises_the_risk_in_the_space_of_the_kernel(prior):
    model = SUDH(0.1, 2.0, prior=prior, n_centers=10).fit(PAIRS, U[:40])
    gram = kernel_named("gaussian").gram
    K = gram(model.centers_, model.centers_, 2.0)

    def objective(coef):
        f = gram(np.vstack([U[:40], POINTS]), model.centers_, 2.0) @ coef
        loss = risk(f[40:].reshape(-1, 2), f[:40], prior, double_hinge)
        return loss + 0.05 * coef @ K @ coef

    lowest = objective(model.coef_)
    assert lowest == pytest.approx(model.objective_, abs=1e-9)
    for direction in np.random.default_rng(1).normal(size=(10, len(K))):
        assert min(objective(model.coef_ + step * direction) for step in (-1e-3, 1e-3)) > lowest


def test_su_dh_has_a_limit_of_time_and_centres_on_request():
    whole, each = (SUDH(sigma=2.0, prior=0.85, n_centers=n).fit(PAIRS, U) for n in (None, 60))
    np.testing.assert_array_equal(np.sort(whole.centers_, axis=0), np.sort(U, axis=0))
    np.testing.assert_array_equal(whole.coef_, each.coef_)
    with pytest.raises(TimeLimitError):
        SUDH(prior=0.85, max_seconds=1e-9).fit(PAIRS, U)


def test_cuu_that_is_observed_is_the_one_of_so_many_iterations():
    model, seen = CUU(prior=0.85, batch_size=32, n_iterations=9), []
    rows = {"X_similar": PAIRS, "X_unlabeled": U}
    model.fit_observed(**rows, at=[2, 9], observe=lambda *of: seen.append(of))
    assert [t for t, _, _ in seen] == [2, 9] and 0 < seen[0][1] < seen[1][1]
    for t, _, function in seen:
        expected = CUU(prior=0.85, batch_size=32, n_iterations=t).fit(PAIRS, U)
        np.testing.assert_array_equal(function.decision_function(U), expected.decision_function(U))
        np.testing.assert_array_equal(function.coef_, expected.coef_)
    assert model.n_iter_ == 9 and 0 <= model.corrected_ <= 1
    with pytest.raises(ValueError, match="only 9 iterations"):
        model.fit_observed(**rows, at=[10], observe=print)
    found, f = model.diagnostics(**rows), model.decision_function
    assert found["squared_norm"] == pytest.approx(model.coef_ @ model.coef_)
    assert found["objective"] == pytest.approx(found["risk"] + 0.0005 * found["squared_norm"])
    assert len(f(U)) == 60 and len(model.centers_) == 360
    np.testing.assert_array_equal(model.centers_, np.vstack([U, POINTS]))


def test_cuu_counts_the_corrected_batches_and_refuses_steps_that_fail():
    small = {"prior": 0.85, "kernel": "linear", "n_iterations": 200}
    assert CUU(**small, batch_size=4, delta="none").fit(PAIRS, U).corrected_ > 0.1
    assert CUU(**small, batch_size=None, lam=10.0).fit(PAIRS, U).corrected_ == 0
    with pytest.raises(FitError, match=r"theta is too large: a step of 0\.5 at lam=2 leaves"):
        CUU(prior=0.85, lam=2.0, theta=5.0, step="paper", n_iterations=100).fit(PAIRS, U)
    with pytest.raises(DivergedError, match="take a smaller theta"):
        CUU(prior=0.85, lam=1e-9, theta=1e4, n_iterations=2000, sigma=0.1).fit(PAIRS, U)
    far = CUU(lam=1e-3, prior=0.85, kernel="dot_product(20)", sigma=1.0, n_iterations=5)
    assert np.isfinite(far.fit(PAIRS * 1e2, U * 1e2).decision_function(U)).all()
    hidden = np.where(np.arange(60)[:, None] == 7, np.nan, U)
    with pytest.raises(DataError, match="holds NaN in row"):
        CUU(prior=0.85).fit(PAIRS, hidden)


def test_costs_follow_what_is_computed():
    n = Sizes(3, labeled=2000, unlabeled=4000, sources=1)
    assert SUSL().cost(n).memory > 8 * 4000**2 > 100 * SUSL(kernel="linear").cost(n).memory
    assert RFFSUSL(n_features=50).cost(n).flops < RFFSUSL().cost(n).flops / 50
    assert SUDH(n_centers=None).cost(n) == SUDH(n_centers=4000).cost(n)
    assert (
        SUDH().cost(n, 3).flops
        == 3 * SUDH().cost(n).flops
        > 100 * SUDH(kernel="linear").cost(n).flops
    )
    few, all_rows = CUU(n_centers=60).cost(n), CUU().cost(n)
    assert all_rows.flops / few.flops > 50 and all_rows.memory > 4 * 6000**2
    assert SupervisedSL(kernel="linear").cost(n).flops_per_row == 4 * 4


KINDS = {
    "frame": lambda rows: pd.DataFrame(rows, columns=["a", "b", "c"]),
    "list": lambda rows: rows.tolist(),
    "csr": sparse.csr_matrix,
    "lazy": Rows,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["su_sl", "su_sl linear", "rff_su_sl", "su_dh", "cuu", "cuu all"])
def test_rows_of_any_kind(name, kind):
    model, given = clone(CASES[name][0]).set_params(prior=0.85), KINDS[kind]
    expected = model.fit(PAIRS, U).decision_function(U)
    got = clone(model).fit(PAIRS.tolist(), given(U)).decision_function(given(U))
    assert agree(got, expected, 1e-5)
    if kind in ("frame", "csr"):
        halves = [given(PAIRS[:, half]) for half in (0, 1)]
        assert agree(clone(model).fit(halves, given(U)).decision_function(given(U)), expected, 1e-5)


def test_pairs_and_folds_that_are_none_are_refused():
    model = SUSL(prior=0.8)
    for wrong in (PAIRS.reshape(150, 6), PAIRS[:0], PAIRS.transpose(1, 0, 2), 3, None):
        with pytest.raises(DataError, match=r"X_similar must hold pairs of rows, shape \(n_sim"):
            model.fit(wrong, U)
    with pytest.raises(DataError, match="X_similar has 2 features, but X_unlabeled has 3"):
        model.fit(PAIRS[..., :2], U)
    with pytest.raises(DataError, match="holds NaN in row"):
        model.fit(np.where(PAIRS[3, 1, 2] == PAIRS, np.nan, PAIRS), U)
    for folds in ([np.arange(3)], [(np.arange(3), [10**6])], [1], [([0.5], [1])]):
        with pytest.raises(DataError, match="a fold must be"):
            model.fit_points([{}], folds=folds, X_similar=PAIRS, X_unlabeled=U)


@pytest.mark.parametrize("prior", [0.5, 0.5 + 9e-7, 0.5 - 9e-7])
def test_a_prior_of_one_half_is_refused_with_the_reason(prior):
    with pytest.raises(DataError, match=r"differ from 1/2 by more than 1e-06.*2 prior - 1 = 0"):
        SUSL(prior=prior).fit(PAIRS, U)
    with pytest.raises(DataError, match="differ from 1/2"):
        SUSL().fit_points([{"prior": prior}], folds=FOLDS, X_similar=PAIRS, X_unlabeled=U)


@pytest.mark.filterwarnings("default:prior")
def test_a_prior_near_one_half_warns_of_noise():
    """The noise is the spread of the risk of the best classifier over labels drawn anew."""
    rng, prior, n_similar, n_unlabeled = np.random.default_rng(0), 0.6, 500, 800
    q, scale = prior**2 / 0.52, 2 * prior - 1
    signs = 2 * (rng.binomial(n_similar, q, 20000) / n_similar) - 1  # mean sign of pairs
    shares = rng.binomial(n_unlabeled, prior, 20000) / n_unlabeled
    # zero-one risk of a perfect classifier: of pairs -0.52/scale each sign, of rows by class
    risks = -0.52 / scale * signs + (prior * shares - (1 - prior) * (1 - shares)) / scale
    assert label_noise(prior, n_similar, n_unlabeled) == pytest.approx(risks.std(), rel=0.02)
    with pytest.warns(DsgWarning, match="prior 0.55 is so close to 1/2"):
        SUSL(prior=0.55).fit(PAIRS, U)
    points = [{"prior": 0.55, "lam": lam} for lam in (1, 2)]
    with pytest.warns(DsgWarning) as caught:
        SUSL().fit_points(points, folds=FOLDS, X_similar=PAIRS, X_unlabeled=U)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SUSL(prior=0.15).fit(PAIRS, U)


def test_an_estimated_prior_is_kept(monkeypatch):
    def estimated(pairs, _):
        return (0.8 if len(pairs) == 150 else 0.5), (0.7, 0.9)

    monkeypatch.setattr(priors, "checked_similar_prior", estimated)
    model = SUSL().fit(PAIRS, U)
    assert model.prior == "estimate" and model.prior_ == 0.8
    assert model.prior_interval_ == (0.7, 0.9)
    same = SUSL(prior=0.8).fit(PAIRS, U)
    assert same.prior_interval_ is None
    np.testing.assert_array_equal(model.decision_function(U), same.decision_function(U))
    with pytest.raises(FitError, match="the estimated prior is 1/2"):
        SUSL().fit(PAIRS[:9], U)


RIDGES = {
    "gaussian": ({"kernel": "rbf", "gamma": 2.0}, lambda X: X),
    "laplacian": ({"kernel": "laplacian", "gamma": 2.0}, lambda X: X),
    "linear": ({"kernel": "linear"}, with_bias),
}
NAMES = np.where(Y == 1, "yes", "no")


@pytest.mark.parametrize("kernel", RIDGES)
@pytest.mark.parametrize("lam", [1e-3, 0.5])
def test_the_supervised_row_is_kernel_ridge_regression_on_signs(kernel, lam):
    params, features = RIDGES[kernel]

    def ridge(rows):
        known = KernelRidge(alpha=2 * len(rows) * lam, **params)
        return known.fit(features(U[rows]), np.where(NAMES[rows] == "yes", 1, -1))

    expected = ridge(np.arange(60)).predict(features(POINTS))
    model = SupervisedSL(lam, 2.0, kernel=kernel).fit(U, NAMES)
    np.testing.assert_allclose(model.decision_function(POINTS), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(POINTS), np.where(expected >= 0, "yes", "no"))
    folds = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    (got, _) = model.fit_points([{}, {"lam": 9.0}], folds=folds, X=U, y=NAMES)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        own = ridge(rest).predict(features(U[fold]))
        np.testing.assert_allclose(got[fold], own, atol=1e-9)
    if kernel != "linear":
        np.testing.assert_array_equal(model.centers_, U)
    found, t = model.diagnostics(X=U, y=NAMES), np.where(NAMES == "yes", 1, -1)
    assert found["risk"] == pytest.approx(np.mean((t * model.decision_function(U) - 1) ** 2) / 4)
    with pytest.raises(DataError, match="rows of both classes"):
        model.fit_points([{}], folds=[np.flatnonzero(NAMES == "yes")], X=U, y=NAMES)


@pytest.mark.parametrize("turned", [False, True])
def test_the_majority_is_the_most_frequent_label(turned):
    y = np.where(Y == 1, "no", "yes") if turned else NAMES
    expected = DummyClassifier(strategy="most_frequent").fit(U, y).predict(U)
    model = MajorityClass().fit(U, y)
    np.testing.assert_array_equal(model.predict(U), expected)
    assert model.value_ == (-1.0 if turned else 1.0) and model.score(U, y) == np.mean(y == expected)
    assert MajorityClass().fit([[0], [1]], [3, 7]).predict([[5]]) == 7
    assert model.diagnostics(X=U, y=y) == {}
