"""The parameters that all AUC estimators have, and others with a kernel and a penalty."""

from __future__ import annotations

from typing import Annotated

from dsgkit.solvers.base import PairwiseAUCEstimator, SemiSupervisedEstimator
from dsgkit.solvers.parameters import PER_MODEL, POSITIVE, Smoother


class KernelEstimator(SemiSupervisedEstimator):
    """Base of estimators, of any family, of functions of a kernel sigma with a penalty lam.

    A subclass names this base before the one of its family.
    """

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]


class KernelAUCEstimator(KernelEstimator, PairwiseAUCEstimator):
    """Base of the AUC estimators of functions of a kernel."""
