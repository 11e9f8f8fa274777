"""The trained models: seeds and coefficients, prediction in blocks, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError
from dsgkit.features.fourier import KERNELS, FourierFeatures, as_block
from dsgkit.features.stream import VERSION as STREAM_VERSION
from dsgkit.features.tiles import add_block
from dsgkit.files import write_atomically
from dsgkit.progress import report
from dsgkit.threads import single_blas_thread

FORMAT_VERSION = 1
"""Version of the model file."""

BLOCK_ROWS = 16384
"""Rows predicted together: many enough that making a block of frequencies costs next to nothing."""


@dataclass(frozen=True)
class DSGModel:
    """Functions ``f_g(x) = sum_t <coefficients[t, :, g], [cos W_t'x, sin W_t'x]>``.

    Attributes
    ----------
    features : FourierFeatures
        Kernel and seed from which every block of frequencies is made again.
    coefficients : ndarray of float32, shape (T, 2 * n_frequencies, G)
        The factor ``sqrt(1/m)`` of the features is part of them.
    n_inputs : int
        Columns of the rows the models were trained on.
    """

    features: FourierFeatures
    coefficients: NDArray[np.float32]
    n_inputs: int

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Evaluate the functions, a block of rows at a time.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, memory map or any object with ``shape`` and slicing.

        Returns
        -------
        ndarray of float32, shape (n, G)
        """
        if X.ndim != 2 or X.shape[1] != self.n_inputs:
            raise DataError(
                f"rows must have {self.n_inputs} columns as in training, got shape {X.shape}"
            )
        n = X.shape[0]
        values = np.zeros((n, self.coefficients.shape[2]), np.float32)
        with single_blas_thread():
            for start in range(0, n, BLOCK_ROWS):
                rows = as_block(X[start : start + BLOCK_ROWS])
                self.add_to(values[start : start + BLOCK_ROWS], rows, len(self.coefficients))
                report((start + len(rows)) / n)
        return values

    def add_to(self, values: NDArray[np.float32], X: NDArray[np.float32], n_blocks: int) -> None:
        """Add the first ``n_blocks`` blocks at the rows of ``X`` to ``values`` (in place)."""
        for t in range(n_blocks):
            W = self.features.frequencies(t, self.n_inputs)
            add_block(X, W, self.coefficients[t], values)

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
        n_inputs = int(entries["n_inputs"])
    except FileNotFoundError:
        raise DataError(f"{path}: no such model file") from None
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise DataError(f"{path}: not a dsgkit model file ({error})") from None
    if features.kernel not in KERNELS:
        raise DataError(f"{path}: unknown kernel {features.kernel!r}; known: {', '.join(KERNELS)}")
    return DSGModel(features, coefficients, n_inputs)
