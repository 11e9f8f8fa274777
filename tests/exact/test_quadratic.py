"""The minimisers of all models of quadratic risks against dense algebra."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit.engine.problem import Data
from dsgkit.engine.streaming import stream
from dsgkit.engine.sweeps import sweep
from dsgkit.errors import FitError
from dsgkit.estimators.auc import decreasing
from dsgkit.exact import explicit, quadratic
from dsgkit.exact.explicit import centres, landmarks, linear_features, with_constant
from dsgkit.exact.fixed import descend
from dsgkit.exact.quadratic import Dual, minimise
from dsgkit.features import random_features as blocks_of
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

SIGMA, E, D = 0.4, np.eye(4), np.array([1.0, -1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Stated(Loss):
    """A risk that the package does not know: one form for all models."""

    @cached_property
    def form(self):
        return Form(*(np.array([part] * len(self.counts)) for part in vars(self.one).values()))


class Ranked(Stated):
    """Class 2 above 0, twice; class 1 enters by a square alone, and unlabelled rows not at all."""

    one = 2.0 * pair(E[2], E[0]) + Form(0.3 * E[1], np.zeros((4, 4)), 0 * E[1], 0.0)


class Apart(Stated):
    """The squared difference of the two classes' means from 1: without squares of values."""

    one = Form(np.zeros(3), np.outer(D, D), D, 1.0)


class PositiveUnlabeled(Stated):
    """``-0.4 mean_P f + mean_U (f + 1)^2/4``, of du Plessis, Niu & Sugiyama, ICML 2015."""

    one = Form(np.array([0, 1 / 4]), np.zeros((2, 2)), np.array([0.2, -1 / 4]), 1 / 4)


CASES = {
    "samult": ([5, 4], [SemiSupervisedAUC(gamma) for gamma in (0.0, 0.4, 1.0)]),
    "supervised": ([5, 4], [SemiSupervisedAUC(1.0)]),
    "one gamma": ([5, 4], [SemiSupervisedAUC(0.3)]),
    "pnu": ([4, 5], [PriorAUC(eta, p) for eta in (-0.3, -1.0, 0.0, 0.9) for p in (0.9, 0.15)]),
    "ordinal": ([3, 4, 3, 4], [OrdinalAUC(np.array(g)) for g in ([0.2] * 3, [0.2, 1.0, 0.0])]),
    "cuts": ([3, 4, 3], [OnCuts([SemiSupervisedAUC(0.1), SemiSupervisedAUC(0.8)])]),
    "similar": ([12], [SimilarUnlabeled(prior) for prior in (0.8, 0.3)]),
    "no unlabelled rows": ([3, 4, 5], [Ranked()]),
    "no squares": ([5, 4], [Apart()]),
    "positive and unlabelled": ([9], [PositiveUnlabeled()]),
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


@pytest.mark.parametrize("space", ["dual", "landmarks", "linear", "centres"])
@pytest.mark.parametrize("folds", ["alone", "none", "labelled", "both"])
@pytest.mark.parametrize("case", CASES)
def test_models_have_the_minimisers_of_dense_systems(case, folds, space, monkeypatch):
    monkeypatch.setattr(explicit, "BLOCK_ROWS", 4)
    (counts, losses), lams, held = CASES[case], [0.02, 3.0], None
    alone = folds == "alone" and case != "cuts"
    if alone:
        losses, lams = losses[:1], [0.1]
    data = data_of(counts)
    if folds in ("labelled", "both"):
        held = folds_of(data, unlabeled=folds == "both")
    problem = problem_of(losses, lams, data, held)
    penalties = problem.each("lam") / 2
    if case == "cuts":
        object.__setattr__(problem, "pool", np.repeat(problem.pool, 2))
        penalties = np.repeat(penalties, 2)
    known, features = spaces(data)[space]
    rows = np.vstack([data.X, data.U])
    functions = minimise(problem, known, penalties)
    expected = dense_values(problem, penalties, features, rows)
    size, near = np.nanmax(abs(expected)), 1e-8 if alone else 1e-7
    np.testing.assert_allclose(functions.values(rows), expected, rtol=0, atol=near * size)
    np.testing.assert_array_equal(functions.finite, np.isfinite(expected).all(axis=0))
    if case == "pnu" and not alone:
        assert 0 < functions.finite.sum() < len(penalties)


SOME, MANY, BLOCKS = (blocks_of("gaussian", SIGMA, n, 1) for n in (64, 256, 64))
STEPS = SimpleNamespace(kernel="gaussian", sigma_=SIGMA)
ALGORITHMS = {
    # how they learn, from how many blocks of features (None: a kernel), and how near they come
    "stream": (lambda p: stream(p, MANY, decreasing(STEPS, p), 1500, 64), None, 0.06),
    "fixed": (lambda p: descend(p, SOME, decreasing(STEPS, p), 1000, 64), 1, 0.06),
    "sweep": (lambda p: sweep(p, BLOCKS, p.each("lam"), 4, 60, 1000), 4, 1e-4),
}


@pytest.mark.parametrize("how", ALGORITHMS)
def test_other_algorithms_find_the_minimisers_of_a_new_risk(how):
    learn, n_blocks, near = ALGORITHMS[how]
    problem = problem_of([PositiveUnlabeled()], [0.25], data_of([20], n_unlabeled=76))
    rows = np.vstack([problem.data.X, problem.data.U])

    def features(rows):
        parts = [BLOCKS.transform(rows.astype(np.float32), t) for t in range(n_blocks)]
        return np.hstack(parts).astype(float) / n_blocks**0.5

    own = whitened(rows, SIGMA) if n_blocks is None else features
    expected = dense_values(problem, [0.125], own, rows)
    np.testing.assert_allclose(
        learn(problem).values(rows), expected, atol=near * abs(expected).max()
    )


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
    made, data = [], data_of([6, 6], n_unlabeled=20)
    monkeypatch.setattr(quadratic, "eigh", lambda A: made.append(A) or np.linalg.eigh(A))
    for n_made, unlabeled in ((1, False), (3, True)):
        problem = problem_of(CASES["samult"][1], [0.1, 1.0], data, folds_of(data, 2, unlabeled))
        minimise(problem, spaces(data)[space][0], problem.each("lam") / 2)
        assert len(made) == n_made


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
