"""The search for the label of the nearest point, against all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dsgkit.solvers.clustering.label_tree import LEAF_POINTS, LabelTree


@pytest.mark.parametrize("n_inputs", [1, 3, 9])
@pytest.mark.parametrize("n_points", [1, 2 * LEAF_POINTS + 1, 700])
def test_labels_are_those_of_the_first_of_the_nearest(n_inputs, n_points):
    # whole numbers: many points are equally near, and distances are exact
    rng = np.random.default_rng(n_points)
    points = rng.integers(5, size=(n_points, n_inputs)).astype(float)
    X = rng.integers(-1, 6, size=(2000, n_inputs)) + 0.5 * rng.integers(2, size=(2000, n_inputs))
    nearest = cdist(X, points, "sqeuclidean").argmin(axis=1)
    halves = (points[:, 0] > 2).astype(np.int64)
    for labels in (rng.integers(4, size=n_points), halves, np.zeros(n_points, np.int64)):
        found = LabelTree(points, labels).nearest_labels(X)
        np.testing.assert_array_equal(found, labels[nearest])
