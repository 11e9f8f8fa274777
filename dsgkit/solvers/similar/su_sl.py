"""SU-SL: the similar-unlabelled risk with the squared loss, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.solvers.common import LinearOrKernel, MaxMemory, Prior
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import SIMILAR_PAIRS, with_example
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.trainers.linear import Inputs
from dsgkit.trainers.unlabeled import UnlabeledFeatures, UnlabeledKernel


@with_example(SIMILAR_PAIRS, "lam=0.01, prior=0.8")
class SUSL(SimilarRiskEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss.

    Minimises ``mean_U [(f^2 + 1)/4 + f/(2 (2 pi - 1))] - pi_S/(2 pi - 1) mean_S f
    + lam/2 ||f||^2``, where S are the points of the similar pairs, U the unlabelled rows and
    ``pi_S = pi^2 + (1 - pi)^2``: an unbiased estimate of the risk with the loss
    ``(y f - 1)^2/4``. Functions of a kernel take one Cholesky factorisation: O(n^3) time and
    8 n^2 bytes for n unlabelled rows, and O(n) per pair. Linear functions with a bias, which is
    penalised too, take one pass over the rows.

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """

    pace: ClassVar[Pace] = Pace(training=3, per_model=5)

    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None

    centers_: Array = fitted(
        "Unlabelled rows, then points of pairs; only with a kernel.",
        "(n_unlabeled + 2 * n_similar, n_inputs)",
    )

    coef_: Array = fitted(
        "Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_unlabeled + 2 * n_similar,)",
    )

    def _trainer(self) -> UnlabeledFeatures | UnlabeledKernel:
        if self.kernel == "linear":
            return UnlabeledFeatures(Inputs())
        return UnlabeledKernel(self.kernel, self._sigma)
