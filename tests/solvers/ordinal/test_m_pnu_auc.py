"""M-PNU-AUC against the binary models that it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.solvers.ordinal.m_pnu_auc import MPNUAUC
from dsgkit.text.errors import IndefiniteError
from tests.solvers.brute_force import folds_of
from tests.solvers.ordinal.problems import ordinal_problem

ETA = (-0.5, 0.25, 0.5)
INDEFINITE = {"lam": 1e-6, "sigma": 4.0, "eta": (0.0, 0.0, -1.0), "prior": 0.1}


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("prior", [None, 0.4, (0.7, 0.5, 0.2)])
def test_every_cut_has_the_binary_model_of_its_sides_and_its_prior(prior, kernel):
    X, codes, U, _ = ordinal_problem()
    settings = {"kernel": kernel, "n_centers": 30, "random_state": 7}
    model = MPNUAUC(0.1, 2.0, ETA, prior=prior, **settings).fit(X, codes, U)
    got = model.decision_function(U)
    for j, eta in enumerate(ETA):
        y = (codes > j).astype(int)
        own = np.mean(y) if prior is None else np.broadcast_to(prior, 3)[j]
        binary = PNUAUC(0.1, 2.0, eta, prior=float(own), **settings).fit(X, y, U)
        np.testing.assert_allclose(got[:, j], binary.decision_function(U), atol=1e-10)


def test_without_a_minimum_of_one_cut_there_is_no_solution():
    X, codes, U, _ = ordinal_problem()
    with pytest.raises(IndefiniteError):
        MPNUAUC(**INDEFINITE).fit(X, codes, U)
    values = MPNUAUC().fit_points(
        [INDEFINITE, {}], folds=folds_of(40, 4), X=X, y=codes, X_unlabeled=U
    )
    assert np.isnan(values[0]).all() and np.isfinite(values[1]).all()


def test_a_fit_costs_what_its_binary_models_do():
    counts = {"n_labeled": 100, "n_unlabeled": 900}
    cost = MPNUAUC().cost(5, n_cuts=4, **counts)
    binary = PNUAUC(prior=0.5).cost(5, **counts)
    assert cost.flops == 4 * binary.flops
