"""Inputs of block-preconditioned training, and the rows that it draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import sizes
from dsgkit.features.blocks import FeatureBlocks
from dsgkit.numerics.arrays import Array, Single
from dsgkit.objectives import Objective
from dsgkit.random.draws import draw_in_passes

Rows = NDArray[np.int64]


class QuadraticObjective(Objective, Protocol):
    """A loss whose curvature is that of a quadratic form in the rows of its sources.

    With Phi_k the features at the n_k rows that a batch holds of source k, and p_k their mean, the
    second derivative of the batch's loss by the coefficients of the features is

        2 [ sum_k d_k Phi_k'Phi_k / n_k  +  sum_kl S_kl p_k p_l' ].

    The sources are those of the labelled rows, then the unlabelled rows.

    Attributes
    ----------
    diagonal : ndarray of shape (G, n_sources)
        The d of each model, >= 0.
    cross : ndarray of shape (G, n_sources, n_sources)
        The symmetric S of each model.
    """

    @property
    def diagonal(self) -> Array: ...  # noqa: D102

    @property
    def cross(self) -> Array: ...  # noqa: D102


@runtime_checkable
class MajorisedObjective(Objective, Protocol):
    """A loss that is bounded from above by a quadratic of each row's value.

    The bound touches the loss at the present values; ``coefficients`` are its derivatives there. A
    step that does not raise the bound does not raise the loss.
    """

    def weights(self, values: list[Single]) -> list[Single]:
        """Return the second derivative of the bound by the value of each row, >= 0.

        Parameters
        ----------
        values : list of ndarray of shape (n_k, G)
            As ``coefficients`` takes them.

        Returns
        -------
        list of ndarray of shape (n_k, G)
        """
        ...


@dataclass(frozen=True)
class RowGroup:
    """The rows that a group of models (those of a CV fold) is trained on.

    Attributes
    ----------
    labeled : sequence of int arrays
        Rows of each source of labelled rows: every batch holds all of them.
    unlabeled : int array, optional
        Rows that the unlabelled ones of a batch are drawn from; None: all.
    """

    labeled: Sequence[Rows]
    unlabeled: Rows | None = None


@dataclass(frozen=True)
class BlockProblem:
    """All that determines a run of block-preconditioned training.

    Attributes
    ----------
    X, X_unlabeled : rows of shape (n, n_inputs)
        Arrays, memory maps or objects with ``shape`` and indexing.
    groups : sequence of RowGroup
        Either all of them name unlabelled rows or none does.
    group : ndarray of int, shape (G,)
        The group of each model, in ascending order.
    objective : QuadraticObjective or MajorisedObjective
        A source of labelled rows may have none in a batch. Its method ``at``, if it has one, is
        asked for the objective of each step, the first being 1.
    lam : ndarray of shape (G,)
        Weight of the penalty ``lam/2 ||f||^2`` of each model.
    features : FeatureBlocks
        Its seed also determines the draws.
    n_blocks, n_sweeps : int
        Blocks T, and how many times S all of them are gone through.
    batch_size : int
        Unlabelled rows b of a batch; with as many rows or more a batch is all of them, in order.
    """

    X: Any
    X_unlabeled: Any
    groups: Sequence[RowGroup]
    group: NDArray[np.int64]
    objective: Objective
    lam: Array
    features: FeatureBlocks
    n_blocks: int
    n_sweeps: int
    batch_size: int

    def __post_init__(self) -> None:
        """Refuse groups that do not ascend."""
        if (np.diff(self.group) < 0).any() or self.group[-1] >= len(self.groups):
            raise ValueError(f"groups must ascend within 0..{len(self.groups) - 1}")

    @property
    def n_models(self) -> int:
        """Number of models G."""
        return len(self.group)

    @property
    def n_inputs(self) -> int:
        """Columns of the rows."""
        return int(self.X.shape[1])

    @property
    def quadratic(self) -> QuadraticObjective:
        """The objective, where it is one whose curvature does not depend on the values."""
        return cast(QuadraticObjective, self.objective)

    @property
    def majorised(self) -> bool:
        """Whether the curvature of the objective depends on the values."""
        return isinstance(self.objective, MajorisedObjective)

    @property
    def pooled(self) -> bool:
        """Whether every group has unlabelled rows of its own."""
        return self.groups[0].unlabeled is not None

    def models_of(self, group: int) -> slice:
        """Return the models of a group."""
        first, last = np.searchsorted(self.group, [group, group + 1])
        return slice(int(first), int(last))

    def bytes_per_model(self) -> int:
        """Return the bytes that training takes for each model."""
        n_labeled, n_unlabeled = self.X.shape[0], self.X_unlabeled.shape[0]
        n_batch = min(self.batch_size, n_unlabeled)
        n_drawn = self.n_sweeps * self.n_blocks * n_batch
        n_kept = n_unlabeled if self.pooled else min(n_unlabeled, n_drawn)
        return sizes.block_model_bytes(
            self.n_blocks, self.features.width, n_labeled + n_kept, n_labeled + n_batch
        )

    def take(self, models: slice) -> BlockProblem:
        """Return the problem of some of the models, and of the groups that these are of."""
        present, group = np.unique(self.group[models], return_inverse=True)
        return replace(
            self,
            groups=[self.groups[number] for number in present],
            group=group,
            objective=self.objective.take(models),
            lam=self.lam[models],
        )


@dataclass(frozen=True)
class Draws:
    """The unlabelled rows of all batches, and which rows have to be kept for them.

    Attributes
    ----------
    kept : ndarray of int
        Rows of the unlabelled table that are drawn at all, those first that are done with first;
        all of them in their own order if every group draws from rows of its own.
    done : ndarray of int, shape (n_steps,)
        How many of the first of these are not drawn any more after each step.
    pools : list of ndarray of int, shape (n_steps, b), or (1, n) where a batch holds all rows
        Of each group, or of all, places in ``kept``.
    full : list of bool
        Of each pool, whether a batch holds all its rows.
    """

    kept: Rows
    done: Rows
    pools: list[Rows]
    full: list[bool]

    def batch(self, pool: int, step: int) -> Rows:
        """Return the places of the rows of a batch."""
        places = self.pools[pool]
        return places[0] if self.full[pool] else places[step]


def draw(problem: BlockProblem) -> Draws:
    """Return the draws of a run: a function of the seed, of sizes and of pools alone."""
    p, n_rows = problem, problem.X_unlabeled.shape[0]
    n_steps = p.n_sweeps * p.n_blocks
    if p.pooled:
        pools = [group.unlabeled for group in p.groups if group.unlabeled is not None]
        return Draws(
            kept=np.arange(n_rows),
            done=np.zeros(n_steps, np.int64),
            pools=[pool[_positions(p, len(pool))] for pool in pools],
            full=[p.batch_size >= len(pool) for pool in pools],
        )
    drawn = _positions(p, n_rows)
    rows, place = np.unique(drawn, return_inverse=True)
    place = place.reshape(drawn.shape)
    last = np.full(len(rows), n_steps - 1)
    if len(place) == n_steps:
        for step, places in enumerate(place):
            last[places] = step
    order = np.argsort(last, kind="stable")
    return Draws(
        kept=rows[order],
        done=np.searchsorted(last[order], np.arange(n_steps), side="right"),
        pools=[np.argsort(order)[place]],
        full=[p.batch_size >= n_rows],
    )


def _positions(problem: BlockProblem, n_rows: int) -> Rows:
    """Return which of so many rows each batch holds; one batch if it holds all."""
    p = problem
    if p.batch_size >= n_rows:
        return np.arange(n_rows)[None]
    source = len(p.groups[0].labeled)
    n_steps = p.n_sweeps * p.n_blocks
    return draw_in_passes(p.features.seed, source, 0, n_steps, p.batch_size, n_rows)
