"""Datasets: catalogue, download, parsing, memory maps and targets.

Modules that read data are imported on first use: validation of configs needs only the catalogue,
and no numpy.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset", "load_dataset"]


def __getattr__(name: str) -> Any:
    """Import an exported name from its module (PEP 562)."""
    if name in __all__:
        from dsgkit.data import dataset

        return getattr(dataset, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
