"""Base of the AUC estimators: the parameters that all of them have."""

from __future__ import annotations

from typing import Annotated

from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.parameters import PER_MODEL, POSITIVE, Smoother


class KernelAUCEstimator(PairwiseAUCEstimator):
    """Base of the AUC estimators: functions of a kernel of parameter sigma, with a penalty lam."""

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]
