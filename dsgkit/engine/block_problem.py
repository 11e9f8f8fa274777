"""Inputs of block-preconditioned training, and its draws of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import sizes
from dsgkit.features import Blocks
from dsgkit.linalg import Array, Single
from dsgkit.objectives import Objective
from dsgkit.random import draw_in_passes

Rows = NDArray[np.int64]


class QuadraticObjective(Objective, Protocol):
    """A loss whose second derivative is a quadratic form in the rows of its sources.

    Let Phi_k be the features at the n_k rows of source k in a batch, and p_k their mean. The second
    derivative of the batch's loss with respect to the coefficients of the features is

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
    def diagonal(self) -> Array: ...

    @property
    def cross(self) -> Array: ...


@runtime_checkable
class MajorisedObjective(Objective, Protocol):
    """A loss that is bounded from above by a quadratic of each row's value.

    The bound touches the loss at the current values; ``coefficients`` are its derivatives there. A
    step that does not raise the bound does not raise the loss.
    """

    def weights(self, values: list[Single]) -> list[Single]:
        """Return the second derivative of the bound with respect to each row's value, >= 0.

        Parameters
        ----------
        values : list of ndarray of shape (n_k, G)
            As for ``coefficients``.

        Returns
        -------
        list of ndarray of shape (n_k, G)
        """
        ...


@dataclass(frozen=True)
class RowGroup:
    """Training rows of a group of models (those of a CV fold).

    Attributes
    ----------
    labeled : sequence of int arrays
        Rows of each source of labelled rows: every batch holds all of them.
    unlabeled : int array, optional
        Rows from which the unlabelled ones of a batch are drawn; None is all.
    """

    labeled: Sequence[Rows]
    unlabeled: Rows | None = None


@dataclass(frozen=True)
class BlockProblem:
    """Complete description of a run of block-preconditioned training.

    Attributes
    ----------
    X, X_unlabeled : rows of shape (n, n_inputs)
        Arrays, memory maps or objects with ``shape`` and indexing.
    groups : sequence of RowGroup
        Either all of them list unlabelled rows, or none does.
    group : ndarray of int, shape (G,)
        The group of each model, in ascending order.
    objective : QuadraticObjective or MajorisedObjective
        A source of labelled rows may be empty in a batch. If it has a method ``at``, that returns
        the objective of each step, counted from 1.
    lam : ndarray of shape (G,)
        Weight of the penalty ``lam/2 ||f||^2`` of each model.
    features : Blocks
        Its seed also determines the draws.
    n_blocks, n_sweeps : int
        Number of blocks T, and of sweeps S over them.
    batch_size : int
        Unlabelled rows b of a batch. If there are no more than b, a batch is all of them, in order.
    """

    X: Any
    X_unlabeled: Any
    groups: Sequence[RowGroup]
    group: NDArray[np.int64]
    objective: Objective
    lam: Array
    features: Blocks
    n_blocks: int
    n_sweeps: int
    batch_size: int

    def __post_init__(self) -> None:
        """Raise `ValueError` unless groups ascend."""
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
        """The objective, as one whose curvature does not depend on the values."""
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
        """Return the bytes of training per model."""
        n_labeled, n_unlabeled = self.X.shape[0], self.X_unlabeled.shape[0]
        n_batch = min(self.batch_size, n_unlabeled)
        n_drawn = self.n_sweeps * self.n_blocks * n_batch
        n_kept = n_unlabeled if self.pooled else min(n_unlabeled, n_drawn)
        return sizes.block_model_bytes(
            self.n_blocks, self.features.width, n_labeled + n_kept, n_labeled + n_batch
        )

    def take(self, models: slice) -> BlockProblem:
        """Return the problem of some of the models, with their groups only."""
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
    """Unlabelled rows of all batches, and the rows to keep for them.

    Attributes
    ----------
    kept : ndarray of int
        Rows of the unlabelled table that are ever drawn, in the order of their last use. If groups
        draw from pools of their own, all rows in their own order.
    done : ndarray of int, shape (n_steps,)
        Number of leading rows of ``kept`` that are not drawn after each step.
    pools : list of ndarray of int, shape (n_steps, b), or (1, n) if a batch holds all rows
        Positions in ``kept``, for each group or for all groups together.
    full : list of bool
        Whether a batch of each pool holds all its rows.
    """

    kept: Rows
    done: Rows
    pools: list[Rows]
    full: list[bool]

    def batch(self, pool: int, step: int) -> Rows:
        """Return the positions in ``kept`` of the rows of a batch."""
        positions = self.pools[pool]
        return positions[0] if self.full[pool] else positions[step]


def draw(problem: BlockProblem) -> Draws:
    """Return the draws of a run, which depend only on the seed, the sizes and the pools."""
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
    """Return the rows of each batch, out of ``n_rows``; a single batch if it holds all."""
    p = problem
    if p.batch_size >= n_rows:
        return np.arange(n_rows)[None]
    source = len(p.groups[0].labeled)
    n_steps = p.n_sweeps * p.n_blocks
    return draw_in_passes(p.features.seed, source, 0, n_steps, p.batch_size, n_rows)
