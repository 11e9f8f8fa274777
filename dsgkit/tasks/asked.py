"""Protocols of estimators: optional methods and attributes that tasks use.

An estimator implements a protocol by its methods or attributes, without deriving from it:
``isinstance(estimator, TwoPhases)``. `Task.calls` lists the methods that a task requires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from dsgkit.numerics.costs import Cost


@runtime_checkable
class Costed(Protocol):
    """Estimator whose time and memory can be predicted before training."""

    def cost(self, n_inputs: int, **counts: int) -> Cost:
        """Return the cost of training with ``n_inputs`` columns and these numbers of rows."""
        ...


@runtime_checkable
class Settling(Protocol):
    """Estimator with parameters that depend on the numbers of rows, e.g. iterations from epochs."""

    def settled(self, **counts: int) -> Any:
        """Return an estimator with these parameters fixed, so that a part of the rows suffices."""
        ...


def settled_with(estimator: Any, counts: Mapping[str, int]) -> Any:
    """Return the estimator settled for these numbers of rows; itself if it is not `Settling`."""
    return estimator.settled(**counts) if isinstance(estimator, Settling) else estimator


@runtime_checkable
class Observable(Protocol):
    """Estimator whose training can be watched.

    Attributes
    ----------
    n_iterations : int
        Number of iterations; an integer once the estimator is settled.
    """

    n_iterations: Any

    def fit_observed(
        self, *, at: Sequence[int], observe: Callable[[int, float, Any], None], **training: Any
    ) -> Any:
        """Train; ``observe(t, seconds, function)`` is called after each iteration of ``at``."""
        ...


@runtime_checkable
class ComparedExactly(Protocol):
    """Estimator whose objective has an exact minimiser."""

    def exact_minimiser(self, **training: Any) -> Any:
        """Return the minimiser for these rows, fitted."""
        ...


@runtime_checkable
class Diagnosed(Protocol):
    """Estimator with diagnostics of its fit, such as the objective."""

    def diagnostics(self, **training: Any) -> Mapping[str, float]:
        """Return numbers by name; ``training`` holds the arrays that it was fitted to."""
        ...


@runtime_checkable
class TwoPhases(Protocol):
    """A clustering that describes the domain of the rows first; both phases are timed."""

    def fit_domain(self, X: Any) -> Any:
        """Train the function whose domain encloses most rows."""
        ...

    def fit_clusters(self, X: Any) -> Any:
        """Form clusters from the domain."""
        ...


@runtime_checkable
class Thresholded(Protocol):
    """A ranking whose thresholds are placed after training; both phases are timed."""

    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Train the function that ranks."""
        ...

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Place the thresholds."""
        ...


@runtime_checkable
class Classifying(Protocol):
    """Estimator that returns classes for values that are already computed."""

    def classify(self, values: Any) -> Any:
        """Return the class of each row from its value of `decision_function`."""
        ...


@runtime_checkable
class Selective(Protocol):
    """Estimator that, depending on its parameters, ignores some arrays of its ``fit``."""

    def uses(self, name: str) -> bool:
        """Return whether the fit depends on an array."""
        ...


@runtime_checkable
class Equilibria(Protocol):
    """A clustering with equilibria of its function.

    Attributes
    ----------
    equilibria_ : ndarray, shape (e, d)
    equilibrium_labels_ : ndarray, shape (e,)
        Cluster of each equilibrium.
    """

    equilibria_: Any
    equilibrium_labels_: Any
