"""Base of validated settings, their common types, and errors that know their place.

Tasks, datasets and papers build their settings on it; it imports nothing of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dsgkit.errors import DsgError, nearest_or_all, spelled

LARGEST_INTEGER = 2**63 - 1  # of an array


class Spec(BaseModel):
    """Base class of settings: unknown keys are errors, types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True
    )


class Problem(ValueError):  # noqa: N818
    """A mistake in settings; validators raise it as well.

    Parameters
    ----------
    text : str
        What is wrong, and what to do.
    *at : str or int
        The keys that lead to the place, from the validated value on.
    """

    def __init__(self, text: str, *at: str | int) -> None:
        super().__init__(text)
        self.text, self.at = text, at


Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], data: Any, *at: str | int) -> Model:
    """Return settings as their model, or raise `Problem`; ``at`` is their place in the config."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # a mistyped key is also a missing one
        first: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    place, kind, raised = first["loc"], first["type"], first.get("ctx", {}).get("error")
    if isinstance(raised, Problem):
        raise Problem(raised.text, *at, *place, *raised.at) from raised.__cause__
    if kind == "extra_forbidden":
        known: Any = model
        for part in place[:-1]:
            annotation = known.model_fields[str(part)].annotation
            # of an optional section: the model, without None
            known = next(iter(get_args(annotation)), annotation)
        check_key(place[-1], known.model_fields, *at, *place[:-1])
    if kind == "missing":
        raise Problem(f"missing key {place[-1]!r}", *at, *place)
    text = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    raise Problem(f"{text}, got {spelled(first['input'])}", *at, *place)


@contextmanager
def at_key(*at: str | int) -> Iterator[None]:
    """Turn errors of a value, or of what it names, into a `Problem` at its key."""
    try:
        yield
    except Problem:
        raise
    except (DsgError, ValueError) as error:
        raise Problem(str(error), *at) from error.__cause__


def check_key(name: str, known: Collection[str], *at: str | int) -> None:
    """Raise `Problem` for a key that is not known."""
    if name not in known:
        raise Problem(f"unknown key {spelled(name)}{nearest_or_all(str(name), known)}", *at, name)


def mapping(value: Any, *at: str | int) -> dict[str, Any]:
    """Return a value that must be a mapping."""
    if not isinstance(value, dict):
        raise Problem(f"must be a mapping of keys to values, got {spelled(value)}", *at)
    return value


def is_finite(value: Any) -> bool:
    """Return whether a value is a number (not a bool) within the range of float."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


def _interval(value: Any) -> tuple[float, float]:
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_finite, value)):
        low, high = map(float, value)
        if low < high:
            return low, high
    raise Problem(f"must be two increasing numbers, such as [0, 1], got {spelled(value)}")


def _size(value: Any) -> Any:
    if value != "all" and not (type(value) is int and 1 <= value <= LARGEST_INTEGER):
        raise Problem(f"must be a whole number >= 1 or 'all', got {spelled(value)}")
    return value


def _line(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", value):
        raise Problem(f"must be printable in a line, got {spelled(value)}")
    return value


def _folder_name(value: str) -> str:
    if not re.fullmatch(r"\w[^/\\\x00-\x1f]{0,99}", value):
        wanted = "starts with a letter or digit, holds no slash and has at most 100 characters"
        raise Problem(f"a name {wanted}, got {spelled(value)}")
    return _line(value)


Text = Annotated[str, Field(min_length=1)]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_line)]
FolderName = Annotated[str, AfterValidator(_folder_name)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Size = Annotated[int | Literal["all"], BeforeValidator(_size)]
Repetitions = Annotated[int, Field(ge=1, le=10_000)]
Folds = Annotated[int, Field(ge=2, le=10_000)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
