"""The S3VMs with exact kernels, and the SVMs beside them in tables.

BLS3VM and S3VMlight against the authors' programs; BGS3VM against its steps written row by row.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from dsgkit import BGS3VM, BLS3VM, AllLabelsSVM, S3VMLight, SelfTraining, SupervisedSVM
from dsgkit.data.dataset import Rows
from dsgkit.engine.problem import Sizes
from dsgkit.errors import FitError
from dsgkit.exact import budgeted, cccp
from dsgkit.random import draw_in_passes
from tests.estimators.brute_force import kernel, problem
from tests.estimators.given import given

ORACLES = Path(__file__).parents[1] / "oracles"
far_apart = pytest.mark.filterwarnings("ignore:sigma=.* makes nearly all kernel values 0")
N = Sizes(5, 200, 1000)


@pytest.mark.parametrize(
    ("name", "balance"), [("gauss_S0", True), ("moons_nobalance_bias0", False)]
)
def test_the_ramp_machine_is_universvms(name, balance):
    """Whose C and Cstar weigh sums of losses, not means."""
    z = np.load(ORACLES / f"universvm_{name}.npz")
    weights = {"C": float(z["C"]) * len(z["xl"]), "C_star": float(z["Cstar"]) * len(z["xu"])}
    shape = {"sigma": float(z["gamma"]), "ramp_s": float(z["s"]), "balance": balance}
    model = BLS3VM(**weights, **shape, tol=1e-6).fit(z["xl"], z["yl"], z["xu"])
    assert model.converged_
    near = {"rtol": 0, "atol": 7e-6}
    if not balance:
        assert model.intercept_ == 0
        np.testing.assert_allclose(model.objectives_, z["own_objectives"], rtol=1e-6)
        for expected in ("ft_without_b0", "ft_own"):
            np.testing.assert_allclose(model.decision_function(z["xt"]), z[expected], **near)
        return
    rows = np.vstack([z["xl"], z["xu"]])
    assert model.n_iter_ == z["loops"]
    assert model.objectives_[-1] == pytest.approx(float(z["objective"]), rel=1e-6)
    np.testing.assert_allclose(model.objectives_, z["own_cccp_objectives"], rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(rows), z["f_lu"], **near)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], **near)
    assert model.intercept_ == pytest.approx(float(z["b0"]), abs=7e-6)
    coef = np.zeros(len(rows))
    for center, value in zip(model.centers_, model.coef_, strict=True):
        coef[(rows == center).all(axis=1)] = value
    np.testing.assert_allclose(coef, z["alpha_on_lu"], atol=1e-4)


def objective(model, X, y, U):
    return model.diagnostics(X, y, U)["objective"]


@settings(max_examples=60)
@drawn(
    seed=st.integers(0, 1000),
    log_C=st.floats(-1, 3),
    ratio=st.sampled_from([0.0, 0.01, 0.3, 3.0]),
    sigma=st.floats(0.1, 20),
    ramp_s=st.floats(-1, 0, exclude_min=True),
    balance=st.booleans(),
)
def test_the_objective_is_as_documented_and_falls(seed, log_C, ratio, sigma, ramp_s, balance):
    X, y, U = problem(n_unlabeled=50, seed=seed)
    params = {"C": 10**log_C, "sigma": sigma, "ramp_s": ramp_s, "balance": balance}
    model = BLS3VM(C_star=ratio * 10**log_C, **params).fit(X, y, U)
    assert model.objectives_[-1] == pytest.approx(objective(model, X, y, U), rel=1e-4)
    assert (np.diff(model.objectives_) < 0).all()
    assert model.n_iter_ == len(model.objectives_) - 1
    if balance:
        assert model.decision_function(U).mean() == pytest.approx(y.mean(), abs=1e-4)
    else:
        assert model.intercept_ == 0


@pytest.mark.parametrize("ramp_s", [0.0, -0.4])
def test_the_end_is_a_stationary_point_of_the_objective(ramp_s):
    """Without the constraint: small moves along any kernel function do not lower it."""
    X, y, U = problem(n_unlabeled=60, seed=3)
    model = BLS3VM(C=50.0, sigma=4.0, ramp_s=ramp_s, balance=False, tol=1e-7).fit(X, y, U)
    assert model.n_iter_ > 0
    best = objective(model, X, y, U)
    rng = np.random.default_rng(0)
    coef = model.coef_.copy()
    for size in (1e-3, 1e-4):
        for _ in range(50):
            model.coef_[:] = coef + size * rng.normal(size=len(coef)) / len(coef) ** 0.5
            assert objective(model, X, y, U) > best - 1e-6 * size


def test_a_limit_of_loops_is_kept_and_told():
    X, y, U = problem(n_unlabeled=400)
    whole = BLS3VM(C=100.0, C_star=300.0, sigma=20.0).fit(X, y, U)
    assert whole.n_iter_ > 2 and whole.converged_
    two = clone(whole).set_params(max_iter=2).fit(X, y, U)
    assert two.n_iter_ == 2 and not two.converged_
    np.testing.assert_array_equal(two.objectives_, whole.objectives_[:3])
    just = clone(whole).set_params(max_iter=whole.n_iter_).fit(X, y, U)
    assert just.n_iter_ == whole.n_iter_ and just.converged_


@pytest.mark.parametrize("balance", [True, False])
def test_with_less_memory_the_model_is_the_same(balance):
    X, y, U = problem(40, 1400, 5)
    whole = BLS3VM(C=100.0, sigma=3.0, balance=balance)
    little = clone(whole).set_params(max_memory=0.0025)
    n = Sizes(5, 40, 1400)
    assert little.cost(n).memory < whole.cost(n).memory / 3
    np.testing.assert_array_equal(
        little.fit(X, y, U).decision_function(U), whole.fit(X, y, U).decision_function(U)
    )


def test_a_limit_of_steps_is_kept_and_leaves_the_model_before(monkeypatch):
    X, y, U = problem()
    model = BLS3VM().fit(X, y, U)
    expected = model.decision_function(U)
    monkeypatch.setattr(cccp, "MAX_STEPS_PER_ROW", 1)
    n_variables = len(X) + len(U) + 1
    with pytest.raises(FitError, match=f"no solution after {n_variables} steps; take a larger tol"):
        model.set_params(C=1e4).fit(X, y, U)
    np.testing.assert_array_equal(model.decision_function(U), expected)


def gram(model, A, B):
    return A @ B.T + 1.0 if model.kernel == "linear" else kernel(A, B, model.sigma_)


def descend(model, X, y, U):
    """The method as it is written: every step decays all coefficients and evaluates the sum.

    Returns the coefficients of all labelled and of all unlabelled rows.
    """
    n_l, n_u = len(X), len(U)
    C_star = model.C * n_l / n_u if model.C_star is None else model.C_star
    budgets = (model.labeled_budget, np.ceil(model.unlabeled_budget * n_u))
    rows = [X, U]
    coef, born = [np.zeros(n_l), np.zeros(n_u)], [{}, {}]
    T = max(n_l, n_u)
    order = [draw_in_passes(model.random_state, k, 0, T, 1, len(rows[k]))[:, 0] for k in (0, 1)]

    def f(x):
        return sum(coef[k] @ gram(model, rows[k], x[None])[:, 0] for k in (0, 1))

    for t in range(1, T + 1):
        i, j = order[0][t - 1], order[1][t - 1]
        f_l, f_u = f(X[i]), f(U[j])
        gradients = (
            -model.C * y[i] if y[i] * f_l < 1 else 0.0,
            0.0 if abs(f_u) >= 1 else -C_star * (np.sign(f_u) or model.sign_at_zero),
        )
        eta = 1 / (t + model.C / model.first_move) if model.step == "decreasing" else model.step
        for k, row in ((0, i), (1, j)):
            coef[k] *= 1 - eta
            coef[k][row] -= gradients[k] * eta
            coef[k][abs(coef[k]) < 1e-12] = 0
            born[k] = {r: born[k].get(r, t) for r in np.flatnonzero(coef[k])}
            if len(born[k]) > budgets[k]:
                sizes = np.round(abs(coef[k]), 10)
                coef[k][min(born[k], key=lambda r: (sizes[r], born[k][r]))] = 0
                born[k] = {r: s for r, s in born[k].items() if coef[k][r] != 0}
    return coef


STEPS = [
    (16, 60, {"C": 1.0, "labeled_budget": 5, "unlabeled_budget": 0.2}),
    (16, 60, {"C": 100.0, "sigma": 4.0, "labeled_budget": 3, "unlabeled_budget": 0.3}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "unlabeled_budget": 0.1, "random_state": 7}),
    (40, 16, {"C": 5.0, "C_star": 4.0, "labeled_budget": 9, "unlabeled_budget": 0.5}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "labeled_budget": 1, "unlabeled_budget": 0.0}),
    (16, 60, {"C": 10.0, "C_star": 0.0}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "sign_at_zero": 1, "first_move": 0.5}),
    (16, 60, {"C": 10.0, "C_star": 5.0, "sigma": 1e4, "unlabeled_budget": 1.0}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "unlabeled_budget": 0.1, "step": 0.1}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "labeled_budget": 4, "step": 1.0}),
    (16, 60, {"C": 9.0, "kernel": "linear", "C_star": 2.0, "unlabeled_budget": 0.5}),
    (40, 8, {"C": 50.0, "C_star": 4.0, "unlabeled_budget": 0.3}),  # a coefficient becomes 0
]


@far_apart
@pytest.mark.parametrize(("n_labeled", "n_unlabeled", "params"), STEPS)
@pytest.mark.parametrize("panel", [1, 7, 128])
def test_it_is_the_descent_row_by_row(n_labeled, n_unlabeled, params, panel, monkeypatch):
    monkeypatch.setattr(budgeted, "MAX_PANEL_STEPS", panel)
    X, y, U = problem(n_labeled, n_unlabeled)
    model = BGS3VM(**params).fit(X, y, U)
    expected = np.concatenate(descend(model, X, y, U))
    rows = np.random.default_rng(1).random((20, 3))
    f = gram(model, rows, np.vstack([X, U])) @ expected
    np.testing.assert_allclose(model.decision_function(rows), f, atol=1e-10 * model.C)
    coef = np.sort(expected[expected != 0])
    np.testing.assert_allclose(np.sort(model.coef_), coef, atol=1e-10 * model.C)


@far_apart
def test_a_row_of_which_nothing_is_known_has_no_sign():
    """At this width no row is near another: all unlabelled values are 0."""
    X, y, U = problem(16, 60)
    assert BGS3VM(10.0, 1e9, C_star_ratio=1).fit(X, y, U).n_support_[1] == 0
    papers = BGS3VM(10.0, 1e9, C_star_ratio=1, sign_at_zero=1).fit(X, y, U)
    assert papers.n_support_[1] > 0 and (papers.coef_[papers.n_support_[0] :] > 0).all()


@far_apart
def test_coefficients_that_a_constant_step_forgets_leave_their_budget():
    X, y, U = problem(16, 5000)
    U = U + 1e6  # far from all that is known: nothing is added but labelled rows
    model = BGS3VM(10.0, 1e4, labeled_budget=16, step=1.0).fit(X, y, U)
    assert model.n_support_[0] == 1  # the last one


def clusters(n_labeled=16, n_unlabeled=40, positive_share=0.5, distance=1.0, seed=0):
    """Two Gaussian clouds in the plane: X, y, X_unlabeled, y_unlabeled."""
    rng = np.random.default_rng(seed)

    def draw(n):
        y = np.where(np.arange(n) < round(n * positive_share), 1, -1)
        return rng.normal(size=(n, 2)) + np.outer(y, [distance, 0]), y

    return *draw(n_labeled), *draw(n_unlabeled)


def row_costs(y, labels, C, C_star, p=None):
    """The costs of all rows, spelled out."""
    p = np.mean(y > 0) if p is None else p
    unlabeled = [(1 - p) / p if label > 0 else 1.0 for label in labels]
    return np.append(np.full(len(y), C / len(y)), np.array(unlabeled) * C_star / len(labels))


def libsvm(X, y, U, labels, C, C_star, sigma, p=None):
    """Train on given labels of the unlabelled rows; return the objective and the machine."""
    rows, targets = np.vstack([X, U]), np.append(y, labels)
    costs = row_costs(y, labels, C, C_star, p)
    svc = SVC(kernel="rbf", gamma=sigma, tol=1e-7).fit(rows, targets, sample_weight=costs)
    coef = svc.dual_coef_[0]
    norm = coef @ kernel(rows[svc.support_], rows[svc.support_], sigma) @ coef
    slack = np.maximum(0, 1 - targets * svc.decision_function(rows))
    return norm / 2 + costs @ slack, svc


@pytest.mark.parametrize("name", ["gauss", "moons"])
def test_the_authors_program_is_reproduced(name):
    with np.load(ORACLES / f"svmlight_tsvm_{name}_C1.npz") as stored:
        z = dict(stored)
    C, C_star = float(z["C"]) * len(z["xl"]), float(z["C"]) * len(z["xu"])
    model = S3VMLight(C, float(z["gamma"]), C_star=C_star).fit(z["xl"], z["yl"], z["xu"])
    np.testing.assert_array_equal(model.transduction_, z["yhat_unlab"])
    assert 2 * model.n_switches_ == z["switches"]
    assert model.objective_ == pytest.approx(float(z["objective"]), rel=1.5e-4)
    values = model.decision_function(np.vstack([z["xl"], z["xu"]]))
    np.testing.assert_allclose(values, z["f_lu"], rtol=0, atol=4e-3)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=0, atol=4e-3)


@pytest.mark.parametrize(
    ("labeled_share", "C_star", "share"),
    [
        (0.5, None, None),
        (0.25, 30.0, None),
        (0.5, 30.0, 0.2),
        (0.5, None, 0.7),
        (0.5, 9, 1e-3),
        (0.5, 9, 0.999),
    ],
)
def test_the_machine_is_libsvms_on_the_labels_that_are_found(labeled_share, C_star, share):
    X, y, U, _ = clusters(positive_share=labeled_share)
    model = S3VMLight(20.0, 0.5, C_star=C_star, positive_share=share).fit(X, y, U)
    assert np.count_nonzero(model.transduction_ > 0) == round((share or labeled_share) * 40)
    if share in (1e-3, 0.999):  # every row is of one class
        assert np.isfinite(model.decision_function(U)).all()
        return
    weight = 20.0 * 16 / 40 if C_star is None else C_star
    objective, svc = libsvm(X, y, U, model.transduction_, 20.0, weight, 0.5, share)
    assert model.objective_ == pytest.approx(objective, rel=1e-4)
    rows = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_allclose(
        model.decision_function(rows), svc.decision_function(rows), atol=2e-4
    )


@pytest.mark.parametrize("positive_share", [0.5, 0.25])
def test_of_separate_clouds_it_finds_the_best_of_all_labellings(positive_share):
    X, y, U, truth = clusters(8, 8, positive_share, distance=1.5, seed=3)
    model = S3VMLight(8.0, 0.5, C_star=8.0).fit(X, y, U)
    n_positive = np.count_nonzero(truth > 0)
    objectives = {}
    for positive in itertools.combinations(range(8), n_positive):
        labels = np.where(np.isin(np.arange(8), positive), 1, -1)
        objectives[tuple(labels)] = libsvm(X, y, U, labels, 8.0, 8.0, 0.5)[0]
    best = min(objectives, key=objectives.get)
    assert len(set(np.round(list(objectives.values()), 3))) > 1
    np.testing.assert_array_equal(model.transduction_, best)
    assert model.objective_ == pytest.approx(objectives[best], rel=1e-4)


def test_pairs_switched_together_save_trainings():
    X, y, U, _ = clusters(20, 150, 0.5, distance=0.3, seed=8)
    one, all_ = (
        S3VMLight(20.0, 2.0, C_star=150.0, pairs_per_switch=pairs).fit(X, y, U)
        for pairs in (1, None)
    )
    assert one.n_switches_ > 5
    assert all_.n_iter_ < one.n_iter_
    # from all switched at once: another local minimum, but about as deep
    assert all_.objective_ == pytest.approx(one.objective_, rel=0.05)


@pytest.mark.filterwarnings("ignore:sigma=1e.03 makes nearly all kernel values 0")
@pytest.mark.parametrize("C", [1e-3, 1e3])
@pytest.mark.parametrize("sigma", [1e-3, 1e3])
@pytest.mark.parametrize("pairs", [1, None])
def test_it_ends_at_the_corners_of_the_papers_grid(C, sigma, pairs):
    X, y, U, _ = clusters(20, 100, 0.4)
    model = S3VMLight(C, sigma, pairs_per_switch=pairs).fit(X, y, U)
    assert model.n_iter_ < 1000
    assert np.count_nonzero(model.transduction_ > 0) == 40
    # no value is farther from the intercept than the sum of all costs
    costs = row_costs(y, model.transduction_, C, C / 5).sum()
    assert abs(model.decision_function(U) - model.intercept_).max() <= costs


RNG = np.random.default_rng(7)
X = RNG.random((60, 3)).astype(np.float32)
U = RNG.random((500, 3)).astype(np.float32)


def labels(rows):
    return np.where(rows[:, 0] + rows[:, 1] ** 2 > 0.8, 1, -1)


MACHINES = [
    (SupervisedSVM, {"kernel": k, "class_weight": w}, 2e-2 if k == "linear" else 1e-5)
    for k in ("gaussian", "linear")
    for w in (None, "balanced")
]
MACHINES += [(AllLabelsSVM, {"kernel": kernel}, 1e-4) for kernel in ("gaussian", "linear")]


@pytest.mark.parametrize(("solver", "params", "atol"), MACHINES)
def test_machines_of_labels_are_those_of_libsvm(solver, params, atol):
    """With our kernels; C weighs the mean loss of all rows with labels."""
    arrays = given(solver, X, labels(X), Rows(U)) | {"y_unlabeled": labels(U)}
    arrays = arrays if solver is AllLabelsSVM else {"X": X, "y": labels(X)}
    rows = np.vstack([X, U]) if solver is AllLabelsSVM else X
    model = solver(20.0, 2.0, tol=1e-6, **params).fit(**arrays)
    kernel = {"kernel": "linear"} if params["kernel"] == "linear" else {"gamma": 2.0}
    weight = params.get("class_weight")
    svm = SVC(C=20 / len(rows), tol=1e-6, class_weight=weight, **kernel).fit(rows, labels(rows))
    np.testing.assert_allclose(model.decision_function(U), svm.decision_function(U), atol=atol)
    assert model.classes_.tolist() == [-1, 1]
    assert solver is SupervisedSVM or model.n_rows_ == 560


def test_of_many_rows_some_are_drawn_of_either_kind():
    seeds = [
        AllLabelsSVM(most_rows=200, random_state=seed).fit(X, labels(X), U, labels(U))
        for seed in (1, 1, 2)
    ]
    centers = [{tuple(row) for row in model.centers_} for model in seeds]
    assert centers[0] == centers[1] != centers[2]
    assert seeds[0].n_rows_ == 200 and len(centers[0]) <= 200
    assert centers[0] & {tuple(row) for row in X.astype(float)}
    assert centers[0] & {tuple(row) for row in U.astype(float)}


def test_values_of_self_training_are_the_log_odds_of_scikit_learns():
    few = U[:100]
    model = SelfTraining(C=300.0, sigma=2.0, threshold=0.9, max_iter=3).fit(X, labels(X), few)
    svm = CalibratedClassifierCV(SVC(C=5.0, gamma=2.0), cv=5, ensemble=False)
    other = SelfTrainingClassifier(svm, threshold=0.9, max_iter=3)
    other.fit(np.vstack([X, few]), np.append((labels(X) + 1) // 2, np.full(len(few), -1)))
    odds = 1 / (1 + np.exp(-model.decision_function(U)))
    np.testing.assert_allclose(odds, other.predict_proba(U)[:, 1], atol=1e-6)
    assert 0 < model.n_taken_ == (other.transduction_[60:] >= 0).sum()
    assert model.n_iter_ == other.n_iter_


def test_probabilities_need_rows_of_either_class():
    with pytest.raises(FitError, match="two labelled rows of each class"):
        SelfTraining().fit(X[:5], [1, -1, -1, -1, -1], U[:20])
    assert SelfTraining(C=1e4).fit(X[:5], [1, 1, -1, -1, -1], U[:20]).n_iter_ >= 1


def test_costs_grow_with_the_rows_that_train():
    few, many = N, N._replace(unlabeled=10**6)
    assert SupervisedSVM().cost(few) == SupervisedSVM().cost(many)
    capped = AllLabelsSVM().cost(N._replace(unlabeled=19_800))
    assert AllLabelsSVM().cost(few).flops < capped.flops
    assert AllLabelsSVM().cost(many) == capped
    for model in (BLS3VM(), BGS3VM(), S3VMLight(), SelfTraining()):
        assert model.cost(few).flops < model.cost(many).flops
        assert model.cost(few, 3).flops > model.cost(few).flops
    # 200,100 support vectors of 50 inputs, and 64 MiB of kernel values
    assert BGS3VM().cost(Sizes(50, 200, 10**6)).memory < 5 * 8 * 200_100 * 50 + 2**27


def test_labels_without_costs_that_grow_are_trained_once():
    svm = SVC(C=20 / 60, kernel="linear", tol=1e-6).fit(X, labels(X))
    model = S3VMLight(20.0, kernel="linear", C_star=0.0).fit(X, labels(X), U[:60])
    np.testing.assert_allclose(model.decision_function(U), svm.decision_function(U), atol=2e-2)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("C", [5.0, 500.0])
def test_without_unlabelled_loss_and_balance_the_bias_is_penalised(C):
    """``<x, x'> + 1`` without an offset is LIBLINEAR's machine with a bias column of ones."""
    X, y, U = problem(30, 60)
    model = BLS3VM(C, kernel="linear", C_star=0.0, balance=False, tol=1e-7).fit(X, y, U)
    linear = LinearSVC(C=C / len(X), loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(U), linear.decision_function(U), rtol=1e-3, atol=1e-3
    )
