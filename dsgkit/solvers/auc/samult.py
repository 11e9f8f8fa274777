"""SAMULT: semi-supervised AUC maximisation without the class prior, in closed form."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dsgkit.linalg import Array
from dsgkit.solvers.auc.base import SemiSupervisedAUCMinimiser
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.common import Gamma, GramKernelName, MaxMemory, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.quadratic import QuadraticRiskEstimator
from dsgkit.trainers.kernel_matrix import KernelMatrix
from dsgkit.trainers.training import Function, Training


@with_example(RANKING)
class SAMULT(SemiSupervisedAUCMinimiser, QuadraticRiskEstimator, PairwiseAUCEstimator):
    """Exact minimiser of the semi-supervised AUC risk with a kernel.

    Minimises ``gamma R_PN(f) + (1 - gamma)(R_PU(f) + R_NU(f)) + lam/2 ||f||^2`` over the functions
    of a kernel, by default ``exp(-sigma ||x - x'||^2)``, where R_AB is the mean of
    ``(1 - f(a) + f(b))^2`` over all pairs. This is the problem that QSG-S2AUC approximates. One
    Cholesky factorisation: O(n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.
    """

    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    remark_: str = fitted(
        "With gamma = 1, that the unlabelled rows were not used, which makes the fit cheaper."
    )

    centers_: Array = fitted("Rows of the kernel expansion.", "(n, n_inputs)")
    coef_: Array = fitted("Coefficients of the rows.", "(n,)")

    def uses(self, name: str) -> bool:
        """Return False for unlabelled rows if gamma is 1 and ``sigma`` is a number."""
        return name != "X_unlabeled" or self.gamma < 1 or self.sigma == "scale"

    def _trainer(self) -> KernelMatrix:
        return KernelMatrix(self.kernel, self._sigma, all_rows=self.gamma < 1)

    def _keep(self, function: Function, training: Training) -> None:
        super()._keep(function, training)
        self.remark_ = "" if self.gamma < 1 else "gamma = 1: unlabelled rows were not used"
