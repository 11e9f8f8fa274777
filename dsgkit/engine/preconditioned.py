"""Block-preconditioned training: a Newton step for each block of random features in turn.

The model is that of `dsgkit.engine.training`, ``f = sum_t <alpha_t, phi_t>`` with blocks of random
features from the seed. The T blocks together, scaled by ``1/sqrt(T)``, are features of the kernel:
so the penalty ``lam/2 ||f||^2`` is ``mu/2 sum_t ||alpha_t||^2`` with ``mu = lam T``. All blocks are
gone through S times; at block t of sweep s, on a batch of all labelled and b unlabelled rows,

    alpha_t <- alpha_t - rho_s H^-1 (Phi_t'c + mu alpha_t),

c being the derivative of the batch's loss by its values and H the second derivative by alpha_t,
``mu`` on its diagonal included. ``rho_s`` is 1, or 1/s where a batch does not hold all rows.

- One sweep is the scheme of Dai et al. (NIPS 2014) in their own program, with the risk's own
  Hessian. With batches of all rows, repeated sweeps are block coordinate descent (Tu et al., arXiv
  1602.05310) and converge to the minimiser over these T blocks.
- Time is linear in T: the values of the rows that batches will hold are kept up to date, and of the
  unlabelled rows that is at most ``S T b``, whatever their number.
- Models that are trained together share features and products of features; those with one Hessian
  and one ``mu`` share a factorisation too.
- A loss that is not quadratic is majorised: c and H are the derivatives of a quadratic that bounds
  it from above and touches it at the present values. H is then every model's own.
- Features, values and their sums are single precision; Hessians, solutions and gradients double.
  With batches of all rows only what rounds the gradient or the values moves the limit, some 1e-6 of
  the values: an inexact Hessian makes the way longer.
- BLAS has one thread: factorisations of some hundred columns gain little from more, and wait for
  whatever else runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from dsgkit.engine.block_problem import BlockProblem, Rows, draw
from dsgkit.engine.hessians import BlockFeatures, BlockHessians, Moments
from dsgkit.engine.model import DSGModel
from dsgkit.engine.row_hessians import RowHessians
from dsgkit.engine.sizes import feature_rows, models_at_once
from dsgkit.engine.weighted_hessians import WeightedHessians, WeightedRows
from dsgkit.numerics.arrays import Array, Single
from dsgkit.objectives import Objective, objective_at
from dsgkit.system.progress import part, report
from dsgkit.system.threads import single_blas_thread

Result = TypeVar("Result")


def train_blocks(problem: BlockProblem) -> DSGModel:
    """Train all models of a problem in one pass.

    Returns
    -------
    DSGModel
        Models whose Hessian is singular to rounding hold coefficients of NaN.
    """
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Sweeps(problem).run().model()


def train_blocks_in_passes(problem: BlockProblem) -> list[DSGModel]:
    """Train the models of a problem in as few passes as `sizes.MAX_MODEL_BYTES` allows.

    Returns
    -------
    list of DSGModel
        As `train_blocks` returns them; together they hold all models, in order.
    """
    return list(_passes(problem, train_blocks))


def train_blocks_values(problem: BlockProblem) -> dict[int, Single]:
    """Train the models for their values at rows of the tables, as the search of a grid does.

    Returns
    -------
    dict of int to ndarray of float32, shape (n_k, G)
        Values at the labelled rows by the key 0 and, if every group has unlabelled rows of its own,
        at all unlabelled rows by the key 1.
    """
    passes = list(_passes(problem, _values_of))
    return {k: np.hstack([values[k] for values in passes]) for k in passes[0]}


def _values_of(problem: BlockProblem) -> dict[int, Single]:
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Sweeps(problem).run().values()


def _passes(problem: BlockProblem, run: Callable[[BlockProblem], Result]) -> Iterator[Result]:
    """Yield what ``run`` makes of each share of the models, shares as `MAX_MODEL_BYTES` allows."""
    n_models = problem.n_models
    length = models_at_once(problem.bytes_per_model())
    for start in range(0, n_models, length):
        stop = min(start + length, n_models)
        with part(start / n_models, stop / n_models):
            yield run(problem.take(slice(start, stop)))


class _Sweeps:
    """State of one run: coefficients, and values at the rows that are kept.

    Kept rows are the unlabelled ones in the order of `Draws.kept`, then all labelled ones: so that
    the rows which are still needed are always one range at the end.
    """

    def __init__(self, problem: BlockProblem) -> None:
        p = self.p = problem
        self.draws = draw(p)
        self.n_unlabeled = len(self.draws.kept)
        unlabeled = p.features.read(p.X_unlabeled, self.draws.kept)
        self.X = np.vstack([unlabeled, p.features.read(p.X, slice(None))])
        del unlabeled
        self.F = np.zeros((len(self.X), p.n_models), np.float32)
        self.alpha = np.zeros((p.n_blocks, p.features.width, p.n_models))
        self.mu = p.lam * p.n_blocks
        self.hessians = _hessians(p, self.mu)
        self.members = [p.models_of(group) for group in range(len(p.groups))]
        self.objectives = [p.objective.take(models) for models in self.members]
        self.sources = _sources(p)
        self.pool_of = [group if p.pooled else 0 for group in range(len(p.groups))]

    def run(self) -> _Sweeps:
        """Make all sweeps."""
        p = self.p
        for step in range(p.n_sweeps * p.n_blocks):
            self._step(step)
            report((step + 1) / (p.n_sweeps * p.n_blocks))
        return self

    def model(self) -> DSGModel:
        """Return the models."""
        coefficients = (self.alpha * self.p.features.scale).astype(np.float32)
        return DSGModel(self.p.features, coefficients, self.p.n_inputs)

    def values(self) -> dict[int, Single]:
        """Return the values at the rows of the tables."""
        values = {0: self.F[self.n_unlabeled :]}
        if self.p.pooled:
            values[1] = self.F[: self.n_unlabeled]
        return values

    def _step(self, step: int) -> None:
        """Change one block and the values of the rows that are still needed."""
        sweep, t = divmod(step, self.p.n_blocks)
        batches = [self.draws.batch(pool, step) for pool in range(len(self.draws.pools))]
        objectives = [objective_at(objective, step + 1) for objective in self.objectives]
        penalty = self.mu * self.alpha[t]
        if isinstance(self.hessians, WeightedHessians):
            solution = self.hessians.solve(self._weighted(t, batches, objectives), penalty)
        else:
            gradient, features = self._derivatives(t, batches, objectives, self.hessians)
            gradient += penalty
            solution = self.hessians.solve(features, gradient)
        change = (-self._damping(sweep) * solution).astype(np.float32)
        self.alpha[t] += change
        needed = slice(self.draws.done[step], None)
        scaled = change * np.float32(self.p.features.scale)
        self.p.features.add(self.X[needed], t, scaled[None], self.F[needed])

    def _damping(self, sweep: int) -> Array:
        """Return rho of each model."""
        full = [self.draws.full[pool] for pool in self.pool_of]
        return np.array([1.0 if full[group] else 1 / (sweep + 1) for group in self.p.group])

    def _derivatives(
        self,
        t: int,
        batches: list[Rows],
        objectives: Sequence[Objective],
        hessians: BlockHessians | RowHessians,
    ) -> tuple[Array, BlockFeatures]:
        """Return the gradient of the loss by a block, and what its Hessians are made of."""
        labeled, unlabeled = self._of_rows(batches, [o.coefficients for o in objectives])
        gradient = np.zeros((self.p.features.width, self.p.n_models))
        sources = []
        *grams, of_unlabeled = map(bool, hessians.needs_gram)
        for gram, (rows, held_out) in zip(grams, self.sources, strict=True):
            whole = self._moments(t, gram, rows + self.n_unlabeled, labeled[rows], gradient)
            sources.append(
                [
                    whole.less(self._moments(t, gram, out + self.n_unlabeled))
                    if len(out)
                    else whole
                    for out in held_out
                ]
            )
        of_pool = []
        for pool, batch in enumerate(batches):
            models = self.members[pool] if self.p.pooled else slice(None)
            of_pool.append(
                self._moments(t, of_unlabeled, batch, unlabeled[pool], gradient[:, models])
            )
        sources.append([of_pool[pool] for pool in self.pool_of])
        moments = list(zip(*sources, strict=True))
        if not hessians.needs_rows:
            return gradient, BlockFeatures(moments)
        of_labeled = self.p.features.transform(self.X[self.n_unlabeled :], t)
        return gradient, BlockFeatures(moments, of_labeled)

    def _weighted(
        self, t: int, batches: list[Rows], objectives: Sequence[Any]
    ) -> list[WeightedRows]:
        """Return what every pool's rows weigh, the labelled ones first."""
        coefficients = self._of_rows(batches, [o.coefficients for o in objectives])
        weights = self._of_rows(batches, [o.weights for o in objectives])
        of_labeled = np.arange(self.n_unlabeled, len(self.X))
        parts = []
        for pool, batch in enumerate(batches):
            models = self.members[pool] if self.p.pooled else slice(0, self.p.n_models)
            c, w = (
                np.vstack([labeled[:, models], unlabeled[pool]])
                for labeled, unlabeled in (coefficients, weights)
            )
            rows = np.concatenate([of_labeled, batch])
            parts.append(WeightedRows(models, functools.partial(self._features, t, rows), c, w))
        return parts

    def _features(self, t: int, rows: Rows, chunk: slice) -> Single:
        """Return a block's features at some of the kept rows."""
        return self.p.features.transform(self.X[rows[chunk]], t)

    def _of_rows(
        self, batches: list[Rows], functions: Sequence[Callable[[list[Any]], list[Any]]]
    ) -> tuple[Single, list[Single]]:
        """Return what each group's function says of its models at labelled rows and at batches.

        It takes and returns an array for every source. A labelled row that a model is not trained
        on has 0.
        """
        n_labeled = len(self.X) - self.n_unlabeled
        labeled = np.zeros((n_labeled, self.p.n_models), np.float32)
        unlabeled: list[Single] = []
        for number, group in enumerate(self.p.groups):
            models, batch = self.members[number], batches[self.pool_of[number]]
            rows = [*(of_source + self.n_unlabeled for of_source in group.labeled), batch]
            values = [self.F[of_source, models] for of_source in rows]
            *c, of_batch = functions[number](values)
            for of_source, c_of_source in zip(group.labeled, c, strict=True):
                labeled[of_source, models] = c_of_source
            unlabeled.append(of_batch)
        return labeled, unlabeled if self.p.pooled else [np.hstack(unlabeled)]

    def _moments(
        self, t: int, gram: bool, rows: Rows, c: Single | None = None, gradient: Array | None = None
    ) -> Moments:
        """Return the moments of a block's features at rows, and add ``Phi'c`` to a gradient."""
        moments = Moments.none(self.p.features.width, gram=gram)
        length = feature_rows(self.p.features.width)
        for start in range(0, len(rows), length):
            chunk = slice(start, start + length)
            Phi = self._features(t, rows, chunk)
            moments = moments.plus(Phi)
            if c is not None and gradient is not None:
                gradient += Phi.astype(np.float64).T @ c[chunk]
        return moments


def _hessians(problem: BlockProblem, mu: Array) -> BlockHessians | RowHessians | WeightedHessians:
    """Return the kind of Hessians that serves, of two the one that takes fewer operations."""
    if problem.majorised:
        return WeightedHessians(problem, mu)
    each = BlockHessians(problem, mu)
    return RowHessians(problem, mu) if RowHessians.flops(problem, mu) < each.flops else each


def _sources(problem: BlockProblem) -> list[tuple[Rows, list[Rows]]]:
    """Return the rows of each labelled source, and which of them each group lacks."""
    sources = []
    for of_groups in zip(*(group.labeled for group in problem.groups), strict=True):
        rows = np.unique(np.concatenate(of_groups))
        sources.append((rows, [np.setdiff1d(rows, own) for own in of_groups]))
    return sources
