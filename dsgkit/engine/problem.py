"""A training problem: rows, folds and G models, as every algorithm takes it.

Models are numbered pool by pool: with P settings, model ``k P + i`` has the i-th setting and is
trained on the rows of pool k, those outside of fold k. One fit is a problem with G = 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.clock import NO_CLOCK, Clock
from dsgkit.errors import DataError
from dsgkit.linalg import Array, training_rows
from dsgkit.random import draw_in_passes, draw_with_replacement

Rows = NDArray[np.int64]
Value = TypeVar("Value")


class Fold(NamedTuple):
    """Positions of held-out labelled rows, and of unlabelled ones if folds hold these out too."""

    labeled: Rows
    unlabeled: Rows | None = None


class Sizes(NamedTuple):
    """What the cost of a training depends on, besides parameters and the number of models."""

    inputs: int
    labeled: int = 0  # rows, as the next; of a similar pair both
    unlabeled: int = 0
    sources: int = 2  # of labelled rows: classes, or 1 for similar pairs
    folds: int = 0  # 0 for a fit
    pooled: bool = False  # whether folds hold out unlabelled rows too


@dataclass(frozen=True, eq=False)
class Data:
    """Checked training rows."""

    X: Any  # labelled rows
    codes: NDArray[np.integer]  # the source of each of these: its class, counted from 0
    U: Any  # unlabelled rows, the last source
    n_sources: int = 2  # of labelled rows

    @property
    def whole(self) -> Data:
        """These data; of a `Part`, those that it is cut from."""
        return self

    @property
    def tables(self) -> list[Any]:
        return [self.X, self.U]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Labelled rows of each source."""
        return np.bincount(self.codes, minlength=self.n_sources)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.X.shape[1], len(self.X), len(self.U), self.n_sources)

    def take(self, rows: Rows, rows_u: Rows | None) -> Data:
        """Return the data of some of the rows; None is all unlabelled ones."""
        U = self.U if rows_u is None else self.U[rows_u]
        return replace(self, X=self.X[rows], codes=self.codes[rows], U=U)


class Part:
    """Some of the rows of data, for `Estimator.risk`; X and U are read when they are asked for."""

    def __init__(self, data: Data, rows: Rows, rows_u: Rows | None) -> None:
        self.whole, self._rows, self._rows_u = data, rows, rows_u
        self.codes, self.n_sources = data.codes[rows], data.n_sources
        self.counts = np.bincount(self.codes, minlength=data.n_sources)
        n_u = len(data.U) if rows_u is None else len(rows_u)
        self.sizes = data.sizes._replace(labeled=len(rows), unlabeled=n_u)

    @property
    def X(self) -> Any:  # noqa: N802
        return self.whole.X[self._rows]

    @property
    def U(self) -> Any:  # noqa: N802
        return self.whole.U if self._rows_u is None else self.whole.U[self._rows_u]


class Source(NamedTuple):
    """Draws one batch per iteration from a table."""

    table: int  # 0 for the labelled rows, 1 for the unlabelled ones
    pools: list[Rows] | None  # of models; None is all rows, the same draws for all models
    in_passes: bool  # whether rows are drawn once per pass in random order, or with replacement

    def draw(self, number: int, n_rows: int, seed: int, first: int, count: int, size: int) -> Rows:
        """Return row numbers, shape (count, n_pools or 1, size)."""
        rule = draw_in_passes if self.in_passes else draw_with_replacement
        if self.pools is None:
            return rule(seed, number, first, count, size, n_rows)[:, None]
        drawn = [pool[rule(seed, number, first, count, size, len(pool))] for pool in self.pools]
        return np.stack(drawn, axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """G models: every setting on every pool of rows."""

    data: Data
    loss: Any  # `Loss` of all G models
    pool: Rows  # of each model, ascending
    settings: Sequence[Any]  # an estimator for each model, whose parameters `each` reads
    pools: list[Rows]  # rows of ``X`` for each pool
    pools_u: list[Rows] | None = None  # of ``U``; None for all rows in every pool
    values_only: bool = False  # whether values at the rows of the data suffice as a result
    clock: Clock = NO_CLOCK  # calls an observer during training

    @classmethod
    def of(
        cls,
        models: Sequence[Any],
        data: Data,
        folds: Sequence[Fold] | None = None,
        *,
        values_only: bool = True,
        clock: Clock = NO_CLOCK,
    ) -> Problem:
        """Return the problem of estimators on all rows, or on those outside of each fold."""
        pools: list[Rows] = [np.arange(len(data.codes))]
        pools_u: list[Rows] | None = None
        parts: list[Any] = [data]
        if folds is not None:
            pools = [training_rows(fold.labeled, len(data.codes)) for fold in folds]
            held = [fold.unlabeled for fold in folds if fold.unlabeled is not None]
            pools_u = [training_rows(rows, len(data.U)) for rows in held] or None
            both = zip(pools, pools_u or itertools.repeat(None), strict=False)
            parts = [Part(data, rows, rows_u) for rows, rows_u in both]
        if any(np.count_nonzero(part.counts) < min(2, data.n_sources) for part in parts):
            two = "both classes" if data.n_sources == 2 else "two classes or more"
            raise DataError(f"every fold must leave labelled rows of {two} to train on")
        risks = [model.risk(part) for part in parts for model in models]
        counts = [part.counts for part in parts for _ in models]
        return cls(
            data,
            stacked(risks, counts),
            np.repeat(np.arange(len(pools)), len(models)),
            list(models) * len(pools),
            pools,
            pools_u,
            values_only=values_only and folds is not None,
            clock=clock,
        )

    @property
    def n_models(self) -> int:
        return len(self.pool)

    @property
    def held_out(self) -> list[Any]:
        """Tables from which folds hold out rows."""
        return self.data.tables[: 1 if self.pools_u is None else 2]

    @cached_property
    def by_source(self) -> list[list[Rows]]:
        """Rows of each labelled source, pool by pool."""
        codes = self.data.codes
        return [[p[codes[p] == k] for p in self.pools] for k in range(self.data.n_sources)]

    def each(self, name: str) -> Array:
        """Return a numeric parameter of every model."""
        return np.array([getattr(model, name) for model in self.settings], np.float64)

    def own_data(self, pool: int) -> Data:
        """Return the rows of a pool."""
        if self.pools_u is None and len(self.pools[pool]) == len(self.data.codes):
            return self.data
        rows_u = None if self.pools_u is None else self.pools_u[pool]
        return self.data.take(self.pools[pool], rows_u)

    def members(self, pool: int) -> slice:
        """Return the models of a pool."""
        first, last = np.searchsorted(self.pool, [pool, pool + 1])
        return slice(int(first), int(last))

    def sources(self, *, in_passes: bool) -> list[Source]:
        """Return the sources of batches, one for every array of values that the loss takes."""
        unlabeled = Source(1, self.pools_u, in_passes=True)
        if in_passes and self.data.n_sources == 1:
            whole = self.pools_u is None and len(self.pools) == 1
            return [Source(0, None if whole else self.pools, True), unlabeled]
        labeled = []
        for rows in self.by_source:  # one without rows has no weight, but every one is drawn from
            pools = [own if len(own) else p[:1] for own, p in zip(rows, self.pools, strict=True)]
            labeled.append(Source(0, pools, in_passes))
        return [*(labeled[::-1] if self.loss.descending else labeled), unlabeled]

    def take(self, models: slice) -> Problem:
        """Return the problem of some of the models; pools stay."""
        return replace(
            self,
            loss=None if self.loss is None else take(self.loss, models),
            pool=self.pool[models],
            settings=self.settings[models],
        )

    def alone(self, model: int) -> Problem:
        """Return the problem of one model, on the rows of its pool."""
        one = self.take(slice(model, model + 1))
        data = self.own_data(int(self.pool[model]))
        if data is self.data:
            return one
        rows = np.arange(len(data.codes))
        return replace(one, data=data, pool=one.pool * 0, pools=[rows], pools_u=None)


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of G models: ``theta_lam / (t + t0) / lam``; `eta` where ``theta_lam`` is NaN.

    A constant step fades linearly to 0 after iteration ``last``. All are arrays over models;
    ``lam`` is the weight of the regulariser ``lam/2 ||f||^2``. The decay ``1 - theta_lam/(t + t0)``
    is computed without ``lam``, so that it is exactly 0 where it is 0 in theory.
    """

    lam: Array
    theta_lam: Array
    t0: Array
    eta: Array
    last: float = np.inf

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return the step and the decay of all earlier blocks of the 1-based iteration t."""
        shrink = self.theta_lam / (t + self.t0)
        eta = self.eta * (1 - (t - 1) / self.last)
        constant = np.isnan(self.theta_lam)
        step = np.where(constant, eta, shrink / self.lam)
        return step, 1.0 - np.where(constant, eta * self.lam, shrink)


def stacked(risks: Sequence[Any], counts: Sequence[Any]) -> Any:
    """Return the loss of G models from a loss of one model each; None if they have none."""
    first = risks[0]
    if first is None:
        return None
    assert all(type(risk) is type(first) for risk in risks)
    columns = {f.name: np.array([getattr(r, f.name) for r in risks]) for f in fields(first)}
    return replace(first, **{**columns, "counts": np.array(counts)})


def take(value: Value, models: Any) -> Value:
    """Return a dataclass whose arrays are over models, for some of the models."""
    arrays = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
    cut = {name: v[models] for name, v in arrays.items() if isinstance(v, np.ndarray)}
    return replace(value, **cut)  # type: ignore[type-var]
