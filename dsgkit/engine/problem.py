"""What a run of the engine is given: tables of rows, sources of batches, objective and steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine import sizes
from dsgkit.engine.draws import draw_in_passes, draw_with_replacement
from dsgkit.engine.steps import StepRule
from dsgkit.features.fourier import FourierFeatures
from dsgkit.objectives import Objective


@dataclass(frozen=True)
class Source:
    """Where one batch per iteration is drawn from.

    Attributes
    ----------
    table : int
        Which of the tables holds the rows.
    pools : sequence of int arrays, optional
        One pool of row numbers per *group* of models (a CV fold); None: all rows, one group.
    in_passes : bool
        Whether rows are visited once per pass in random order, or drawn with replacement.
    """

    table: int
    pools: Sequence[NDArray[np.int64]] | None = None
    in_passes: bool = False

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
    """All that determines a run of the engine.

    Attributes
    ----------
    tables : sequence of rows, each of shape (n_k, n_inputs)
        Arrays, memory maps or objects with ``shape`` and indexing.
    sources : sequence of Source
        One per batch that the objective takes.
    objective : Objective
    step : StepRule
    features : FourierFeatures
        Its seed also determines the draws.
    n_iterations, batch_size : int
    group : ndarray of int, shape (G,)
        The group of each model, in ascending order.
    """

    tables: Sequence[Any]
    sources: Sequence[Source]
    objective: Objective
    step: StepRule
    features: FourierFeatures
    n_iterations: int
    batch_size: int
    group: NDArray[np.int64]

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
        """Number of groups that pools are drawn for."""
        return max((len(s.pools) for s in self.sources if s.pools is not None), default=1)

    def resident(self, table: int) -> bool:
        """Whether it takes fewer features to keep a table's values than to evaluate its draws.

        Keeping ``n`` rows takes ``n T`` row evaluations, evaluating ``b`` draws when they are
        drawn ``b T^2 / 2``. Draws that differ between groups can only come from a resident table;
        any other is streamed where keeping it would pass `sizes.TABLE_BYTES`.
        """
        drawn = [s for s in self.sources if s.table == table]
        if any(s.pools is not None for s in drawn):
            return True
        n_rows = self.tables[table].shape[0]
        if 4 * n_rows * (self.n_inputs + self.n_models) > sizes.TABLE_BYTES:
            return False
        return bool(2 * n_rows <= len(drawn) * self.batch_size * self.n_iterations)

    def model_bytes(self) -> int:
        """Return the bytes that training takes for each model."""
        resident = sum(t.shape[0] for k, t in enumerate(self.tables) if self.resident(k))
        return sizes.model_bytes(self.n_iterations, self.features.n_frequencies, resident)

    def take(self, models: slice) -> Problem:
        """Return the problem of some of the models."""
        return replace(
            self,
            objective=self.objective.take(models),
            step=self.step.take(models),
            group=self.group[models],
        )
