"""The parameters that all AUC estimators have, and others with a kernel and a penalty."""

from __future__ import annotations

from typing import Annotated

from dsgkit.solvers.base import PairwiseAUCEstimator, SemiSupervisedEstimator
from dsgkit.solvers.kernel import KernelName
from dsgkit.solvers.parameters import PER_MODEL, POSITIVE, Smoother
from dsgkit.solvers.sigma import Sigma, WithSigma


class KernelEstimator(WithSigma, SemiSupervisedEstimator):
    """Base of estimators, of any family, of functions of a kernel with a penalty lam.

    Those that do not take ``kernel`` are for the Gaussian one.

    A subclass names this base before the one of its family.
    """

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    sigma: Sigma
    kernel: KernelName = "gaussian"


class KernelAUCEstimator(KernelEstimator, PairwiseAUCEstimator):
    """Base of the AUC estimators of functions of a kernel."""
