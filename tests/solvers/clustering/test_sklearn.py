"""Scikit-learn's own checks of estimators, on every clustering."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from dsgkit.solvers.clustering.fsvc import FSVC
from dsgkit.solvers.clustering.fuzzy_c_means import FuzzyCMeans
from dsgkit.solvers.clustering.lmoc import BSGDLMOC, SGDLMOC
from dsgkit.solvers.clustering.svc import BenHurSVC


@parametrize_with_checks([BSGDLMOC(), SGDLMOC(), BenHurSVC(), FSVC(), FuzzyCMeans()])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
