"""Datasets: catalogue, download, parsing, memory maps and targets.

What reads data is imported on first use: validation of configs needs only the catalogue.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset", "load_dataset"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from dsgkit.data import dataset

        return getattr(dataset, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
