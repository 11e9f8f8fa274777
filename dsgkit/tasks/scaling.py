"""Scaling of features before training: by column, or all by one factor."""

from __future__ import annotations

from typing import Literal

from dsgkit.data.datasets import Dataset
from dsgkit.numerics.arrays import Single
from dsgkit.text.specs import Interval

Scale = Interval | Literal["common"]
"""The interval that every feature is mapped to; or a common factor with which the root mean squared
norm of the rows is 1."""


_WORDS = {
    "common": "features on one common scale",
    "standard": "standardised features",
    "raw": "unscaled features",
}


def scale_words(scale: Scale | Literal["standard", "raw"]) -> str:
    """Return a scale in words, for captions."""
    if isinstance(scale, str):
        return _WORDS[scale]
    low, high = scale
    return f"features scaled to [{low:g}, {high:g}]"


def scaling_of(dataset: Dataset, scale: Scale | Literal["standard"]) -> tuple[Single, Single]:
    """Return offset and factor of every feature, as `Dataset.scaling` does."""
    if scale == "standard":
        return dataset.standard_scaling()
    return dataset.common_scaling() if scale == "common" else dataset.scaling(*scale)
