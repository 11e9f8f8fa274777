"""Stochastic S3VMs against loops written out, and how many steps they make."""

import numpy as np
import pytest
from sklearn.base import clone

from dsgkit import FRS3VM, TSGS3VM, TSGS3VMP
from dsgkit.engine import curvature
from dsgkit.errors import DataError, DsgWarning
from tests.engine import reference
from tests.estimators.brute_force import problem
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
    assert whole.n_features is None
    fitted = settled.fit(*problem())
    assert fitted.n_iter_ == 300 and fitted.function_.blocks.n_frequencies == 70


@pytest.mark.parametrize(("n_unlabeled", "m"), [(33, 7), (34, 8), (300, 18)])
def test_the_papers_m_is_the_root_of_all_rows(n_unlabeled, m):
    training, steps = problem(16, n_unlabeled), {"batch_size": 16, "n_iterations": 19}
    assert TSGS3VM(**steps, step=0.01).fit(*training).function_.coef.shape == (19, 2 * m, 1)
    assert FRS3VM(**steps, n_features=None).fit(*training).function_.coef.shape == (1, 2 * m, 1)


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("batch_size", [12, 200])
def test_sweeps_equal_the_written_out_loop(batch_size, anneal):
    C, ratio, T, S = 20.0, 0.5, 3, 3
    shape = {"sigma": 2.0, "n_features": 8, "n_blocks": T, "n_sweeps": S, "batch_size": batch_size}
    X, y, U = problem(n_unlabeled=60)
    model = TSGS3VMP(C, C_star_ratio=ratio, anneal=anneal, random_state=3, **shape).fit(X, y, U)

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
