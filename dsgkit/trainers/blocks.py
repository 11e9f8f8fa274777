"""Training on blocks of random features, by stochastic steps or by sweeps over the blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.engine import (
    BlockProblem,
    DSGModel,
    Problem,
    RowGroup,
    Source,
    TableSize,
    block_training_cost,
    train,
    train_blocks,
    train_blocks_in_passes,
    train_blocks_values,
    train_in_passes,
    train_values,
    training_cost,
)
from dsgkit.engine import sizes as engine_sizes
from dsgkit.errors import DivergedError, FitError
from dsgkit.features import Blocks, random_features
from dsgkit.kernels import check_projections
from dsgkit.linalg import Array, Single
from dsgkit.objectives.risks import Risk
from dsgkit.system import progress
from dsgkit.trainers.balance import with_intercepts, with_intercepts_cost
from dsgkit.trainers.linear import FeatureMap
from dsgkit.trainers.steps import DECREASING, Steps
from dsgkit.trainers.training import Fixed, Folds, Sizes, Step, Trainer, Training

Train = Callable[[Problem], DSGModel]
Result = Literal["model", "models", "values"]

MIN_PASS_ITERATIONS, MAX_PASS_ITERATIONS = 200, 2000
"""Bounds of the iterations of one pass: with lam >= 2^-3, 400 come within 0.1% of the minimiser,
and one pass over millions of rows would waste hours."""

_INTERCEPTS_SHARE = 0.1
"""Time that intercepts are assumed to add, relative to that of training."""


@dataclass(frozen=True)
class RandomFeatures:
    """Parameters of blocks of random features of a kernel."""

    # moments summed in single precision err by about 2^-24, so eigenvalues may be negative
    smallest_lam: ClassVar[float] = 2.0**-23

    kernel: str
    sigma: float
    n_features: int
    random_state: int
    frequencies: str = "independent"

    def blocks(self) -> Blocks:
        """Return the blocks."""
        return random_features(
            self.kernel, self.sigma, self.n_features, self.random_state, self.frequencies
        )

    def check(self, *tables: Any) -> None:
        """Raise `DataError` for rows whose features would be inaccurate."""
        for rows in tables:
            check_projections(rows, self.sigma, self.kernel)

    def map(self) -> FeatureMap:
        """Return the map from rows to block 0."""
        blocks = self.blocks()
        return lambda rows: blocks.transform(rows, 0)

    def width(self, n_inputs: int) -> int:
        """Return the number of features of a block."""
        return self.blocks().width

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block at one row."""
        return self.blocks().row_flops(n_inputs)


@dataclass(frozen=True)
class BlockFunction:
    """One function of a model, with its squared norm or a bound on it.

    Attributes
    ----------
    mean_of_kernels : bool
        If true, the penalty was the norm of the mean of the blocks' kernels, and the squared norm
        is exact. Else block t is a term ``<w_t, phi_t>`` whose norm is estimated by ``||w_t||``;
        the norm of the sum is at most the sum of these. The function averages the noise of the
        batches that its terms come from, the bound does not: it does not converge to
        ``||f*||^2``, and was 1.2 to 20 times as large where that was known.
    n_iter : int, optional
        Iterations made.
    """

    model: DSGModel
    mean_of_kernels: bool
    n_iter: int | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """Seeds and coefficients, and the iterations made."""
        return {"model_": self.model} | ({"n_iter_": self.n_iter} if self.n_iter else {})

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``."""
        return self.model.decision_function(X)[:, 0].astype(np.float64)

    def squared_norm(self) -> float:
        """Return the squared norm, or an upper bound on it."""
        norms = block_norms(self.model)
        return float(len(norms) * norms @ norms if self.mean_of_kernels else norms.sum() ** 2)


@dataclass(frozen=True)
class BlockFunctions:
    """The functions of models that were trained together, and are evaluated together.

    Attributes
    ----------
    models : sequence of DSGModel
        Together one function for each of some settings, in order.
    """

    models: Sequence[DSGModel]

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether the coefficients of each function are finite."""
        return np.concatenate([finite_models(model) for model in self.models])

    def values(self, X: Any) -> Single:
        """Return the values of all functions at the rows of ``X``, a column each."""
        return np.hstack([model.decision_function(X) for model in self.models])


def finite_models(model: DSGModel) -> NDArray[np.bool_]:
    """Return whether coefficients and intercept of each function are finite, shape (G,)."""
    finite = np.isfinite(model.coefficients).all(axis=(0, 1)) & np.isfinite(model.intercept)
    return np.asarray(finite)


def block_norms(model: DSGModel) -> Array:
    """Return the norm of every block's coefficients with respect to normalised features."""
    blocks = model.coefficients[:, :, 0]
    squared = np.einsum("tk,tk->t", blocks, blocks, dtype=np.float64)
    norms: Array = np.sqrt(squared) / model.features.scale
    return norms


@dataclass(frozen=True)
class BlockTrainer(Trainer):
    """Base class of both trainers of blocks of random features."""

    features: RandomFeatures
    batch_size: int

    @abstractmethod
    def train(self, training: Training) -> DSGModel:
        """Return the models of a training, pool by pool."""

    @abstractmethod
    def train_in_passes(self, training: Training) -> list[DSGModel]:
        """Return the models of a training, in as many passes as memory requires."""

    @abstractmethod
    def final_values(self, training: Training) -> Mapping[int, Single]:
        """Return the values of all models at labelled (0) and at pooled unlabelled rows (1)."""

    @abstractmethod
    def failure(self, training: Training) -> FitError:
        """Return the error to raise for a model without finite coefficients."""

    @abstractmethod
    def function(self, model: DSGModel, training: Training) -> BlockFunction:
        """Return the function of a model."""

    def fit(self, training: Training) -> BlockFunction:
        """Train the one model of a training; see `Trainer`."""
        return self.function(self.finite(training, self.train), training)

    def finite(self, training: Training, run: Callable[[Training], DSGModel]) -> DSGModel:
        """Return the models that ``run`` trains, all with finite coefficients.

        Raises
        ------
        FitError
            If a coefficient is not finite.
        """
        self.features.check(training.X)
        training.check_pools()
        (model,) = self._held(training, lambda: [run(training)])
        if not finite_models(model).all():
            self.features.check(training.X_unlabeled)
            raise self.failure(training)
        return model

    def models(self, training: Training) -> list[DSGModel]:
        """Return all models; one without a solution has coefficients that are not finite."""
        self.features.check(training.X)
        models = self._held(training, lambda: self.train_in_passes(training))
        if not any(finite_models(model).any() for model in models):
            self.features.check(training.X_unlabeled)
        return models

    def functions(self, training: Training) -> BlockFunctions:
        """Return the functions of all models, evaluated together."""
        return BlockFunctions(self.models(training))

    def _held(self, training: Training, train: Callable[[], list[DSGModel]]) -> list[DSGModel]:
        """Train models, and add intercepts where the mean value is constrained."""
        means = training.held_means()
        if np.isnan(means).all():
            return train()
        with progress.part(0, 1 - _INTERCEPTS_SHARE):
            models = train()
        with progress.part(1 - _INTERCEPTS_SHARE, 1):
            seed = self.features.random_state
            return with_intercepts(models, training.X_unlabeled, means, seed)

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, in one pass; see `Trainer`."""
        self.features.check(training.X)
        training.check_pools()
        values = training.nan_values()
        if np.isnan(training.held_means()).all():
            final = self.final_values(training)
        else:
            functions = BlockFunctions(self._held(training, lambda: self.train_in_passes(training)))
            final = {k: functions.values(rows) for k, rows in enumerate(training.tables)}
        n_points, any_finite = len(training.penalties), False
        for number, fold in enumerate(folds):
            models = slice(number * n_points, (number + 1) * n_points)
            tables = [k for k, rows in enumerate(fold) if rows is not None]
            held_out = [final[k][fold[k], models].T for k in tables]
            finite = np.all([np.isfinite(part).all(axis=1) for part in held_out], axis=0)
            for k, part in zip(tables, held_out, strict=True):
                values[k][:, fold[k]] = np.where(finite[:, None], part, np.nan)
            any_finite |= bool(finite.any())
        if not any_finite:
            self.features.check(training.X_unlabeled)
        return values

    def centred_values(self, training: Training, folds: Folds, reference: Any) -> Array:
        """Return out-of-fold values of one point, all folds in one pass; see `Trainer`."""
        model = self.finite(training, self.train)
        values = model.decision_function(training.X).astype(np.float64)
        values -= model.decision_function(reference).mean(axis=0, dtype=np.float64)
        out = np.empty(len(values))
        for fold, held_out in enumerate(folds):
            out[held_out.labeled] = values[held_out.labeled, fold]
        return out


@dataclass(frozen=True)
class Streaming(BlockTrainer):
    """Doubly stochastic gradients: a batch and a new block of features in every iteration.

    Attributes
    ----------
    n_iterations : int or None
        None is one pass over the unlabelled rows, but 200 to 2,000 iterations.
    in_passes : bool
        If true, labelled rows are drawn in passes too, and may be streamed; else they are drawn
        with replacement.
    average : bool
        If true, a function is the average of the iterates of the second half.
    """

    n_iterations: int | None = None
    steps: Steps = DECREASING
    in_passes: bool = False
    average: bool = False

    def n_steps(self, n_unlabeled: int) -> int:
        """Return the number of iterations."""
        if self.n_iterations is not None:
            return self.n_iterations
        one_pass = -(-n_unlabeled // self.batch_size)
        return min(max(one_pass, MIN_PASS_ITERATIONS), MAX_PASS_ITERATIONS)

    def iterations(self, n_unlabeled: int) -> dict[str, int]:
        """Return the number of iterations, by the name of its estimator parameter."""
        return {"n_iterations": self.n_steps(n_unlabeled)}

    def problem(self, training: Training) -> Problem:
        """Return the problem that the engine solves."""
        t = training
        return Problem(
            tables=[t.X, t.X_unlabeled],
            sources=[*self._labeled(t), Source(1, t.unlabeled_pools, in_passes=True)],
            objective=t.on_tuples(),
            step=self.steps.rule(
                t, self.features.kernel, self.features.sigma, self.n_steps(len(t.X_unlabeled))
            ),
            features=self.features.blocks(),
            n_iterations=self.n_steps(len(t.X_unlabeled)),
            batch_size=self.batch_size,
            group=t.group,
            average=self.average,
        )

    def _labeled(self, training: Training) -> list[Source]:
        """Return the sources of labelled rows."""
        t, n_sources = training, training.n_sources
        if self.in_passes and n_sources == 1:
            pools = None if t.unlabeled_pools is None and len(t.pools) == 1 else t.pools
            return [Source(0, pools, in_passes=True)]
        order = range(n_sources)[::-1] if t.risks[0][0].descending else range(n_sources)
        # a source without rows has no weight, but the engine draws from every source
        return [
            Source(
                0,
                [rows if len(rows := t.rows_of(k, pool)) else pool[:1] for pool in t.pools],
                in_passes=self.in_passes,
            )
            for k in order
        ]

    def train(self, training: Training) -> DSGModel:
        """Return the models of a training, pool by pool."""
        return train(self.problem(training))

    def train_in_passes(self, training: Training) -> list[DSGModel]:
        """Return the models of a training, in as many passes as the memory asks for."""
        return train_in_passes(self.problem(training))

    def fit(self, training: Training) -> BlockFunction:
        """Train the one model of a training; see `Trainer`.

        Raises
        ------
        FitError
            If no step size is defined for it.
        """
        return self.fit_by(training, train)

    def fit_by(self, training: Training, run: Train) -> BlockFunction:
        """Train as `fit` does, by another training function of the engine."""
        model = self.finite(training, lambda t: run(self._checked_problem(t)))
        return self.function(model, training)

    def _checked_problem(self, training: Training) -> Problem:
        """Return the problem of one model; raise `FitError` if its steps are NaN."""
        problem = self.problem(training)
        if np.isnan(problem.step(1)[0]).any():
            raise FitError(self.steps.invalid_message(training))
        return problem

    def final_values(self, training: Training) -> Mapping[int, Single]:
        """Return the values of all models at the rows of either table."""
        return train_values(self.problem(training))

    def failure(self, training: Training) -> FitError:
        """Return the error to raise for a model that diverged."""
        return DivergedError(self.steps.diverged_message(training))

    def function(self, model: DSGModel, training: Training) -> BlockFunction:
        """Return the function of a model."""
        n_iter = self.n_steps(len(training.X_unlabeled))
        return BlockFunction(model, mean_of_kernels=False, n_iter=n_iter)

    def cost(self, sizes: Sizes, n_models: int = 1, result: Result | None = None) -> Cost:
        """Return the cost of a fit, or of the values or models of a grid."""
        return self._cost(sizes, n_models, result or ("model" if n_models == 1 else "values"))

    def models_cost(self, sizes: Sizes, n_models: int, risk: Risk, step: Step | None) -> Cost:
        """Return the cost of `functions`."""
        remembered = engine_sizes.remembered(step.eta) if isinstance(step, Fixed) else None
        cost = self._cost(sizes, n_models, "models", remembered)
        if np.isnan(risk.held_mean(np.ones(sizes.n_sources, np.int64))):
            return cost
        n_kept = self._n_kept(sizes.n_unlabeled, remembered)
        n_coefficients = n_kept * self.features.blocks().width
        return with_intercepts_cost(cost, n_models, n_coefficients, sizes.n_unlabeled)

    def _n_kept(self, n_unlabeled: int, remembered: int | None) -> int:
        """Return the number of blocks of a trained function."""
        n_steps = self.n_steps(n_unlabeled)
        return n_steps if remembered is None else min(n_steps, remembered)

    def _cost(
        self, sizes: Sizes, n_models: int, result: Result, remembered: int | None = None
    ) -> Cost:
        on_folds = result == "values"
        return training_cost(
            self.features.blocks(),
            sizes.n_inputs,
            [
                TableSize(sizes.n_labeled, on_folds or not self.in_passes, sizes.n_sources),
                TableSize(sizes.n_unlabeled, on_folds and sizes.unlabeled_held_out),
            ],
            batch_size=self.batch_size,
            n_iterations=self.n_steps(sizes.n_unlabeled),
            n_models=n_models,
            remembered=remembered,
            result=result,
            average=self.average,
        )


@dataclass(frozen=True)
class Sweeps(BlockTrainer):
    """Newton steps, block by block, on all labelled and some unlabelled rows.

    Attributes
    ----------
    n_blocks : int
    n_sweeps : int
        Passes over all blocks.
    """

    n_blocks: int = field(kw_only=True)
    n_sweeps: int = field(kw_only=True)

    def problem(self, training: Training) -> BlockProblem:
        """Return the problem that the engine solves."""
        t = training
        return BlockProblem(
            X=t.X,
            X_unlabeled=t.X_unlabeled,
            groups=[
                RowGroup(
                    [t.rows_of(k, pool) for k in range(t.n_sources)],
                    None if t.unlabeled_pools is None else t.unlabeled_pools[number],
                )
                for number, pool in enumerate(t.pools)
            ],
            group=t.group,
            objective=t.on_batches,
            lam=t.lam,
            features=self.features.blocks(),
            n_blocks=self.n_blocks,
            n_sweeps=self.n_sweeps,
            batch_size=self.batch_size,
        )

    def train(self, training: Training) -> DSGModel:
        """Return the models of a training, pool by pool."""
        return train_blocks(self.problem(training))

    def train_in_passes(self, training: Training) -> list[DSGModel]:
        """Return the models of a training, in as many passes as the memory asks for."""
        return train_blocks_in_passes(self.problem(training))

    def final_values(self, training: Training) -> Mapping[int, Single]:
        """Return the values of all models at the rows of either table."""
        return train_blocks_values(self.problem(training))

    def failure(self, training: Training) -> FitError:
        """Return the error to raise for a model without a solution."""
        return FitError(training.risks[0][0].singular())

    def function(self, model: DSGModel, training: Training) -> BlockFunction:
        """Return the function of a model."""
        return BlockFunction(model, mean_of_kernels=True)

    def cost(self, sizes: Sizes, n_models: int = 1, result: Result | None = None) -> Cost:
        """Return the cost of a fit, or of the values or models of a grid."""
        return self._cost(sizes, n_models, result or ("model" if n_models == 1 else "values"))

    def models_cost(self, sizes: Sizes, n_models: int, risk: Risk, step: Step | None) -> Cost:
        """Return the cost of `functions`."""
        majorised = type(risk).majorised([risk]) is not None
        return self._cost(sizes, n_models, "model" if n_models == 1 else "models", majorised)

    def _cost(self, sizes: Sizes, n_models: int, result: Result, majorised: bool = False) -> Cost:
        return block_training_cost(
            self.features.blocks(),
            sizes.n_inputs,
            sizes.n_labeled,
            sizes.n_unlabeled,
            n_sources=sizes.n_sources,
            batch_size=self.batch_size,
            n_blocks=self.n_blocks,
            n_sweeps=self.n_sweeps,
            n_models=n_models,
            pooled=result == "values" and sizes.unlabeled_held_out,
            majorised=majorised,
            result=result,
        )
