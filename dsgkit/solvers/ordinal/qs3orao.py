"""QS3ORAO: quadruply stochastic gradients for ordinal regression AUC (Shi et al., AAAI 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost, Pace
from dsgkit.engine import (
    DecreasingStep,
    DSGModel,
    Problem,
    Source,
    TableSize,
    train,
    train_values,
    training_cost,
)
from dsgkit.errors import DataError, DivergedError
from dsgkit.objectives.ordinal_auc import OrdinalAUCObjective, open_cuts
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.solvers.auc.curvature import offsets
from dsgkit.solvers.auc.stochastic import StochasticAUCEstimator
from dsgkit.solvers.base import Folds, Points, training_rows
from dsgkit.solvers.inputs import check_projections
from dsgkit.solvers.ordinal.base import Array, Codes, OrdinalEstimator, centred_out_of_fold
from dsgkit.solvers.ordinal.cuts import for_cuts
from dsgkit.solvers.ordinal.exact import ExactS2OR
from dsgkit.solvers.ordinal.quadratic_risk import ordinal_risk
from dsgkit.solvers.parameters import (
    PER_MODEL,
    SHARE,
    OnePer,
)


class QS3ORAO(StochasticAUCEstimator, OrdinalEstimator):
    """Semi-supervised ordinal AUC maximisation by quadruply stochastic functional gradients.

    Minimises the mean over the cuts between the classes of the semi-supervised AUC risk of
    `QSGS2AUC`, plus ``lam/2 ||f||^2``, over the functions of the Gaussian kernel
    ``exp(-sigma ||x - x'||^2)``; then places thresholds on the values of the function. Each
    iteration draws a batch of every class, one of unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). With two classes it is QSG-S2AUC. Memory is O(T m),
    whatever the number of rows.

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
        Rows of each class, and unlabelled rows, per iteration.
    n_features : int
        Random frequencies m per iteration (each is a cosine and a sine).
    n_iterations : int, optional
        Iterations T; default one pass over the unlabelled rows, at least 200 and at most 2,000.
    theta_lam : float
        ``theta * lam`` of the step ``theta / (t + t0)``; the theory wants it in (1, 2) or a
        positive integer.
    t0 : float or "stable"
        Offset of the step; 0 is the paper's rule. "stable" is the smallest offset with which no
        step is longer than the inverse of the risk's curvature, which is measured on the labelled
        and some unlabelled rows (`dsgkit.solvers.auc.curvature`).
    random_state : int
        Seed of the frequencies and of the draws, in 0..2^64-1.
    thresholds : {"logistic", "absolute", "share", "hinge"}
        Rule that places the thresholds; see `dsgkit.solvers.ordinal.thresholds`. "hinge" is the
        paper's, and alone depends on the scale of the function.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    model_ : DSGModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    n_cuts_ : int
        Cuts that the objective is the mean over: those with training rows on both sides.
    classes_ : ndarray of shape (n_classes,)
        The labels in ascending order.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Between the classes, on the values of the function.
    n_features_in_ : int
        Columns of the training rows.

    References
    ----------
    .. [1] Shi, Gu, Li & Huang, "Quadruply stochastic gradient method for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.qs3orao import QS3ORAO
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.digitize(target, [90, 140, 200])
    >>> model = QS3ORAO().fit(X[:150], y[:150], X[150:])
    >>> model.score(X[150:], y[150:]) > 0.75
    True
    """

    version: ClassVar[int] = 2
    _exact: ClassVar[type[ExactS2OR]] = ExactS2OR
    pace: ClassVar[Pace] = Pace(training=3, per_model=4)

    gamma: Annotated[float | tuple[float, ...], SHARE, PER_MODEL, OnePer("n_cuts")]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float | Literal["scale"] = "scale",
        gamma: float | tuple[float, ...] = 0.5,
        *,
        kernel: str = "gaussian",
        batch_size: int = 256,
        n_features: int = 256,
        n_iterations: int | None = None,
        theta_lam: float = 1.5,
        t0: float | Literal["stable"] = "stable",
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
        self.n_iterations = n_iterations
        self.theta_lam = theta_lam
        self.t0 = t0
        self.random_state = random_state
        self.thresholds = thresholds
        self.unlabeled_label = unlabeled_label

    def _risk(self, counts: NDArray[np.int64]) -> PairwiseRisk:
        return ordinal_risk(self.gamma, counts)

    def _fit(
        self,
        X: Any,
        codes: NDArray[Any],
        X_unlabeled: Any,
        trained: Callable[[Problem], DSGModel] = train,
    ) -> None:
        self.model_ = self._trained(X, codes, X_unlabeled, [np.arange(len(codes))], trained)
        self.n_iter_ = self._iterations(len(X_unlabeled))
        self.n_cuts_ = int(open_cuts(np.bincount(codes, minlength=len(self.classes_))).sum())

    def _trained(
        self,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        pools: Sequence[NDArray[np.int64]],
        trained: Callable[[Problem], DSGModel] = train,
    ) -> DSGModel:
        """Return the functions trained on some pools of labelled rows.

        Raises
        ------
        DivergedError
            If one of them has no finite coefficients.
        """
        check_projections(X, self._sigma, self.kernel)
        model = trained(_problem([self], X, codes, X_unlabeled, pools, len(self.classes_)))
        if not np.isfinite(model.coefficients).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise DivergedError(
                f"diverged with lam={self.lam:g}: the first steps are too long; set t0='stable'"
            )
        return model

    def _out_of_fold(
        self, X: Any, codes: Codes, X_unlabeled: Any, folds: Folds, reference: Any
    ) -> Array:
        """Return what the base does, all folds trained in one pass over the features."""
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        model = self._trained(X, codes, X_unlabeled, pools)
        return centred_out_of_fold(model, X, folds, reference)

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit the functions of many settings; for folds, in one pass over the features.

        As in the base class. In one pass, ``points`` may differ in lam, gamma, theta_lam and t0,
        and must agree in everything else. A fold may hold all rows of a class. Errors are those of
        `fit`, except that a model that diverged is a row of NaN.
        """
        if folds is None:
            return super().fit_points(points, X=X, y=y, X_unlabeled=X_unlabeled)
        models = self._settings(self._with_sigma(points, X, X_unlabeled))
        first = clone(models[0])
        X, codes, X_unlabeled = first._inputs(X, y, X_unlabeled)
        check_projections(X, first._sigma, first.kernel)
        pools = [training_rows(held_out, len(codes)) for held_out in folds]
        problem = _problem(models, X, codes, X_unlabeled, pools, len(first.classes_))
        final = train_values(problem)[0].reshape(len(codes), len(folds), len(points))
        values = np.full((len(points), len(codes)), np.nan)
        for fold, held_out in enumerate(folds):
            values[:, held_out] = final[held_out, fold].T
        diverged = ~np.isfinite(values[:, np.concatenate(folds)]).all(axis=1)
        if diverged.all():
            check_projections(X_unlabeled, first._sigma, first.kernel)
        values[diverged] = np.nan
        return values

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int
    ) -> Cost:
        """Return what the engine takes for a function, or for the values of a grid; see the base.

        The folds that thresholds are placed on are not in it.
        """
        return training_cost(
            self._features(),
            n_inputs,
            [TableSize(n_labeled, in_pools=True, n_sources=n_cuts + 1), TableSize(n_unlabeled)],
            batch_size=int(self.batch_size),
            n_iterations=self._iterations(n_unlabeled),
            n_models=n_models,
            result="model" if n_models == 1 else "values",
        )


def _problem(
    models: Sequence[QS3ORAO],
    X: Any,
    codes: Codes,
    X_unlabeled: Any,
    pools: Sequence[NDArray[np.int64]],
    n_classes: int,
) -> Problem:
    """Return the problem of training every model on every pool of labelled rows, pool by pool."""
    counts = np.array([np.bincount(codes[pool], minlength=n_classes) for pool in pools])
    used = open_cuts(counts)
    if not used.any(axis=1).all():
        raise DataError("every fold must leave labelled rows of two classes or more to train on")
    gamma = np.array([for_cuts("gamma", model.gamma, n_classes - 1) for model in models])

    def risk_of(model: QS3ORAO, pool: int) -> PairwiseRisk:
        return model._risk(counts[pool])

    t0 = offsets(models, risk_of, X, codes, X_unlabeled, pools)
    theta_lam, lam = np.tile([(m.theta_lam, m.lam) for m in models], (len(pools), 1)).T
    classes = [
        Source(0, [_rows_of(c, codes, pool) for pool in pools]) for c in range(n_classes)[::-1]
    ]
    return Problem(
        tables=[X, X_unlabeled],
        sources=[*classes, Source(1, in_passes=True)],
        objective=OrdinalAUCObjective(
            np.tile(gamma, (len(pools), 1)), np.repeat(counts, len(models), axis=0)
        ),
        step=DecreasingStep(theta_lam, lam, np.array(t0)),
        features=models[0]._features(),
        n_iterations=models[0]._iterations(len(X_unlabeled)),
        batch_size=int(models[0].batch_size),
        group=np.repeat(np.arange(len(pools)), len(models)),
    )


def _rows_of(label: int, codes: Codes, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of a class in a pool; if there are none, one that stands in.

    Something has to be drawn; the objective gives a class without rows no weight.
    """
    rows = pool[codes[pool] == label]
    return rows if len(rows) else pool[:1]
