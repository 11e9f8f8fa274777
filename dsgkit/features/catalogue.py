"""The kind of random features of each kernel, to read them from a model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dsgkit.errors import DataError
from dsgkit.features.blocks import FeatureBlocks
from dsgkit.features.fourier import FourierFeatures
from dsgkit.kernels import KERNELS

_READERS: dict[str, Callable[[Mapping[str, Any], int], FeatureBlocks]] = {
    kernel.name: FourierFeatures.from_entries
    for kernel in KERNELS.values()
    if kernel.frequencies is not None
}


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
    if kernel not in _READERS:
        raise DataError(f"unknown kernel {kernel!r}; known: {', '.join(_READERS)}")
    return _READERS[kernel](entries, width)
