"""The S3VMs, and the SVMs beside them in tables.

BLS3VM and S3VMLight against the authors' programs, others against loops written out.
"""

from itertools import product
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

import dsgkit as kit
from dsgkit import BGS3VM, BLS3VM, FRS3VM, TSGS3VM, AllLabelsSVM, S3VMLight, SelfTraining
from dsgkit.engine import curvature
from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.exact import budgeted, cccp
from dsgkit.random import draw_in_passes
from tests.engine import reference
from tests.estimators.brute_force import kernel, problem
from tests.estimators.small import arrays, made

SETTING = {"C": 20.0, "C_star": 3.0, "sigma": 2.0, "step": 0.1, "loss": "shg", "ramp_s": 0.0}
SIZE = {"T": 40, "b": 16, "m": 8, "seed": 3}
LOSSES = [("shg", 0.0), ("sshg", 0.0), ("ramp", 0.0), ("ramp", -0.5), ("da", 0.0)]
DECREASING = {"step": "decreasing", "first_move": 5.0}
CHANGES = [
    *({"loss": loss, "ramp_s": s, "step": step} for loss, s in LOSSES for step in (1.0, 0.01)),
    *(DECREASING | {"anneal": a, "balance": b} for a in (False, True) for b in (False, True)),
]


def small(solver=TSGS3VM, **params):
    sizes = {"batch_size": SIZE["b"], "n_features": SIZE["m"], "n_iterations": SIZE["T"]}
    return solver(**{**SETTING, **sizes, "random_state": SIZE["seed"], **params})


@pytest.mark.parametrize("n_unlabeled", [30, 3000])  # kept, and streamed
@pytest.mark.parametrize("solver", [TSGS3VM, FRS3VM])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_it_equals_the_authors_loop(change, solver, n_unlabeled, monkeypatch):
    """FRS3VM has the features of the first block in all steps."""
    if solver is FRS3VM:
        every = reference.features
        monkeypatch.setattr(reference, "features", lambda X, seed, t, *of: every(X, seed, 0, *of))
    X, y, U = problem(n_unlabeled=n_unlabeled)
    values = small(solver, **change).fit(X, y, U).decision_function(U)
    change = SETTING | change
    if change.pop("first_move", None):
        change["step"] = reference.decreasing(1.0, 1.0, SETTING["C"] / 5.0)
    alphas = reference.tsgs3vm(X, y, U, **change, **SIZE)
    expected = reference.predict(U, alphas, SIZE["seed"], SIZE["m"], SETTING["sigma"])
    if change.get("balance"):
        expected += y.mean() - expected.mean()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4 * abs(expected).max())


def test_of_many_rows_some_stand_for_the_mean(monkeypatch):
    monkeypatch.setattr(curvature, "MAX_MEAN_ROWS", 600)
    X, y, U = problem(n_unlabeled=3000)
    values = small(step="decreasing", balance=True).fit(X, y, U).decision_function(U)
    assert values.mean() == pytest.approx(y.mean(), abs=4 * values.std() / np.sqrt(600))
    assert values.mean() != pytest.approx(y.mean(), abs=1e-6)


@pytest.mark.parametrize(("solver", "k"), [(TSGS3VM, 1), (FRS3VM, 4)])
def test_iterations_are_some_passes_or_500_or_as_told(solver, k):
    X, y, U = problem(n_unlabeled=40)  # 3 batches of 16
    few = {"batch_size": 16, "n_features": 2} | ({"n_passes": k} if solver is FRS3VM else {})
    assert solver(n_iterations=None, **few).fit(X, y, U).n_iter_ == 500
    assert solver(n_iterations=None, **few)._iterations(16 * 501) == 501 * k
    literal = solver(n_iterations="one_pass", **few)
    with pytest.warns(DsgWarning, match=f"only {3 * k} iterations with 40 unlabelled rows: "):
        assert literal.fit(X, y, U).n_iter_ == 3 * k
    literal.fit(X, y, np.tile(U, (80, 1)))  # 200 iterations are no few


def test_a_settled_model_is_trained_on_a_part_as_on_the_whole():
    whole = TSGS3VM(batch_size=16, n_iterations="one_pass", C=7.0)
    settled = whole.settled(n_labeled=20, n_unlabeled=16 * 300)
    assert settled.get_params() == whole.get_params() | {"n_iterations": 300, "n_features": 70}
    fitted = settled.fit(*problem())
    assert fitted.n_iter_ == 300 and fitted.function_.blocks.n_frequencies == 70
    for n_unlabeled, m in ((33, 7), (34, 8), (300, 18)):  # the paper's m is the root of all rows
        for solver in (TSGS3VM, FRS3VM):
            model = solver(n_features=None, n_iterations=2).fit(*problem(16, n_unlabeled))
            assert model.function_.blocks.n_frequencies == m


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("batch_size", [12, 200])
def test_sweeps_equal_the_written_out_loop(batch_size, anneal):
    C, ratio, T, S = 20.0, 0.5, 3, 3
    shape = {"sigma": 2.0, "n_features": 8, "n_blocks": T, "n_sweeps": S, "batch_size": batch_size}
    X, y, U = problem(n_unlabeled=60)
    model = kit.TSGS3VMP(C, C_star_ratio=ratio, anneal=anneal, random_state=3, **shape).fit(X, y, U)

    def bound(step, f):
        n_u = len(f) - len(y)
        share = min(1.0, (2 * (step + 1) / (T * S)) ** 3) if anneal else 1.0
        scale = np.repeat([1 / len(y), share * ratio / n_u], [len(y), n_u])
        sign = np.append(y, np.sign(f[len(y) :]))
        u = 1 - sign * f
        w = C * scale / (2 * np.maximum(abs(u), 0.25))
        return -sign * w * (np.maximum(abs(u), 0.25) + u), np.diag(w)

    blocks, size = model.function_.blocks, {"T": T, "n_sweeps": S, "b": batch_size}
    alpha = reference.swept(blocks, X, U, lam=1.0, bound=bound, seed=3, source=2, **size)
    expected = reference.of_blocks(blocks, alpha, U)
    got = model.decision_function(U)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 * abs(expected).max())


S3VMS = ["tsgs3vm", "frs3vm", "tsgs3vm_p", "bls3vm", "bgs3vm", "s3vm_light"]


@pytest.mark.parametrize("name", S3VMS)
def test_the_ratio_of_the_weights_is_another_way_to_say_the_same(name):
    training = arrays(name, 60)  # and 24 labelled rows

    def values(**weights):
        unset = {"C": 10.0, "C_star": None, "C_star_ratio": None}
        return made(name, **unset | weights).fit(**training).decision_function(training["X"])

    np.testing.assert_array_equal(values(C_star_ratio=0.5), values(C_star=5.0))
    np.testing.assert_array_equal(values(), values(C_star=4.0))  # the paper's
    both = made(name, C_star=5.0, C_star_ratio=0.5)
    told = r"C_star is 5 and C_star_ratio is 0\.5: leave one of them out"
    with pytest.raises(DataError, match=told):
        both.fit(**training)
    with pytest.raises(DataError, match=told):
        clone(both).fit_points([{"C": 1.0}], **training)


ORACLES = Path(__file__).parents[1] / "oracles"


def oracle(name):
    """Return the numbers of a program; its C and C* weigh sums of losses, ours the means."""
    z = dict(np.load(ORACLES / f"{name}.npz"))
    C_star = float(z.get("Cstar", z["C"])) * len(z["xu"])
    return z, {"C": float(z["C"]) * len(z["xl"]), "C_star": C_star, "sigma": float(z["gamma"])}


@pytest.mark.parametrize("name", ["gauss_S0", "moons_nobalance_bias0"])
def test_the_ramp_machine_is_universvms(name):
    z, params = oracle(f"universvm_{name}")
    balance = name == "gauss_S0"
    model = BLS3VM(**params, ramp_s=float(z["s"]), balance=balance, tol=1e-6)
    model.fit(z["xl"], z["yl"], z["xu"])
    objectives = z["own_cccp_objectives" if balance else "own_objectives"]
    np.testing.assert_allclose(model.objectives_, objectives, rtol=1e-6)
    intercept, near = float(z["b0"]) if balance else 0.0, {"rtol": 0, "atol": 7e-6}
    assert model.intercept_ == pytest.approx(intercept, abs=7e-6 * balance)
    for expected in ("ft",) if balance else ("ft_without_b0", "ft_own"):
        np.testing.assert_allclose(model.decision_function(z["xt"]), z[expected], **near)
    assert model.converged_
    if balance:
        assert model.n_iter_ == z["loops"]
        assert model.objectives_[-1] == pytest.approx(float(z["objective"]), rel=1e-6)
        values = model.decision_function(np.vstack([z["xl"], z["xu"]]))
        np.testing.assert_allclose(values, z["f_lu"], **near)


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
    objective = model.diagnostics(X, y, U)["objective"]
    assert model.objectives_[-1] == pytest.approx(objective, rel=1e-4)
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
    shape = {"sigma": 4.0, "ramp_s": ramp_s, "balance": False, "tol": 1e-7}
    model = BLS3VM(C=50.0, **shape).fit(X, y, U)
    best, coef, rng = model.objectives_[-1], model.coef_.copy(), np.random.default_rng(0)
    for size in [1e-3, 1e-4] * 50:
        model.coef_[:] = coef + size * rng.normal(size=len(coef)) / len(coef) ** 0.5
        assert model.diagnostics(X, y, U)["objective"] > best - 1e-6 * size


def test_tangents_are_of_the_ends_of_the_ramp():
    """Others would end at stationary points too, but at worse ones."""
    ramp = cccp.RampObjective(np.ones(1), 1.0, 1.0, ramp_s=-0.5, mean=0.0)
    assert ramp.sides(np.array([3.0, -0.6, -0.4, 0.0, 0.4, 0.6])).tolist() == [-1, 0, 0, 0, 1]


def test_limits_of_loops_and_steps_are_kept(monkeypatch):
    X, y, U = problem(n_unlabeled=400)
    whole = BLS3VM(C=100.0, C_star=300.0, sigma=20.0).fit(X, y, U)
    n_loops = whole.n_iter_
    assert n_loops > 2 and whole.converged_
    for most in (2, n_loops):
        model = clone(whole).set_params(max_iter=most).fit(X, y, U)
        assert (model.n_iter_, model.converged_) == (most, most == n_loops)
        np.testing.assert_array_equal(model.objectives_, whole.objectives_[: most + 1])
    values = whole.decision_function(U)
    monkeypatch.setattr(cccp, "MAX_STEPS_PER_ROW", 1)
    with pytest.raises(FitError, match="no solution after 417 steps; take a larger tol"):
        whole.set_params(C=1e4).fit(X, y, U)
    np.testing.assert_array_equal(whole.decision_function(U), values)


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
    # far from all support vectors unlabelled rows have no sign, or are positive
    *((16, 60, {"C": 10.0, "C_star": 5.0, "sigma": 1e4, "sign_at_zero": sign}) for sign in (0, 1)),
    (16, 60, {"C": 10.0, "C_star": 20.0, "unlabeled_budget": 0.1, "step": 0.1}),
    (16, 60, {"C": 10.0, "C_star": 20.0, "labeled_budget": 4, "step": 1.0}),
    (16, 60, {"C": 9.0, "kernel": "linear", "C_star": 2.0, "unlabeled_budget": 0.5}),
    (40, 8, {"C": 50.0, "C_star": 4.0, "unlabeled_budget": 0.3}),  # a coefficient becomes 0
]


@pytest.mark.filterwarnings("ignore:sigma=.* makes nearly all kernel values 0")
@pytest.mark.parametrize(("n_labeled", "n_unlabeled", "params"), STEPS)
@pytest.mark.parametrize("panel", [1, 7, 128])
def test_it_is_the_descent_row_by_row(n_labeled, n_unlabeled, params, panel, monkeypatch):
    monkeypatch.setattr(budgeted, "MAX_PANEL_STEPS", panel)
    X, y, U = problem(n_labeled, n_unlabeled)
    model = BGS3VM(**params).fit(X, y, U)
    expected = descend(model, X, y, U)
    assert model.n_support_.tolist() == [np.count_nonzero(coef) for coef in expected]
    expected = np.concatenate(expected)
    rows = np.random.default_rng(1).random((20, 3))
    f = gram(model, rows, np.vstack([X, U])) @ expected
    np.testing.assert_allclose(model.decision_function(rows), f, atol=1e-10 * model.C)
    coef = np.sort(expected[expected != 0])
    np.testing.assert_allclose(np.sort(model.coef_), coef, atol=1e-10 * model.C)


def clusters(n_labeled=16, n_unlabeled=40, positive_share=0.5, distance=1.0, seed=0):
    """Two Gaussian clouds in the plane: X, y, X_unlabeled."""
    rng = np.random.default_rng(seed)

    def draw(n):
        y = np.where(np.arange(n) < round(n * positive_share), 1, -1)
        return rng.normal(size=(n, 2)) + np.outer(y, [distance, 0]), y

    return *draw(n_labeled), draw(n_unlabeled)[0]


@pytest.mark.parametrize("name", ["gauss", "moons"])
def test_the_authors_program_is_reproduced(name):
    z, params = oracle(f"svmlight_tsvm_{name}_C1")
    model = S3VMLight(**params).fit(z["xl"], z["yl"], z["xu"])
    np.testing.assert_array_equal(model.transduction_, z["yhat_unlab"])
    assert 2 * model.n_switches_ == z["switches"]
    assert model.objective_ == pytest.approx(float(z["objective"]), rel=1.5e-4)
    values = model.decision_function(np.vstack([z["xl"], z["xu"]]))
    np.testing.assert_allclose(values, z["f_lu"], rtol=0, atol=4e-3)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=0, atol=4e-3)


SEARCHES = [{}, {"C_star": 30.0}, {"C_star": 30.0, "positive_share": 0.2}, {"positive_share": 0.7}]
SEARCHES += [{"positive_share": p, "C_star": 9.0} for p in (1e-3, 0.999)]  # all of one class
CORNERS = product([1e-3, 1e3], [1e-3, 1e3], [1, None])
SEARCHES += [{"C": C, "sigma": s, "pairs_per_switch": pairs} for C, s, pairs in CORNERS]


@pytest.mark.filterwarnings("ignore:sigma=1e.03 makes nearly all kernel values 0")
@pytest.mark.parametrize("params", SEARCHES, ids=str)
def test_the_machine_is_libsvms_on_the_labels_that_are_found(params):
    X, y, U = clusters(positive_share=0.25)
    model = S3VMLight(**{"C": 20.0, "sigma": 0.5} | params).fit(X, y, U)
    C, sigma, p = model.C, model.sigma, params.get("positive_share", 0.25)
    assert np.count_nonzero(model.transduction_ > 0) == round(p * 40)
    assert model.n_iter_ < 1000
    if p in (1e-3, 0.999):
        assert np.isfinite(model.decision_function(U)).all()
        return
    C_star = params.get("C_star", C * 16 / 40)
    unlabeled = np.where(model.transduction_ > 0, (1 - p) / p, 1.0) * C_star / 40
    costs = np.append(np.full(16, C / 16), unlabeled)
    rows, targets = np.vstack([X, U]), np.append(y, model.transduction_)
    svc = SVC(gamma=sigma, tol=1e-7).fit(rows, targets, sample_weight=costs)
    coef, support = svc.dual_coef_[0], rows[svc.support_]
    slack = np.maximum(0, 1 - targets * svc.decision_function(rows))
    objective = coef @ kernel(support, support, sigma) @ coef / 2 + costs @ slack
    assert model.objective_ == pytest.approx(objective, rel=1e-4, abs=2e-5 * C)
    at = np.random.default_rng(1).normal(size=(50, 2))
    # with large or small costs the offset has an interval
    got, expected = (m.decision_function(at) - ("C" in params) * m.intercept_ for m in (model, svc))
    np.testing.assert_allclose(got, expected, atol=2e-4 * min(1.0, C))


def test_pairs_switched_together_save_trainings():
    X, y, U = clusters(20, 150, 0.5, distance=0.3, seed=8)
    pairs = {"pairs_per_switch": 1}, {"pairs_per_switch": None}
    one, every = (S3VMLight(20.0, 2.0, C_star=150.0, **p).fit(X, y, U) for p in pairs)
    assert one.n_switches_ > 5 and every.n_iter_ < one.n_iter_
    # from all switched at once: another local minimum, but about as deep
    assert every.objective_ == pytest.approx(one.objective_, rel=0.05)


RNG = np.random.default_rng(7)
X = RNG.random((60, 3)).astype(np.float32)
U = RNG.random((500, 3)).astype(np.float32)


def labels(rows):
    return np.where(rows[:, 0] + rows[:, 1] ** 2 > 0.8, 1, -1)


LINEAR = {"kernel": "linear"}
MACHINES = [
    *((kit.SupervisedSVM, {"class_weight": weight}, 1e-5) for weight in (None, "balanced")),
    *((kit.SupervisedSVM, LINEAR | {"class_weight": w}, 2e-2) for w in (None, "balanced")),
    *((AllLabelsSVM, shape, 1e-4) for shape in ({}, LINEAR)),
    (S3VMLight, LINEAR | {"C_star": 0.0}, 2e-2),
    (BLS3VM, LINEAR | {"C_star": 0.0, "balance": False}, 1e-3),
]


@pytest.mark.parametrize(("solver", "params", "atol"), MACHINES)
def test_machines_of_labels_are_those_of_libsvm(solver, params, atol):
    """With our kernels; C weighs the mean loss of all rows with labels."""
    hidden = {"y_unlabeled": labels(U)} if solver is AllLabelsSVM else {}
    tol = {} if solver is S3VMLight else {"tol": 1e-6}
    model = solver(20.0, 2.0, **params, **tol).fit(X, labels(X), U, **hidden)
    rows = np.vstack([X, U]) if hidden else X
    if solver is BLS3VM:  # <x, x'> + 1 penalises the bias
        svm = LinearSVC(C=20 / len(X), loss="hinge", tol=1e-8, max_iter=10**6)
    else:
        shape = LINEAR if "kernel" in params else {"gamma": 2.0}
        weight = params.get("class_weight")
        svm = SVC(C=20 / len(rows), tol=1e-6, class_weight=weight, **shape)
    values = svm.fit(rows, labels(rows)).decision_function(U)
    np.testing.assert_allclose(model.decision_function(U), values, atol=atol)
    assert not hidden or model.n_rows_ == 560
    assert solver is not S3VMLight or model.n_iter_ == 1  # its costs do not grow


def test_of_many_rows_some_are_drawn_of_either_kind():
    centers = []
    for seed in (1, 1, 2):
        model = AllLabelsSVM(most_rows=200, random_state=seed).fit(X, labels(X), U, labels(U))
        centers.append({tuple(row) for row in model.centers_})
        assert model.n_rows_ == 200 and len(centers[-1]) <= 200
    assert centers[0] == centers[1] != centers[2]
    assert all(centers[0] & {tuple(row) for row in rows.astype(float)} for rows in (X, U))


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
    with pytest.raises(FitError, match="two labelled rows of each class"):
        SelfTraining().fit(X[:5], [1, -1, -1, -1, -1], U[:20])
    assert SelfTraining(C=1e4).fit(X[:5], [1, 1, -1, -1, -1], U[:20]).n_iter_ >= 1
