"""Training on one block of random features, by the stochastic steps of a streaming trainer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.engine import DSGModel, Problem
from dsgkit.engine import sizes as engine_sizes
from dsgkit.features.fourier import CosineBlocks
from dsgkit.objectives import Objective, objective_at
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import report
from dsgkit.trainers.blocks import BlockFunction, BlockTrainer, Result, Streaming
from dsgkit.trainers.training import Sizes, Training

Array = NDArray[np.float32]


@dataclass(frozen=True)
class FixedFeatures(Streaming):
    """Stochastic gradient descent on fixed random Fourier features: all steps use block 0.

    Draws and step sizes are those of `Streaming`. Features of unlabelled rows are recomputed batch
    by batch, those of the labelled rows are kept: O(b m d T) time for T iterations, and
    O(m (b + n_labeled)) memory.
    """

    def train(self, training: Training) -> DSGModel:
        """Return the models of a training, pool by pool."""
        problem = self.problem(training)
        with single_blas_thread(), np.errstate(all="ignore"):
            coefficients = [_descend(part, group) for part, group in _by_group(problem)]
        joined = np.concatenate(coefficients, axis=1)
        return DSGModel(problem.features, joined[None], problem.n_inputs)

    def fit(self, training: Training) -> BlockFunction:
        """Train the one model of a training; see `Trainer`."""
        return BlockTrainer.fit(self, training)

    def train_in_passes(self, training: Training) -> list[DSGModel]:
        """Return the models of a training, all in one pass."""
        return [self.train(training)]

    def final_values(self, training: Training) -> Mapping[int, Array]:
        """Return the values of all models at the rows of either table."""
        model = self.train(training)
        return {k: model.decision_function(rows) for k, rows in enumerate(training.tables)}

    def _n_kept(self, n_unlabeled: int, remembered: int | None) -> int:
        return 1

    def _cost(
        self, sizes: Sizes, n_models: int, result: Result, remembered: int | None = None
    ) -> Cost:
        """Return the cost of the features of batches and labelled rows, and of the steps."""
        features = _fourier(self.features.blocks())
        m, b, T = features.n_frequencies, self.batch_size, self.n_steps(sizes.n_unlabeled)
        n_inputs, n_labeled = sizes.n_inputs, sizes.n_labeled
        rows = 4 * n_inputs * (n_labeled + engine_sizes.rows_at_once(n_inputs, n_models))
        held = 8 * m * (n_labeled + b)
        # values and gradients: the features of all rows of an iteration times the models, twice
        products = T * (b + n_labeled) * m * 8 * n_models
        return Cost(
            flops=T * b * features.row_flops(n_inputs) + products,
            memory=rows + held + 4 * m * n_inputs + 3 * 8 * m * n_models,
            flops_per_row=features.row_flops(n_inputs) + 4.0 * m,
            shared_per_row=features.row_flops(n_inputs),
        )


def _fourier(features: Any) -> Any:
    """Return the features as Fourier features; others are not supported."""
    assert isinstance(features, CosineBlocks)
    return features


def _by_group(problem: Problem) -> Iterator[tuple[Problem, int]]:
    """Yield the problem of the models of every group, and the number of the group."""
    for group in range(problem.n_groups):
        first, last = np.searchsorted(problem.group, [group, group + 1])
        models = slice(int(first), int(last))
        yield replace(problem.take(models), group=np.zeros(last - first, np.int64)), group


def _descend(problem: Problem, group: int) -> Array:
    """Return the coefficients of block 0 after all iterations of a group's problem.

    They belong to features without the factor ``sqrt(1/m)``.
    """
    p, features = problem, _fourier(problem.features)
    W = features.draw(0, p.n_inputs)
    coefficients = np.zeros((features.width, p.n_models), np.float32)
    labeled = features.cos_sin(features.read(p.tables[0], slice(None)), W)
    length = max(1, engine_sizes.rows_at_once(p.n_inputs, p.n_models) // p.batch_size)
    for first in range(0, p.n_iterations, length):
        count = min(length, p.n_iterations - first)
        *drawn, unlabeled = (_draws(p, s, group, first, count) for s in range(len(p.sources)))
        X = features.read(p.tables[1], unlabeled.ravel()).reshape(*unlabeled.shape, p.n_inputs)
        for k in range(count):
            rows = [batches[k] for batches in drawn]
            t = first + k + 1
            objective = objective_at(p.objective, t)
            Phi_u = features.cos_sin(X[k], W)
            gradient = _gradient(objective, labeled, rows, Phi_u, coefficients)
            eta, decay = p.step(t)
            coefficients *= decay.astype(np.float32)
            coefficients -= gradient * (eta / features.n_frequencies).astype(np.float32)
        report((first + count) / p.n_iterations)
    return coefficients


def _draws(problem: Problem, source: int, group: int, first: int, count: int) -> NDArray[np.int64]:
    """Return the rows of some iterations, as the engine draws them, shape (count, batch_size)."""
    p, rows_source = problem, problem.sources[source]
    n_rows = p.tables[rows_source.table].shape[0]
    by_group = rows_source.draw(source, n_rows, p.features.seed, first, count, p.batch_size)
    return by_group[:, min(group, by_group.shape[1] - 1)]


def _gradient(
    objective: Objective,
    labeled: Array,
    rows: list[NDArray[np.int64]],
    unlabeled: Array,
    coefficients: Array,
) -> Array:
    """Return the gradient of a batch's loss with respect to the coefficients.

    Parameters
    ----------
    objective : Objective
    labeled : ndarray of shape (n_labeled, 2m)
        Features of all labelled rows, which are few and drawn repeatedly.
    rows : list of arrays of shape (batch_size,)
        Rows drawn from each source of labelled rows.
    unlabeled : ndarray of shape (batch_size, 2m)
        Features of the drawn unlabelled rows.
    coefficients : ndarray of shape (2m, G)
    """
    F = labeled @ coefficients
    values = [F[drawn] for drawn in rows]
    *c_labeled, c_u = objective.coefficients([*values, unlabeled @ coefficients])
    C = np.zeros_like(F)
    for drawn, c in zip(rows, c_labeled, strict=True):
        np.add.at(C, drawn, c)
    return labeled.T @ C + unlabeled.T @ c_u
