"""Base of the estimators that learn from similar pairs and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.linalg import Array, training_rows
from dsgkit.solvers.base import BinaryClassifier, Estimator, Points, RequiredMethods
from dsgkit.solvers.common import Prior
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.inputs import as_rows, check_finite
from dsgkit.solvers.similar.prior import check_prior, known_prior

HeldOut = tuple[NDArray[np.integer], NDArray[np.integer]]
"""Positions of pairs, or of the points of pairs, and of unlabelled rows."""


class SimilarUnlabeledEstimator(BinaryClassifier, Estimator):
    """Base of the estimators that learn from pairs of the same class and unlabelled rows.

    A subclass implements ``_fit(S, X_unlabeled)``, where S has the points of all pairs, and
    ``_values(X)``. ``_fit`` can read ``prior_``.

    scikit-learn's estimator checks call ``fit(X, y)``, so that they do not apply.
    """

    tasks = ("similar_unlabeled",)
    _required_methods: ClassVar[RequiredMethods] = (("_fit",), ("_values",))

    prior: Prior = preset("estimate")

    classes_: NDArray[Any] = fitted("-1 and 1.", "(2,)")
    prior_: float = fitted("Share of the class 1: the parameter ``prior``, or its estimate.")
    prior_interval_: tuple[float, float] | None = fitted(
        "95% confidence interval of an estimated prior (`dsgkit.priors.similar_prior_interval`)."
    )
    n_features_in_: int = fitted("Columns of the training rows.")

    def fit(self, X_similar: Any, X_unlabeled: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X_similar : array-like of shape (n_similar, 2, n_inputs)
            Pairs of rows of the same, unknown class; or two data frames or sparse matrices with the
            first and the second rows of the pairs.
        X_unlabeled : rows of shape (n_unlabeled, n_inputs)
            Array, data frame, list, sparse matrix, memory map or any object with ``shape``, a
            length and indexing by rows.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter is out of range, the prior is 1/2, or the rows cannot be used.
        MemoryLimitError
            If the fit needs more memory than ``max_memory`` or than is available; raised before
            anything is allocated.
        FitError
            If there is no solution, or none that can be computed.

        Warns
        -----
        DsgWarning
            If the prior is so close to 1/2 that noise dominates the risk, or its estimate is
            unreliable (`dsgkit.priors.checked_similar_prior`).
        """
        S, X_unlabeled = self._training(X_similar, X_unlabeled)
        with self._sigma_for(S, X_unlabeled):
            self._fit(S, X_unlabeled)
        return self

    def _training(self, X_similar: Any, X_unlabeled: Any) -> tuple[Array, Any]:
        """Return checked points of all pairs and unlabelled rows; sets ``prior_``."""
        self._check_params()
        pairs, X_unlabeled = self._inputs(X_similar, X_unlabeled)
        self._set_priors([self], pairs, X_unlabeled)
        return points_of(pairs), X_unlabeled

    def fit_points(  # type: ignore[override]  # of its arrays by name, and folds of two kinds
        self,
        points: Points,
        *,
        folds: Sequence[HeldOut] | None = None,
        X_similar: Any,
        X_unlabeled: Any,
    ) -> Any:
        """Fit a model for each of many parameter settings.

        Parameters
        ----------
        points : sequence of dict
            Settings, which override this estimator's parameters.
        folds : sequence of (int array, int array), optional
            Positions of the pairs and of the unlabelled rows that each fold holds out.
        X_similar, X_unlabeled
            As in `fit`. The prior is estimated once, from all of them.

        Returns
        -------
        PointModels, or tuple of two ndarrays
            Without folds, models whose ``decision_function`` has one column per point. With folds,
            out-of-fold values of shapes (n_points, n_similar, 2) and (n_points, n_unlabeled): entry
            ``[g, i, j]`` of the first is the value at row j of pair i of the model with
            ``points[g]`` that was trained without the fold of pair i; entry ``[g, i]`` of the
            second is that at unlabelled row i. NaN without a solution, or for rows in no fold.
        """
        if folds is None:
            return super().fit_points(points, X_similar=X_similar, X_unlabeled=X_unlabeled)
        pairs, X_unlabeled = clone(self)._inputs(X_similar, X_unlabeled)
        points = self._with_sigma(points, points_of(pairs), X_unlabeled)
        models = self._unfitted(points)
        held_out = _folds_of_points(folds, len(pairs), len(X_unlabeled))
        self._set_priors(models, pairs, X_unlabeled)
        at_points, at_rows = self._fold_values(models, points_of(pairs), X_unlabeled, held_out)
        return at_points.reshape(len(points), *pairs.shape[:2]), at_rows

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        """Compute the fitted attributes from the points of all pairs and unlabelled rows."""
        raise NotImplementedError

    def _fold_values(
        self, models: Sequence[Self], S: Array, X_unlabeled: Any, folds: Sequence[HeldOut]
    ) -> tuple[Array, Array]:
        """Return out-of-fold values of models at points of pairs and at unlabelled rows.

        Shapes (n_models, n_points) and (n_models, n_unlabeled); NaN without a solution.
        """
        at_points = np.full((len(models), len(S)), np.nan)
        at_rows = np.full((len(models), len(X_unlabeled)), np.nan)
        for points, rows in folds:
            given = (
                S[training_rows(points, len(S))],
                X_unlabeled[training_rows(rows, len(X_unlabeled))],
            )
            for g, model in enumerate(models):
                try:
                    model._fit(*given)
                except MemoryLimitError:
                    raise
                except FitError:
                    continue
                at_points[g, points] = model._values(S[points])
                at_rows[g, rows] = model._values(X_unlabeled[rows])
        return at_points, at_rows

    def _inputs(self, X_similar: Any, X_unlabeled: Any) -> tuple[Array, Any]:
        """Return checked pairs, shape (n_similar, 2, n_inputs), and unlabelled rows.

        Sets ``classes_`` and ``n_features_in_``: `fit_points` calls it on a clone.
        """
        X_unlabeled = as_rows(self, X_unlabeled, reset=True, name="X_unlabeled")
        if not len(X_unlabeled):
            raise DataError("X_unlabeled must hold at least one row")
        pairs = self._pairs(X_similar)
        check_finite(points_of(pairs))
        self.classes_ = np.array([-1, 1])
        return pairs, X_unlabeled

    @staticmethod
    def _set_priors(models: Sequence[Any], pairs: Array, X_unlabeled: Any) -> None:
        """Set ``prior_`` of all models; estimates, and warns about, each prior once."""
        known = {
            prior: known_prior(prior, pairs, X_unlabeled)
            for prior in dict.fromkeys(model.prior for model in models)
        }
        for model in models:
            model.prior_, model.prior_interval_ = known[model.prior]

    def _pairs(self, X_similar: Any) -> Array:
        """Return pairs as an array; their columns must be those of the unlabelled rows."""
        if isinstance(X_similar, list | tuple) and len(X_similar) == 2 and _are_tables(X_similar):
            both = [as_rows(self, half, reset=False, name="X_similar")[:] for half in X_similar]
            if len(both[0]) != len(both[1]):
                raise DataError(
                    "X_similar must hold as many first as second rows of pairs, got "
                    f"{len(both[0])} and {len(both[1])}"
                )
            return np.stack(both, axis=1)
        try:
            pairs = np.asarray(X_similar[:])
        except (TypeError, ValueError, IndexError):  # not rows, or rows of different lengths
            pairs = np.empty(0)
        if pairs.ndim != 3 or pairs.shape[1] != 2 or not len(pairs):
            raise DataError(
                "X_similar must hold pairs of rows, shape (n_similar, 2, n_inputs), got shape "
                f"{pairs.shape}; for pairs side by side, X_similar.reshape(n_similar, 2, n_inputs)"
            )
        if pairs.shape[2] != self.n_features_in_:
            raise DataError(
                f"X_similar has {pairs.shape[2]} features, but X_unlabeled has "
                f"{self.n_features_in_}"
            )
        rows = as_rows(clone(self), points_of(pairs), reset=True, name="X_similar")
        checked: Array = np.asarray(rows).reshape(pairs.shape)
        return checked

    def _check_params(self) -> None:
        super()._check_params()
        if self.prior != "estimate":
            check_prior(self.prior)


def points_of(pairs: Array) -> Array:
    """Return the points of n pairs, shape (2 n, n_inputs): rows 2i and 2i + 1 are pair i."""
    return pairs.reshape(-1, pairs.shape[2])


def _are_tables(halves: Sequence[Any]) -> bool:
    """Return whether all are data frames or sparse matrices."""
    return all(sparse.issparse(half) or hasattr(half, "iloc") for half in halves)


def _folds_of_points(folds: Any, n_similar: int, n_unlabeled: int) -> list[HeldOut]:
    """Return folds of points for folds of pairs; raise `DataError` for invalid ones."""
    try:
        both = [(pairs, rows) for pairs, rows in folds]
    except (TypeError, ValueError):
        raise DataError(
            "a fold must be two arrays: positions of held-out pairs and of held-out unlabelled rows"
        ) from None
    for pairs, rows in both:
        n_left = len(training_rows(pairs, n_similar)), len(training_rows(rows, n_unlabeled))
        if not all(n_left):
            raise DataError("a fold must leave a pair and an unlabelled row to train on")
    return [(_positions_of(pairs), np.asarray(rows, np.int64)) for pairs, rows in both]


def _positions_of(pairs: Any) -> NDArray[np.int64]:
    """Return the positions of the points of pairs; see `points_of`."""
    first = 2 * np.asarray(pairs, np.int64)
    return np.column_stack([first, first + 1]).ravel()
