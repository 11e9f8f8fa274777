"""RFF-S2AUC: the semi-supervised AUC risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.objectives.pairwise_risk import PairwiseRisk, samult_risk
from dsgkit.solvers.auc.closed_form import ClosedFormRanker
from dsgkit.solvers.auc.random_features import RandomFeaturesEstimator
from dsgkit.solvers.parameters import PER_MODEL, SHARE


class RFFS2AUC(RandomFeaturesEstimator, ClosedFormRanker):
    """Minimiser of the semi-supervised AUC risk over a fixed set of random features.

    The objective of `SAMULT` and QSG-S2AUC, with the kernel replaced by
    ``2 n_features`` random features: O(n n_features^2) time in one pass over the unlabelled rows,
    which are never held in memory together, and O(n_features^2) memory.

    Parameters
    ----------
    lam : float
        Weight of the regulariser ``lam/2 ||w||^2``.
    sigma : float or "scale"
        Parameter of the kernel, by default ``exp(-sigma ||x - x'||^2)``. "scale" fits it to the
        rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float
        Weight of the supervised risk, in 0..1.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p (``dsg list kernels``).
    n_features : int
        Random frequencies; each gives a cosine and a sine.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the frequencies.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    features_ : FeatureBlocks
    coef_ : ndarray of shape (features_.width,)
    n_features_in_ : int
        Columns of the training rows.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import RFFS2AUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = RFFS2AUC().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1

    gamma: Annotated[float, SHARE, PER_MODEL]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float = 0.5,
        *,
        kernel: str = "gaussian",
        n_features: int = 1000,
        max_memory: float | None = None,
        random_state: int = 0,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.n_features = n_features
        self.max_memory = max_memory
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return samult_risk(self.gamma)
