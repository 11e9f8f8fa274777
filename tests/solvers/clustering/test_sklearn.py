"""Scikit-learn's own checks of estimators, on every clustering."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from dsgkit.solvers.clustering.fsvc import FSVC
from dsgkit.solvers.clustering.fuzzy_c_means import FuzzyCMeans
from dsgkit.solvers.clustering.lmoc import BSGDLMOC, SGDLMOC
from dsgkit.solvers.clustering.svc import BenHurSVC


@pytest.mark.parametrize("solver", [BSGDLMOC, SGDLMOC, BenHurSVC, FSVC, FuzzyCMeans])
def test_scikit_learn_accepts(solver):
    check_estimator(solver(), on_skip=None)
