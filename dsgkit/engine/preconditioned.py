"""Block-preconditioned training: a Newton step for each block of random features in turn.

The model is that of `dsgkit.engine.training`, ``f = sum_t <alpha_t, phi_t>`` with blocks of random
features from the seed. The T blocks together, scaled by ``1/sqrt(T)``, are features of the kernel:
so the penalty ``lam/2 ||f||^2`` is ``mu/2 sum_t ||alpha_t||^2`` with ``mu = lam T``. There are S
sweeps over all blocks; at block t of sweep s, on a batch of all labelled and b unlabelled rows,

    alpha_t <- alpha_t - rho_s H^-1 (Phi_t'c + mu alpha_t),

where c is the derivative of the batch's loss with respect to its values, and H the second
derivative with respect to alpha_t, including ``mu`` on its diagonal. ``rho_s`` is 1 if a batch
holds all rows, else 1/s.

- One sweep is the scheme of Dai et al. (NIPS 2014) in their own program, with the risk's own
  Hessian. With batches of all rows, repeated sweeps are block coordinate descent (Tu et al., arXiv
  1602.05310) and converge to the minimiser over these T blocks.
- Time is linear in T: only the values of rows of coming batches are updated, which are at most
  ``S T b`` unlabelled rows, whatever their number.
- Models that are trained together share features and products of features; those with equal Hessian
  and ``mu`` share a factorisation too.
- A loss that is not quadratic is majorised: c and H are the derivatives of a quadratic that bounds
  it from above and touches it at the current values. Every model then has its own H.
- Features, values and their sums are single precision; Hessians, solutions and gradients double.
  With batches of all rows, rounding of gradients and values moves the limit by some 1e-6 of the
  values; an inexact Hessian only slows convergence.
- BLAS has one thread: factorisations of some hundred columns gain little from more.
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
from dsgkit.linalg import Array, Single
from dsgkit.objectives import Objective, objective_at
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import part, report

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
    """Train the models and return their values at rows of the tables, as for a grid search.

    Returns
    -------
    dict of int to ndarray of float32, shape (n_k, G)
        Key 0: values at the labelled rows. Key 1, if groups have unlabelled rows of their own:
        values at all unlabelled rows.
    """
    passes = list(_passes(problem, _values_of))
    return {k: np.hstack([values[k] for values in passes]) for k in passes[0]}


def _values_of(problem: BlockProblem) -> dict[int, Single]:
    with single_blas_thread(), np.errstate(all="ignore"):
        return _Sweeps(problem).run().values()


def _passes(problem: BlockProblem, run: Callable[[BlockProblem], Result]) -> Iterator[Result]:
    """Yield the result of ``run`` on as many models at a time as `MAX_MODEL_BYTES` allows."""
    n_models = problem.n_models
    length = models_at_once(problem.bytes_per_model())
    for start in range(0, n_models, length):
        stop = min(start + length, n_models)
        with part(start / n_models, stop / n_models):
            yield run(problem.take(slice(start, stop)))


class _Sweeps:
    """State of one run: coefficients, and values at the rows that are kept.

    Kept rows are the unlabelled ones in the order of `Draws.kept`, then all labelled ones, so that
    the rows that are still needed are always one range at the end.
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
        """Run all sweeps."""
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
        """Update one block and the values of the rows that are still needed."""
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
        """Return the gradient of the loss for a block, and the data of its Hessians."""
        labeled, unlabeled = self._evaluate(batches, [o.coefficients for o in objectives])
        gradient = np.zeros((self.p.features.width, self.p.n_models))
        sources = []
        *grams, gram_unlabeled = map(bool, hessians.needs_gram)
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
        pool_moments = []
        for pool, batch in enumerate(batches):
            models = self.members[pool] if self.p.pooled else slice(None)
            pool_moments.append(
                self._moments(t, gram_unlabeled, batch, unlabeled[pool], gradient[:, models])
            )
        sources.append([pool_moments[pool] for pool in self.pool_of])
        moments = list(zip(*sources, strict=True))
        if not hessians.needs_rows:
            return gradient, BlockFeatures(moments)
        Phi_labeled = self.p.features.transform(self.X[self.n_unlabeled :], t)
        return gradient, BlockFeatures(moments, Phi_labeled)

    def _weighted(
        self, t: int, batches: list[Rows], objectives: Sequence[Any]
    ) -> list[WeightedRows]:
        """Return the weighted rows of every pool, the labelled ones first."""
        coefficients = self._evaluate(batches, [o.coefficients for o in objectives])
        weights = self._evaluate(batches, [o.weights for o in objectives])
        labeled_rows = np.arange(self.n_unlabeled, len(self.X))
        parts = []
        for pool, batch in enumerate(batches):
            models = self.members[pool] if self.p.pooled else slice(0, self.p.n_models)
            c, w = (
                np.vstack([labeled[:, models], unlabeled[pool]])
                for labeled, unlabeled in (coefficients, weights)
            )
            rows = np.concatenate([labeled_rows, batch])
            parts.append(WeightedRows(models, functools.partial(self._features, t, rows), c, w))
        return parts

    def _features(self, t: int, rows: Rows, chunk: slice) -> Single:
        """Return a block's features at some of the kept rows."""
        return self.p.features.transform(self.X[rows[chunk]], t)

    def _evaluate(
        self, batches: list[Rows], functions: Sequence[Callable[[list[Any]], list[Any]]]
    ) -> tuple[Single, list[Single]]:
        """Evaluate each group's function of its models' values at labelled rows and batches.

        It takes and returns an array for every source. Labelled rows outside a model's training
        rows have 0.
        """
        n_labeled = len(self.X) - self.n_unlabeled
        labeled = np.zeros((n_labeled, self.p.n_models), np.float32)
        unlabeled: list[Single] = []
        for number, group in enumerate(self.p.groups):
            models, batch = self.members[number], batches[self.pool_of[number]]
            by_source = [*(rows + self.n_unlabeled for rows in group.labeled), batch]
            values = [self.F[rows, models] for rows in by_source]
            *c_labeled, c_batch = functions[number](values)
            for rows, c in zip(group.labeled, c_labeled, strict=True):
                labeled[rows, models] = c
            unlabeled.append(c_batch)
        return labeled, unlabeled if self.p.pooled else [np.hstack(unlabeled)]

    def _moments(
        self, t: int, gram: bool, rows: Rows, c: Single | None = None, gradient: Array | None = None
    ) -> Moments:
        """Return the moments of a block's features at rows, and add ``Phi'c`` to a gradient."""
        moments = Moments.empty(self.p.features.width, gram=gram)
        length = feature_rows(self.p.features.width)
        for start in range(0, len(rows), length):
            chunk = slice(start, start + length)
            Phi = self._features(t, rows, chunk)
            moments = moments.plus(Phi)
            if c is not None and gradient is not None:
                gradient += Phi.astype(np.float64).T @ c[chunk]
        return moments


def _hessians(problem: BlockProblem, mu: Array) -> BlockHessians | RowHessians | WeightedHessians:
    """Return the Hessians of the problem; of two suitable kinds, the cheaper one."""
    if problem.majorised:
        return WeightedHessians(problem, mu)
    by_block = BlockHessians(problem, mu)
    return RowHessians(problem, mu) if RowHessians.flops(problem, mu) < by_block.flops else by_block


def _sources(problem: BlockProblem) -> list[tuple[Rows, list[Rows]]]:
    """Return the rows of each labelled source, and those that each group lacks."""
    sources = []
    for by_group in zip(*(group.labeled for group in problem.groups), strict=True):
        rows = np.unique(np.concatenate(by_group))
        sources.append((rows, [np.setdiff1d(rows, own) for own in by_group]))
    return sources
