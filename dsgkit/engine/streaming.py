"""Doubly stochastic functional gradient descent for G models in one pass.

The cost of an iteration is that of random features, which depend only on the rows and the seed: so
models that share the draws are trained together and share every feature.

- Function values are kept *unscaled*: ``f_g = scale_g * F_g``. The decay ``(1 - eta_t lam)`` of all
  earlier blocks is then one multiplication of ``scale_g`` per iteration. Where the decay is exactly
  0 everything before t is forgotten and the model starts again.
- Rows of a *resident* table have their values kept up to date by one block per iteration. Rows of a
  *streamed* table are drawn about once: the rows of the next panel of iterations are known in
  advance and are evaluated on all earlier blocks together, so that each block of features is drawn
  once per panel; inside the panel every new block is added to the rows still to come.
- Blocks that have decayed to a negligible share of the function are dropped.
- The mean of the last functions is almost free: its coefficients are those of the blocks as they
  were added, times weights that follow from the steps; values are summed on the way.

Algorithm 1 of Shi et al. (IJCAI 2019), whose lines the comments name, and its relatives are this
loop with their own sources, loss and steps.
"""

from __future__ import annotations

import math

import numpy as np

from dsgkit.costs import Cost, interpreted_flops
from dsgkit.engine import sizes
from dsgkit.engine.coefficients import (
    Coefficients,
    averaged,
    block_weights,
    first_needed,
    magnitude,
)
from dsgkit.engine.model import BlockModel, TableValues, beside
from dsgkit.engine.problem import Problem, Rows, Sizes, Steps, take
from dsgkit.features import Blocks
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.system.jit import fast
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part, report

STEP_MILLISECONDS = 0.25  # of an iteration beside its products
DRAWN_MILLISECONDS = 4e-5  # of a drawn row per model: its value, slope and coefficient

SMALLEST_SCALE, LARGEST_SCALE = 1e-12, 1e12


def stream(
    problem: Problem,
    blocks: Blocks,
    steps: Steps,
    n_iterations: int,
    batch_size: int,
    *,
    average: bool = False,
    in_passes: bool = False,
) -> BlockModel | TableValues:
    """Train all models of a problem, whose loss gives the slopes on tuples of drawn rows.

    Block t is that of iteration t; the blocks' seed also determines the draws. Every iteration
    draws ``batch_size`` rows from every source: unlabelled ones in passes, labelled ones with
    replacement, or ``in_passes`` too. With ``average`` a model is the mean of the functions over
    the second half of the iterations instead of the last function. A model that diverged is not
    finite, and does not affect others.

    Only one training at a time per process.
    """
    problem.clock.check(n_iterations)
    settings = blocks, n_iterations, batch_size, average, in_passes
    at_once = sizes.models_at_once(_Run(problem, steps, settings).bytes_per_model())
    parts, G = [], problem.n_models
    with single_blas_thread(), np.errstate(all="ignore"):
        for models in row_blocks(G, at_once):
            with part(models.start / G, models.stop / G):
                run = _Run(problem.take(models), take(steps, models), settings)
                parts.append(run.train())
    return beside(parts)


def streaming_cost(
    blocks: Blocks,
    n: Sizes,
    n_iterations: int,
    batch_size: int,
    n_models: int = 1,
    *,
    average: bool = False,
    in_passes: bool = False,
    forgets: int | None = None,
) -> Cost:
    """Return the cost of `stream`; of values only if there are folds (``n.folds > 0``).

    ``forgets`` is the number of iterations after which one model drops a block, see `remembered`.
    """
    T, on_folds = n_iterations, n.folds > 0
    tables = (
        (n.labeled, n.sources, on_folds or not in_passes),
        (n.unlabeled, 1, on_folds and n.pooled),
    )
    resident = streamed = 0
    for rows, sources, pooled in tables:
        if pooled or sizes.kept_resident(rows, n.inputs, sources * batch_size, T):
            resident += rows
        else:
            streamed += sources * batch_size
    kept = min(T, forgets) if forgets is not None and n_models == 1 else T
    row, width = blocks.row_flops(n.inputs), blocks.width
    per_model = sizes.streaming_bytes(
        T, width, resident, kept=not on_folds, streamed=streamed > 0, average=average
    )
    in_pass = min(n_models, sizes.models_at_once(per_model))
    finished = 0 if on_folds or n_models == 1 else 4 * width * T * n_models
    products = (T * resident + streamed * kept * (T - kept / 2)) * (row + 2.0 * width * n_models)
    drawn = DRAWN_MILLISECONDS * (min(n.sources, 2) + 1) * batch_size
    return Cost(
        flops=products + interpreted_flops(T, n_models, STEP_MILLISECONDS, drawn),
        memory=8 * n.inputs * (resident + sizes.MAX_BLOCK_ROWS) + per_model * in_pass + finished,
        flops_per_row=kept * (row + 2.0 * width),
        shared_per_row=kept * row,
    )


def remembered(step: float) -> int:
    """Return the approximate number of iterations after which a constant step forgets a block."""
    if step == 1:
        return 1
    return max(1, math.ceil(math.log(sizes.MAX_FORGOTTEN_SHARE) / math.log1p(-step)))


class _Run:
    """State of one pass: coefficients, scales and values of resident rows."""

    def __init__(
        self, problem: Problem, steps: Steps, settings: tuple[Blocks, int, int, bool, bool]
    ) -> None:
        self.problem, self.steps = problem, steps
        self.features, self.T, self.size, self.average, in_passes = settings
        self.G, self.n_inputs = problem.n_models, problem.data.X.shape[1]
        self.sources = problem.sources(in_passes=in_passes)
        self.resident_tables = [k for k in range(2) if self._is_resident(k)]
        self.streamed = [
            s for s, x in enumerate(self.sources) if x.table not in self.resident_tables
        ]

    def _is_resident(self, table: int) -> bool:
        """Return whether a table's values are kept up to date; always if pools draw own rows."""
        drawn = [source for source in self.sources if source.table == table]
        n = len(self.problem.data.tables[table])
        pooled = any(source.pools is not None for source in drawn)
        return pooled or sizes.kept_resident(n, self.n_inputs, len(drawn) * self.size, self.T)

    def bytes_per_model(self) -> int:
        resident = sum(len(self.problem.data.tables[k]) for k in self.resident_tables)
        kept, streamed = not self.problem.values_only, len(self.resident_tables) < 2
        size = self.T, self.features.width, resident
        return sizes.streaming_bytes(*size, kept=kept, streamed=streamed, average=self.average)

    def train(self) -> BlockModel | TableValues:
        """Run all iterations, a panel at a time."""
        p, G, values_only = self.problem, self.G, self.problem.values_only
        self.blocks = self.features.in_order(self.n_inputs, self.T)
        self.scale = np.ones(G)
        self.bounds = [  # the first model of each pool; one pool of draws serves all models
            np.array([0, G])
            if s.pools is None
            else np.searchsorted(p.pool, np.arange(len(s.pools) + 1))
            for s in self.sources
        ]
        self.resident = {}
        for k in self.resident_tables:
            drawn = sum(
                1 if s.pools is None else len(s.pools) for s in self.sources if s.table == k
            )
            X = self.features.read(p.data.tables[k], slice(None))
            self.resident[k] = _Resident(X, G, self.size * drawn)
        keep_past = (not values_only and not self.average) or self.streamed
        self.past = Coefficients(self.features.width, G) if keep_past else None
        self.added: list[Single] | None = [] if self.average and not values_only else None
        summed = self.resident if self.average and values_only else {}
        self.sums = {k: np.zeros_like(table.F) for k, table in summed.items()}
        rows = sizes.rows_at_once(self.n_inputs, G)
        length = max(1, rows // (self.size * max(1, len(self.streamed))))
        for panel in row_blocks(self.T, length):
            self._panel(panel.start, panel.stop)
        if values_only:
            scale = self.scale.astype(np.float32)
            final = self.sums or {k: table.F * scale for k, table in self.resident.items()}
            return TableValues([final[k] for k in range(len(p.held_out))])
        return self._model()

    def _model(self) -> BlockModel:
        """Return the models after the iterations so far."""
        if self.added is not None:
            weights = block_weights(self.steps, len(self.added)).astype(np.float32)
            coef = np.stack(self.added)
            coef *= weights[:, None]
            first = first_needed(magnitude(coef))
            return BlockModel(self.features, coef[first:].copy() if first else coef, first)
        assert self.past is not None
        first, coef = self.past.needed()
        coef *= self.scale.astype(np.float32)
        return BlockModel(self.features, coef, first)

    def _panel(self, first: int, last: int) -> None:
        """Run some iterations.

        The rows of a panel are the streamed rows of all its iterations, in order, and after them
        the resident ones: the rows that a new block is added to are always one range at the end.
        """
        p, size, width = self.problem, self.size, len(self.streamed) * self.size
        draws = [  # lines 2 to 4
            s.draw(n, len(p.data.tables[s.table]), self.features.seed, first, last - first, size)
            for n, s in enumerate(self.sources)
        ]
        batches = [
            self.features.read(p.data.tables[self.sources[s].table], draws[s].ravel()).reshape(
                last - first, size, self.n_inputs
            )
            for s in self.streamed
        ]
        streamed = [np.hstack(batches).reshape(-1, self.n_inputs)] if batches else []
        n_streamed = sum(map(len, streamed))
        X = np.vstack([*streamed, *(table.X for table in self.resident.values())])
        F = np.zeros((len(X), self.G), np.float32)
        start = n_streamed
        for table in self.resident.values():
            place = slice(start, start + len(table.X))
            F[place] = table.F
            table.X, table.F = X[place], F[place]  # it continues in these arrays
            start = place.stop
        if self.past is not None and first > 0:
            self.past.forget()
            if self.streamed:
                for block, coef in self.past.kept():
                    self.features.add(X[:n_streamed], block, coef, F[:n_streamed])
        for t in range(first, last):
            start, end = (t - first) * width, (t - first + 1) * width
            rows = [drawn[t - first] for drawn in draws]
            self._iterate(t, rows, X[start:end], F[start:end], X[end:], F[end:])
            report(self._work(t + 1) / self._work(self.T))
            p.clock.after(t + 1, self._model)

    def _work(self, t: int) -> float:
        """Return the relative cost of t iterations: streamed rows need every earlier block."""
        return t + t * t if self.streamed else t

    def _iterate(
        self, t: int, rows: list[Rows], X_now: Single, F_now: Single, X: Single, F: Single
    ) -> None:
        """Make a step on the drawn rows, and add the new block to rows that are needed later."""
        values = self._values(rows, F_now)  # line 6
        c = self.problem.loss.tuple_slopes(values, t + 1)
        X_drawn, C = self._gradient(rows, c, X_now)
        eta, decay = self.steps(t + 1)
        self._decay(decay, F)  # line 8
        A = self.blocks.correlate(X_drawn, t, C, -eta / self.scale)  # lines 5 and 7
        if self.past is not None:
            self.past.append(A)
        if self.added is not None:
            self.added.append(A * self.scale.astype(np.float32))
        self.blocks.add(X, t, A[None], F)
        if t >= self.T // 2:
            share = (self.scale / averaged(self.T)).astype(np.float32)
            for k, total in self.sums.items():
                _add_scaled(self.resident[k].F, share, total)

    def _values(self, rows: list[Rows], F_now: Single) -> list[Single]:
        """Return the values at the rows drawn from each source, shape (batch_size, G) each."""
        scale = self.scale.astype(np.float32)
        batches = F_now.reshape(-1, self.size, self.G)
        return [
            batches[self.streamed.index(s)] * scale
            if s in self.streamed
            else self.resident[source.table].values(rows[s], self.bounds[s], scale)
            for s, source in enumerate(self.sources)
        ]

    def _gradient(self, rows: list[Rows], c: list[Single], X_now: Single) -> tuple[Single, Single]:
        """Return x and C of the functional gradient ``sum_i C[i] k(x_i, .)`` of the batch.

        Repeated draws of a resident row are merged; C has shape (n, G).
        """
        parts = [(X_now, np.vstack([c[s] for s in self.streamed]))] if self.streamed else []
        for s, source in enumerate(self.sources):
            if source.table in self.resident:
                self.resident[source.table].collect(rows[s], self.bounds[s], c[s])
        parts += [table.collected() for table in self.resident.values()]
        X, C = (np.vstack(arrays) for arrays in zip(*parts, strict=True))
        return X, C

    def _decay(self, decay: Array, F: Single) -> None:
        """Multiply all earlier blocks by one factor per model.

        The factor goes into the scale. A scale that becomes 0, or leaves the range of float32
        coefficients, is multiplied out and reset to 1.
        """
        self.scale *= decay
        size = np.abs(self.scale)
        out = np.flatnonzero((size < SMALLEST_SCALE) | (size > LARGEST_SCALE))
        if len(out) == 0:
            return
        factor = self.scale[out].astype(np.float32)
        F[:, out] = np.where(factor == 0, 0, F[:, out] * factor)
        if self.past is not None:
            self.past.multiply(out, factor)
        self.scale[out] = 1.0


class _Resident:
    """A table whose values are kept up to date."""

    def __init__(self, X: Single, G: int, most_used: int) -> None:
        self.X = X
        self.F = np.zeros((len(X), G), np.float32)
        self._place = np.full(len(X), -1)
        self._used = np.zeros(1 + min(len(X), most_used), np.int64)
        self._C = np.empty((len(self._used) - 1, G), np.float32)

    def values(self, rows: Rows, bounds: Rows, scale: Single) -> Single:
        """Return the values of each pool's models at its rows, shape (batch_size, G)."""
        out = np.empty((rows.shape[1], self.F.shape[1]), np.float32)
        _gather(self.F, rows, bounds, scale, out)
        return out

    def collect(self, rows: Rows, bounds: Rows, c: Single) -> None:
        """Add the coefficients of a batch."""
        _collect(rows, bounds, c, self._place, self._used, self._C)

    def collected(self) -> tuple[Single, Single]:
        """Return the rows and coefficients collected since the last call, and reset them."""
        count = self._used[0]
        used = self._used[1 : 1 + count]
        self._place[used] = -1
        self._used[0] = 0
        return self.X[used], self._C[:count]


@fast
def _gather(F: Single, rows: Rows, bounds: Rows, scale: Single, out: Single) -> None:
    """Read each pool's models at the pool's rows: ``out[i, g] = scale[g] F[rows[k, i], g]``."""
    for k in range(len(rows)):
        for i in range(rows.shape[1]):
            r = rows[k, i]
            for g in range(bounds[k], bounds[k + 1]):
                out[i, g] = F[r, g] * scale[g]


@fast
def _collect(rows: Rows, bounds: Rows, c: Single, place: Rows, used: Rows, C: Single) -> None:
    """Sum each pool's coefficients by row: ``C[place[rows[k, i]], g] += c[i, g]``.

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


@fast
def _add_scaled(values: Single, scale: Single, total: Single) -> None:
    for i in range(values.shape[0]):
        for g in range(values.shape[1]):
            total[i, g] += scale[g] * values[i, g]
