"""Inputs of a run of the engine: tables of rows, sources of batches, objective and steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import sizes
from dsgkit.engine.steps import StepRule
from dsgkit.features import Blocks
from dsgkit.objectives import Objective
from dsgkit.random import draw_in_passes, draw_with_replacement


@dataclass(frozen=True)
class Source:
    """Draws one batch per iteration from one of the tables.

    ``pools`` are row numbers for each *group* of models (a CV fold); None is all rows and one
    group. ``in_passes`` visits rows once per pass in random order; otherwise they are drawn with
    replacement.
    """

    table: int
    pools: Sequence[NDArray[np.int64]] | None = None
    in_passes: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups that draw rows of their own."""
        return 1 if self.pools is None else len(self.pools)

    def draw(
        self, number: int, n_rows: int, seed: int, first: int, n_iterations: int, batch_size: int
    ) -> NDArray[np.int64]:
        """Return row numbers, shape (n_iterations, n_groups, batch_size)."""
        rule = draw_in_passes if self.in_passes else draw_with_replacement
        if self.pools is None:
            return rule(seed, number, first, n_iterations, batch_size, n_rows)[:, None]
        return np.stack(
            [
                pool[rule(seed, number, first, n_iterations, batch_size, len(pool))]
                for pool in self.pools
            ],
            axis=1,
        )


@dataclass(frozen=True)
class Problem:
    """Complete description of a run of the engine.

    Attributes
    ----------
    tables : sequence of rows, each of shape (n_k, n_inputs)
        Arrays, memory maps or objects with ``shape`` and indexing.
    sources : sequence of Source
        One per batch that the objective takes.
    features : Blocks
        Its seed also determines the draws.
    group : ndarray of int, shape (G,)
        The group of each model, in ascending order.
    average : bool
        Whether a model is the mean of the functions over the second half of the iterations (see
        `dsgkit.engine.averages`) instead of the last function.
    """

    tables: Sequence[Any]
    sources: Sequence[Source]
    objective: Objective
    step: StepRule
    features: Blocks
    n_iterations: int
    batch_size: int
    group: NDArray[np.int64]
    average: bool = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for input that would crash compiled code."""
        for source in self.sources:
            pools = [self.tables[source.table]] if source.pools is None else source.pools
            if not all(pool.shape[0] for pool in pools):
                raise ValueError("a source has no rows to draw from")
        if (np.diff(self.group) < 0).any() or self.group[-1] >= self.n_groups:
            raise ValueError(f"groups must ascend within 0..{self.n_groups - 1}")

    @property
    def n_models(self) -> int:
        """Number of models G."""
        return len(self.group)

    @property
    def n_inputs(self) -> int:
        """Columns of the tables."""
        return int(self.tables[0].shape[1])

    @property
    def n_groups(self) -> int:
        """Largest number of groups of a source."""
        return max(source.n_groups for source in self.sources)

    def drawn_from(self, table: int) -> list[Source]:
        """Return the sources that draw from a table."""
        return [source for source in self.sources if source.table == table]

    def resident(self, table: int) -> bool:
        """Return whether a table's values are kept up to date; see `sizes.kept_resident`.

        A table from which groups draw different rows is always resident.
        """
        drawn = self.drawn_from(table)
        if any(s.pools is not None for s in drawn):
            return True
        n_rows, n_inputs = self.tables[table].shape
        n_drawn = len(drawn) * self.batch_size
        return sizes.kept_resident(n_rows, n_inputs, n_drawn, self.n_iterations)

    def bytes_per_model(self, *, keep_blocks: bool) -> int:
        """Return the bytes of training per model.

        Parameters
        ----------
        keep_blocks : bool
            If false, only the values of resident rows are kept.
        """
        kept = [self.resident(k) for k in range(len(self.tables))]
        n_resident = sum(t.shape[0] for t, r in zip(self.tables, kept, strict=True) if r)
        n_blocks = sizes.blocks_held(
            self.n_iterations, kept=keep_blocks, streamed=not all(kept), average=self.average
        )
        n_averaged = n_resident if self.average and not keep_blocks else 0
        return sizes.model_bytes(n_blocks, self.features.width, n_resident, n_averaged)

    def take(self, models: slice) -> Problem:
        """Return the problem of some of the models."""
        return replace(
            self,
            objective=self.objective.take(models),
            step=self.step.take(models),
            group=self.group[models],
        )
