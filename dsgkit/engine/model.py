"""Trained models: seeds and coefficients, prediction in blocks, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.sizes import rows_at_once
from dsgkit.errors import DataError, in_a_line, shown
from dsgkit.features import Blocks, StructuredFeatures, random_features
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Single
from dsgkit.seeds import STREAM_VERSION
from dsgkit.system.files import read_arrays, write_atomically
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.progress import report

FORMAT_VERSION = 3
"""Version of the model file."""

_MAX_INTEGER = 2**53
"""Largest integer in a file: rows and blocks are counted in float64 too."""

_STRUCTURED = "structured(gaussian)"
_LONGEST_NAME = 1000
"""Largest size of a kernel's name in bytes, four per character."""

_VERSION_WITHOUT_INTERCEPT = 2
"""Previous version of the model file, which can be read too."""


@dataclass(frozen=True)
class DSGModel:
    """Functions ``f_g(x) = sum_t <coefficients[t, :, g], psi_t(x)> + intercept[g]``.

    ``psi_t(x)`` is block ``first_block + t`` of the features, without their normaliser.

    Attributes
    ----------
    features : Blocks
        Kernel and seed, from which every block is recomputed.
    coefficients : ndarray of float32, shape (n_blocks, width, G)
        They include the normaliser of the features; see `dsgkit.features.Blocks`.
    n_inputs : int
        Number of columns of the training rows.
    first_block : int
        Number of the first block; training dropped those before it.
    intercept : float or ndarray of shape (G,)
    """

    features: Blocks
    coefficients: Single
    n_inputs: int
    first_block: int = 0
    intercept: float | Single = 0.0

    def decision_function(self, X: Any) -> Single:
        """Evaluate the functions, a block of rows at a time, and report progress.

        Besides the result, memory is that of one block of rows, also for a memory map.

        Parameters
        ----------
        X : rows of shape (n, n_inputs)
            Array, memory map or any object with ``shape`` and slicing.

        Returns
        -------
        ndarray of float32, shape (n, G)

        Raises
        ------
        DataError
            If the number of columns differs from that in training, or if the features of a row
            would be wrong: it holds NaN, or its norm is too large.
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
                rows = self.features.read(X, block)
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
            "kernel": _STRUCTURED
            if isinstance(self.features, StructuredFeatures)
            else self.features.kernel,
            "sigma": self.features.sigma,
            "seed": np.uint64(self.features.seed),
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
        If the file is not a model file, is damaged, or has a version that this release cannot read.
    """
    shown_path = in_a_line(str(path), 300)
    try:
        entries = read_arrays(Path(path))
        _check_versions(entries)
        coefficients = _coefficients(entries)
        model = DSGModel(
            features=_features(entries, coefficients.shape[1]),
            coefficients=coefficients,
            n_inputs=_whole(entries, "n_inputs", 1),
            first_block=_whole(entries, "first_block", 0),
            intercept=_intercept(entries, coefficients.shape[2]),
        )
    except FileNotFoundError:
        raise DataError(f"{shown_path}: no such model file") from None
    except DataError as error:
        raise DataError(f"{shown_path}: {error}") from None
    except KeyError as error:
        raise DataError(f"{shown_path}: not a dsgkit model file (it has no {error})") from None
    except ValueError as error:
        raise DataError(f"{shown_path}: not a dsgkit model file ({error})") from None
    return model


def _check_versions(entries: Mapping[str, NDArray[Any]]) -> None:
    """Raise `DataError` unless this release reads and continues a model of these versions."""
    model, stream = (_whole(entries, f"{kind}_version", 0) for kind in ("format", "stream"))
    if model in (_VERSION_WITHOUT_INTERCEPT, FORMAT_VERSION) and stream == STREAM_VERSION:
        return
    newer = model > FORMAT_VERSION or stream > STREAM_VERSION
    raise DataError(
        f"model format {model}, stream {stream}; this release reads formats "
        f"{_VERSION_WITHOUT_INTERCEPT} and {FORMAT_VERSION}, stream {STREAM_VERSION}: "
        + ("a newer release wrote it, use that" if newer else "use the release that wrote it")
    )


def _features(entries: Mapping[str, NDArray[Any]], width: int) -> Blocks:
    """Return the features of a file; ``width`` is that of the coefficients."""
    name, sigma, seed = (entries[key] for key in ("kernel", "sigma", "seed"))
    if name.shape or name.dtype.kind != "U" or name.dtype.itemsize > _LONGEST_NAME:
        raise ValueError(f"the kernel is {_shown(name)}")
    structured = str(name) == _STRUCTURED
    kernel = kernel_named("gaussian" if structured else str(name))
    if sigma.shape or sigma.dtype.kind not in "fiu" or not 0 < sigma < np.inf:
        raise ValueError(f"sigma is {_shown(sigma)}")
    if seed.shape or seed.dtype != np.uint64:
        raise ValueError(f"the seed is {_shown(seed)}")
    if kernel.degree is None and width % 2:
        raise ValueError(f"{width} features: must be even, a cosine and a sine per frequency")
    n_features = width // 2 if kernel.degree is None else width
    kind = "structured" if structured else "independent"
    return random_features(kernel.name, float(sigma), n_features, int(seed), kind)


def _shown(array: NDArray[Any]) -> str:
    """Return an array for a message: a single short value, else its type and shape."""
    if array.shape or array.dtype.itemsize > _LONGEST_NAME:
        return f"{array.dtype} of shape {array.shape}"
    return shown(array.item())


def _coefficients(entries: Mapping[str, NDArray[Any]]) -> Single:
    values = entries["coefficients"]
    if values.dtype != np.float32 or values.ndim != 3 or 0 in values.shape[1:]:
        raise ValueError(f"coefficients are {values.dtype} of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("coefficients are not finite")
    return values


def _intercept(entries: Mapping[str, NDArray[Any]], n_models: int) -> Any:
    if int(entries["format_version"]) == _VERSION_WITHOUT_INTERCEPT:
        return 0.0
    value = entries["intercept"]
    if value.dtype.kind != "f" or value.shape not in ((), (n_models,)):
        raise ValueError(f"the intercept is {value.dtype} of shape {value.shape}")
    if not (np.abs(value) <= np.finfo(np.float32).max).all():
        raise ValueError("the intercept is not finite in single precision")
    return value


def _whole(entries: Mapping[str, NDArray[Any]], name: str, least: int) -> int:
    """Return an entry that is one integer."""
    value = entries[name]
    if value.shape or value.dtype.kind not in "iu" or not least <= value <= _MAX_INTEGER:
        raise ValueError(f"{name} is {_shown(value)}")
    return int(value)
