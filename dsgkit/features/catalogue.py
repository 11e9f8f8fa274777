"""Random features of each kernel: their construction, and reading them from a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import DataError, shown
from dsgkit.features.blocks import FeatureBlocks
from dsgkit.features.fourier import FourierFeatures
from dsgkit.features.sketch import SketchFeatures
from dsgkit.features.structured import KERNEL, NAME, StructuredFeatures
from dsgkit.kernels import FAMILIES, Kernel, kernel_named

LARGEST_LENGTH = 2.0**100
"""Upper bound of `Kernel.farthest`, whose lower bound is the inverse: rows of that norm and their
frequencies then fit single precision."""

_LONGEST_NAME = 1000
"""Largest size of a kernel's name in bytes, four per character."""

INDEPENDENT, STRUCTURED = "independent", "structured"
"""Kinds of random frequencies."""

Reader = Callable[[Mapping[str, Any], int], FeatureBlocks]


def _of_a_kernel(reader: Reader) -> Reader:
    """Wrap a reader with checks of the entries."""

    def read(entries: Mapping[str, Any], width: int) -> FeatureBlocks:
        _check_numbers(kernel_named(str(entries["kernel"])), entries)
        return reader(entries, width)

    return read


_READERS: dict[str, Reader] = {
    name: _of_a_kernel(
        SketchFeatures.from_entries
        if family.example.spectrum is None
        else FourierFeatures.from_entries
    )
    for name, family in FAMILIES.items()
    if family.example.has_random_features
}
"""Readers by the name of a family of kernels."""


def _read_structured(entries: Mapping[str, Any], width: int) -> FeatureBlocks:
    if str(entries["kernel"]) != NAME:
        raise ValueError(f"the kernel is {shown_entry(np.asarray(entries['kernel']))}")
    _check_numbers(kernel_named(KERNEL), entries)
    return StructuredFeatures.from_entries(entries, width)


_READERS[NAME.partition("(")[0]] = _read_structured


def random_features(
    kernel: str,
    sigma: float,
    n_features: int,
    seed: int,
    frequencies: str = INDEPENDENT,
) -> FeatureBlocks:
    """Return blocks of random features of a kernel.

    Parameters
    ----------
    kernel : str
        See `kernel_named`.
    sigma : float
    n_features : int
        Random frequencies of a block, each with a cosine and a sine; for a dot product the size of
        the sketch.
    seed : int
    frequencies : {"independent", "structured"}
        Structured ones (`dsgkit.features.structured`) exist for the Gaussian kernel only.

    Raises
    ------
    DataError
        If the kernel does not exist or has no such random features, or if sigma is out of range.
    """
    known = kernel_named(kernel)
    if not known.has_random_features:
        raise DataError(f"the {kernel} kernel has no random features")
    if not _in_range(known, sigma):
        raise DataError(
            f"sigma={sigma:g} is too {'small' if sigma < 1 else 'large'} for random features in "
            "single precision: scale the rows, and sigma with them"
        )
    if frequencies == STRUCTURED:
        if known.name != KERNEL:
            raise DataError(
                f"structured frequencies exist for the {KERNEL} kernel only, not for {kernel}"
            )
        return StructuredFeatures(sigma, n_features, seed)
    if known.spectrum is None:
        return SketchFeatures(kernel, sigma, n_features, seed)
    return FourierFeatures(kernel, sigma, n_features, seed)


def load_features(entries: Mapping[str, Any], width: int) -> FeatureBlocks:
    """Return the features with these `FeatureBlocks.entries`.

    Parameters
    ----------
    entries : mapping
        They are validated; any content is safe.
    width : int
        Number of features of a block.

    Raises
    ------
    DataError
        If this release has no features for the kernel.
    KeyError, ValueError
        If an entry is missing or invalid.
    """
    name = np.asarray(entries["kernel"])
    if name.shape or name.dtype.kind != "U" or name.dtype.itemsize > _LONGEST_NAME:
        raise ValueError(f"the kernel is {shown_entry(name)}")
    family = str(name).partition("(")[0]
    if family not in _READERS:
        raise DataError(f"unknown kernel {shown(str(name))}; known: {', '.join(_READERS)}")
    return _READERS[family](entries, width)


def _check_numbers(kernel: Kernel, entries: Mapping[str, Any]) -> None:
    sigma, seed = np.asarray(entries["sigma"]), np.asarray(entries["seed"])
    if sigma.shape or sigma.dtype.kind not in "fiu" or not _in_range(kernel, float(sigma)):
        raise ValueError(f"sigma is {shown_entry(sigma)}")
    if seed.shape or seed.dtype != np.uint64:
        raise ValueError(f"the seed is {shown_entry(seed)}")


def _in_range(kernel: Kernel, sigma: float) -> bool:
    """Return whether a kernel's frequencies and rows of that scale fit single precision."""
    return 0 < sigma < np.inf and 1 / LARGEST_LENGTH <= kernel.farthest(sigma) <= LARGEST_LENGTH


def shown_entry(array: NDArray[Any]) -> str:
    """Return an array for a message: a single short value, else its type and shape."""
    if array.shape or array.dtype.itemsize > _LONGEST_NAME:
        return f"{array.dtype} of shape {array.shape}"
    return shown(array.item())
