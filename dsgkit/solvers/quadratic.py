"""Base of the estimators that minimise a quadratic risk of labelled and unlabelled rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from dsgkit.costs import Cost
from dsgkit.linalg import Array
from dsgkit.solvers.base import Folds, Points, SemiSupervisedEstimator
from dsgkit.solvers.common import Lam, Sigma
from dsgkit.solvers.minimise import RiskMinimiser, held_out_values, training_of
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.training import Codes, Fold, Given, Sizes


class QuadraticRiskEstimator(RiskMinimiser, WithSigma, SemiSupervisedEstimator):
    """Base of the estimators of all families that minimise a quadratic risk plus a penalty.

    A subclass defines the risk (``_risk``) and the trainer (``_trainer``); for a trainer with steps
    also these (``_step``). It names this base before that of its family.
    """

    lam: Lam = 0.125
    sigma: Sigma = "scale"

    def _given(self, X: Any, codes: Codes, X_unlabeled: Any) -> Given:
        return Given(X, codes, X_unlabeled, len(self.classes_))

    def _fit(self, X: Any, labels: NDArray[Any], X_unlabeled: Any) -> None:
        self._train(self._given(X, self._codes(labels), X_unlabeled))

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a function for each of many settings; see the base class.

        With folds, settings that differ only in `PER_MODEL` parameters are trained together: in one
        pass over the features, or from one factorisation. Errors are those of `fit`, except that a
        model without a solution has values of NaN.
        """
        if folds is None or X_unlabeled is None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        models = self._unfitted(points)
        first = clone(self)
        X, labels, X_unlabeled = first._inputs(X, y, X_unlabeled)
        given = first._given(X, first._codes(labels), X_unlabeled)
        return held_out_values(models, given, [Fold(rows) for rows in folds])[0]

    def _out_of_fold(self: Any, given: Given, folds: Folds, reference: Any) -> Array:
        """Return held-out values less each fold's mean on unlabelled rows, for thresholds."""
        held_out = [Fold(rows) for rows in folds]
        training = training_of([self], given, held_out)
        values: Array | None = self._trainer().centred_values(training, held_out, reference)
        if values is None:
            family: Any = super()
            values = family._out_of_fold(given, folds, reference)
        return values

    def settled(self: Any, **counts: int) -> Any:
        """Return a clone with the iterations for this number of rows; see the base class."""
        copy = clone(self)
        return copy.set_params(**self._trainer().iterations(counts["n_unlabeled"]))

    def _cost_of(self, given: Given, n_models: int) -> Cost:
        """Return the cost of training models on these rows."""
        counts = {"n_labeled": len(given.X), "n_unlabeled": len(given.X_unlabeled)}
        n_cuts = given.n_sources - 1
        return self.cost(given.X.shape[1], n_models=n_models, **counts, n_cuts=n_cuts)

    def cost(  # type: ignore[override]  # of its counts by name
        self: Any,
        n_inputs: int,
        *,
        n_models: int = 1,
        n_labeled: int,
        n_unlabeled: int,
        n_cuts: int = 1,
    ) -> Cost:
        """Return the cost of a fit, or of a grid's out-of-fold values; see the base class."""
        return self._trainer().cost(Sizes(n_inputs, n_labeled, n_unlabeled, n_cuts + 1), n_models)

    def diagnostics(self, X: Any, y: Any, X_unlabeled: Any = None) -> dict[str, float]:
        """Return the objective at the fitted function, and its parts.

        Parameters
        ----------
        X, y, X_unlabeled
            The training rows and labels.

        Returns
        -------
        dict
            ``objective``, and its parts ``risk`` and ``squared_norm``.
        """
        X, labels, X_unlabeled = clone(self)._inputs(X, y, X_unlabeled)
        return self._objective_parts(self._given(X, self._codes(labels), X_unlabeled))
