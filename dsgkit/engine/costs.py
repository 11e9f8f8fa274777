"""Estimated time and memory of a run of the engine, from its sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dsgkit.costs import Cost
from dsgkit.engine import sizes
from dsgkit.features import Blocks

_USUAL_FOLDS = 5
"""Number of groups of models that is assumed if a run returns values."""


@dataclass(frozen=True)
class TableSize:
    """Number of rows of a table, and of batches drawn from it per iteration.

    If batches are drawn from pools of rows, the table is always resident.
    """

    n_rows: int
    in_pools: bool = False
    n_sources: int = 1


def training_cost(
    features: Blocks,
    n_inputs: int,
    tables: Sequence[TableSize],
    *,
    batch_size: int,
    n_iterations: int,
    n_models: int = 1,
    remembered: int | None = None,
    result: Literal["model", "models", "values"] = "model",
    average: bool = False,
) -> Cost:
    """Return the estimated time and memory of a run.

    Parameters
    ----------
    features : Blocks
        Features of the run; none is drawn.
    n_inputs : int
    tables : sequence of TableSize
    batch_size, n_iterations, n_models : int
    remembered : int, optional
        Number of iterations after which one model has forgotten a block, see `sizes.remembered`;
        None is never. Several models are assumed to keep all blocks in training, since the smallest
        step decides.
    result : {"model", "models", "values"}
        Result of `train`, `train_in_passes` or `train_values`.
    average : bool
        As in `Problem`.

    Returns
    -------
    Cost
        Operations of all models; bytes of coefficients, values and (twice) resident rows, with no
        block forgotten; and operations of one model at one row.
    """
    T = n_iterations
    n_left = T if remembered is None else min(T, remembered)
    resident, streamed = _shares(tables, n_inputs, batch_size, T)
    per_row = features.row_flops(n_inputs)
    evaluations = T * resident + streamed * _block_evaluations(T, n_left if n_models == 1 else T)
    values = result == "values"
    n_blocks = sizes.blocks_held(T, kept=not values, streamed=streamed > 0, average=average)
    rows = 8 * n_inputs * (resident + sizes.MAX_BLOCK_ROWS)
    n_averaged = resident if average and values else 0
    per_model = sizes.model_bytes(n_blocks, features.width, resident, n_averaged)
    in_pass = n_models if result == "model" else min(n_models, sizes.models_at_once(per_model))
    finished = 4 * features.width * T * n_models if result == "models" else 0
    return Cost(
        flops=evaluations * (per_row + 2.0 * features.width * n_models),
        memory=rows + per_model * in_pass + finished,
        flops_per_row=n_left * (per_row + 2.0 * features.width),
        shared_per_row=n_left * per_row,
    )


def block_training_cost(
    features: Blocks,
    n_inputs: int,
    n_labeled: int,
    n_unlabeled: int,
    *,
    n_sources: int,
    batch_size: int,
    n_blocks: int,
    n_sweeps: int,
    n_models: int = 1,
    pooled: bool = False,
    majorised: bool = False,
    result: Literal["model", "models", "values"] = "model",
) -> Cost:
    """Return the estimated time and memory of a run of block-preconditioned training.

    Parameters
    ----------
    features : Blocks
    n_inputs : int
    n_labeled, n_unlabeled : int
        Numbers of rows.
    n_sources : int
        Number of sources of labelled rows.
    batch_size, n_blocks, n_sweeps, n_models : int
    pooled : bool
        Whether groups of models have unlabelled rows of their own.
    majorised : bool
        Whether the objective is a `MajorisedObjective`, where products of features are computed for
        each model.
    result : {"model", "models", "values"}
        Result of `train_blocks`, `train_blocks_in_passes` or `train_blocks_values`.

    Returns
    -------
    Cost
        Assuming that no two models share a Hessian, and that values are those of `_USUAL_FOLDS`
        folds.
    """
    width, n_steps, double = features.width, n_blocks * n_sweeps, 2
    n_batch = n_labeled + min(batch_size, n_unlabeled)
    n_drawn = n_steps * batch_size
    n_kept = n_labeled + (n_unlabeled if pooled else min(n_unlabeled, n_drawn))
    # rows that are drawn once are needed for half of the steps on average
    n_needed = n_kept / 2 if n_drawn <= n_unlabeled and not pooled else n_kept
    per_row = features.row_flops(n_inputs)
    at_once = sizes.hessians_at_once(width)
    n_passes = -(-n_models // at_once) if majorised else 1
    n_products = n_models if majorised else 1
    forming = n_batch * (n_passes * per_row + n_products * width**2)
    solving = double * n_models * (width**3 / 3 + 2 * width * (n_batch + width))
    updating = n_needed * (per_row + 2 * width * n_models)
    per_model = sizes.block_model_bytes(n_blocks, width, n_kept, n_batch)
    in_pass = n_models if result == "model" else min(n_models, sizes.models_at_once(per_model))
    finished = 4 * n_blocks * width * n_models if result == "models" else 0
    n_grams = n_sources * (1 + _USUAL_FOLDS * (result == "values"))
    matrices = 8 * width**2 * ((min(n_models, at_once) if majorised else n_grams) + 3)
    held = 12 * width * min(n_batch, sizes.feature_rows(width)) + 8 * n_inputs * n_kept
    return Cost(
        flops=n_steps * (forming + solving + updating),
        memory=matrices + held + per_model * in_pass + finished,
        flops_per_row=n_blocks * (per_row + 2.0 * width),
        shared_per_row=n_blocks * per_row,
    )


def _shares(
    tables: Sequence[TableSize], n_inputs: int, batch_size: int, n_iterations: int
) -> tuple[int, int]:
    """Return the rows of resident tables, and the rows drawn per iteration from streamed ones."""
    resident = streamed = 0
    for table in tables:
        n_drawn = table.n_sources * batch_size
        if table.in_pools or sizes.kept_resident(table.n_rows, n_inputs, n_drawn, n_iterations):
            resident += table.n_rows
        else:
            streamed += n_drawn
    return resident, streamed


def _block_evaluations(n_iterations: int, n_kept: int) -> float:
    """Return the total number of block evaluations of one streamed row per iteration.

    The row of iteration t is evaluated on the t blocks before it, as far as they are kept.
    """
    return n_kept * (n_iterations - n_kept / 2)
