"""What estimators have whose function is one of the engine's: files, and a look at training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from dsgkit.engine import DSGModel
from dsgkit.solvers.base import Estimator
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.doubly_stochastic import Observer, observed_training
from dsgkit.stopwatch import Stopwatch
from dsgkit.trainers.blocks import RandomFeatures


class BlockFunctionEstimator(Estimator):
    """Base of the estimators of functions over blocks of random features.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    model_: DSGModel = fitted("Seeds and coefficients.")

    def _features(self: Any) -> RandomFeatures:
        """Return what the features are made from."""
        return RandomFeatures(
            self.kernel,
            float(self._sigma),
            int(self.n_features),
            int(self.random_state),
            self.frequencies,
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted function to a ``.npz`` file, which `dsgkit.load_model` reads.

        Classes and thresholds are no part of it; pickle keeps the estimator as a whole.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)


class StochasticEstimator(BlockFunctionEstimator):
    """Base of those that are trained in iterations, and can be watched.

    A subclass names this base before `QuadraticRiskEstimator`.
    """

    _exact: ClassVar[type[Estimator]]
    """The class of the exact minimiser."""

    n_iter_: int = fitted("Iterations made.")

    def exact_minimiser(self: Any, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Return the minimiser of the objective that was fitted, in O(n^3) for n rows.

        Parameters
        ----------
        X, y, X_unlabeled
            What was fitted.
        """
        known = self._exact().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in known}
        exact = self._exact(**{**shared, "sigma": self._sigma})
        exact._warns = False  # of what the fit has warned of
        fit = getattr(exact, "fit_function", exact.fit)  # an ordinal model needs no thresholds
        return fit(X, y, X_unlabeled)

    def fit_observed(
        self: Any,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        at: Sequence[int],
        observe: Observer,
    ) -> Any:
        """Fit the function as `fit` does, and show it on the way.

        Parameters
        ----------
        X, y, X_unlabeled
            As in `fit`.
        at : sequence of int
            Iterations, ascending within those that are made.
        observe : callable
            ``observe(t, seconds, function)`` is called after each of them, with what the fit has
            taken so far, without what observing takes, and a function of its own that has
            ``decision_function``.

        Raises
        ------
        ValueError
            If ``at`` does not ascend within the iterations.
        """
        stopwatch = Stopwatch()
        self._check_params()
        X, labels, X_unlabeled = self._inputs(X, y, X_unlabeled)
        run = observed_training(self, stopwatch, at, observe)
        with self._settled(X, X_unlabeled):
            training = self._training_of_all(X, labels, X_unlabeled)
            self._keep(self._trainer().fit_by(training, run), training)
        return self
