"""RFF-S2AUC: the semi-supervised AUC risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dsgkit.features import Blocks
from dsgkit.linalg import Array
from dsgkit.solvers.auc.base import SemiSupervisedAUCMinimiser
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.common import (
    FixedFeatures,
    Frequencies,
    Gamma,
    KernelName,
    MaxMemory,
    RandomState,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.explicit_features import OnRandomFeatures, random_features_of


@with_example(RANKING)
class RFFS2AUC(SemiSupervisedAUCMinimiser, QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Minimiser of the semi-supervised AUC risk over a fixed set of random features.

    The objective of `SAMULT` and QSG-S2AUC, with the kernel replaced by
    ``2 n_features`` random features: O(n n_features^2) time in one pass over the unlabelled rows,
    which are read in blocks, and O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: FixedFeatures = 1000
    frequencies: Frequencies = "independent"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    features_: Blocks = fitted("The random features.")
    coef_: Array = fitted("Their coefficients.", "(features_.width,)")

    def _trainer(self) -> OnRandomFeatures:
        return OnRandomFeatures(random_features_of(self))
