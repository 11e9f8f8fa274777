"""SU-SL against the authors' program, and its closed forms against each other."""

import numpy as np
import pytest

from dsgkit.solvers.similar.su_sl import SUSL
from tests.solvers.similar.problems import oracle


@pytest.mark.filterwarnings("ignore:prior 0.7 is so close")
def test_the_authors_linear_solution_is_reproduced():
    z = oracle("susl_linear_gauss_p07_lam0.1")
    model = SUSL(lam=float(z["lam"]), kernel="linear", prior=float(z["prior"]))
    model.fit(z["xs"], z["xu"])
    np.testing.assert_allclose(model.coef_, z["coef"], rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=1e-9)
    np.testing.assert_array_equal(model.predict(z["xt"]), z["pred"])
