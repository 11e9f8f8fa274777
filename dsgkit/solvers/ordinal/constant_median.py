"""Baseline that predicts the median class for every row."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.objectives.ordinal_risk import above_cuts
from dsgkit.solvers.common import UnlabeledLabel
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.inputs import check_finite
from dsgkit.solvers.ordinal.base import OrdinalEstimator


class ConstantMedian(OrdinalEstimator):
    """Constant prediction with the least absolute error on the labelled rows: the median class.

    All values are 0, which is an AUC of 1/2. Of two medians the lower one is predicted.

    Examples
    --------
    >>> from dsgkit.solvers.ordinal.constant_median import ConstantMedian
    >>> ConstantMedian().fit([[0], [1], [2], [3], [4]], [1, 1, 3, 5, 5]).predict([[0], [9]])
    array([3, 3])
    """

    version: ClassVar[int] = 1
    _solution: ClassVar[str] = "own_thresholds_"
    _labeled_only: ClassVar[bool] = True

    thresholds: str = preset("own")

    _: KW_ONLY
    unlabeled_label: UnlabeledLabel = -1

    classes_: NDArray[Any] = fitted("The labels in ascending order.", "(n_classes,)")
    thresholds_: NDArray[np.float64] = fitted(
        "-inf below the median class, inf above.", "(n_classes - 1,)"
    )

    def _fit(self, X: Any, codes: NDArray[Any], X_unlabeled: Any) -> None:
        share = above_cuts(codes, len(self.classes_)).mean(axis=0)
        self.own_thresholds_ = np.where(share > 0.5, -np.inf, np.inf)

    def _values(self, X: Any) -> NDArray[np.float64]:
        check_finite(X)
        return np.zeros(len(X))
