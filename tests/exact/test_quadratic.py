"""Forms against sums over pairs, and the minimisers of all models against dense algebra."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit.engine.problem import Data, stacked
from dsgkit.errors import FitError, IndefiniteError
from dsgkit.exact import explicit, quadratic
from dsgkit.exact.explicit import centres, landmarks, linear_features, with_constant
from dsgkit.exact.quadratic import Dual, minimise, small_solve
from dsgkit.kernels import kernel_named
from dsgkit.risks.pairwise import (
    Form,
    Loss,
    OnCuts,
    OrdinalAUC,
    PriorAUC,
    SemiSupervisedAUC,
    SquaredLoss,
    pair,
)
from dsgkit.risks.similar import SimilarUnlabeled
from tests.estimators.brute_force import pnu_form, samult_form
from tests.estimators.ordinal.brute_force import ordinal_form
from tests.exact.problems import data_of, dense_values, folds_of, problem_of, written_form

SIGMA = 0.4


@dataclass(frozen=True, eq=False)
class Ranked(Loss):
    """Class 2 above 0, twice; class 1 enters by a square alone, and unlabelled rows not at all."""

    @cached_property
    def form(self):
        e = np.eye(4)
        one = 2.0 * pair(e[2], e[0]) + Form(0.3 * e[1], np.zeros((4, 4)), 0 * e[1], 0.0)
        return Form(*(np.array([part] * len(self.counts)) for part in vars(one).values()))


@dataclass(frozen=True, eq=False)
class Apart(Loss):
    """The squared difference of the two classes' means from 1: without squares of values."""

    @cached_property
    def form(self):
        d = np.array([1.0, -1.0, 0.0])
        G = len(self.counts)
        return Form(np.zeros((G, 3)), np.tile(np.outer(d, d), (G, 1, 1)), np.tile(d, (G, 1)), 1.0)


CASES = {
    "samult": ([5, 4], [SemiSupervisedAUC(gamma) for gamma in (0.0, 0.4, 1.0)]),
    "supervised": ([5, 4], [SemiSupervisedAUC(1.0)]),
    "one gamma": ([5, 4], [SemiSupervisedAUC(0.3)]),
    "pnu": ([4, 5], [PriorAUC(eta, p) for eta in (-1.0, -0.3, 0.0, 0.9) for p in (0.15, 0.9)]),
    "ordinal": ([3, 4, 3, 4], [OrdinalAUC(np.array(g)) for g in ([0.2] * 3, [0.2, 1.0, 0.0])]),
    "cuts": ([3, 4, 3], [OnCuts([SemiSupervisedAUC(0.1), SemiSupervisedAUC(0.8)])]),
    "similar": ([12], [SimilarUnlabeled(prior) for prior in (0.8, 0.3)]),
    "no unlabelled rows": ([3, 4, 5], [Ranked()]),
    "no squares": ([5, 4], [Apart()]),
}


def whitened(rows_of):
    """Return features of a kernel whose products are its values, on any of the problem's rows."""
    gram = kernel_named("gaussian").gram
    spectrum, vectors = np.linalg.eigh(gram(rows_of, rows_of, SIGMA))
    kept = spectrum > 1e-13 * spectrum[-1]
    return lambda rows: gram(rows, rows_of, SIGMA) @ (vectors[:, kept] / np.sqrt(spectrum[kept]))


def spaces(data):
    """Return every space with features that have its functions and norm."""
    every = np.vstack([data.X, data.U])
    z = every[::3]
    return {
        "dual": (Dual("gaussian", SIGMA), whitened(every)),
        "landmarks": (landmarks("gaussian", SIGMA, z), whitened(z)),
        "linear": (linear_features(), with_constant),
        "centres": (
            centres("laplacian", SIGMA, z),
            lambda rows: kernel_named("laplacian").gram(rows, z, SIGMA),
        ),
    }


ALONE = {
    "cuts": ([5, 4], [OnCuts([SemiSupervisedAUC(0.1)])]),
    "pnu": ([4, 5], [PriorAUC(-0.3, 0.9)]),
}


@pytest.mark.parametrize("space", ["dual", "landmarks", "linear", "centres"])
@pytest.mark.parametrize("folds", ["alone", "none", "labelled", "both"])
@pytest.mark.parametrize("case", CASES)
def test_models_have_the_minimisers_of_dense_systems(case, folds, space, monkeypatch):
    monkeypatch.setattr(explicit, "BLOCK_ROWS", 4)
    (counts, losses), lams, held = CASES[case], [0.02, 3.0], None
    if folds == "alone":
        (counts, losses), lams = ALONE.get(case, (counts, losses[:1])), [0.1]
    data = data_of(counts)
    if folds in ("labelled", "both"):
        held = folds_of(data, unlabeled=folds == "both")
    problem = problem_of(losses, lams, data, held)
    penalties = problem.each("lam") / 2
    if case == "cuts" and folds != "alone":
        object.__setattr__(problem, "pool", np.repeat(problem.pool, 2))
        penalties = np.repeat(penalties, 2)
    known, features = spaces(data)[space]
    rows = np.vstack([data.X, data.U])
    functions = minimise(problem, known, penalties)
    expected = dense_values(problem, penalties, features, rows)
    size, near = np.nanmax(abs(expected)), 1e-8 if folds == "alone" else 1e-7
    np.testing.assert_allclose(functions.values(rows), expected, rtol=0, atol=near * size)
    np.testing.assert_array_equal(functions.finite, np.isfinite(expected).all(axis=0))
    if case == "pnu" and folds != "alone":
        assert 0 < functions.finite.sum() < len(penalties)


def test_rows_that_are_labelled_and_unlabelled_have_one_coefficient():
    data = data_of([6, 5])
    both = Data(data.X, data.codes, data.X, 2)
    problem = problem_of([SquaredLoss()], [0.3], both)
    function = minimise(problem, Dual("gaussian", SIGMA), np.array([0.15]))
    assert len(function.centers) == len(function.coef) == 11
    expected = dense_values(problem, [0.15], whitened(data.X), data.X)
    np.testing.assert_allclose(function.values(data.X), expected, atol=1e-9)


def test_the_digits_of_a_small_system_do_not_depend_on_the_penalty():
    """Against the equation in extended precision, of which P is as large as 1/l."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(12, 30))
    for penalty in (1.0, 2.0**-10, 2.0**-20):
        P = R @ R.T / penalty
        d = np.where(np.arange(12) < 9, rng.random(12) + 0.1, 0.0)
        W = np.zeros((12, 3))
        W[:4, 0], W[4:9, 1], W[9:, 2] = 1 / 4, 1 / 5, 1 / 3
        form = pair(*np.eye(3)[:2]) + 0.4 * pair(*np.eye(3)[1:])
        z = small_solve(P.copy(), d, W, form.cross, form.linear)
        big, one = P.astype(np.longdouble), np.eye(12)
        J = np.diag(d) + W @ form.cross @ W.T
        exact = np.linalg.solve(one + J @ P, W @ form.linear).astype(np.longdouble)
        for _ in range(5):  # of iterative refinement
            residual = W @ form.linear - exact - J @ (big @ exact)
            exact = exact + np.linalg.solve(one + J @ P, residual.astype(float))
        error = abs(z - exact).max() / abs(exact).max()
        assert error < 1e-13 / penalty**0.5


@pytest.mark.parametrize("space", ["dual", "linear"])
def test_a_grid_takes_one_factorisation_of_each_set_of_unlabelled_rows(space, monkeypatch):
    made = []
    monkeypatch.setattr(quadratic, "eigh", lambda A: made.append(len(A)) or np.linalg.eigh(A))
    data = data_of([6, 6], n_unlabeled=20)
    size = {"dual": 20, "linear": 3}[space]
    for unlabeled, sizes in ((False, [size]), (True, [size] * 2)):
        problem = problem_of(CASES["samult"][1], [0.1, 1.0], data, folds_of(data, 2, unlabeled))
        minimise(problem, spaces(data)[space][0], problem.each("lam") / 2)
        assert len(made) == len(sizes)
        made.clear()


def test_what_has_no_solution_is_an_error_of_a_fit_and_nan_in_a_grid():
    data = data_of([5, 5])
    data = Data(np.vstack([data.X] * 2), np.tile(data.codes, 2), data.U, 2)
    equal = centres("gaussian", SIGMA, data.U[[0] * 9])
    for space in (Dual("gaussian", SIGMA), equal):
        with pytest.raises(FitError, match="take a larger lam"):
            minimise(problem_of([SemiSupervisedAUC(0.5)], [1.0], data), space, np.array([1e-30]))
    with pytest.raises(IndefiniteError, match="eta > 0 suits a prior of at most 1/2"):
        space = centres("gaussian", SIGMA, data.U)
        minimise(problem_of([PriorAUC(-1.0, 0.1)], [1.0], data), space, np.array([1e-6]))
    problem = problem_of([SemiSupervisedAUC(0.5)], [1.0], data, folds_of(data))
    singular = minimise(problem, equal, np.array([1e-30] * 2))
    assert not singular.finite.any() and singular.values(data.X).shape == (20, 2)


CODES = np.array([0, 1, 0, 0, 1, 1, 1])


def form_of(loss, codes, n_sources):
    """Return the first model's form, for rows of these sources."""
    form = stacked([loss], [np.bincount(codes, minlength=n_sources)]).form
    return Form(*(part[0] for part in vars(form).values()))


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 1), st.floats(-1, 1), st.floats(0.01, 0.99))
def test_forms_of_two_classes_are_sums_over_pairs(gamma, eta, prior):
    for loss, expected in (
        (SemiSupervisedAUC(gamma), samult_form(CODES == 0, 5, gamma)),
        (PriorAUC(eta, prior), pnu_form(CODES == 0, 5, eta, prior)),
    ):
        for part, exact in zip(
            written_form(form_of(loss, CODES, 2), CODES, 5), expected, strict=True
        ):
            np.testing.assert_allclose(part, exact, atol=1e-12 * (1 + abs(exact).max()))


@pytest.mark.parametrize("gamma", [(0.3, 0.3, 0.3), (0.2, 1.0, 0.0)])
@pytest.mark.parametrize("classes", [[0, 1, 2, 3], [1, 3], [0, 1, 3], [2, 3]], ids=str)
def test_forms_of_cuts_are_sums_over_pairs_though_classes_lack_rows(gamma, classes):
    codes = np.repeat(classes, [3, 1, 2, 4][: len(classes)])
    got = written_form(form_of(OrdinalAUC(np.array(gamma)), codes, 4), codes, 5)
    for part, exact in zip(got, ordinal_form(codes, 5, gamma), strict=True):
        np.testing.assert_allclose(part, exact, atol=1e-14)
    binary = [SemiSupervisedAUC(g) for g in gamma]
    forms = stacked([OnCuts(binary)], [np.bincount(codes, minlength=4)]).form
    used = [j for j in range(3) if (codes <= j).any() and (codes > j).any()]
    for cut in range(3):
        nearest = min(used, key=lambda j: (abs(j - cut), j))
        own = Form(*(part[cut] for part in vars(forms).values()))
        expected = samult_form(codes > nearest, 5, gamma[nearest])
        for part, exact in zip(written_form(own, codes, 5), expected, strict=True):
            np.testing.assert_allclose(part, exact, atol=1e-14)


def test_a_loss_of_cuts_is_the_mean_of_theirs():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(n, 1, 2)) for n in (3, 2, 4, 5)]
    loss = stacked([OnCuts([SemiSupervisedAUC(0.3), PriorAUC(0.2, 0.4)])], [np.array([3, 2, 4])])
    at = [[f[:, 0, j] for f in values] for j in range(2)]
    sides = [([1, 2], [0]), ([2], [0, 1])]
    expected = []
    for f, (above, below), one in zip(at, sides, loss.binary[0], strict=True):
        two = stacked([one], [np.array([1, 1])])
        groups = [np.concatenate([f[k] for k in side]) for side in (above, below)]
        expected.append(two.value([part[:, None] for part in (*groups, f[3])])[0])
    assert loss.value(values)[0] == pytest.approx(np.mean(expected))
