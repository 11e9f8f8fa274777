"""RFF-S2AUC: the semi-supervised AUC risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.features import FeatureBlocks
from dsgkit.numerics.costs import Pace
from dsgkit.objectives.risks import SemiSupervisedAUC
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.block_functions import random_features_of
from dsgkit.solvers.common import (
    FixedFeatures,
    Frequencies,
    Gamma,
    KernelName,
    Lam,
    MaxMemory,
    RandomState,
    Sigma,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.explicit_features import OnRandomFeatures


class RFFS2AUC(QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Minimiser of the semi-supervised AUC risk over a fixed set of random features.

    The objective of `SAMULT` and QSG-S2AUC, with the kernel replaced by
    ``2 n_features`` random features: O(n n_features^2) time in one pass over the unlabelled rows,
    which are never held in memory together, and O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import RFFS2AUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = RFFS2AUC().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: FixedFeatures = 1000
    frequencies: Frequencies = "independent"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    features_: FeatureBlocks = fitted("The random features.")
    coef_: NDArray[np.float64] = fitted("Their coefficients.", "(features_.width,)")

    def _risk(self) -> SemiSupervisedAUC:
        return SemiSupervisedAUC(self.gamma)

    def _trainer(self) -> OnRandomFeatures:
        return OnRandomFeatures(random_features_of(self))
