"""M-SAMULT: a semi-supervised AUC maximiser of its own for every cut, without class priors."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.ordinal.cuts import for_cuts
from dsgkit.solvers.ordinal.one_per_cut import OnePerCutEstimator
from dsgkit.solvers.parameters import PER_MODEL, SHARE, OnePer


class MSAMULT(OnePerCutEstimator):
    """A SAMULT model for each cut between ordered classes.

    The function of cut j minimises ``gamma R_PN + (1 - gamma)(R_PU + R_NU) + lam/2 ||f||^2`` with
    the classes up to the j-th as negatives and the others as positives (`SAMULT`). A fit costs
    O(n_cuts n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float or "scale"
        Parameter of the kernel. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float or tuple of float
        Weight of the supervised risk, in 0..1, for all cuts or for each; where it is 1 the
        unlabelled rows are not used.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p; or "linear", which has no sigma.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule of the thresholds (`dsgkit.solvers.ordinal.thresholds`), each placed on the function of
        its cut.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    centers_ : ndarray of shape (n_centers, n_inputs)
        The rows that the functions are expanded on.
    coef_ : ndarray of shape (n_centers, n_cuts)
        Their coefficients.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    thresholds_ : ndarray of shape (n_classes - 1,)

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.
    .. [2] Shi, Li, Gu, Li & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020: the extension to cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.m_samult import MSAMULT
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = MSAMULT(lam=0.01).fit(X[:100], y[:100], X[100:200])
    >>> model.decision_function(X).shape
    (442, 4)
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    version: ClassVar[int] = 1

    gamma: Annotated[float | tuple[float, ...], SHARE, PER_MODEL, OnePer("n_cuts")]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float | tuple[float, ...] = 0.5,
        *,
        kernel: str = "gaussian",
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
        max_memory: float | None = None,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.thresholds = thresholds
        self.max_memory = max_memory
        self.unlabeled_label = unlabeled_label

    def _binary_models(self, shares_above: NDArray[np.float64]) -> list[SAMULT]:
        return [
            SAMULT(self.lam, self._sigma, gamma, kernel=self.kernel, max_memory=self.max_memory)
            for gamma in for_cuts("gamma", self.gamma, len(shares_above))
        ]
