"""Doubly stochastic functional gradient descent for G models in one pass.

What iteration t costs is random features, and these depend on the rows and on the seed alone: so
models that share the draws are trained together, and each feature serves all of them.

- Function values are kept *unscaled*: ``f_g = scale_g * F_g``. The decay ``(1 - eta_t lam)`` of
  all earlier blocks is then one multiplication of ``scale_g`` per iteration. Where the decay is
  exactly 0 everything before t is forgotten and the model starts again.
- Rows of a *resident* table have their values kept up to date by one block per iteration. Rows of
  a *streamed* table are drawn about once: the rows of the next panel of iterations are known in
  advance and are evaluated on all earlier blocks together, so that each block of frequencies is
  made once per panel; inside the panel every new block is added to the rows still to come.

Algorithm 1 of Shi et al. (IJCAI 2019) and its relatives are this loop with their own sources,
objective and step rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit._jit import fast_parallel, prange
from dsgkit.engine.draws import draw_in_passes, draw_with_replacement
from dsgkit.engine.model import DSGModel
from dsgkit.engine.steps import StepRule
from dsgkit.features.fourier import FourierFeatures, as_block
from dsgkit.features.tiles import add_block, correlate
from dsgkit.objectives import Objective
from dsgkit.progress import report
from dsgkit.threads import single_blas_thread

PANEL_ROWS = 8192
"""Streamed rows evaluated together: enough to make the cost of the frequencies negligible."""

RESIDENT_BUDGET = 2**30
"""Bytes of rows and values above which a table is streamed, whatever it costs in time."""

_SMALLEST_SCALE, _LARGEST_SCALE = 1e-12, 1e12


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
        """Return row numbers, shape (n_groups, n_iterations, batch_size)."""
        rule = draw_in_passes if self.in_passes else draw_with_replacement
        if self.pools is None:
            return rule(seed, number, first, n_iterations, batch_size, n_rows)[None]
        return np.stack(
            [
                pool[rule(seed, number, first, n_iterations, batch_size, len(pool))]
                for pool in self.pools
            ]
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

    def resident(self, table: int) -> bool:
        """Whether it takes fewer features to keep a table's values than to evaluate its draws.

        Keeping ``n`` rows takes ``n T`` row evaluations, evaluating ``b`` draws when they are
        drawn ``b T^2 / 2``. Draws that differ between groups can only come from a resident table;
        any other is streamed where keeping it would pass `RESIDENT_BUDGET`.
        """
        drawn = [s for s in self.sources if s.table == table]
        if any(s.pools is not None for s in drawn):
            return True
        n_rows, n_inputs = self.tables[table].shape
        if 4 * n_rows * (n_inputs + self.n_models) > RESIDENT_BUDGET:
            return False
        return bool(2 * n_rows <= len(drawn) * self.batch_size * self.n_iterations)


@dataclass(frozen=True)
class TrainResult:
    """What a run leaves.

    Attributes
    ----------
    model : DSGModel or None
        None where it was not asked for.
    values : dict of int to ndarray of float32, shape (n_k, G)
        Final function values at the rows of each resident table.
    """

    model: DSGModel | None
    values: dict[int, NDArray[np.float32]]


def train(problem: Problem, *, keep_model: bool = True) -> TrainResult:
    """Train all models of a problem.

    Parameters
    ----------
    problem : Problem
    keep_model : bool
        Without the model, coefficients are only stored where streamed rows need them.

    Returns
    -------
    TrainResult
        Models that diverged hold values that are not finite; they do not affect others.
    """
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Training(problem, keep_model).run()


@fast_parallel
def _gather(F, rows, bounds, scale, out):  # type: ignore[no-untyped-def]
    """Read each group's models at the group's rows: ``out[i, g] = scale[g] F[rows[k, i], g]``."""
    for k in prange(len(rows)):
        for i in range(rows.shape[1]):
            r = rows[k, i]
            for g in range(bounds[k], bounds[k + 1]):
                out[i, g] = F[r, g] * scale[g]


@fast_parallel
def _scatter(C, rows, bounds, c):  # type: ignore[no-untyped-def]
    """Add each group's models at the group's rows: ``C[rows[k, i], g] += c[i, g]``."""
    for k in prange(len(rows)):
        for i in range(rows.shape[1]):
            r = rows[k, i]
            for g in range(bounds[k], bounds[k + 1]):
                C[r, g] += c[i, g]


class _Training:
    """State of one run: coefficients, scales, resident values and the current panel."""

    def __init__(self, problem: Problem, keep_model: bool) -> None:
        self.p = problem
        self.n_inputs = problem.tables[0].shape[1]
        self.scale = np.ones(problem.n_models)
        self.bounds = np.searchsorted(problem.group, np.arange(problem.group[-1] + 2))
        tables = range(len(problem.tables))
        self.resident = {k: as_block(problem.tables[k][:]) for k in tables if problem.resident(k)}
        self.streamed = [s for s, source in enumerate(problem.sources) if not self._kept(source)]
        self.values = {k: self._zeros(len(X)) for k, X in self.resident.items()}
        store = keep_model or bool(self.streamed)
        self.coefficients = (
            np.zeros(
                (problem.n_iterations, 2 * problem.features.n_frequencies, problem.n_models),
                np.float32,
            )
            if store
            else None
        )

    def _kept(self, source: Source) -> bool:
        return source.table in self.resident

    def _zeros(self, n: int) -> NDArray[np.float32]:
        return np.zeros((n, self.p.n_models), np.float32)

    def run(self) -> TrainResult:
        p = self.p
        length = max(1, PANEL_ROWS // (p.batch_size * max(1, len(self.streamed))))
        for first in range(0, p.n_iterations, length):
            self._run_panel(first, min(first + length, p.n_iterations))
        return self._result()

    def _run_panel(self, first: int, last: int) -> None:
        p = self.p
        draws = [
            source.draw(
                number,
                len(p.tables[source.table]),
                p.features.seed,
                first,
                last - first,
                p.batch_size,
            )
            for number, source in enumerate(p.sources)
        ]
        panel = {
            s: self._open_panel(p.sources[s], draws[s][0].ravel(), first) for s in self.streamed
        }
        for t in range(first, last):
            self._iterate(t, t - first, draws, panel)
            report(self._work(t + 1) / self._work(p.n_iterations))

    def _work(self, t: int) -> float:
        """Return what t iterations cost, in any unit: streamed rows meet every earlier block."""
        return t + t * t if self.streamed else t

    def _open_panel(
        self, source: Source, rows: NDArray[np.int64], first: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return a panel's rows and their values by all blocks before it."""
        X = as_block(self.p.tables[source.table][rows])
        F = self._zeros(len(X))
        assert self.coefficients is not None
        DSGModel(self.p.features, self.coefficients, self.n_inputs).add_to(F, X, first)
        return X, F

    def _iterate(
        self,
        t: int,
        place: int,
        draws: list[NDArray[np.int64]],
        panel: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]],
    ) -> None:
        p, b = self.p, self.p.batch_size
        now = slice(place * b, (place + 1) * b)
        rows = [np.ascontiguousarray(d[:, place]) for d in draws]
        values = [
            panel[s][1][now] * self.scale.astype(np.float32)
            if s in panel
            else self._gathered(self.values[p.sources[s].table], rows[s])
            for s in range(len(p.sources))
        ]
        c = p.objective.coefficients(values)
        W = p.features.frequencies(t, self.n_inputs)
        A = np.zeros((2 * p.features.n_frequencies, p.n_models), np.float32)
        for s, (X, _) in panel.items():
            A += correlate(X[now], W, c[s])
        for k, X in self.resident.items():
            A += self._resident_gradient(k, X, W, rows, c)
        later = {s: (X[now.stop :], F[now.stop :]) for s, (X, F) in panel.items()}
        eta, decay = p.step(t + 1)
        self._decay(t, decay, later)
        A *= (-eta / (p.features.n_frequencies * self.scale)).astype(np.float32)
        if self.coefficients is not None:
            self.coefficients[t] = A
        for k, X in self.resident.items():
            add_block(X, W, A, self.values[k])
        for X, F in later.values():
            add_block(X, W, A, F)

    def _gathered(self, F: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values of each group's models at its drawn rows."""
        out = np.empty((rows.shape[1], self.p.n_models), np.float32)
        _gather(F, rows, self._bounds(rows), self.scale.astype(np.float32), out)
        return out

    def _bounds(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each group's models begin; one group of draws serves all models."""
        return np.array([0, self.p.n_models]) if len(rows) == 1 else self.bounds

    def _resident_gradient(
        self,
        table: int,
        X: NDArray[np.float32],
        W: NDArray[np.float32],
        rows: list[NDArray[np.int64]],
        c: list[NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """Return ``sum_i phi(x_i) c_i`` over the rows drawn from a resident table."""
        drawn = [s for s, source in enumerate(self.p.sources) if source.table == table]
        used = np.unique(np.concatenate([rows[s].ravel() for s in drawn]))
        C = self._zeros(len(used))
        for s in drawn:
            _scatter(C, np.searchsorted(used, rows[s]), self._bounds(rows[s]), c[s])
        return correlate(X[used], W, C)

    def _decay(
        self,
        t: int,
        decay: NDArray[np.float64],
        later: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]],
    ) -> None:
        """Shrink everything before iteration t by one factor per model.

        The factor goes into the running scale. Where the scale becomes 0, or leaves the range
        that float32 coefficients can follow, it is multiplied out and starts again at 1.
        """
        self.scale *= decay
        size = np.abs(self.scale)
        out = np.flatnonzero((size < _SMALLEST_SCALE) | (size > _LARGEST_SCALE))
        if len(out) == 0:
            return
        factor = self.scale[out].astype(np.float32)
        arrays = [*self.values.values(), *(F for _, F in later.values())]
        if self.coefficients is not None:
            arrays.append(self.coefficients[:t])
        for array in arrays:
            array[..., out] = np.where(factor == 0, 0, array[..., out] * factor)
        self.scale[out] = 1.0

    def _result(self) -> TrainResult:
        scale = self.scale.astype(np.float32)
        for F in self.values.values():
            F *= scale
        model = None
        if self.coefficients is not None:
            self.coefficients *= scale
            model = DSGModel(self.p.features, self.coefficients, self.n_inputs)
        return TrainResult(model, self.values)
