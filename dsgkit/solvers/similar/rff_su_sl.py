"""RFF-SU-SL: the objective of SU-SL on fixed random Fourier features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.solvers.common import (
    FixedFeatures,
    Frequencies,
    MaxMemory,
    Prior,
    RandomState,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.trainers.explicit_features import random_features_of
from dsgkit.trainers.unlabeled import UnlabeledFeatures


class RFFSUSL(SimilarRiskEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss over fixed random features.

    The objective of `SUSL`, with the Gaussian kernel replaced by ``2 n_features`` random features:
    O(n n_features^2) time in one pass over the unlabelled rows, which are read in blocks, and
    O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    pace: ClassVar[Pace] = Pace(training=2, per_model=5)

    _: KW_ONLY
    n_features: FixedFeatures = 1000
    frequencies: Frequencies = "independent"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    coef_: Array = fitted("Coefficients of the features.", "(n_features,)")

    def _trainer(self) -> UnlabeledFeatures:
        return UnlabeledFeatures(random_features_of(self))
