"""Stochastic gradient descent on one block of random features."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.costs import Cost, interpreted_flops
from dsgkit.engine import sizes
from dsgkit.engine.model import BlockModel
from dsgkit.engine.problem import Problem, Sizes, Source, Steps, take
from dsgkit.linalg import Single
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import report

STEP_MILLISECONDS = 0.1, 0.005  # of an iteration beside its products, and per model


def descend(
    problem: Problem, blocks: Any, steps: Steps, n_iterations: int, batch_size: int
) -> BlockModel:
    """Train all models as `stream` does, but with block 0 in every iteration.

    Features of unlabelled rows are computed again batch by batch, those of the labelled rows are
    kept.
    """
    with single_blas_thread(), np.errstate(all="ignore"):
        coef = [
            _descend(problem, pool, blocks, steps, n_iterations, batch_size)
            for pool in range(len(problem.pools))
        ]
    return BlockModel(blocks, np.concatenate(coef, axis=1)[None])


def descent_cost(
    blocks: Any, n: Sizes, n_iterations: int, batch_size: int, n_models: int = 1
) -> Cost:
    """Return the cost of `descend`."""
    m, T = blocks.n_frequencies, n_iterations
    rows = 4 * n.inputs * (n.labeled + sizes.rows_at_once(n.inputs, n_models))
    held = 8 * m * (n.labeled + batch_size)
    products = T * (batch_size + n.labeled) * m * 8 * n_models
    products += interpreted_flops(T, n_models, *STEP_MILLISECONDS)
    return Cost(
        flops=T * batch_size * blocks.row_flops(n.inputs) + products,
        memory=rows + held + 4 * m * n.inputs + 24 * m * n_models,
        flops_per_row=blocks.row_flops(n.inputs) + 4.0 * m,
        shared_per_row=blocks.row_flops(n.inputs),
    )


def _descend(problem: Problem, pool: int, blocks: Any, steps: Steps, T: int, size: int) -> Single:
    """Return the coefficients of a pool's models after all iterations."""
    models, data = problem.members(pool), problem.data
    loss, steps = take(problem.loss, models), take(steps, models)
    n_inputs, W = data.X.shape[1], blocks.draw(0, data.X.shape[1])
    coef = np.zeros((blocks.width, models.stop - models.start), np.float32)
    labeled = blocks.cos_sin(blocks.read(data.X, slice(None)), W)
    *sources, unlabeled = [
        s if s.pools is None else Source(s.table, s.pools[pool : pool + 1], s.in_passes)
        for s in problem.sources(in_passes=False)
    ]
    length = max(1, sizes.rows_at_once(n_inputs, coef.shape[1]) // size)
    for first in range(0, T, length):
        count = min(length, T - first)
        seed, n = blocks.seed, len(sources)
        drawn = [
            s.draw(k, len(data.X), seed, first, count, size)[:, 0] for k, s in enumerate(sources)
        ]
        rows_u = unlabeled.draw(n, len(data.U), seed, first, count, size)[:, 0]
        X = blocks.read(data.U, rows_u.ravel()).reshape(*rows_u.shape, n_inputs)
        for k in range(count):
            t = first + k + 1
            Phi_u, F = blocks.cos_sin(X[k], W), labeled @ coef
            *c, c_u = loss.tuple_slopes([*(F[rows[k]] for rows in drawn), Phi_u @ coef], t)
            C = np.zeros_like(F)
            for rows, own in zip(drawn, c, strict=True):
                np.add.at(C, rows[k], own)
            gradient = labeled.T @ C + Phi_u.T @ c_u
            eta, decay = steps(t)
            coef *= decay.astype(np.float32)
            coef -= gradient * (eta / blocks.n_frequencies).astype(np.float32)
        report((first + count) / T)
    return coef
