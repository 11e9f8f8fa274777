"""Doubly stochastic functional gradient descent for G models in one pass.

The cost of an iteration is that of random features, which depend only on the rows and the seed: so
models that share the draws are trained together and share every feature.

- Function values are kept *unscaled*: ``f_g = scale_g * F_g``. The decay ``(1 - eta_t lam)`` of
  all earlier blocks is then one multiplication of ``scale_g`` per iteration. Where the decay is
  exactly 0 everything before t is forgotten and the model starts again.
- Rows of a *resident* table have their values kept up to date by one block per iteration. Rows of
  a *streamed* table are drawn about once: the rows of the next panel of iterations are known in
  advance and are evaluated on all earlier blocks together, so that each block of features is drawn
  once per panel; inside the panel every new block is added to the rows still to come.
- Blocks that have decayed to a negligible share of the function are dropped
  (`Coefficients.forget`).
- The mean of the last functions is almost free: its coefficients are those of the blocks as they
  were added, times weights that follow from the steps; values are summed on the way.

Algorithm 1 of Shi et al. (IJCAI 2019) and its relatives are this loop with their own sources,
objective and step rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.averages import AddedBlocks, add_scaled, averaged
from dsgkit.engine.checkpoints import Checkpoints, Observer
from dsgkit.engine.coefficients import Coefficients
from dsgkit.engine.model import DSGModel
from dsgkit.engine.problem import Problem, Source
from dsgkit.engine.sizes import models_at_once, rows_at_once
from dsgkit.features import Blocks
from dsgkit.linalg import Array, Single
from dsgkit.objectives import objective_at
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part, report

Result = TypeVar("Result")
Rows = NDArray[np.int64]

_SMALLEST_SCALE, _LARGEST_SCALE = 1e-12, 1e12


def train(problem: Problem, *, at: Sequence[int] = (), observe: Observer | None = None) -> DSGModel:
    """Train all models of a problem in one pass; only one training at a time per process.

    Parameters
    ----------
    problem : Problem
    at : sequence of int
        Iterations, counted from 1 and ascending, after which ``observe`` is called.
    observe : callable, optional
        ``observe(t, seconds, model)`` receives the number of iterations, the seconds of training,
        and a copy of the model. The seconds exclude the observer itself and making the copy. It
        does not affect training.

    Returns
    -------
    DSGModel
        Models that diverged hold coefficients that are not finite; they do not affect others.

    Raises
    ------
    ValueError
        If ``at`` does not ascend within the iterations, or an observer is missing.
    DataError
        If the features of a row would be wrong.
    """
    checkpoints = Checkpoints(at, observe, problem.n_iterations)
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Training(problem, keep_blocks=True, checkpoints=checkpoints).run().model()


def train_in_passes(problem: Problem) -> list[DSGModel]:
    """Train the models of a problem in as few passes as `sizes.MAX_MODEL_BYTES` allows.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    list of DSGModel
        As `train` returns them; together they hold all models, in order.
    """
    return _in_passes(problem, train, keep_blocks=True)


def train_values(problem: Problem) -> dict[int, Single]:
    """Train the models and return only their values at resident rows, as for a grid search.

    Models whose coefficients together exceed `sizes.MAX_MODEL_BYTES` are trained in several passes;
    coefficients are kept only if streamed rows need them.

    Returns
    -------
    dict of int to ndarray of float32, shape (n_k, G)
        Final function values at the rows of each resident table.
    """
    passes = _in_passes(problem, _values_of, keep_blocks=False)
    return {k: np.hstack([values[k] for values in passes]) for k in passes[0]}


def _values_of(problem: Problem) -> dict[int, Single]:
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Training(problem, keep_blocks=False).run().values()


def _in_passes(
    problem: Problem, run: Callable[[Problem], Result], *, keep_blocks: bool
) -> list[Result]:
    """Return the results of ``run`` on as many models at a time as `MAX_MODEL_BYTES` allows."""
    n_models = problem.n_models
    length = models_at_once(problem.bytes_per_model(keep_blocks=keep_blocks))
    results = []
    for start in range(0, n_models, length):
        stop = min(start + length, n_models)
        with part(start / n_models, stop / n_models):
            results.append(run(problem.take(slice(start, stop))))
    return results


@fast
def _gather(F: Single, rows: Rows, bounds: Rows, scale: Single, out: Single) -> None:
    """Read each group's models at the group's rows: ``out[i, g] = scale[g] F[rows[k, i], g]``."""
    for k in range(len(rows)):
        for i in range(rows.shape[1]):
            r = rows[k, i]
            for g in range(bounds[k], bounds[k + 1]):
                out[i, g] = F[r, g] * scale[g]


@fast
def _collect(rows: Rows, bounds: Rows, c: Single, place: Rows, used: Rows, C: Single) -> None:
    """Sum each group's coefficients by row: ``C[place[rows[k, i]], g] += c[i, g]``.

    ``place`` numbers the rows in order of occurrence, -1 for rows that do not occur; ``used`` lists
    them after their count.
    """
    for k in range(len(rows)):
        for i in range(rows.shape[1]):
            r = rows[k, i]
            if place[r] < 0:
                place[r] = used[0]
                used[0] += 1
                used[used[0]] = r
                C[place[r]] = 0
            for g in range(bounds[k], bounds[k + 1]):
                C[place[r], g] += c[i, g]


class _Resident:
    """A table whose values are kept up to date."""

    def __init__(self, X: Single, n_models: int, most_used: int) -> None:
        self.X = X
        self.F = np.zeros((len(X), n_models), np.float32)
        self._place = np.full(len(X), -1)
        self._used = np.zeros(1 + min(len(X), most_used), np.int64)
        self._C = np.empty((len(self._used) - 1, n_models), np.float32)

    def values(self, rows: NDArray[np.int64], bounds: NDArray[np.int64], scale: Single) -> Single:
        """Return the values of each group's models at its rows, shape (batch_size, G)."""
        out = np.empty((rows.shape[1], self.F.shape[1]), np.float32)
        _gather(self.F, rows, bounds, scale, out)
        return out

    def move_to(self, X: Single, F: Single) -> None:
        """Continue in other arrays: ``X`` holds the rows, the values are copied to ``F``."""
        F[: len(X)] = self.F
        self.X, self.F = X, F[: len(X)]

    def collect(self, rows: NDArray[np.int64], bounds: NDArray[np.int64], c: Single) -> None:
        """Add the coefficients of a batch."""
        _collect(rows, bounds, c, self._place, self._used, self._C)

    def collected(self) -> tuple[Single, Single]:
        """Return the rows and coefficients collected since the last call, and reset them."""
        count = self._used[0]
        used = self._used[1 : 1 + count]
        self._place[used] = -1
        self._used[0] = 0
        return self.X[used], self._C[:count]


class _Panel:
    """The draws of a panel of iterations, and the rows to which its blocks are added.

    These are the streamed rows of all its iterations, in order, and after them the resident rows:
    a new block is thus added to one range of rows.
    """

    def __init__(
        self,
        problem: Problem,
        streamed: list[int],
        resident: Sequence[_Resident],
        first: int,
        last: int,
    ) -> None:
        p = problem
        self._width = len(streamed) * p.batch_size
        self.draws = [
            s.draw(
                n, p.tables[s.table].shape[0], p.features.seed, first, last - first, p.batch_size
            )
            for n, s in enumerate(p.sources)
        ]
        batches = [
            p.features.read(p.tables[p.sources[s].table], self.draws[s].ravel()) for s in streamed
        ]
        parts = [b.reshape(last - first, p.batch_size, p.n_inputs) for b in batches]
        rows = [np.hstack(parts).reshape(-1, p.n_inputs)] if parts else []
        self.n_streamed = sum(map(len, rows))
        self._X = np.vstack([*rows, *(table.X for table in resident)])
        self._F = np.zeros((len(self._X), p.n_models), np.float32)
        start = self.n_streamed
        for table in resident:
            table.move_to(self._X[start : start + len(table.X)], self._F[start:])
            start += len(table.X)

    def add(self, past: Coefficients, features: Blocks) -> None:
        """Add all blocks so far to the values of the streamed rows."""
        rows = slice(0, self.n_streamed)
        for first, coefficients in past.kept():
            features.add(self._X[rows], first, coefficients, self._F[rows])

    def now(self, place: int) -> tuple[Single, Single]:
        """Return the streamed rows of an iteration and their values."""
        now = slice(place * self._width, (place + 1) * self._width)
        return self._X[now], self._F[now]

    def later(self, place: int) -> tuple[Single, Single]:
        """Return all rows whose values are needed after an iteration, and these."""
        start = (place + 1) * self._width
        return self._X[start:], self._F[start:]


class _Training:
    """State of one run: coefficients, scales and resident values."""

    def __init__(
        self, problem: Problem, *, keep_blocks: bool, checkpoints: Checkpoints | None = None
    ) -> None:
        p = self.p = problem
        self.checkpoints = checkpoints
        self.blocks = p.features.in_order(p.n_inputs, p.n_iterations)
        self.scale = np.ones(p.n_models)
        self.bounds = [self._model_bounds(source) for source in p.sources]
        self.resident = {
            k: _Resident(p.features.read(table, slice(None)), p.n_models, self._most_drawn(k))
            for k, table in enumerate(p.tables)
            if p.resident(k)
        }
        self.streamed = [s for s, x in enumerate(p.sources) if x.table not in self.resident]
        self.added = AddedBlocks() if keep_blocks and p.average else None
        keep_past = (keep_blocks and not p.average) or self.streamed
        self.past = Coefficients(p.features.width, p.n_models) if keep_past else None
        self.sums = (
            {k: np.zeros_like(table.F) for k, table in self.resident.items()}
            if p.average and not keep_blocks
            else {}
        )

    def _most_drawn(self, table: int) -> int:
        """Return a bound on the number of distinct rows that an iteration draws from a table."""
        return self.p.batch_size * sum(s.n_groups for s in self.p.drawn_from(table))

    def _model_bounds(self, source: Source) -> NDArray[np.int64]:
        """Return the first model of each group; a single group of draws serves all models."""
        if source.n_groups == 1:
            return np.array([0, self.p.n_models])
        return np.searchsorted(self.p.group, np.arange(source.n_groups + 1))

    def run(self) -> _Training:
        """Run all iterations."""
        p = self.p
        rows = rows_at_once(p.n_inputs, p.n_models)
        length = max(1, rows // (p.batch_size * max(1, len(self.streamed))))
        for first in range(0, p.n_iterations, length):
            self._run_panel(first, min(first + length, p.n_iterations))
        return self

    def model(self) -> DSGModel:
        """Return the models after the iterations so far."""
        if self.added is not None:
            first, coefficients = self.added.mean(self.p.step)
            return DSGModel(self.p.features, coefficients, self.p.n_inputs, first)
        assert self.past is not None
        first, coefficients = self.past.needed()
        coefficients *= self.scale.astype(np.float32)
        return DSGModel(self.p.features, coefficients, self.p.n_inputs, first)

    def values(self) -> dict[int, Single]:
        """Return the values of resident rows by table."""
        if self.p.average:
            return self.sums
        return {k: table.F * self.scale.astype(np.float32) for k, table in self.resident.items()}

    def _run_panel(self, first: int, last: int) -> None:
        p = self.p
        panel = _Panel(p, self.streamed, list(self.resident.values()), first, last)
        if self.past is not None and first > 0:
            self.past.forget()
            if self.streamed:
                panel.add(self.past, p.features)
        for t in range(first, last):
            self._iterate(t, t - first, panel)
            report(self._work(t + 1) / self._work(p.n_iterations))
            if self.checkpoints is not None:
                self.checkpoints.after(t + 1, self.model)

    def _work(self, t: int) -> float:
        """Return the relative cost of t iterations: streamed rows need every earlier block."""
        return t + t * t if self.streamed else t

    def _iterate(self, t: int, place: int, panel: _Panel) -> None:
        p = self.p
        rows = [draws[place] for draws in panel.draws]
        objective = objective_at(p.objective, t + 1)
        c = objective.coefficients(self._values(rows, panel.now(place)[1]))
        X_drawn, C = self._expansion(rows, c, panel.now(place)[0])
        eta, decay = p.step(t + 1)
        X, F = panel.later(place)
        self._decay(decay, F)
        A = self.blocks.correlate(X_drawn, t, C, -eta / self.scale)
        if self.past is not None:
            self.past.append(A)
        if self.added is not None:
            self.added.append(A, self.scale)
        self.blocks.add(X, t, A[None], F)
        if t >= p.n_iterations // 2:
            share = (self.scale / averaged(p.n_iterations)).astype(np.float32)
            for k, total in self.sums.items():
                add_scaled(self.resident[k].F, share, total)

    def _values(self, rows: list[NDArray[np.int64]], streamed: Single) -> list[Single]:
        """Return the values at the rows drawn from each source, shape (batch_size, G) each."""
        p, scale = self.p, self.scale.astype(np.float32)
        batches = streamed.reshape(-1, p.batch_size, p.n_models)
        return [
            batches[self.streamed.index(s)] * scale
            if s in self.streamed
            else self.resident[source.table].values(rows[s], self.bounds[s], scale)
            for s, source in enumerate(p.sources)
        ]

    def _expansion(
        self, rows: list[NDArray[np.int64]], c: list[Single], streamed: Single
    ) -> tuple[Single, Single]:
        """Return the functional gradient of the batch: x and C of ``sum_i C[i] k(x_i, .)``.

        Repeated draws of a resident row are merged; C has shape (n, G).
        """
        parts = []
        if self.streamed:
            parts.append((streamed, np.vstack([c[s] for s in self.streamed])))
        for s, source in enumerate(self.p.sources):
            if source.table in self.resident:
                self.resident[source.table].collect(rows[s], self.bounds[s], c[s])
        parts += [table.collected() for table in self.resident.values()]
        X, C = (np.vstack(arrays) for arrays in zip(*parts, strict=True))
        return X, C

    def _decay(self, decay: Array, F: Single) -> None:
        """Multiply all previous blocks by one factor per model.

        The factor goes into the scale. A scale that becomes 0, or leaves the range of float32
        coefficients, is multiplied out and reset to 1.
        """
        self.scale *= decay
        size = np.abs(self.scale)
        out = np.flatnonzero((size < _SMALLEST_SCALE) | (size > _LARGEST_SCALE))
        if len(out) == 0:
            return
        factor = self.scale[out].astype(np.float32)
        F[:, out] = np.where(factor == 0, 0, F[:, out] * factor)
        if self.past is not None:
            self.past.multiply(out, factor)
        self.scale[out] = 1.0
