"""RFF-S2OR: the semi-supervised ordinal risk on fixed random Fourier features, in closed form."""

from __future__ import annotations

from typing import ClassVar, Literal

from dsgkit.solvers.auc.random_features import RandomFeaturesEstimator
from dsgkit.solvers.ordinal.closed_form import ClosedFormOrdinal


class RFFS2OR(RandomFeaturesEstimator, ClosedFormOrdinal):
    """Minimiser of the semi-supervised ordinal risk over a fixed set of random features.

    The objective of `ExactS2OR` and QS3ORAO, with the kernel replaced by
    ``2 n_features`` random features [1]_: O(n n_features^2) time in a pass over the unlabelled
    rows, which are never held in memory together, and O(n_features^2) memory.

    Parameters
    ----------
    lam : float
        Weight of the regulariser ``lam/2 ||w||^2``.
    sigma : float or "scale"
        Parameter of the kernel, by default ``exp(-sigma ||x - x'||^2)``. "scale" fits it to the
        rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float or tuple of float
        Weight of the supervised risk, in 0..1, of all cuts or of each.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p (``dsg list kernels``).
    n_features : int
        Random frequencies; each gives a cosine and a sine.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule that places the thresholds between the classes on the function's values.
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
    thresholds_ : ndarray of shape (n_classes - 1,)

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import RFFS2OR
    >>> X, y = load_wine(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = RFFS2OR(n_features=200).fit(X[::3], y[::3], X)
    >>> model.score(X, y) > 0.98
    True
    """

    version: ClassVar[int] = 1

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float | tuple[float, ...] = 0.5,
        *,
        kernel: str = "gaussian",
        n_features: int = 1000,
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
        max_memory: float | None = None,
        random_state: int = 0,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.n_features = n_features
        self.thresholds = thresholds
        self.max_memory = max_memory
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label
