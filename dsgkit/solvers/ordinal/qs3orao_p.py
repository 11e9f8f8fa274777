"""QS3ORAO-P: semi-supervised ordinal regression AUC by block-preconditioned steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost, Pace
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.preconditioned import PreconditionedRanker
from dsgkit.solvers.base import Folds, training_rows
from dsgkit.solvers.common import (
    FeaturesPerBlock,
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
from dsgkit.solvers.ordinal.base import Array, Codes, OrdinalEstimator, centred_out_of_fold
from dsgkit.solvers.ordinal.quadratic_risk import ordinal_risk


class QS3ORAOP(PreconditionedRanker, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QS3ORAO`, the mean over the cuts between the classes of the
    semi-supervised AUC risk plus ``lam/2 ||f||^2``, as `QSGS2AUCP` does for two classes; then
    places thresholds on the values of the function. With all unlabelled rows in a batch, sweeps
    converge to the minimiser over the ``n_blocks n_features`` frequencies.

    See Also
    --------
    QS3ORAO : The same objective by steps of the paper's kind.
    RFFS2OR : The minimiser on fixed random features, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import QS3ORAOP
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.digitize(target, [90, 140, 200])
    >>> model = QS3ORAOP(n_blocks=4).fit(X[:150], y[:150], X[150:])
    >>> model.score(X[150:], y[150:]) > 0.75
    True
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
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    random_state: RandomState = 0
    thresholds: Thresholds = "logistic"
    unlabeled_label: UnlabeledLabel = -1

    def _risk(self, counts: NDArray[np.integer]) -> PairwiseRisk:
        return ordinal_risk(self.gamma, counts)

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> Array:
        """Return what the base does, all folds trained in one pass over the features."""
        pools: Sequence[NDArray[np.int64]] = [training_rows(fold, len(codes)) for fold in folds]
        model = self._trained(X, codes, X_unlabeled, pools)
        return centred_out_of_fold(model, X, folds, reference)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return what the engine takes for a function, or for the values of a grid; see the base.

        The folds that thresholds are placed on are not in it.
        """
        return self._cost(n_inputs, n_models, n_labeled, n_unlabeled, n_cuts + 1)
