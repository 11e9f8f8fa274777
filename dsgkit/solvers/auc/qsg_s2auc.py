"""QSG-S2AUC: quadruply stochastic gradients for semi-supervised AUC (Shi et al., IJCAI 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import DecreasingStep, Problem, Source, sizes, train, train_values
from dsgkit.errors import DataError, DivergedError
from dsgkit.features import FourierFeatures
from dsgkit.objectives.pnu_auc import PNUAUCObjective
from dsgkit.solvers.base import (
    FUNCTION_FLOPS,
    PairwiseAUCEstimator,
    encode_labels,
    training_rows,
)
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.inputs import (
    check_above_zero,
    check_between,
    check_count,
    check_projections,
    check_seed,
    check_training_rows,
)
from dsgkit.solvers.parameters import (
    COUNT,
    NOT_NEGATIVE,
    PER_MODEL,
    POSITIVE,
    SEED,
    SHARE,
    Smoother,
)

_BATCHED = ("lam", "gamma", "theta_lam", "t0")
"""Parameters in which the models of one pass may differ."""


class QSGS2AUC(DoublyStochasticEstimator, PairwiseAUCEstimator):
    """Semi-supervised AUC maximisation by quadruply stochastic functional gradients.

    Minimises ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) + lam/2 ||f||^2`` with the squared
    pairwise loss over the functions of the Gaussian kernel ``exp(-sigma ||x - x'||^2)``. Each
    iteration draws a batch of positive, negative and unlabelled rows and one new block of random
    frequencies (Algorithms 1 and 2 of [1]_). Memory is O(T m), whatever the number of rows.

    Parameters
    ----------
    lam : float
        Regularisation, > 0.
    sigma : float
        Kernel parameter, > 0.
    gamma : float
        Weight of the labelled pairs, in 0..1; 1 is supervised.
    batch_size : int
        Triplets per iteration.
    n_features : int
        Random frequencies m per iteration (each is a cosine and a sine).
    n_iterations : int, optional
        Iterations T; default one pass over the unlabelled rows, at least 200.
    theta_lam : float
        ``theta * lam`` of the step ``theta / (t + t0)``; the theory wants it in (1, 2) or a
        positive integer.
    t0 : float or "stable"
        Offset of the step; 0 is the paper's rule. "stable" is the smallest offset with which no
        step is longer than the inverse of the risk's curvature: with a small ``lam`` the paper's
        first steps are so long that the iterates overflow.
    random_state : int
        Seed of the frequencies and of the draws, in 0..2^64-1.

    Attributes
    ----------
    model_ : DSGModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    n_features_in_ : int
        Columns of the training rows.

    References
    ----------
    .. [1] Shi, Gu, Li, Geng & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised AUC optimization", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import QSGS2AUC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + np.repeat([[0], [2]], 20, axis=0)
    >>> y = np.repeat([-1, 1], 20)
    >>> X_unlabeled = rng.normal(size=(500, 2)) + rng.integers(0, 2, (500, 1)) * 2
    >>> model = QSGS2AUC(lam=0.1, n_iterations=50).fit(X, y, X_unlabeled)
    >>> bool(model.decision_function(X)[20:].mean() > model.decision_function(X)[:20].mean())
    True
    """

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]
    gamma: Annotated[float, SHARE, PER_MODEL]
    batch_size: Annotated[int, COUNT]
    n_features: Annotated[int, COUNT]
    n_iterations: Annotated[int | None, COUNT]
    theta_lam: Annotated[float, POSITIVE, PER_MODEL]
    t0: Annotated[float | Literal["stable"], NOT_NEGATIVE, PER_MODEL]
    random_state: Annotated[int, SEED]

    def __init__(
        self,
        lam: float = 0.125,
        sigma: float = 1.0,
        gamma: float = 0.5,
        *,
        batch_size: int = 256,
        n_features: int = 256,
        n_iterations: int | None = None,
        theta_lam: float = 1.5,
        t0: float | Literal["stable"] = 0.0,
        random_state: int = 0,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.gamma = gamma
        self.batch_size = batch_size
        self.n_features = n_features
        self.n_iterations = n_iterations
        self.theta_lam = theta_lam
        self.t0 = t0
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> QSGS2AUC:
        """Train on labelled and unlabelled rows.

        Parameters
        ----------
        X : rows of shape (n_labeled, n_inputs)
        y : array-like of shape (n_labeled,)
            Two classes; the larger label is the positive one.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            Array, memory map or any object with ``shape`` and indexing.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range or the arrays cannot be used. NaN, infinite and too
            large values are looked for in the labelled rows at once; in the unlabelled rows, which
            may be many and on disk, only if training ends in values that are not finite.
        DivergedError
            If the iterates left the range of floating point numbers.
        """
        models, positive = self._checked(X, y, X_unlabeled, [{}])
        pools = [np.arange(len(positive))]
        model = train(_problem(models, X, positive, X_unlabeled, pools))
        if not np.isfinite(model.coefficients).all():
            check_projections(X_unlabeled, self.sigma)
            raise DivergedError(
                f"diverged with lam={self.lam:g}: the first steps are too long; set t0='stable'"
            )
        self.model_ = model
        self.n_iter_ = models[0]._iterations(len(X_unlabeled))
        self.n_features_in_ = X.shape[1]
        return self

    def fit_points(
        self,
        points: Sequence[Mapping[str, Any]],
        *,
        folds: Sequence[NDArray[np.integer]],
        X: Any,
        y: Any,
        X_unlabeled: Any,
    ) -> NDArray[np.float64]:
        """Return out-of-fold values for many settings, trained in one pass over the features.

        As `PairwiseAUCEstimator.fit_points`; ``points`` may set lam, gamma, theta_lam
        and t0, and must agree in everything else. Errors are those of `fit`, except that a model
        that diverged is a row of NaN.
        """
        models, positive = self._checked(X, y, X_unlabeled, points)
        pools = [training_rows(held_out, len(y)) for held_out in folds]
        trained = train_values(_problem(models, X, positive, X_unlabeled, pools))[0]
        final = trained.reshape(len(y), len(folds), len(points))
        values = np.full((len(points), len(y)), np.nan)
        for fold, held_out in enumerate(folds):
            values[:, held_out] = final[held_out, fold].T
        diverged = ~np.isfinite(values[:, np.concatenate(folds)]).all(axis=1)
        if diverged.all():
            check_projections(X_unlabeled, models[0].sigma)
        values[diverged] = np.nan
        return values

    def memory_needed(
        self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1
    ) -> int:
        """Return the bytes of coefficients, values and resident rows (these twice)."""
        T = self._iterations(n_unlabeled)
        resident = self._resident(n_unlabeled, n_inputs)
        n_resident = n_labeled + (n_unlabeled if resident else 0)
        kept = T if n_models == 1 or not resident else 0
        per_model = sizes.model_bytes(kept, 2 * self.n_features, n_resident)
        rows = 8 * n_inputs * (n_resident + sizes.ROWS_AT_ONCE)
        return rows + per_model * min(n_models, sizes.models_at_once(per_model))

    def flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1) -> float:
        """Return about the operations of training; see the base class."""
        T = self._iterations(n_unlabeled)
        resident = self._resident(n_unlabeled, n_inputs)
        rows = T * (n_labeled + (n_unlabeled if resident else self.batch_size * T / 2))
        return rows * self.n_features * (2 * n_inputs + FUNCTION_FLOPS + 4 * n_models)

    def predict_flops(self, n_rows: int, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return about the operations of all blocks of features; see the base class."""
        features = float(n_rows) * self._iterations(n_unlabeled) * self.n_features
        return features * (2 * n_inputs + FUNCTION_FLOPS + 4)

    def _iterations(self, n_unlabeled: int) -> int:
        if self.n_iterations is not None:
            return self.n_iterations
        return max(200, -(-n_unlabeled // self.batch_size))

    def _resident(self, n_unlabeled: int, n_inputs: int) -> bool:
        """Return whether the engine keeps the values of the unlabelled rows."""
        T = self._iterations(n_unlabeled)
        return sizes.kept_resident(n_unlabeled, n_inputs, self.batch_size, T)

    def _checked(
        self, X: Any, y: Any, X_unlabeled: Any, points: Sequence[Mapping[str, Any]]
    ) -> tuple[list[QSGS2AUC], NDArray[np.bool_]]:
        """Return an estimator for each point and which rows are positive, all of it checked."""
        models = self._settings(points, _BATCHED)
        check_training_rows(X, y, X_unlabeled)
        positive = encode_labels(y)
        check_projections(X, models[0].sigma)
        return models, positive

    def _check_params(self) -> None:
        """Raise `DataError` for a parameter value that cannot be used."""
        check_above_zero(lam=self.lam, sigma=self.sigma, theta_lam=self.theta_lam)
        check_between(0, 1, gamma=self.gamma)
        check_count(1, batch_size=self.batch_size, n_features=self.n_features)
        if self.n_iterations is not None:
            check_count(1, n_iterations=self.n_iterations)
        known = isinstance(self.t0, Real) and 0 <= float(self.t0) < math.inf
        if not (known or self.t0 == "stable"):
            raise DataError(f"t0 must be a number of at least 0 or 'stable', got {self.t0!r}")
        check_seed(self.random_state)

    def _features(self) -> FourierFeatures:
        return FourierFeatures(
            "gaussian", float(self.sigma), int(self.n_features), int(self.random_state)
        )

    def _offset(self) -> float:
        """Return ``t0`` as a number."""
        if self.t0 != "stable":
            return float(self.t0)
        return self.theta_lam / self.lam * PNUAUCObjective.curvature(self.gamma)


def _problem(
    models: Sequence[QSGS2AUC],
    X: Any,
    positive: NDArray[np.bool_],
    X_unlabeled: Any,
    pools: Sequence[NDArray[np.int64]],
) -> Problem:
    """Return the problem of training every model on every pool of labelled rows, pool by pool."""
    positives = [pool[positive[pool]] for pool in pools]
    negatives = [pool[~positive[pool]] for pool in pools]
    if any(len(pool) == 0 for pool in (*positives, *negatives)):
        raise DataError("every fold must leave labelled rows of both classes to train on")
    columns = [(m.gamma, m.theta_lam, m.lam, m._offset()) for m in models]
    gamma, theta_lam, lam, t0 = np.tile(np.array(columns, np.float64).T, len(pools))
    return Problem(
        tables=[X, X_unlabeled],
        sources=[Source(0, positives), Source(0, negatives), Source(1, in_passes=True)],
        objective=PNUAUCObjective(gamma),
        step=DecreasingStep(theta_lam, lam, t0),
        features=models[0]._features(),
        n_iterations=models[0]._iterations(len(X_unlabeled)),
        batch_size=models[0].batch_size,
        group=np.repeat(np.arange(len(pools)), len(models)),
    )
