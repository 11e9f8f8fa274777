"""Inputs of training: rows, folds, risks and penalties; and the protocols of trainers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.linalg import Array
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.objectives.risks import Risk

Codes = NDArray[np.integer]
Rows = NDArray[np.int64]


class Fold(NamedTuple):
    """Positions of held-out rows.

    Attributes
    ----------
    unlabeled : int array, optional
        None if no fold holds out unlabelled rows.
    """

    labeled: NDArray[np.integer]
    unlabeled: NDArray[np.integer] | None = None


Folds = Sequence[Fold]


class Sizes(NamedTuple):
    """Sizes that the cost of a training depends on, besides the number of models.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
        Numbers of rows.
    n_sources : int
        Number of sources of labelled rows.
    unlabeled_held_out : bool
        Whether folds hold out unlabelled rows too.
    """

    n_inputs: int
    n_labeled: int
    n_unlabeled: int
    n_sources: int = 1
    unlabeled_held_out: bool = False


class Given(NamedTuple):
    """Validated training data.

    Attributes
    ----------
    X : rows of shape (n_labeled, n_inputs)
    codes : ndarray of int, shape (n_labeled,)
        Source of each row.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
    n_sources : int
        Number of sources of labelled rows.
    """

    X: Any
    codes: Codes
    X_unlabeled: Any
    n_sources: int


class Function(Protocol):
    """A trained function.

    Attributes
    ----------
    attributes : dict
        Fitted attributes of the estimator, by name.
    """

    @property
    def attributes(self) -> dict[str, Any]: ...

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``, shape (n,)."""
        ...

    def squared_norm(self) -> float:
        """Return its squared norm, as in the penalty."""
        ...


class Functions(Protocol):
    """Functions that were trained together.

    Attributes
    ----------
    finite : ndarray of bool, shape (G,)
        Whether each has a solution.
    """

    @property
    def finite(self) -> NDArray[np.bool_]: ...

    def values(self, X: Any) -> NDArray[np.floating]:
        """Return the values of all functions at the rows of ``X``, a column each."""
        ...


@dataclass(frozen=True)
class Constant:
    """The step ``theta / (lam + L)`` of one model, L the curvature of the risk; see `Steps`."""

    theta: float


@dataclass(frozen=True, eq=False)
class Training:
    """Models that differ in risk, penalty and steps, and the rows that they are trained on.

    Attributes
    ----------
    X : rows of shape (n_labeled, n_inputs)
    codes : ndarray of int, shape (n_labeled,)
        Source of each of these rows: its class, counted from 0.
    X_unlabeled : rows of shape (n_unlabeled, n_inputs)
        The last source.
    pools : sequence of int arrays
        Rows of ``X`` that each group of models is trained on: a pool for each fold, or all rows.
    unlabeled_pools : sequence of int arrays, optional
        The same for ``X_unlabeled``; None is all rows, in every pool.
    n_sources : int
        Number of sources of labelled rows.
    risks : sequence over points of sequences over pools of Risk
        Risk of the model of each point and pool.
    penalties : sequence of float
        Factor of the squared norm, for each point.
    steps : sequence of Constant
        Step sizes for each point, if the trainer is iterative.
    """

    X: Any
    codes: Codes
    X_unlabeled: Any
    pools: Sequence[Rows]
    n_sources: int
    risks: Sequence[Sequence[Risk]]
    penalties: Sequence[float]
    steps: Sequence[Any] = ()
    unlabeled_pools: Sequence[Rows] | None = None

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each source in each pool, shape (n_pools, n_sources)."""
        return np.array(
            [np.bincount(self.codes[pool], minlength=self.n_sources) for pool in self.pools]
        )

    @cached_property
    def forms(self) -> list[list[PairwiseRisk]]:
        """Quadratic form of the model of each point and pool, computed once for equal risks."""
        form_of = functools.cache(lambda risk, pool: risk.form(self.counts[pool]))
        return [
            [form_of(risk, pool) for pool, risk in enumerate(by_pool)] for by_pool in self.risks
        ]

    @property
    def group(self) -> NDArray[np.int64]:
        """The pool of each model, pool by pool."""
        return np.repeat(np.arange(len(self.pools)), len(self.penalties))

    @property
    def lam(self) -> Array:
        """The lam of ``lam/2 ||f||^2`` of each model, pool by pool."""
        return np.tile(2 * np.array(self.penalties, np.float64), len(self.pools))

    @property
    def all_risks(self) -> list[Risk]:
        """The risk of each model, pool by pool."""
        return [by_pool[pool] for pool in range(len(self.pools)) for by_pool in self.risks]

    def rows_of(self, source: int, pool: Rows) -> Rows:
        """Return the rows of a source in a pool."""
        return pool[self.codes[pool] == source]

    def labeled(self, source: int, pool: int) -> Any:
        """Return the labelled rows of a source in the pool of this number."""
        rows = self.rows_of(source, self.pools[pool])
        return self.X if len(rows) == len(self.codes) else self.X[rows]

    def unlabeled(self, pool: int) -> Any:
        """Return the unlabelled rows of the pool of this number."""
        if self.unlabeled_pools is None:
            return self.X_unlabeled
        return self.X_unlabeled[self.unlabeled_pools[pool]]

    def part(self, point: int, pool: int) -> Self:
        """Return the training of one point on the rows of one pool."""
        rows = self.pools[pool]
        return replace(
            self,
            X=self.X[rows],
            codes=self.codes[rows],
            X_unlabeled=self.unlabeled(pool),
            pools=[np.arange(len(rows))],
            unlabeled_pools=None,
            risks=[[self.risks[point][pool]]],
            penalties=[self.penalties[point]],
            steps=self.steps[point : point + 1],
        )

    @property
    def tables(self) -> list[Any]:
        """Tables from which folds hold out rows: labelled rows, and unlabelled ones in pools."""
        return [self.X] if self.unlabeled_pools is None else [self.X, self.X_unlabeled]

    def nan_values(self) -> tuple[Array, Array]:
        """Return arrays of NaN for the out-of-fold values of every point.

        Their shapes are (n_points, n_labeled) and (n_points, n_unlabeled), or (n_points, 0) if no
        unlabelled rows are held out.
        """
        n_unlabeled = 0 if self.unlabeled_pools is None else len(self.X_unlabeled)
        n_points = len(self.penalties)
        at_labeled = np.full((n_points, len(self.codes)), np.nan)
        return at_labeled, np.full((n_points, n_unlabeled), np.nan)

    def check_pools(self) -> None:
        """Raise `DataError` unless every pool has rows of two sources, if there are two."""
        least = min(2, self.n_sources)
        for pool_counts in self.counts:
            if np.count_nonzero(pool_counts) < least:
                both = "both classes" if self.n_sources == 2 else "two classes or more"
                raise DataError(f"every fold must leave labelled rows of {both} to train on")


class Trainer(Protocol):
    """Finds the minimiser of a penalised risk.

    Trainers that are equal can train their models together.
    """

    def fit(self, training: Training) -> Function:
        """Train the one model of a training.

        Raises
        ------
        FitError
            If there is no solution, or it cannot be computed.
        """
        ...

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, in the shapes of `Training.nan_values`.

        The pools are the rows outside the folds. Values are NaN for models without a solution and
        for rows that no fold holds out.
        """
        ...

    def centred_values(self, training: Training, folds: Folds, reference: Any) -> Array | None:
        """Return out-of-fold values of one point, minus each fold's mean on unlabelled rows.

        None, the default, if that is no faster than a fit for each fold.

        Parameters
        ----------
        training, folds
            As in `fold_values`.
        reference : rows
            A sample of unlabelled rows.
        """
        return None

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of `fit`, or of `fold_values` with ``n_models`` models."""
        ...

    def iterations(self, n_unlabeled: int) -> dict[str, int]:
        """Return the parameters that depend on the number of rows; none by default."""
        return {}


def fit_each_fold(trainer: Trainer, training: Training, folds: Folds) -> tuple[Array, Array]:
    """Return `Trainer.fold_values` from a separate fit for every point and fold."""
    t = training
    at_labeled, at_unlabeled = t.nan_values()
    for number, fold in enumerate(folds):
        for point in range(len(t.penalties)):
            try:
                function = trainer.fit(t.part(point, number))
            except MemoryLimitError:
                raise
            except FitError:
                continue
            at_labeled[point, fold.labeled] = function.values(t.X[fold.labeled])
            if fold.unlabeled is not None:
                at_unlabeled[point, fold.unlabeled] = function.values(t.X_unlabeled[fold.unlabeled])
    return at_labeled, at_unlabeled
