"""M-PNU-AUC: a semi-supervised AUC maximiser of its own for every cut, with class priors."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.solvers.ordinal.cuts import for_cuts
from dsgkit.solvers.ordinal.one_per_cut import OnePerCutEstimator
from dsgkit.solvers.parameters import COUNT, PER_MODEL, SEED, OnePer, Range


class MPNUAUC(OnePerCutEstimator):
    """A PNU-AUC model for each cut between ordered classes.

    The function of cut j is a combination of kernel functions at given centres that minimises
    the PNU risk with the classes up to the j-th as negatives and the others as positives, plus
    ``lam ||w||^2`` (`PNUAUC`). With every row as a centre a fit costs O(n_cuts n^3) time and 8 n^2
    bytes.

    The risk of a cut need not have a minimum: for ``eta > 0`` it is sure to have one where the
    prior is at most 1/2, for ``eta < 0`` where it is at least 1/2. Elsewhere a fit may end in
    `IndefiniteError`, so that one eta for all cuts leaves little choice beside 0; take one of each
    cut's own.

    Parameters
    ----------
    lam : float
        Weight of the regulariser, which is the squared norm of the coefficients.
    sigma : float or "scale"
        Parameter of the kernel. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    eta : float or tuple of float
        In -1..1, for all cuts or for each; 0 is the supervised risk.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p; or "linear", which has no sigma.
    prior : float, tuple of float or None
        Share of rows above the cut among the unlabelled ones, for all cuts or for each; None takes
        the shares of the labelled rows (in a search those of all, whatever the fold).
    n_centers : int or None
        Random rows that serve as centres; None takes every labelled and unlabelled row.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule of the thresholds (`dsgkit.solvers.ordinal.thresholds`), each placed on the function of
        its cut.
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the centres.
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
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.
    .. [2] Shi, Li, Gu, Li & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020: the extension to cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.m_pnu_auc import MPNUAUC
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = MPNUAUC(eta=(-0.5, -0.5, 0.5, 0.5)).fit(X[:100], y[:100], X[100:200])
    >>> model.decision_function(X).shape
    (442, 4)
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    version: ClassVar[int] = 1

    eta: Annotated[float | tuple[float, ...], Range(-1, 1), PER_MODEL, OnePer("n_cuts")]
    prior: Annotated[
        float | tuple[float, ...] | None,
        Range(0, 1, open_low=True, open_high=True),
        OnePer("n_cuts"),
    ]
    n_centers: Annotated[int | None, COUNT]
    random_state: Annotated[int, SEED]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        eta: float | tuple[float, ...] = 0.0,
        *,
        kernel: str = "gaussian",
        prior: float | tuple[float, ...] | None = None,
        n_centers: int | None = None,
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
        max_memory: float | None = None,
        random_state: int = 0,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.eta = eta
        self.kernel = kernel
        self.prior = prior
        self.n_centers = n_centers
        self.thresholds = thresholds
        self.max_memory = max_memory
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label

    def _binary_models(self, shares_above: NDArray[np.float64]) -> list[PNUAUC]:
        n_cuts = len(shares_above)
        priors = shares_above if self.prior is None else for_cuts("prior", self.prior, n_cuts)
        return [
            PNUAUC(
                self.lam,
                self._sigma,
                eta,
                kernel=self.kernel,
                prior=float(prior),
                n_centers=self.n_centers,
                max_memory=self.max_memory,
                random_state=self.random_state,
            )
            for eta, prior in zip(for_cuts("eta", self.eta, n_cuts), priors, strict=True)
        ]
