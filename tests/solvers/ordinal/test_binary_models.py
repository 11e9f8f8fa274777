"""M-SAMULT and M-PNU-AUC against the binary models that they are made of."""

import numpy as np
import pytest

from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.ordinal.m_pnu_auc import MPNUAUC
from dsgkit.solvers.ordinal.m_samult import MSAMULT
from tests.solvers.brute_force import folds_of
from tests.solvers.ordinal.problems import ordinal_problem

ETA = (-0.5, 0.25, 0.5)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("gamma", [0.4, (0.0, 0.3, 1.0)])
def test_every_cut_has_the_binary_model_of_its_sides(gamma, kernel):
    X, codes, U, _ = ordinal_problem()
    got = MSAMULT(0.1, 2.0, gamma, kernel=kernel).fit(X, codes + 1, U).decision_function(U)
    gammas = gamma if isinstance(gamma, tuple) else (gamma,) * 3
    for j, own in enumerate(gammas):
        binary = SAMULT(0.1, 2.0, own, kernel=kernel).fit(X, np.where(codes > j, 1, -1), U)
        np.testing.assert_allclose(got[:, j], binary.decision_function(U), atol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("prior", [None, 0.4, (0.7, 0.5, 0.2)])
def test_every_cut_has_the_pnu_model_of_its_sides_and_its_prior(prior, kernel):
    X, codes, U, _ = ordinal_problem()
    settings = {"kernel": kernel, "n_centers": 30, "random_state": 7}
    model = MPNUAUC(0.1, 2.0, ETA, prior=prior, **settings).fit(X, codes, U)
    got = model.decision_function(U)
    for j, eta in enumerate(ETA):
        y = (codes > j).astype(int)
        own = np.mean(y) if prior is None else np.broadcast_to(prior, 3)[j]
        binary = PNUAUC(0.1, 2.0, eta, prior=float(own), **settings).fit(X, y, U)
        np.testing.assert_allclose(got[:, j], binary.decision_function(U), atol=1e-10)


def test_equal_settings_of_a_cut_are_solved_once(monkeypatch):
    """As in a search of one cut's gamma at a time."""
    solved = []

    def counted(self, points, **training):
        solved.append(len(points))
        return original(self, points, **training)

    original = SAMULT.fit_points
    monkeypatch.setattr(SAMULT, "fit_points", counted)
    X, codes, U, _ = ordinal_problem()
    points = [{"gamma": (0.5, own, 0.25)} for own in (0.0, 0.5, 1.0)]
    values = MSAMULT().fit_points(points, folds=folds_of(40, 2), X=X, y=codes, X_unlabeled=U)
    assert solved == [1, 3, 1]
    assert (values[0, :, [0, 2]] == values[2, :, [0, 2]]).all()
    assert (values[0, :, 1] != values[2, :, 1]).all()


def test_a_cut_without_rows_on_a_side_takes_the_nearest_model():
    X, codes, U, _ = ordinal_problem()
    rows = np.r_[np.flatnonzero(codes == 0)[:1], np.flatnonzero((codes == 1) | (codes == 2))]
    X, codes = np.vstack([X[rows], X[:1]]), np.append(codes[rows], 3)
    folds = [np.array([0, 1, len(X) - 1]), np.arange(2, 12)]  # the first leaves classes 1 and 2
    values = MSAMULT(sigma=0.3).fit_points([{}], folds=folds, X=X, y=codes, X_unlabeled=U)[0]
    assert (values[folds[0]] == values[folds[0]][:, [1]]).all()
    assert (values[folds[1]][:, 0] != values[folds[1]][:, 1]).all()
    rest = np.setdiff1d(np.arange(len(X)), folds[0])
    binary = SAMULT(sigma=0.3).fit(X[rest], (codes[rest] > 1).astype(int), U)
    np.testing.assert_allclose(values[folds[0], 1], binary.decision_function(X[folds[0]]))


def test_a_fit_costs_what_its_binary_models_do():
    one, three = SAMULT(), MSAMULT(gamma=(0.5, 0.5, 1.0))
    counts = {"n_labeled": 100, "n_unlabeled": 900}
    cost, binary = three.cost(5, n_cuts=3, **counts), one.cost(5, **counts)
    supervised = SAMULT(gamma=1.0).cost(5, **counts)
    assert cost.flops == 2 * binary.flops + supervised.flops
    # the kernel is evaluated once, for all cuts
    assert binary.flops_per_row < cost.flops_per_row < 1.3 * binary.flops_per_row
    assert binary.memory < cost.memory < 1.1 * binary.memory
    of_cuts = MPNUAUC().cost(5, n_cuts=4, **counts)
    assert of_cuts.flops == 4 * PNUAUC(prior=0.5).cost(5, **counts).flops
