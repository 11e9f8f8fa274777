"""Base of the S3VMs: the weights of their objective."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from dsgkit.objectives.s3vm import S3VMObjective, Values
from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.solvers.common import Sigma
from dsgkit.solvers.diagnostics import penalised
from dsgkit.solvers.sigma import WithSigma
from dsgkit.text.errors import DataError


class S3VM(WithSigma, SemiSupervisedClassifier):
    """Base of the semi-supervised SVMs.

    All minimise ``1/2 ||f||^2 + C mean_labelled hinge(y f(x)) + C* mean_unlabelled u(f(x))`` over
    functions f of a kernel such as ``exp(-sigma ||x - x'||^2)``, each with its own loss u.
    """

    version: ClassVar[int] = 1

    C: float
    sigma: Sigma
    C_star: float | None
    C_star_ratio: float | None

    def _check_params(self) -> None:
        super()._check_params()
        if self.C_star is not None and self.C_star_ratio is not None:
            raise DataError(
                f"C_star is {self.C_star:g} and C_star_ratio is {self.C_star_ratio:g}: set one of "
                "them, the other one to null"
            )

    def _unlabeled_weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        if self.C_star is not None:
            return self.C_star
        if self.C_star_ratio is not None:
            return self.C * self.C_star_ratio
        return self.C * n_labeled / n_unlabeled

    def diagnostics(self, X: Any, y: Any, X_unlabeled: Any = None) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X, y, X_unlabeled
            What it was fitted to.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``; and
            ``symmetric_hinge_objective``, with the loss ``max(0, 1 - |f|)`` of unlabelled rows,
            whatever the own loss is: that of different S3VMs can be compared.
        """
        X, positive, X_unlabeled = clone(self)._inputs(X, y, X_unlabeled)
        weights = self.C, self._unlabeled_weight(len(X), len(X_unlabeled))
        labeled = self._values(X)
        values: list[Values] = [labeled[positive], labeled[~positive], self._values(X_unlabeled)]
        own = penalised(self._loss(values, *weights), 0.5, self._squared_norm())
        common = weighted_loss(values, *weights) + own["squared_norm"] / 2
        return {**own, "symmetric_hinge_objective": common}

    def _loss(self, values: list[Values], C: float, C_star: float) -> float:
        """Return the weighted losses at the positive, the negative and the unlabelled rows."""
        return weighted_loss(values, C, C_star)

    def _squared_norm(self) -> float:
        """Return the squared norm of the fitted function."""
        raise NotImplementedError


def weighted_loss(
    values: list[Values], C: float, C_star: float, loss: str = "shg", ramp_s: float = 0.0
) -> float:
    """Return the part of the objective that depends on the values at the training rows.

    Parameters
    ----------
    values : list of ndarray
        At the positive, the negative and the unlabelled rows.
    C, C_star : float
    loss : str
        A name in `dsgkit.objectives.s3vm.UNLABELED_LOSSES`.
    ramp_s : float
    """
    n_positive, n_negative = len(values[0]), len(values[1])
    share = n_positive / (n_positive + n_negative)
    C_l, C_u, s = np.array([[C], [C_star], [ramp_s]])
    objective = S3VMObjective(C_l, C_u, share, [loss], s)
    return float(objective.batch_loss([f[:, None] for f in values])[0])
