"""QSG-S2AUC-P: semi-supervised AUC by block-preconditioned steps."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost, Pace
from dsgkit.objectives.pairwise_risk import NEGATIVE, POSITIVE, PairwiseRisk, samult_risk
from dsgkit.solvers.auc.base import KernelAUCEstimator
from dsgkit.solvers.auc.preconditioned import PreconditionedRanker
from dsgkit.solvers.parameters import PER_MODEL, SHARE


class QSGS2AUCP(PreconditionedRanker, KernelAUCEstimator):
    """Semi-supervised AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QSGS2AUC`, ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) +
    lam/2 ||f||^2`` with the squared pairwise loss, over functions of the same kind: blocks of
    random frequencies from a seed. Where a step of `QSGS2AUC` is a number, here it is the inverse
    of the block's Hessian, on all pairs of a batch of all labelled and some unlabelled rows: a few
    blocks and sweeps come close to the minimiser at small ``lam`` too. With all unlabelled rows in
    a batch, sweeps converge to the minimiser over the ``n_blocks n_features`` frequencies.

    Parameters
    ----------
    lam : float
        Regularisation, > 0.
    sigma : float or "scale"
        Parameter of the kernel, > 0. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float
        Weight of the labelled pairs, in 0..1; 1 is supervised.
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p (``dsg list kernels``).
    batch_size : int
        Unlabelled rows per step; all labelled ones are in every batch.
    n_features : int
        Random frequencies m of a block (each is a cosine and a sine). Time and memory of a step
        grow with their cube and their square.
    n_blocks : int
        Blocks T.
    n_sweeps : int
        How many times all blocks are gone through.
    random_state : int
        Seed of the frequencies and of the draws, in 0..2^64-1.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    model_ : DSGModel
        Seeds and coefficients.
    classes_ : ndarray of shape (2,)
        The labels, the larger and positive one last.
    n_features_in_ : int
        Columns of the training rows.

    See Also
    --------
    QSGS2AUC : The same objective by steps of the paper's kind.
    RFFS2AUC : The minimiser on fixed random features, in closed form.

    References
    ----------
    .. [1] Dai, Xie, He, Liang, Raj, Balcan & Song, "Scalable kernel methods via doubly stochastic
       gradients", NIPS 2014, and its program.
    .. [2] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import QSGS2AUCP
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = minmax_scale(X)
    >>> model = QSGS2AUCP().fit(X[:60], y[:60], X[60:])
    >>> model.score(X[60:], y[60:]) > 0.97
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=1.2, per_model=4)

    gamma: Annotated[float, SHARE, PER_MODEL]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float = 0.5,
        *,
        kernel: str = "gaussian",
        batch_size: int = 1024,
        n_features: int = 256,
        n_blocks: int = 16,
        n_sweeps: int = 2,
        random_state: int = 0,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.kernel = kernel
        self.batch_size = batch_size
        self.n_features = n_features
        self.n_blocks = n_blocks
        self.n_sweeps = n_sweeps
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label

    def _codes(self, positive: NDArray[np.bool_]) -> NDArray[np.integer]:
        return np.where(positive, POSITIVE, NEGATIVE)

    def _risk(self, counts: NDArray[np.integer]) -> PairwiseRisk:
        return samult_risk(self.gamma)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the engine takes for a fit, or for the values of a grid; see the base."""
        return self._cost(n_inputs, n_models, n_labeled, n_unlabeled, 2)
