"""The kind of random features of each kernel: to make them, and to read them from a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dsgkit.features.blocks import FeatureBlocks
from dsgkit.features.fourier import FourierFeatures
from dsgkit.features.sketch import SketchFeatures
from dsgkit.features.structured import KERNEL, NAME, StructuredFeatures
from dsgkit.kernels import FAMILIES, Kernel, kernel_named
from dsgkit.system.arrays import shown_entry
from dsgkit.text.errors import DataError, shown

LARGEST_LENGTH = 2.0**100
"""Bound of `Kernel.farthest`, as its inverse is: within, single precision holds rows of that length
and frequencies that belong to them."""

_LONGEST_NAME = 1000
"""Bytes of a kernel's name, four of each character."""

INDEPENDENT, STRUCTURED = "independent", "structured"
"""How random frequencies of a block depend on each other."""

Reader = Callable[[Mapping[str, Any], int], FeatureBlocks]


def _of_a_kernel(reader: Reader) -> Reader:
    """Return a reader that refuses entries which no features of these kernels have."""

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
"""By the name of a family of kernels."""


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
        As `kernel_named` takes it.
    sigma : float
    n_features : int
        Random frequencies of a block, each a cosine and a sine; for a dot product the size of its
        sketch.
    seed : int
    frequencies : {"independent", "structured"}
        Structured ones (`dsgkit.features.structured`) are those of the Gaussian kernel.

    Raises
    ------
    DataError
        If there is no such kernel, or none with such random features, or if sigma is out of range.
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
                f"structured frequencies are those of the {KERNEL} kernel, not {kernel}"
            )
        return StructuredFeatures(sigma, n_features, seed)
    if known.spectrum is None:
        return SketchFeatures(kernel, sigma, n_features, seed)
    return FourierFeatures(kernel, sigma, n_features, seed)


def load_features(entries: Mapping[str, Any], width: int) -> FeatureBlocks:
    """Return the features that `FeatureBlocks.entries` describe.

    Parameters
    ----------
    entries : mapping
        Whatever they hold is refused or can be used.
    width : int
        Features of a block.

    Raises
    ------
    DataError
        If this release has no features for the kernel that is named.
    KeyError, ValueError
        If an entry is missing, or is none that could have been written.
    """
    found = np.asarray(entries["kernel"])
    if found.shape or found.dtype.kind != "U" or found.dtype.itemsize > _LONGEST_NAME:
        raise ValueError(f"the kernel is {shown_entry(found)}")
    family = str(found).partition("(")[0]
    if family not in _READERS:
        raise DataError(f"unknown kernel {shown(str(found))}; known: {', '.join(_READERS)}")
    return _READERS[family](entries, width)


def _check_numbers(kernel: Kernel, entries: Mapping[str, Any]) -> None:
    sigma, seed = np.asarray(entries["sigma"]), np.asarray(entries["seed"])
    if sigma.shape or sigma.dtype.kind not in "fiu" or not _in_range(kernel, float(sigma)):
        raise ValueError(f"sigma is {shown_entry(sigma)}")
    if seed.shape or seed.dtype != np.uint64:
        raise ValueError(f"the seed is {shown_entry(seed)}")


def _in_range(kernel: Kernel, sigma: float) -> bool:
    """Return whether single precision holds a kernel's frequencies and rows of that scale."""
    return 0 < sigma < np.inf and 1 / LARGEST_LENGTH <= kernel.farthest(sigma) <= LARGEST_LENGTH
