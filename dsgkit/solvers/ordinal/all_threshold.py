"""All-threshold logistic regression with a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED_LABELED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.labeled import LabeledRanker
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.kernel_features import OnKernelFeatures
from dsgkit.trainers.ordinal_losses import AllThresholds

Array = NDArray[np.float64]


@with_example(ORDERED_LABELED)
class AllThresholdLogistic(LabeledRanker, WithSigma, OrdinalEstimator):
    """All-threshold logistic regression over the functions of a kernel.

    Minimises ``mean_i sum_j log(1 + exp(-z_ij (f(x_i) - b_j))) + lam/2 ||f||^2`` over f and the
    thresholds b, where z_ij is 1 for rows above cut j and -1 for the others [1]_. The means are
    over the labelled rows; unlabelled ones are not used for the function. With the linear kernel it
    equals ``LogisticAT`` of the package mord, which is no longer maintained and refuses classes
    without rows; here such a class is never predicted. It is not the proportional odds model.

    As there are few labelled rows, f is any function of the kernel rather than one of random
    features, found by L-BFGS in the eigenvectors of the kernel matrix: exact, without a seed, and
    for 500 rows a quarter of the width of 1,000 frequencies. O(n_labeled^3) time.

    References
    ----------
    .. [1] Rennie & Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI workshop on advances in preference handling, 2005.
    .. [2] Pedregosa, Bach & Gramfort, "On the consistency of ordinal regression methods", JMLR 18,
       2017.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=8, per_model=2)

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Annotated[
        Literal["own", "logistic", "absolute", "share", "hinge"],
        Doc(
            "``own`` are the thresholds b of the objective; the other rules are those of "
            "`dsgkit.solvers.ordinal.thresholds`."
        ),
    ] = "own"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("", "(n_labeled, n_inputs)")
    coef_: Array = fitted("", "(n_labeled,)")
    intercept_: float = fitted("The mean m.")
    own_thresholds_: Array = fitted("Thresholds that minimise the objective.", "(n_classes - 1,)")

    def _trainer(self) -> OnKernelFeatures:
        return OnKernelFeatures(self.kernel, self._sigma, AllThresholds())
