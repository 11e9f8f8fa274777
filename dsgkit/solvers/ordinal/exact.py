"""Exact S2OR: the exact minimiser of the semi-supervised ordinal risk with a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Pace
from dsgkit.objectives.risks import OrdinalAUC
from dsgkit.solvers.common import (
    GammaPerCut,
    GramKernelName,
    Lam,
    MaxMemory,
    Sigma,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.closed_form import ThresholdsByFolds
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.kernel_matrix import KernelMatrix


@with_example(ORDERED)
class ExactS2OR(ThresholdsByFolds, QuadraticRiskEstimator, OrdinalEstimator):
    """Exact minimiser of the semi-supervised ordinal risk with a kernel.

    Minimises the mean over the cuts between k ordered classes of
    ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f))``, plus ``lam/2 ||f||^2``, over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``. R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs; rows of the classes above a cut are its positives, those
    below its negatives. This is the problem that QS3ORAO approximates [1]_; with two classes it is
    that of `SAMULT`. One Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and
    unlabelled rows.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=0.5)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: NDArray[np.float64] = fitted("Rows of the kernel expansion.", "(n, n_inputs)")
    coef_: NDArray[np.float64] = fitted("Coefficients of the rows.", "(n,)")

    def _risk(self) -> OrdinalAUC:
        return OrdinalAUC.of(self.gamma)

    def _trainer(self) -> KernelMatrix:
        return KernelMatrix(self.kernel, self._sigma, all_rows=bool(np.min(self.gamma) < 1))
