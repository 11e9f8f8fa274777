"""Base of validated settings: strict models, common types, and errors with their place."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from dsgkit.errors import spelled

LARGEST_INTEGER = 2**63 - 1
"""The largest integer of a config: arrays and seeds have signed 64-bit integers."""

MOST_REPETITIONS = 10_000
"""Folds of a search, and its repetitions: each fits every point of a grid once more. The number of
trials is bounded by the number of cells."""

LONGEST_NAME = 100
"""Characters of the name of an experiment, a solver's key or a class."""

LARGEST_NUMBER = 1e150
"""Largest score or time: sums of squares are then finite."""


class Spec(BaseModel):
    """Base class of settings: unknown keys are errors, types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True
    )


def problem(text: str, *at: str | int, cause: BaseException | None = None) -> PydanticCustomError:
    """Return an error for a validator to raise; ``at`` is its path within the validated value."""
    return PydanticCustomError("problem", "{text}", {"text": text, "at": at, "cause": cause})


def is_finite(value: Any) -> bool:
    """Return whether a value is a number (not a bool) within the range of float."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


def _interval(value: Any) -> tuple[float, float]:
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_finite, value)):
        low, high = map(float, value)
        if low < high:
            return low, high
    raise problem(f"must be two increasing numbers, such as [0, 1], got {spelled(value)}")


Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Repetitions = Annotated[int, Field(ge=1, le=MOST_REPETITIONS)]
Folds = Annotated[int, Field(ge=2, le=MOST_REPETITIONS)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
