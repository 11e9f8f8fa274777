"""Fuzzy C-means against the equations of textbooks, term by term."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dsgkit.clustering.fuzzy import FuzzyCMeans, centers_of, memberships_of
from dsgkit.errors import DataError
from dsgkit.estimators import catalogue


@pytest.mark.parametrize("m", [1.2, 2.0, 3.5])
def test_a_step_is_that_of_the_equations(m):
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(4), size=7)
    centers = centers_of(X, u, m)
    for k in range(4):
        expected = sum(u[i, k] ** m * X[i] for i in range(7)) / sum(u[i, k] ** m for i in range(7))
        np.testing.assert_allclose(centers[k], expected, rtol=1e-12)
    found = memberships_of(X, centers, m)
    for i, x in enumerate(X):
        d = np.linalg.norm(x - centers, axis=1)
        expected = [1 / sum((d[k] / d[j]) ** (2 / (m - 1)) for j in range(4)) for k in range(4)]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)
    centers = np.array([[0.0, 0], [3, 4], [3, 4]])  # a row that is one belongs to it alone
    np.testing.assert_array_equal(
        memberships_of(centers[:2], centers, m), [[1, 0, 0], [0, 0.5, 0.5]]
    )


def test_a_fit_is_a_fixed_point_that_lowers_the_objective():
    X = make_blobs([40, 60, 50], centers=[[0, 0], [5, 0], [0, 5]], random_state=2)[0]
    model = FuzzyCMeans(3, tol=1e-12, max_iter=2000).fit(X)
    assert model.n_iter_ < 2000
    centers = centers_of(X, model.memberships_, model.m)
    np.testing.assert_allclose(centers, model.cluster_centers_, atol=1e-10)
    np.testing.assert_allclose(model.memberships(X), model.memberships_, atol=1e-9)
    courses = [FuzzyCMeans(3, tol=0, max_iter=n).fit(X).objective_ for n in range(1, 12)]
    assert all(np.diff([*courses, model.objective_]) <= 1e-9)
    with pytest.raises(DataError, match="too few"):
        FuzzyCMeans(3).fit(X[:2])
    kept = catalogue.get("dsgkit.solvers.clustering.fuzzy_c_means:FuzzyCMeans")
    assert kept.load() is FuzzyCMeans  # under the name that kept results have
    # memberships are no function with a domain, for which pictures ask by this name
    assert not hasattr(model, "decision_function")
