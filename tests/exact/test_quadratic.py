"""The minimisers of all models of quadratic risks against dense algebra."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from dsgkit.engine.problem import Data
from dsgkit.errors import FitError
from dsgkit.exact import explicit, quadratic
from dsgkit.exact.explicit import centres, landmarks, linear_features, with_constant
from dsgkit.exact.quadratic import Dual, minimise
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
from tests.exact.problems import data_of, dense_values, folds_of, problem_of, whitened

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


def spaces(data):
    """Return every space with features that have its functions and norm."""
    every = np.vstack([data.X, data.U])
    z = every[::3]
    return {
        "dual": (Dual("gaussian", SIGMA), whitened(every, SIGMA)),
        "landmarks": (landmarks("gaussian", SIGMA, z), whitened(z, SIGMA)),
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
    expected = dense_values(problem, [0.15], whitened(data.X, SIGMA), data.X)
    np.testing.assert_allclose(function.values(data.X), expected, atol=1e-9)


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
    losses, tiny = [SemiSupervisedAUC(0.5)], np.array([1e-30] * 2)
    for space in (Dual("gaussian", SIGMA), equal):
        with pytest.raises(FitError, match="take a larger lam"):
            minimise(problem_of(losses, [1.0], data), space, tiny)
    singular = minimise(problem_of(losses, [1.0], data, folds_of(data)), equal, tiny)
    assert not singular.finite.any() and singular.values(data.X).shape == (20, 2)


def test_landmarks_in_the_span_of_others_are_left_out_and_the_order_stays():
    z = np.random.default_rng(0).random((12, 3))
    centers = landmarks("gaussian", 1.0, np.vstack([z, z[:5]])).expansion(np.zeros((12, 1))).centers
    np.testing.assert_array_equal(np.unique(centers, axis=0), np.unique(z, axis=0))
    np.testing.assert_array_equal(landmarks("gaussian", 1.0, z).expansion(np.eye(12)).centers, z)
    with pytest.raises(FitError, match="the kernel is 0 at all landmarks"):
        landmarks("dot_product(1)", 1.0, np.zeros((4, 3)))
