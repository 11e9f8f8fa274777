"""Protocols of estimators: methods and attributes that tasks use where an estimator has them.

An estimator has one of these by its methods or attributes, whatever it derives from:
``isinstance(estimator, TwoPhases)``. `Task.calls` names the methods that a task cannot do without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from dsgkit.numerics.costs import Cost


@runtime_checkable
class Costed(Protocol):
    """Estimator whose time and memory are known before it is trained."""

    def cost(self, n_inputs: int, **counts: int) -> Cost:
        """Return what training takes, with ``n_inputs`` columns and these numbers of rows."""
        ...


@runtime_checkable
class Settling(Protocol):
    """Settings of it follow from the numbers of rows, such as its iterations from epochs."""

    def settled(self, **counts: int) -> Any:
        """Return one that trains with a part of the rows as it would with all."""
        ...


def settled_with(estimator: Any, counts: Mapping[str, int]) -> Any:
    """Return an estimator settled for some numbers of rows, or itself where nothing follows."""
    return estimator.settled(**counts) if isinstance(estimator, Settling) else estimator


@runtime_checkable
class Observable(Protocol):
    """Estimator whose training can be watched.

    Attributes
    ----------
    n_iterations : int
        That it takes, once it is settled.
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
    """Estimator with numbers about its fit, such as the objective."""

    def diagnostics(self, **training: Any) -> Mapping[str, float]:
        """Return them by name; ``training`` is what it was fitted to."""
        ...


@runtime_checkable
class TwoPhases(Protocol):
    """A clustering that describes the domain of the rows first; the two are timed apart."""

    def fit_domain(self, X: Any) -> Any:
        """Train the function whose domain encloses most rows."""
        ...

    def fit_clusters(self, X: Any) -> Any:
        """Make clusters of the domain."""
        ...


@runtime_checkable
class Thresholded(Protocol):
    """A ranking whose thresholds between classes are placed after its training, timed apart."""

    def fit_function(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Train the function that ranks."""
        ...

    def fit_thresholds(self, X: Any, y: Any, X_unlabeled: Any = None) -> Any:
        """Place the thresholds."""
        ...


@runtime_checkable
class Classifying(Protocol):
    """Estimator that returns classes for values that were computed before."""

    def classify(self, values: Any) -> Any:
        """Return the class of each row, from what `decision_function` returned for it."""
        ...


@runtime_checkable
class Selective(Protocol):
    """Estimator that may leave some arrays of its ``fit`` unused, by its settings."""

    def uses(self, name: str) -> bool:
        """Return whether what it learns depends on an array."""
        ...


@runtime_checkable
class Equilibria(Protocol):
    """A clustering that found equilibria of its function.

    Attributes
    ----------
    equilibria_ : ndarray, shape (e, d)
    equilibrium_labels_ : ndarray, shape (e,)
        The cluster of each.
    """

    equilibria_: Any
    equilibrium_labels_: Any
