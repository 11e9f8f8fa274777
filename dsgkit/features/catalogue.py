"""The kind of random features of each kernel: to make them, and to read them from a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dsgkit.errors import DataError
from dsgkit.features.blocks import FeatureBlocks
from dsgkit.features.fourier import FourierFeatures
from dsgkit.features.sketch import SketchFeatures
from dsgkit.kernels import FAMILIES, kernel_named

_READERS: dict[str, Callable[[Mapping[str, Any], int], FeatureBlocks]] = {
    name: SketchFeatures.from_entries
    if family.example.spectrum is None
    else FourierFeatures.from_entries
    for name, family in FAMILIES.items()
}
"""By the name of a family of kernels."""


def random_features(kernel: str, sigma: float, n_features: int, seed: int) -> FeatureBlocks:
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

    Raises
    ------
    DataError
        If there is no such kernel.
    """
    if kernel_named(kernel).spectrum is None:
        return SketchFeatures(kernel, sigma, n_features, seed)
    return FourierFeatures(kernel, sigma, n_features, seed)


def load_features(entries: Mapping[str, Any], width: int) -> FeatureBlocks:
    """Return the features that `FeatureBlocks.entries` describe.

    Parameters
    ----------
    entries : mapping
    width : int
        Features of a block.

    Raises
    ------
    DataError
        If this release has no features for the kernel that is named.
    KeyError, ValueError
        If an entry is missing or cannot be read.
    """
    kernel = str(entries["kernel"])
    family = kernel.partition("(")[0]
    if family not in _READERS:
        raise DataError(f"unknown kernel {kernel!r}; known: {', '.join(_READERS)}")
    return _READERS[family](entries, width)
