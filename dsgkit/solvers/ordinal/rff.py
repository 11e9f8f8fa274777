"""RFF-S2OR: the semi-supervised ordinal risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Pace
from dsgkit.features import Blocks
from dsgkit.objectives.risks import OrdinalAUC
from dsgkit.solvers.common import (
    FixedFeatures,
    Frequencies,
    GammaPerCut,
    KernelName,
    Lam,
    MaxMemory,
    RandomState,
    Sigma,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.closed_form import ThresholdsByFolds
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.explicit_features import OnRandomFeatures, random_features_of


@with_example(ORDERED, "n_features=200")
class RFFS2OR(ThresholdsByFolds, QuadraticRiskEstimator, OrdinalEstimator):
    """Minimiser of the semi-supervised ordinal risk over a fixed set of random features.

    The objective of `ExactS2OR` and QS3ORAO, with the kernel replaced by
    ``2 n_features`` random features [1]_: O(n n_features^2) time in one pass over the unlabelled
    rows, which are read in blocks, and O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.1, per_model=2)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: FixedFeatures = 1000
    frequencies: Frequencies = "independent"
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    features_: Blocks = fitted("The random features.")
    coef_: NDArray[np.float64] = fitted("Their coefficients.", "(features_.width,)")

    def _risk(self) -> OrdinalAUC:
        return OrdinalAUC.of(self.gamma)

    def _trainer(self) -> OnRandomFeatures:
        return OnRandomFeatures(random_features_of(self))
