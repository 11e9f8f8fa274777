"""Nyström-S2AUC: the semi-supervised AUC risk over functions on landmarks, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

from typing_extensions import Doc

from dsgkit.linalg import Array
from dsgkit.solvers.auc.base import SemiSupervisedAUCMinimiser
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.common import Gamma, KernelName, MaxMemory, RandomState, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.parameters import NOT_NEGATIVE
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.explicit_features import OnLandmarks


@with_example(RANKING, "n_landmarks=100")
class NystromS2AUC(SemiSupervisedAUCMinimiser, QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Minimiser of the semi-supervised AUC risk over kernel expansions at landmarks.

    The objective of `SAMULT` and QSG-S2AUC, over ``f(x) = sum_j a_j k(z_j, x)`` with the norm of
    the kernel. The landmarks z are all labelled and some random unlabelled rows; with every row as
    a landmark it is SAMULT. For D landmarks: O(n D^2 + D^3) time in one pass over the unlabelled
    rows, which are read in blocks, and O(D^2) memory.

    See Also
    --------
    SAMULT : The same objective with every row as a landmark.
    RFFS2AUC : The same objective on random features.

    Notes
    -----
    Directions whose eigenvalue of the landmarks' Gram matrix is below `nystrom.EIGENVALUE_CUTOFF`
    times the largest are left out. In a cross-validation by `fit_points` the held-out rows remain
    landmarks: a landmark has no label, and all folds then share their features.

    References
    ----------
    .. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2001.
    """

    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_landmarks: Annotated[
        int, NOT_NEGATIVE, Doc("Unlabelled rows among the landmarks, at most.")
    ] = 1000
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The landmarks, labelled rows first.", "(n_centers, n_inputs)")
    coef_: Array = fitted("Coefficients a.", "(n_centers,)")

    def _trainer(self) -> OnLandmarks:
        return OnLandmarks(self.kernel, self._sigma, int(self.n_landmarks), int(self.random_state))
