"""Groups of rows without a common kernel value: how far they are apart makes no difference.

Rows and shifts are multiples of 2^-10, so that all differences within a group are exact.
"""

import numpy as np
import pytest

from dsgkit.errors import DataError
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.given import given

OF_KERNEL = [
    name
    for name, info in SOLVERS.items()
    if "sigma" in info.params and "n_features" not in info.params
]
OF_LIBSVM = ["supervised_svm", "all_labels_svm", "self_training"]
CLUSTERING = [name for name, info in SOLVERS.items() if "clustering" in info.load().tasks]


def groups(n, d, apart, seed=0):
    """Return rows of two groups, and which are of the second."""
    rng = np.random.default_rng(seed)
    rows, second = np.round(rng.normal(size=(n, d)) * 1024) / 1024, rng.random(n) < 0.5
    rows[second, 1] += apart
    return rows, second


@pytest.mark.filterwarnings("ignore::dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", OF_KERNEL)
def test_exact_solvers(name):
    info, values = SOLVERS[name], []
    known = {"sigma": 1.0, "prior": 0.7}
    for apart in (2.0**10, 2.0**24):
        X, _ = groups(40, 3, apart)
        y = np.where(X[:, 0] + np.random.default_rng(2).normal(size=40) > 0, 1, -1)
        U, _ = groups(60, 3, apart, seed=1)
        model = info.load()(**{key: known[key] for key in known if key in info.params})
        if name in OF_LIBSVM and apart == 2.0**24:
            with pytest.raises(DataError, match="too large for sigma=1: subtract the mean"):
                model.fit(**given(model, X, y, U))
            return
        model.fit(**given(model, X, y, U))
        values.append(model.decision_function(np.vstack([X, U])))
    np.testing.assert_allclose(values[1], values[0], atol=1e-9 * np.abs(values[0]).max())


@pytest.mark.parametrize("far", [-1e200, 1.7e308])
@pytest.mark.parametrize("name", CLUSTERING)
def test_rows_without_distances_are_refused(name, far):
    rows, _ = groups(30, 3, 5.0)
    model = SOLVERS[name].load()().fit(rows)
    rows[3, 1] = far
    with pytest.raises(DataError, match=r"features beyond 3e\+150 have no distances"):
        model.predict(rows)
    with pytest.raises(DataError, match=r"features beyond 3e\+150 have no distances"):
        model.fit(rows)
