"""SU-SL against the authors' program, and its closed forms against each other."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit.solvers.similar.rff_su_sl import RFFSUSL
from dsgkit.solvers.similar.su_sl import SUSL
from dsgkit.text.errors import FitError
from tests.solvers.similar.problems import oracle, su_problem

FOLDS = [(np.arange(40), np.arange(20)), (np.arange(40, 150), np.arange(20, 60))]


@pytest.mark.filterwarnings("ignore:prior 0.7 is so close")
def test_the_authors_linear_solution_is_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(lam=float(z["lam"]), kernel="linear", prior=float(z["prior"]))
    model.fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])


def test_a_penalty_below_the_rounding_of_features_has_no_solution():
    pairs, U, _ = su_problem()
    with pytest.raises(FitError, match="take a larger lam"):
        RFFSUSL(lam=2.0**-24, prior=0.85).fit(pairs, U)
    points = [{"lam": 2.0**-24}, {"lam": 0.1}]
    values = RFFSUSL(prior=0.85, n_features=20).fit_points(
        points, folds=FOLDS, X_similar=pairs, X_unlabeled=U
    )
    assert all(np.isnan(part[0]).all() and np.isfinite(part[1]).all() for part in values)
