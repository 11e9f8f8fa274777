"""The trained models: seeds and coefficients, prediction in blocks, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import blocks_at_once, rows_at_once
from dsgkit.errors import DataError
from dsgkit.features.fourier import KERNELS, FourierFeatures
from dsgkit.features.tiles import add_blocks
from dsgkit.files import write_atomically
from dsgkit.mapped import read_rows
from dsgkit.progress import report
from dsgkit.random.stream import VERSION as STREAM_VERSION
from dsgkit.threads import single_blas_thread

FORMAT_VERSION = 2
"""Version of the model file."""


def add_to(
    values: NDArray[np.float32],
    X: NDArray[np.float32],
    features: FourierFeatures,
    coefficients: NDArray[np.float32],
    first: int = 0,
) -> None:
    """Add a run of blocks at the rows of ``X`` to ``values``, in place.

    Parameters
    ----------
    values : ndarray of float32, shape (n, G)
    X : ndarray of float32, shape (n, n_inputs)
    features : FourierFeatures
    coefficients : ndarray of float32, shape (n_blocks, 2 * n_frequencies, G)
    first : int
        Number of the first of the blocks.
    """
    n_inputs = X.shape[1]
    length = blocks_at_once(n_inputs, features.n_frequencies, values.shape[1])
    for start in range(0, len(coefficients), length):
        part = coefficients[start : start + length]
        add_blocks(X, features.half_turns(first + start, len(part), n_inputs), part, values)


@dataclass(frozen=True)
class DSGModel:
    """Functions ``f_g(x) = sum_t <coefficients[t, :, g], [cos W_t'x, sin W_t'x]>``.

    ``W_t`` is block ``first_block + t`` of the features.

    Attributes
    ----------
    features : FourierFeatures
        Kernel and seed from which every block of frequencies is made again.
    coefficients : ndarray of float32, shape (n_blocks, 2 * n_frequencies, G)
        The factor ``sqrt(1/m)`` of the features is part of them.
    n_inputs : int
        Columns of the rows the models were trained on.
    first_block : int
        Number of the first block; training has forgotten those before it.
    """

    features: FourierFeatures
    coefficients: NDArray[np.float32]
    n_inputs: int
    first_block: int = 0

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Evaluate the functions, a block of rows at a time, and report progress.

        Beyond the result it takes the memory of one block of rows, also for a memory map.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, memory map or any object with ``shape`` and slicing.

        Returns
        -------
        ndarray of float32, shape (n, G)
        """
        if len(X.shape) != 2 or X.shape[1] != self.n_inputs:
            raise DataError(
                f"rows must have {self.n_inputs} columns as in training, got shape {X.shape}"
            )
        n, n_models = X.shape[0], self.coefficients.shape[2]
        values = np.zeros((n, n_models), np.float32)
        length = rows_at_once(self.n_inputs, n_models)
        with single_blas_thread():
            for start in range(0, n, length):
                block = slice(start, min(start + length, n))
                rows = read_rows(X, block)
                add_to(values[block], rows, self.features, self.coefficients, self.first_block)
                report(block.stop / n)
        return values

    def save(self, path: str | Path) -> None:
        """Write the models to a ``.npz`` file, all of it or nothing.

        Parameters
        ----------
        path : path
            The file; replaced if it exists.
        """
        entries: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            "stream_version": STREAM_VERSION,
            "kernel": self.features.kernel,
            "sigma": self.features.sigma,
            "seed": np.uint64(self.features.seed),
            "n_inputs": self.n_inputs,
            "first_block": self.first_block,
            "coefficients": self.coefficients,
        }
        write_atomically(Path(path), lambda file: np.savez(file, **entries))


def load_model(path: str | Path) -> DSGModel:
    """Read models written by `DSGModel.save`.

    Raises
    ------
    DataError
        If the file is no model file, or of a version this release does not know.
    """
    try:
        with np.load(path) as file:
            entries = dict(file)
        version = int(entries["format_version"]), int(entries["stream_version"])
        if version != (FORMAT_VERSION, STREAM_VERSION):
            raise DataError(
                f"{path}: model format {version[0]}, stream {version[1]}; this release reads "
                f"format {FORMAT_VERSION}, stream {STREAM_VERSION}: use the release that wrote it"
            )
        coefficients = entries["coefficients"]
        features = FourierFeatures(
            kernel=str(entries["kernel"]),
            sigma=float(entries["sigma"]),
            n_frequencies=coefficients.shape[1] // 2,
            seed=int(entries["seed"]),
        )
        n_inputs, first_block = int(entries["n_inputs"]), int(entries["first_block"])
    except FileNotFoundError:
        raise DataError(f"{path}: no such model file") from None
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: not a dsgkit model file ({error})") from None
    if features.kernel not in KERNELS:
        raise DataError(f"{path}: unknown kernel {features.kernel!r}; known: {', '.join(KERNELS)}")
    return DSGModel(features, coefficients, n_inputs, first_block)
