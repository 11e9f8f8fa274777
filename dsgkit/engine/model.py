"""The trained models: seeds and coefficients, prediction in blocks, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import rows_at_once
from dsgkit.errors import DataError
from dsgkit.features import FeatureBlocks, load_features
from dsgkit.files import write_atomically
from dsgkit.mapped import read_rows
from dsgkit.progress import report
from dsgkit.random.stream import VERSION as STREAM_VERSION
from dsgkit.threads import single_blas_thread

FORMAT_VERSION = 3
"""Version of the model file."""

_WITHOUT_INTERCEPT = 2
"""The version before, which is read as well."""


@dataclass(frozen=True)
class DSGModel:
    """Functions ``f_g(x) = sum_t <coefficients[t, :, g], psi_t(x)> + intercept[g]``.

    ``psi_t(x)`` is block ``first_block + t`` of the features, without their normaliser.

    Attributes
    ----------
    features : FeatureBlocks
        Kernel and seed from which every block is made again.
    coefficients : ndarray of float32, shape (n_blocks, width, G)
        The normaliser of the features is part of them; see `dsgkit.features.blocks`.
    n_inputs : int
        Columns of the rows the models were trained on.
    first_block : int
        Number of the first block; training has forgotten those before it.
    intercept : float or ndarray of shape (G,)
    """

    features: FeatureBlocks
    coefficients: NDArray[np.float32]
    n_inputs: int
    first_block: int = 0
    intercept: float | NDArray[np.float32] = 0.0

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
                self.features.add(rows, self.first_block, self.coefficients, values[block])
                values[block] += self.intercept
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
            **self.features.entries(),
            "n_inputs": self.n_inputs,
            "first_block": self.first_block,
            "coefficients": self.coefficients,
            "intercept": self.intercept,
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
        if version[0] not in (_WITHOUT_INTERCEPT, FORMAT_VERSION) or version[1] != STREAM_VERSION:
            raise DataError(
                f"{path}: model format {version[0]}, stream {version[1]}; this release reads "
                f"formats {_WITHOUT_INTERCEPT} and {FORMAT_VERSION}, stream {STREAM_VERSION}: use "
                "the release that wrote it"
            )
        coefficients = entries["coefficients"]
        features = _features(path, entries, coefficients.shape[1])
        n_inputs, first_block = int(entries["n_inputs"]), int(entries["first_block"])
        intercept = entries["intercept"] if version[0] == FORMAT_VERSION else 0.0
    except FileNotFoundError:
        raise DataError(f"{path}: no such model file") from None
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: not a dsgkit model file ({error})") from None
    return DSGModel(features, coefficients, n_inputs, first_block, intercept)


def _features(path: str | Path, entries: dict[str, Any], width: int) -> FeatureBlocks:
    try:
        return load_features(entries, width)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
