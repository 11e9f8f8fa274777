"""Base of all validated settings: strict models, plain types, and errors with their place."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from dsgkit.text.hints import spelled

LARGEST_INTEGER = 2**63 - 1
"""The largest whole number of a config: what 64 bits hold, as arrays and seeds need."""

MOST_REPETITIONS = 10_000
"""Folds of a search, and times that it is repeated: each fits every point of a grid once more.
How many trials there can be follows from how many cells there can be."""

LONGEST_NAME = 100
"""Characters of names: of an experiment, a solver's key, a class."""

LARGEST_NUMBER = 1e150
"""Largest score or time: squares, and their sums, are finite."""


class Spec(BaseModel):
    """Settings of one part: unknown keys are errors, types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True
    )


def problem(text: str, *at: str | int, cause: BaseException | None = None) -> PydanticCustomError:
    """Return an error for a validator to raise; ``at`` leads from the validated value to it."""
    return PydanticCustomError("problem", "{text}", {"text": text, "at": at, "cause": cause})


def is_finite(value: Any) -> bool:
    """Return whether a value is a number, not a truth value, that a float can hold."""
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
