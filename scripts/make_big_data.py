"""Write large datasets with a known nonlinear law to disk, for measurements.

Rows are uniform in the unit cube. The score of a row is Friedman's first function of its first five
columns, ``10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5``; the others are noise. The label is 1
with the probability ``1 / (1 + exp(m - score))``, m the mean score, else -1: no method can rank
better than the score itself.

A dataset of n rows is the first part of every larger one.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

SIZES = ((5_000_000, 18), (1_000_000, 54))
"""Rows and columns of the default datasets."""

CHUNK_ROWS = 2**16
"""Rows generated at a time; each chunk has its own seed."""

MEAN_SCORE = 14.413
"""Mean of the score over the unit cube."""


def score(X: NDArray) -> NDArray[np.float64]:
    """Return Friedman's function at the rows of ``X``, shape (n,)."""
    x = X[:, :5].astype(np.float64).T
    return 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]


def make_chunk(number: int, n_inputs: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return the rows from ``number * CHUNK_ROWS`` on, with their labels."""
    rng = np.random.default_rng((n_inputs, number))
    X = rng.random((CHUNK_ROWS, n_inputs), dtype=np.float32)
    positive = rng.random(CHUNK_ROWS) < 1 / (1 + np.exp(MEAN_SCORE - score(X)))
    return X, np.where(positive, 1, -1).astype(np.int8)


def make_rows(n_rows: int, n_inputs: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return the first rows and their labels in memory."""
    chunks = [make_chunk(k, n_inputs) for k in range(-(-n_rows // CHUNK_ROWS))]
    X, y = (np.concatenate(parts)[:n_rows] for parts in zip(*chunks, strict=True))
    return X, y


def folder_of(parent: Path, n_rows: int, n_inputs: int) -> Path:
    """Return the folder of a dataset, with ``X.npy`` and ``y.npy``; its name has the size."""
    return parent / f"friedman_{n_rows}x{n_inputs}"


def write(parent: Path, n_rows: int, n_inputs: int) -> Path:
    """Write a dataset, unless it exists, and return its folder."""
    folder = folder_of(parent, n_rows, n_inputs)
    if folder.exists():
        return folder
    unfinished = folder.with_name(folder.name + ".part")
    unfinished.mkdir(parents=True, exist_ok=True)
    X = open_memmap(unfinished / "X.npy", "w+", np.float32, (n_rows, n_inputs))
    y = open_memmap(unfinished / "y.npy", "w+", np.int8, (n_rows,))
    for number, start in enumerate(range(0, n_rows, CHUNK_ROWS)):
        rows, labels = make_chunk(number, n_inputs)
        stop = min(start + CHUNK_ROWS, n_rows)
        X[start:stop], y[start:stop] = rows[: stop - start], labels[: stop - start]
    X.flush()
    y.flush()
    return unfinished.rename(folder)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--size", "sizes", nargs=2, type=int, multiple=True, default=SIZES, help="Rows and columns."
)
def main(folder: Path, sizes: tuple[tuple[int, int], ...]) -> None:
    """Write the datasets."""
    for n_rows, n_inputs in sizes:
        click.echo(write(folder, n_rows, n_inputs))


if __name__ == "__main__":
    main()
