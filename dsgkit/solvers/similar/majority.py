"""Baseline that predicts the larger class for every row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from dsgkit.linalg import Array
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.labeled import LabeledEstimator


class MajorityClass(LabeledEstimator):
    """Constant prediction of the larger class; of equally large ones, the positive class.

    Examples
    --------
    >>> from dsgkit.solvers.similar.majority import MajorityClass
    >>> MajorityClass().fit([[0], [1], [2]], ["a", "b", "a"]).predict([[0], [9]])
    array(['a', 'a'], dtype='<U1')
    """

    tasks = ("similar_unlabeled",)
    version: ClassVar[int] = 1
    _solution: ClassVar[str] = "value_"

    value_: float = fitted("1 or -1, the value at all rows.")

    def _fit(self, X: Any, t: Array) -> None:
        self.value_ = 1.0 if t.sum() >= 0 else -1.0

    def _values(self, X: Any) -> Array:
        return np.full(len(X), self.value_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
