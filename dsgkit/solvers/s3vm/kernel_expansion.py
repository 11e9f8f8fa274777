"""Base of the kernel-expansion S3VMs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels import kernel_named
from dsgkit.solvers.common import GaussianOrLinear
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.system.threads import single_blas_thread

Array = NDArray[np.float64]


class KernelS3VM(S3VM):
    """Base of the S3VMs with a function ``sum_j coef[j] k(centers[j], x) + intercept``.

    A subclass implements `_solve`, and says what it costs.
    """

    kernel: GaussianOrLinear

    centers_: Array = fitted("", "(n_support, n_inputs)")
    coef_: Array = fitted("", "(n_support,)")
    intercept_: float = fitted("Always 0.")

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        n_labeled, n_inputs = X.shape
        self._check_memory(self.cost(n_inputs, n_labeled=n_labeled, n_unlabeled=len(X_unlabeled)))
        # one thread: the products are small, and which rows lie within the margin, or are switched,
        # may hang on rounding, which is not to depend on the number of threads
        with single_blas_thread():
            self._solve(X, np.where(positive, 1.0, -1.0), X_unlabeled)

    def _values(self, X: Any) -> Array:
        expansion = kernel_named(self.kernel).expansion
        return expansion(X, self.centers_, self.coef_, self._sigma) + self.intercept_

    def _squared_norm(self) -> float:
        return float(self.coef_ @ (self._values(self.centers_) - self.intercept_))

    def _solve(self, X: Any, y: Array, X_unlabeled: Any) -> None:
        """Compute the fitted attributes; ``y`` is -1 and 1."""
        raise NotImplementedError
