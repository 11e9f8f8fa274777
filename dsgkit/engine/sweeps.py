"""Sweeps: a Newton step for each block of random features in turn.

The model is that of `streaming`, ``f = sum_t <alpha_t, phi_t>``. The T blocks together, scaled by
``1/sqrt(T)``, are features of the kernel: so the penalty ``lam/2 ||f||^2`` is ``mu/2 sum_t
||alpha_t||^2`` with ``mu = lam T``. At block t of sweep s, on a batch of all labelled and b
unlabelled rows,

    alpha_t <- alpha_t - rho_s H^-1 (Phi_t'c + mu alpha_t),

where c is the derivative of the batch's loss with respect to its values, and H the second
derivative with respect to alpha_t, including ``mu`` on its diagonal. ``rho_s`` is 1 if a batch
holds all rows, else 1/s.

- One sweep is the scheme of Dai et al. (NIPS 2014) in their own program, with the loss's own
  Hessian. With batches of all rows, repeated sweeps are block coordinate descent (Tu et al., arXiv
  1602.05310) and converge to the minimiser over these T blocks.
- Time is linear in T: only the values of rows of coming batches are updated, at most ``S T b`` of
  them.
- Models that are trained together share features and their products; those with equal Hessian and
  ``mu`` share a factorisation too.
- A loss that is not quadratic is replaced by a quadratic that bounds it from above and touches it
  at the current values. Every model then has its own H.
- Features, values and their sums are single precision; Hessians, solutions and gradients double.
  With batches of all rows, rounding moves the limit by some 1e-6 of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from dsgkit.costs import Cost, interpreted_flops
from dsgkit.engine import sizes
from dsgkit.engine.hessians import ByRows, Moments, Shared, solve
from dsgkit.engine.model import BlockModel, TableValues, beside
from dsgkit.engine.problem import Problem, Rows, Sizes, take
from dsgkit.features import Blocks
from dsgkit.linalg import Array, Single, row_blocks
from dsgkit.random import draw_in_passes
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part, report

STEP_MILLISECONDS = 1.5, 0.5  # of a step beside its products, and per model


def sweep(
    problem: Problem, blocks: Blocks, lam: Array, n_blocks: int, n_sweeps: int, batch_size: int
) -> BlockModel | TableValues:
    """Train all models of a problem, whose loss gives slopes and either a form or curvatures.

    The blocks' seed also determines the draws. If there are no more than ``batch_size`` unlabelled
    rows, a batch is all of them, in order. A model whose Hessian is singular to rounding is not
    finite.
    """
    data, G, n_labeled = problem.data, problem.n_models, len(problem.data.X)
    n_batch = min(batch_size, len(data.U))
    n_drawn = n_blocks * n_sweeps * n_batch
    n_kept = len(data.U) if problem.pools_u is not None else min(len(data.U), n_drawn)
    bytes_ = sizes.sweep_bytes(n_blocks, blocks.width, n_labeled + n_kept, n_labeled + n_batch)
    parts = []
    with single_blas_thread(), np.errstate(all="ignore"):
        for models in row_blocks(G, sizes.models_at_once(bytes_)):
            with part(models.start / G, models.stop / G):
                some = _with_own_pools(problem.take(models))
                run = _Run(some, blocks, lam[models], n_blocks, n_sweeps, batch_size)
                parts.append(run.train())
    return beside(parts)


def sweep_cost(
    blocks: Blocks,
    n: Sizes,
    n_blocks: int,
    n_sweeps: int,
    batch_size: int,
    n_models: int = 1,
    *,
    majorised: bool = False,
) -> Cost:
    """Return the cost of `sweep`, assuming that no two models share a Hessian."""
    width, row, T = blocks.width, blocks.row_flops(n.inputs), n_blocks * n_sweeps
    n_batch, n_drawn = n.labeled + min(batch_size, n.unlabeled), T * batch_size
    n_kept = n.labeled + (n.unlabeled if n.pooled else min(n.unlabeled, n_drawn))
    # rows that are drawn once are needed for half of the steps on average
    n_needed = n_kept / 2 if n_drawn <= n.unlabeled and not n.pooled else n_kept
    at_once = sizes.hessians_at_once(width)
    n_passes, n_products = (-(-n_models // at_once), n_models) if majorised else (1, 1)
    forming = n_batch * (n_passes * row + n_products * width**2)
    solving = 2 * n_models * (width**3 / 3 + 2 * width * (n_batch + width))
    updating = n_needed * (row + 2 * width * n_models)
    per_model = sizes.sweep_bytes(n_blocks, width, n_kept, n_batch)
    in_pass = min(n_models, sizes.models_at_once(per_model))
    finished = 0 if n.folds or n_models == 1 else 4 * n_blocks * width * n_models
    n_grams = min(n_models, at_once) if majorised else n.sources * (1 + n.folds)
    held = 12 * width * min(n_batch, sizes.feature_rows(width)) + 8 * n.inputs * n_kept
    return Cost(
        flops=T * (forming + solving + updating)
        + interpreted_flops(T, n_models, *STEP_MILLISECONDS),
        memory=8 * width**2 * (n_grams + 3) + held + per_model * in_pass + finished,
        flops_per_row=n_blocks * (row + 2.0 * width),
        shared_per_row=n_blocks * row,
    )


def _with_own_pools(problem: Problem) -> Problem:
    """Return a problem without the pools that none of its models is trained on."""
    present, pool = np.unique(problem.pool, return_inverse=True)
    pools_u = problem.pools_u and [problem.pools_u[k] for k in present]
    return replace(problem, pool=pool, pools=[problem.pools[k] for k in present], pools_u=pools_u)


class _Draws(NamedTuple):
    """Unlabelled rows of all batches.

    Batches are positions in ``kept``, for each pool or for all pools together: shape (n_steps, b),
    or (1, n) if a batch holds all rows.
    """

    kept: Rows  # that are ever drawn, by their last use; all, in order, if pools draw their own
    done: Rows  # number of leading rows of ``kept`` that are not drawn after each step
    batches: list[Rows]
    full: list[bool]  # whether a batch holds all rows


def _drawn(problem: Problem, seed: int, n_steps: int, size: int) -> _Draws:
    def positions(n: int) -> Rows:
        if size >= n:
            return np.arange(n)[None]
        return draw_in_passes(seed, problem.data.n_sources, 0, n_steps, size, n)

    n_rows = len(problem.data.U)
    if problem.pools_u is not None:
        batches = [pool[positions(len(pool))] for pool in problem.pools_u]
        full = [size >= len(pool) for pool in problem.pools_u]
        return _Draws(np.arange(n_rows), np.zeros(n_steps, np.int64), batches, full)
    drawn = positions(n_rows)
    rows, place = np.unique(drawn, return_inverse=True)
    place = place.reshape(drawn.shape)
    last = np.full(len(rows), n_steps - 1)
    if len(place) == n_steps:
        for step, places in enumerate(place):
            last[places] = step
    order = np.argsort(last, kind="stable")
    done = np.searchsorted(last[order], np.arange(n_steps), side="right")
    return _Draws(rows[order], done, [np.argsort(order)[place]], [size >= n_rows])


class _Run:
    """State of one pass: coefficients, and values at the rows that are kept.

    Kept rows are the unlabelled ones in the order of `_Draws.kept`, then all labelled ones: those
    that are still needed are one range at the end.
    """

    def __init__(
        self, problem: Problem, blocks: Blocks, lam: Array, T: int, S: int, size: int
    ) -> None:
        p, data = problem, problem.data
        self.p, self.blocks, self.T, self.n_steps = p, blocks, T, S * T
        self.draws = _drawn(p, blocks.seed, self.n_steps, size)
        self.n_u = len(self.draws.kept)
        unlabeled = blocks.read(data.U, self.draws.kept)
        self.X = np.vstack([unlabeled, blocks.read(data.X, slice(None))])
        self.F = np.zeros((len(self.X), p.n_models), np.float32)
        self.alpha = np.zeros((T, blocks.width, p.n_models))
        self.mu = lam * T
        self.members = [p.members(k) for k in range(len(p.pools))]
        self.losses = [take(p.loss, models) for models in self.members]
        self.batch_of = [k if p.pools_u is not None else 0 for k in range(len(p.pools))]
        self.full = np.array([self.draws.full[self.batch_of[k]] for k in p.pool])
        self.labeled = []  # rows of each source, and those of them that each pool lacks
        for by_pool in p.by_source:
            rows = np.unique(np.concatenate(by_pool))
            self.labeled.append((rows, [np.setdiff1d(rows, own) for own in by_pool]))
        self.hessians: Any = None
        if p.loss.form is not None:
            shared = Shared(p, p.loss.form, self.mu, blocks.width)
            by_rows = ByRows(p, p.loss.form, self.mu, blocks.width)
            self.hessians = by_rows if by_rows.flops < shared.flops else shared

    def train(self) -> BlockModel | TableValues:
        for step in range(self.n_steps):
            self._step(step)
            report((step + 1) / self.n_steps)
        if self.p.values_only:
            return TableValues([self.F[self.n_u :], self.F[: self.n_u]][: len(self.p.held_out)])
        coef = (self.alpha * self.blocks.scale).astype(np.float32)
        return BlockModel(self.blocks, coef, mean_of_kernels=True)

    def _step(self, step: int) -> None:
        """Update one block, and the values of the rows that are still needed."""
        sweep, t = divmod(step, self.T)
        batches = [
            b[0 if full else step]
            for b, full in zip(self.draws.batches, self.draws.full, strict=True)
        ]
        slopes = self._evaluate(
            batches, [lambda f, o=o: o.slopes(f, step + 1) for o in self.losses]
        )
        penalty = self.mu * self.alpha[t]
        if self.hessians is None:
            bounds = [lambda f, o=o: o.curvatures(f, step + 1) for o in self.losses]
            solution = self._majorised(t, batches, slopes, self._evaluate(batches, bounds), penalty)
        else:
            gradient, moments = self._derivatives(t, batches, slopes)
            gradient += penalty
            features = (
                self.blocks.transform(self.X[self.n_u :], t) if self.hessians.by_rows else None
            )
            solution = self.hessians.solve(moments, features, gradient)
        damping = np.where(self.full, 1.0, 1 / (sweep + 1))
        change = (-damping * solution).astype(np.float32)
        self.alpha[t] += change
        needed = slice(self.draws.done[step], None)
        scaled = change * np.float32(self.blocks.scale)
        self.blocks.add(self.X[needed], t, scaled[None], self.F[needed])

    def _evaluate(
        self, batches: list[Rows], functions: Sequence[Callable[..., list[Single]]]
    ) -> tuple[Single, list[Single]]:
        """Evaluate each pool's function of its models' values at labelled rows and batches.

        Labelled rows outside a model's pool have 0.
        """
        p = self.p
        labeled = np.zeros((len(self.X) - self.n_u, p.n_models), np.float32)
        unlabeled: list[Single] = []
        for k, models in enumerate(self.members):
            own = [by_pool[k] for by_pool in p.by_source]
            by_source = [*(rows + self.n_u for rows in own), batches[self.batch_of[k]]]
            *c_labeled, c_batch = functions[k]([self.F[rows, models] for rows in by_source])
            for rows, c in zip(own, c_labeled, strict=True):
                labeled[rows, models] = c
            unlabeled.append(c_batch)
        return labeled, unlabeled if p.pools_u is not None else [np.hstack(unlabeled)]

    def _derivatives(
        self, t: int, batches: list[Rows], slopes: tuple[Single, list[Single]]
    ) -> tuple[Array, list[list[Moments]]]:
        """Return the gradient of the loss for a block, and the moments of each pool's sources."""
        labeled, unlabeled = slopes
        gradient = np.zeros((self.blocks.width, self.p.n_models))
        *grams, gram_u = map(bool, self.hessians.needs_gram)
        sources = []
        for gram, (rows, lacking) in zip(grams, self.labeled, strict=True):
            whole = self._moments(t, gram, rows + self.n_u, labeled[rows], gradient)
            own = (
                whole.less(self._moments(t, gram, out + self.n_u)) if len(out) else whole
                for out in lacking
            )
            sources.append(list(own))
        of_batches = []
        for k, batch in enumerate(batches):
            models = self.members[k] if self.p.pools_u is not None else slice(None)
            of_batches.append(self._moments(t, gram_u, batch, unlabeled[k], gradient[:, models]))
        sources.append([of_batches[k] for k in self.batch_of])
        return gradient, [list(by_source) for by_source in zip(*sources, strict=True)]

    def _moments(
        self, t: int, gram: bool, rows: Rows, c: Single | None = None, gradient: Any = None
    ) -> Moments:
        """Return the moments of a block's features at rows, and add ``Phi'c`` to a gradient."""
        width = self.blocks.width
        squares = np.zeros((width, width), order="F") if gram else None
        total = np.zeros(width)
        for block in row_blocks(len(rows), sizes.feature_rows(width)):
            Phi = self.blocks.transform(self.X[rows[block]], t)
            if squares is not None:
                squares[:] += blas.ssyrk(1.0, Phi.T, lower=1)
            total = total + Phi.sum(axis=0, dtype=np.float64)
            if c is not None:
                gradient += Phi.astype(np.float64).T @ c[block]
        return Moments(squares, total, len(rows))

    def _majorised(
        self,
        t: int,
        batches: list[Rows],
        slopes: tuple[Single, list[Single]],
        curvatures: tuple[Single, list[Single]],
        penalty: Array,
    ) -> Array:
        """Return the Newton steps of models that weight the rows of a batch by their own values."""
        solution, width = np.empty_like(penalty), self.blocks.width
        at_once, length = sizes.hessians_at_once(width), sizes.feature_rows(width)
        for k, batch in enumerate(batches):
            pool = self.members[k] if self.p.pools_u is not None else slice(0, self.p.n_models)
            c, w = (np.vstack([at[:, pool], at_u[k]]) for at, at_u in (slopes, curvatures))
            rows = np.concatenate([np.arange(self.n_u, len(self.X)), batch])
            for columns in row_blocks(c.shape[1], at_once):
                models = range(pool.start, pool.stop)[columns]
                n = len(models)
                hessians, gradient = np.zeros((n, width, width)), np.zeros((width, n))
                for block in row_blocks(len(rows), length):
                    Phi = self.blocks.transform(self.X[rows[block]], t)
                    gradient += Phi.astype(np.float64).T @ c[block, columns]
                    for hessian, weights in zip(hessians, w[block, columns].T, strict=True):
                        used = np.flatnonzero(weights)  # with NaN: a diverged model stays diverged
                        if len(used):
                            scaled = Phi[used]
                            scaled *= np.sqrt(weights[used])[:, None]
                            hessian.T[:] += blas.ssyrk(1.0, scaled.T, lower=1)
                for hessian, slope, g in zip(hessians, gradient.T, models, strict=True):
                    solution[:, g] = solve(hessian.T, float(self.mu[g]), penalty[:, g] + slope)
        return solution
