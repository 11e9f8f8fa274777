"""Support vector machines of labelled rows, by LIBSVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.kernels import (
    CANCELLING_SQUARED_NORM,
    check_projections,
    expansion_flops,
    expansion_memory,
)
from dsgkit.linalg import Array
from dsgkit.trainers.kernel_machines import KernelMachine

CACHE_MIB = 500
"""Size of LIBSVM's cache of kernel values."""

_STEPS_PER_ROW = 3.0
"""Steps of sequential minimal optimisation; 0.5 for a small C, 10 and more for a large one."""

_STEP_FLOPS = 100.0
"""Operations of a step for each row."""


@dataclass(frozen=True)
class LibSVM:
    """scikit-learn's `SVC` with our kernels.

    Its linear kernel lacks our constant 1, which changes nothing: the coefficients sum to 0.

    Attributes
    ----------
    kernel : {"gaussian", "linear"}
    """

    kernel: str
    sigma: float
    tol: float

    def untrained(self, C: float, class_weight: Any = None) -> Any:
        """Return an `SVC` whose C weights the loss of each row."""
        from sklearn.svm import SVC

        kernel = {"kernel": "linear"} if self.kernel == "linear" else {"kernel": "rbf"}
        gamma = {} if self.kernel == "linear" else {"gamma": self.sigma}
        options = {"class_weight": class_weight, "tol": self.tol, "cache_size": CACHE_MIB}
        return SVC(C=C, **kernel, **gamma, **options)

    def rows(self, rows: Array) -> Array:
        """Return rows without a large offset; refuse those so far apart that distances are wrong.

        LIBSVM computes them as differences of squared norms.
        """
        if self.kernel == "linear":
            return rows
        if self.sigma * np.square(rows).sum(axis=1).max() > CANCELLING_SQUARED_NORM:
            rows = rows - rows.mean(axis=0)
        check_projections(rows, self.sigma, labeled=False)
        return rows

    def fit(self, X: Any, t: Array, C: float, class_weight: Any = None) -> KernelMachine:
        """Train on rows with labels -1 and 1; ``C`` weights the mean loss."""
        rows = np.asarray(X[:], np.float64)
        svm = self.untrained(C / len(rows), class_weight).fit(self.rows(rows), t)
        return self.machine(svm, rows)

    def machine(self, svm: Any, rows: Array, factor: float = 1.0) -> KernelMachine:
        """Return a trained `SVC` as a `KernelMachine`, its function multiplied by a factor.

        Parameters
        ----------
        svm : SVC
        rows : ndarray
            Its training rows, before `rows` changed them.
        factor : float
        """
        return KernelMachine(
            self.kernel,
            self.sigma,
            rows[svm.support_],
            factor * svm.dual_coef_[0],
            intercept=float(factor * svm.intercept_[0]),
        )


def svm_cost(n: int, n_inputs: int, n_models: int = 1) -> Cost:
    """Return the cost of ``n_models`` support vector machines on ``n`` rows."""
    steps = _STEPS_PER_ROW * _STEP_FLOPS
    rows = 8 * n * (3 * n_inputs + 20)
    return Cost(
        flops=n_models * n**2 * (ENTRY_FLOPS + 6.0 * n_inputs + steps),
        memory=max(min(4 * n**2, CACHE_MIB * 2**20) + rows, expansion_memory(n, n_inputs)),
        flops_per_row=expansion_flops(n, n_inputs),
    )
