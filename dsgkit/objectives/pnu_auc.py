"""Semi-supervised AUC: positive, negative and unlabelled pairs under the squared pairwise loss.

``R = gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2)`` with ``l(u, v) = (1 - u + v)^2`` (Shi et al.,
IJCAI 2019, Eq. 8-13).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Single
from dsgkit.system.jit import fast


@fast
def _coefficients(
    f_p: Single, f_n: Single, f_u: Single, gamma: Single, c_p: Single, c_n: Single, c_u: Single
) -> None:
    b = np.float32(f_p.shape[0])
    for i in range(f_p.shape[0]):
        for g in range(f_p.shape[1]):
            p, n, u = f_p[i, g], f_n[i, g], f_u[i, g]
            pn = np.float32(2.0) * gamma[g] * (np.float32(1.0) - p + n) / b
            rest = np.float32(2.0) * (np.float32(1.0) - gamma[g]) / b
            pu = rest * (np.float32(1.0) - p + u)
            un = rest * (np.float32(1.0) - u + n)
            c_p[i, g] = -pn - pu
            c_n[i, g] = pn + un
            c_u[i, g] = pu - un


class PNUAUCObjective:
    """The semi-supervised AUC risk for models that differ in gamma.

    Sources: positive, negative and unlabelled rows, in this order; the i-th rows of the three
    batches form one triplet.

    Parameters
    ----------
    gamma : array-like of shape (G,)
        Weight of the labelled pairs, in 0..1.
    """

    def __init__(self, gamma: NDArray[np.floating]) -> None:
        self.gamma = np.asarray(gamma, np.float32)

    def coefficients(self, values: list[Single]) -> list[Single]:
        """Return the derivative of the batch's mean loss with respect to each drawn row's value."""
        out = [np.empty_like(v) for v in values]
        _coefficients(*values, self.gamma, *out)
        return out

    def take(self, models: slice) -> PNUAUCObjective:
        """Return the objective of some of the models."""
        return PNUAUCObjective(self.gamma[models])
