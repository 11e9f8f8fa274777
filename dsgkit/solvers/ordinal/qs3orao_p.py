"""QS3ORAO-P: semi-supervised ordinal regression AUC by block-preconditioned steps."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.costs import Pace
from dsgkit.objectives.risks import OrdinalAUC
from dsgkit.solvers.block_functions import SweepsEstimator
from dsgkit.solvers.common import (
    FeaturesPerBlock,
    Frequencies,
    GammaPerCut,
    KernelName,
    Lam,
    NBlocks,
    NSweeps,
    RandomState,
    Sigma,
    SweepBatch,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.quadratic import QuadraticRiskEstimator


@with_example(ORDERED, "n_blocks=4")
class QS3ORAOP(SweepsEstimator, QuadraticRiskEstimator, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QS3ORAO`, the mean over the cuts between the classes of the
    semi-supervised AUC risk plus ``lam/2 ||f||^2``, as `QSGS2AUCP` does for two classes; then
    places thresholds on the values of the function. With all unlabelled rows in a batch, sweeps
    converge to the minimiser over the ``n_blocks n_features`` frequencies.

    See Also
    --------
    QS3ORAO : The same objective by the steps of the paper.
    RFFS2OR : The minimiser on fixed random features, in closed form.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=3, per_model=4)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: SweepBatch = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"
    unlabeled_label: UnlabeledLabel = -1

    def _risk(self) -> OrdinalAUC:
        return OrdinalAUC.of(self.gamma)
