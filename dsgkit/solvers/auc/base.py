"""The parameters that all AUC estimators have, and others with a kernel and a penalty."""

from __future__ import annotations

from dsgkit.solvers.base import PairwiseAUCEstimator, SemiSupervisedEstimator
from dsgkit.solvers.common import Lam, Sigma
from dsgkit.solvers.declared import preset
from dsgkit.solvers.sigma import WithSigma


class KernelEstimator(WithSigma, SemiSupervisedEstimator):
    """Base of estimators, of any family, of functions of a kernel with a penalty lam.

    Those that do not take ``kernel`` are for the Gaussian one.

    A subclass names this base before the one of its family.
    """

    lam: Lam
    sigma: Sigma
    kernel: str = preset("gaussian")


class KernelAUCEstimator(KernelEstimator, PairwiseAUCEstimator):
    """Base of the AUC estimators of functions of a kernel."""
