"""The value of an objective at a fitted function, as records keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.base import SemiSupervisedEstimator


def penalised(risk: float, penalty: float, squared_norm: float) -> dict[str, float]:
    """Return an objective and its parts.

    Parameters
    ----------
    risk : float
        The part that depends on the values at the training rows.
    penalty : float
        The factor of the squared norm.
    squared_norm : float
    """
    objective = risk + penalty * squared_norm
    return {"objective": objective, "risk": risk, "squared_norm": squared_norm}


class PairwiseDiagnostics(SemiSupervisedEstimator):
    """Mixin of the estimators, of any family, that minimise a pairwise risk and a squared norm."""

    def _codes(self, labels: NDArray[Any]) -> NDArray[np.integer]:
        """Return the classes of the risk, counted from 0, from what the family takes for labels."""
        return labels

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        """Return the risk that is minimised, given how many training rows each class has."""
        raise NotImplementedError

    def _penalty(self) -> float:
        """Return the factor of the squared norm."""
        raise NotImplementedError

    def _squared_norm(self) -> float:
        """Return the squared norm of the fitted function."""
        raise NotImplementedError

    def diagnostics(self, X: Any, y: Any, X_unlabeled: Any = None) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X, y, X_unlabeled
            What it was fitted to.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``.
        """
        X, labels, X_unlabeled = clone(self)._inputs(X, y, X_unlabeled)
        codes = self._codes(labels)
        n_classes = len(self.classes_)
        risk = self._risk(np.bincount(codes, minlength=n_classes))
        labeled = self._values(X)
        values: Sequence[NDArray[np.float64]] = [
            *(labeled[codes == code] for code in range(n_classes)),
            # many rows, and without a weight they need not have been used
            self._values(X_unlabeled) if risk.diagonal[-1] else np.empty(0),
        ]
        return penalised(risk.value(values), self._penalty(), self._squared_norm())
