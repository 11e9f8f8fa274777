"""Memory budgets of the engine, and the block sizes that follow from them.

For the tiles that fit features into the caches, see `dsgkit.features`.
"""

from __future__ import annotations

import math

MAX_BLOCK_ROWS = 8192
"""Rows that are evaluated together on all blocks.

A block of features is drawn once for all of them. Drawing its frequencies takes about as long as
using them for 60 rows: with 8192 rows, some 1% of the work.
"""

MAX_ROW_BYTES = 2**26
"""Bytes of rows and values above which fewer rows are evaluated together."""

MAX_TABLE_BYTES = 2**30
"""Bytes of rows above which a table is always streamed."""

MAX_MODEL_BYTES = 2**30
"""Bytes of coefficients and values above which models are trained in several passes."""

MAX_FEATURE_BYTES = 2**26
"""Bytes of features that block-preconditioned training holds at once; also of Hessians that are
formed together if those of models differ."""

MAX_FORGOTTEN_SHARE = 2.0**-30
"""Share of a model's sum of absolute coefficients that forgotten blocks may make up.

It bounds the error of a value ``f(x)``, relative to that sum. Rounding the features to float32
changes a value by up to 2^-22 of the same sum.
"""


def rows_at_once(n_inputs: int, n_models: int) -> int:
    """Return how many rows are evaluated together, by `MAX_BLOCK_ROWS` and `MAX_ROW_BYTES`."""
    return max(1, min(MAX_BLOCK_ROWS, MAX_ROW_BYTES // (4 * (n_inputs + n_models))))


def kept_resident(n_rows: int, n_inputs: int, n_drawn: int, n_iterations: int) -> bool:
    """Return whether it is cheaper to keep a table's values than to evaluate its draws.

    Keeping ``n`` rows takes ``n T`` row evaluations; evaluating ``b`` rows when they are drawn
    takes ``b T^2 / 2``. A table of more than `MAX_TABLE_BYTES` is never kept.

    Parameters
    ----------
    n_rows, n_inputs : int
        Shape of the table.
    n_drawn : int
        Rows drawn from it per iteration.
    n_iterations : int
    """
    return 4 * n_rows * n_inputs <= MAX_TABLE_BYTES and 2 * n_rows <= n_drawn * n_iterations


def blocks_held(n_iterations: int, *, kept: bool, streamed: bool, average: bool) -> int:
    """Return how many blocks of coefficients a model holds in training.

    Parameters
    ----------
    n_iterations : int
    kept : bool
        Whether the result is coefficients instead of values of resident rows.
    streamed : bool
        Whether there are streamed rows, which are evaluated on all earlier blocks.
    average : bool
        Whether the model is a mean of functions, with coefficients in addition to those of the last
        function.
    """
    return n_iterations * (kept + streamed if average else kept or streamed)


def model_bytes(n_blocks: int, width: int, n_resident: int, n_averaged: int = 0) -> int:
    """Return the bytes that one model takes in training.

    Parameters
    ----------
    n_blocks : int
        Blocks whose coefficients are held.
    width : int
        Number of features of a block.
    n_resident : int
        Rows whose values are kept up to date. These and the values of a panel are held twice while
        they are copied to the next panel.
    n_averaged : int
        Rows whose values are averaged.
    """
    rows = 8 * (n_resident + MAX_BLOCK_ROWS) + 4 * n_averaged
    return 4 * width * n_blocks + 8 * n_blocks + rows


def feature_rows(width: int) -> int:
    """Return the number of rows whose features are held at once, in both precisions."""
    return max(1, MAX_FEATURE_BYTES // (12 * width))


def hessians_at_once(width: int) -> int:
    """Return how many models' Hessians are formed together from the same features."""
    return max(1, MAX_FEATURE_BYTES // (8 * width**2))


def block_model_bytes(n_blocks: int, width: int, n_kept: int, n_batch: int) -> int:
    """Return the bytes that one model takes in block-preconditioned training.

    Parameters
    ----------
    n_blocks, width : int
        Number of blocks, whose coefficients are held in double precision, and of their features.
    n_kept : int
        Rows whose values are kept up to date.
    n_batch : int
        Rows of a batch, with their values and coefficients.
    """
    return 12 * n_blocks * width + 4 * n_kept + 32 * n_batch


def models_at_once(bytes_per_model: int) -> int:
    """Return how many models are trained in one pass, within `MAX_MODEL_BYTES`."""
    return max(1, MAX_MODEL_BYTES // bytes_per_model)


def remembered(step: float) -> int:
    """Return the approximate number of iterations after which a constant step forgets a block.

    If all blocks start with equal size, the younger ones then make up all but `MAX_FORGOTTEN_SHARE`
    of the sum.
    """
    return 1 if step == 1 else max(1, math.ceil(math.log(MAX_FORGOTTEN_SHARE) / math.log1p(-step)))
