"""RFF-S2OR: the semi-supervised ordinal risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.solvers.auc.random_features import RandomFeaturesEstimator
from dsgkit.solvers.common import (
    FixedFeatures,
    GammaPerCut,
    KernelName,
    Lam,
    MaxMemory,
    RandomState,
    Sigma,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.ordinal.closed_form import ClosedFormOrdinal


class RFFS2OR(RandomFeaturesEstimator, ClosedFormOrdinal):
    """Minimiser of the semi-supervised ordinal risk over a fixed set of random features.

    The objective of `ExactS2OR` and QS3ORAO, with the kernel replaced by
    ``2 n_features`` random features [1]_: O(n n_features^2) time in a pass over the unlabelled
    rows, which are never held in memory together, and O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import RFFS2OR
    >>> X, y = load_wine(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = RFFS2OR(n_features=200).fit(X[::3], y[::3], X)
    >>> model.score(X, y) > 0.98
    True
    """

    version: ClassVar[int] = 1

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    n_features: FixedFeatures = 1000
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1
