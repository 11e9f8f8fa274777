"""How much the engine holds and does at once: every budget and the rules that follow from it.

The sizes of tiles, which follow from the cache, are in `dsgkit.features.tiles`.
"""

from __future__ import annotations

ROWS_AT_ONCE = 8192
"""Rows that are evaluated together on all blocks.

A block of frequencies is made once for all of them. Making one takes about as long as using it for
60 rows: with 8192, some 1% of the work.
"""

ROW_BYTES = 2**26
"""Bytes of rows and values above which fewer rows are evaluated together."""

BLOCK_BYTES = 2**22
"""Bytes of frequencies and coefficients that rows meet in one call.

Many blocks to a call, but few enough that all tiles of rows find them in the last-level cache.
"""

TABLE_BYTES = 2**30
"""Bytes of rows and values above which a table is streamed, whatever it costs in time."""

MODEL_BYTES = 2**30
"""Bytes of coefficients and values above which models are trained in several passes."""

FORGOTTEN = 2.0**-30
"""Share of a model's sum of absolute coefficients that forgotten blocks may make up.

No value ``f(x)`` changes by more than this times that sum: float32 resolves 2^-24 of it.
"""


def rows_at_once(n_inputs: int, n_models: int) -> int:
    """Return how many rows are evaluated together: `ROWS_AT_ONCE`, or what `ROW_BYTES` hold."""
    return max(1, min(ROWS_AT_ONCE, ROW_BYTES // (4 * (n_inputs + n_models))))


def blocks_at_once(n_inputs: int, n_frequencies: int, n_models: int) -> int:
    """Return how many blocks are added in one call, within `BLOCK_BYTES`."""
    return max(1, BLOCK_BYTES // (4 * n_frequencies * (n_inputs + 2 * n_models)))


def model_bytes(n_iterations: int, n_frequencies: int, n_resident: int) -> int:
    """Return the bytes that one model takes in training.

    Its coefficients, the values of resident rows (twice while a panel takes them over) and those
    of a panel.
    """
    return 4 * (2 * n_frequencies * n_iterations + 2 * n_resident + ROWS_AT_ONCE)


def models_at_once(bytes_per_model: int) -> int:
    """Return how many models are trained in one pass, within `MODEL_BYTES`."""
    return max(1, MODEL_BYTES // bytes_per_model)
