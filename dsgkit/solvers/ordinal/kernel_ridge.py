"""Kernel ridge regression on the numbers of the classes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.costs import Pace
from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, Sigma, Thresholds, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED_LABELED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.labeled import LabeledRanker
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.kernel_features import OnKernelFeatures
from dsgkit.trainers.ordinal_losses import SquaredNumbers
from dsgkit.trainers.training import Array


@with_example(ORDERED_LABELED)
class KernelRidgeOrdinal(LabeledRanker, WithSigma, OrdinalEstimator):
    """Kernel ridge regression on the classes as the numbers 1..k.

    Minimises the *mean* of ``(y_i - m - f(x_i))^2`` over the labelled rows, plus ``lam ||f||^2``,
    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``; m is the mean of the
    numbers. In `sklearn.kernel_ridge.KernelRidge`, ``n_labeled * lam`` is alpha. Unlabelled rows
    are not used for the function. O(n_labeled^3) time.

    References
    ----------
    .. [1] Saunders, Gammerman & Vovk, "Ridge regression learning algorithm in dual variables",
       ICML 1998.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2, per_model=2)

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("", "(n_labeled, n_inputs)")
    coef_: Array = fitted("", "(n_labeled,)")
    intercept_: float = fitted("The mean m.")

    def _trainer(self) -> OnKernelFeatures:
        return OnKernelFeatures(self.kernel, self._sigma, SquaredNumbers())
