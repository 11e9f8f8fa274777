"""QS3ORAO-P: semi-supervised ordinal regression AUC by block-preconditioned steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost, Pace
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.preconditioned import PreconditionedRanker
from dsgkit.solvers.base import Folds, training_rows
from dsgkit.solvers.ordinal.base import Array, Codes, OrdinalEstimator, centred_out_of_fold
from dsgkit.solvers.ordinal.quadratic_risk import ordinal_risk
from dsgkit.solvers.parameters import PER_MODEL, SHARE, OnePer


class QS3ORAOP(PreconditionedRanker, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QS3ORAO`, the mean over the cuts between the classes of the
    semi-supervised AUC risk plus ``lam/2 ||f||^2``, as `QSGS2AUCP` does for two classes; then
    places thresholds on the values of the function. With all unlabelled rows in a batch, sweeps
    converge to the minimiser over the ``n_blocks n_features`` frequencies.

    Parameters
    ----------
    lam : float
        Regularisation, > 0.
    sigma : float or "scale"
        Parameter of the kernel, > 0. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    gamma : float or sequence of float
        Weight of the labelled pairs, in 0..1; 1 is supervised. Several numbers are those of the
        cuts, the first above the lowest class.
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
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule that places the thresholds; see `dsgkit.solvers.ordinal.thresholds`.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    model_ : DSGModel
        Seeds and coefficients.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Between the classes, on the values of the function.
    n_features_in_ : int
        Columns of the training rows.

    See Also
    --------
    QS3ORAO : The same objective by steps of the paper's kind.
    RFFS2OR : The minimiser on fixed random features, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit import QS3ORAOP
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.digitize(target, [90, 140, 200])
    >>> model = QS3ORAOP(n_blocks=4).fit(X[:150], y[:150], X[150:])
    >>> model.score(X[150:], y[150:]) > 0.75
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=3, per_model=4)

    gamma: Annotated[float | tuple[float, ...], SHARE, PER_MODEL, OnePer("n_cuts")]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float | tuple[float, ...] = 0.5,
        *,
        kernel: str = "gaussian",
        batch_size: int = 1024,
        n_features: int = 256,
        n_blocks: int = 16,
        n_sweeps: int = 2,
        random_state: int = 0,
        thresholds: Literal["logistic", "absolute", "share", "hinge"] = "logistic",
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
        self.thresholds = thresholds
        self.unlabeled_label = unlabeled_label

    def _risk(self, counts: NDArray[np.integer]) -> PairwiseRisk:
        return ordinal_risk(self.gamma, counts)

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> Array:
        """Return what the base does, all folds trained in one pass over the features."""
        pools: Sequence[NDArray[np.int64]] = [training_rows(fold, len(codes)) for fold in folds]
        model = self._trained(X, codes, X_unlabeled, pools)
        return centred_out_of_fold(model, X, folds, reference)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return what the engine takes for a function, or for the values of a grid; see the base.

        The folds that thresholds are placed on are not in it.
        """
        return self._cost(n_inputs, n_models, n_labeled, n_unlabeled, n_cuts + 1)
