"""Classifiers of scikit-learn, and of its kind, as estimators of the package."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import ENTRY_FLOPS, Cost, Pace
from dsgkit.errors import DsgError, DsgWarning
from dsgkit.solvers.base import Estimator

TASKS = ("semi_supervised_auc", "semi_supervised_svm")
"""The tasks that give labelled rows of two classes."""

_SEMI_SUPERVISED = "sklearn.semi_supervised"
_BLOCK_ROWS = 2**12


class _Classifier(Estimator):
    """What a class derived from it and a classifier has besides the classifier's own.

    The classifier comes after `Estimator` among the bases: ``super(Estimator, self)`` is it.
    """

    tasks: ClassVar[tuple[str, ...]] = TASKS
    pace: ClassVar[Pace] = Pace(training=30, per_model=8)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to the labelled rows."""
        super(Estimator, self).fit(np.asarray(X), y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the classifier's values, or else the probability of the larger label less 1/2."""
        blocks = range(0, len(X), _BLOCK_ROWS)
        return np.concatenate([self._values(X[start : start + _BLOCK_ROWS]) for start in blocks])

    def _values(self, X: NDArray[Any]) -> NDArray[np.float64]:
        classifier: Any = super(Estimator, self)
        if hasattr(classifier, "decision_function"):
            return np.asarray(classifier.decision_function(X))
        return np.asarray(classifier.predict_proba(X)[:, 1] - 0.5)

    def cost(self, n_inputs: int, *, n_models: int = 1, **counts: int) -> Cost:
        """Return the cost of a kernel of all rows: what a fit takes is not known."""
        n_rows = self._n_rows(**counts)
        flops_per_row = n_rows * (3.0 * n_inputs + ENTRY_FLOPS)
        return Cost(n_models * n_rows * flops_per_row, 8 * n_rows**2, flops_per_row)

    def _n_rows(self, *, n_labeled: int, n_unlabeled: int) -> int:
        """Return how many rows it is trained on."""
        return n_labeled

    def _fitted(self, point: Mapping[str, Any], training: Mapping[str, Any]) -> Self | None:
        try:
            model = super()._fitted(point, training)
            if model is not None:  # of too few rows for its neighbours, one tells only now
                model.decision_function(training["X"][:1])
            return model
        except DsgError:
            raise
        except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
            # such errors do not tell a point that does not suit the rows from a mistake
            told = ", ".join(f"{name} {value}" for name, value in point.items())
            warnings.warn(f"no solution at {told}: {error}", DsgWarning, stacklevel=2)
            return None


class _SemiSupervisedClassifier(_Classifier):
    """The same of a classifier that takes rows labelled -1 for unlabelled ones."""

    pace: ClassVar[Pace] = Pace(training=6, scoring=4, per_model=5)

    def fit(self, X: Any, y: Any, X_unlabeled: Any) -> Self:  # type: ignore[override]
        """Fit the classifier to both kinds of rows; the labels become 0 and 1."""
        rows = np.vstack([np.asarray(X), np.asarray(X_unlabeled)])
        codes = np.asarray(y) == np.max(y)
        return super().fit(rows, np.concatenate([codes, np.full(len(X_unlabeled), -1)]))

    def _n_rows(self, *, n_labeled: int, n_unlabeled: int) -> int:
        return n_labeled + n_unlabeled


@functools.cache
def estimator_of(classifier: type) -> type:
    """Return the class of estimators that a class of classifiers makes.

    Those of ``sklearn.semi_supervised``, and what is derived from them, have a
    ``fit(X, y, X_unlabeled)``; all others have a ``fit(X, y)``, to learn from the labelled rows
    alone.
    """
    semi_supervised = any(cls.__module__.startswith(_SEMI_SUPERVISED) for cls in classifier.__mro__)
    base = _SemiSupervisedClassifier if semi_supervised else _Classifier
    names = {"__module__": classifier.__module__, "__doc__": classifier.__doc__}
    return type(classifier.__name__, (base, classifier), names)
