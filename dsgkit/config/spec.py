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

LARGEST_INTEGER = 2**63 - 1
"""The largest integer of a config: arrays and seeds have signed 64-bit integers."""

LARGEST_NUMBER = 1e150
"""Largest score or time: sums of squares are then finite."""

LONGEST_NAME = 100
"""Characters of the name of an experiment, a solver's key or a class."""

LONGEST_LABEL = 200
"""Characters of a label in a config."""

MAX_REPETITIONS = 10_000
"""Folds of a search, and its repetitions: each fits every point of a grid once more."""


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
    """Return settings as their model; ``at`` is their place in the config.

    Raises
    ------
    Problem
        For the first mistake; unknown keys come first, as a mistyped key is also a missing one.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problem = first_problem(error, model)
        raise Problem(problem.text, *at, *problem.at) from problem.__cause__


def first_problem(error: ValidationError, model: type[BaseModel]) -> Problem:
    """Return the first mistake that pydantic found, in the words of a config."""
    first: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    at, kind, context = first["loc"], first["type"], first.get("ctx", {})
    if isinstance(raised := context.get("error"), Problem):
        problem = Problem(raised.text, *at, *raised.at)
        problem.__cause__ = raised.__cause__
        return problem
    if kind == "extra_forbidden":
        hint = nearest_or_all(str(at[-1]), _known_keys(model, at[:-1]))
        return Problem(f"unknown key {spelled(at[-1])}{hint}", *at)
    if kind == "missing":
        return Problem(f"missing key {at[-1]!r}", *at)
    text = first["msg"].removeprefix("Value error, ")
    for words, plainly in _PLAINLY.items():
        text = text.replace(words, plainly)
    return Problem(f"{text[:1].lower()}{text[1:]}, got {spelled(first['input'])}", *at)


_PLAINLY = {
    "Input should be": "must be",
    "a valid integer": "a whole number",
    "a valid string": "text (put it in quotes)",
    "a valid boolean": "true or false",
    "a valid ": "a ",
    "greater than or equal to": ">=",
    "less than or equal to": "<=",
}
"""Words of pydantic's messages, and ours."""


def _known_keys(model: Any, at: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the model at a place within a model."""
    for part in at:
        annotation = model.model_fields[str(part)].annotation
        # of an optional section: the model, without None
        model = next(iter(get_args(annotation)), annotation)
    return list(getattr(model, "model_fields", ()))


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
        hint = nearest_or_all(str(name), known) if known else ""
        raise Problem(f"unknown key {spelled(name)}{hint}", *at, name)


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
    is_count = isinstance(value, int) and 1 <= value <= LARGEST_INTEGER and value is not True
    if not is_count and value != "all":
        raise Problem(f"must be a whole number >= 1 or 'all', got {spelled(value)}")
    return value


def _line(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", value):
        raise Problem(f"must be printable in a line, got {spelled(value)}")
    return value


def _folder_name(value: str) -> str:
    if not re.fullmatch(r"\w[^/\\\x00-\x1f]*", value):
        raise Problem(
            f"a name starts with a letter or digit and holds no slash, got {spelled(value)}"
        )
    if len(value) > LONGEST_NAME:
        raise Problem(f"must have at most {LONGEST_NAME} characters, got {spelled(value)}")
    return _line(value)


Text = Annotated[str, Field(min_length=1)]
Words = Annotated[str, Field(max_length=1000), AfterValidator(_line)]
"""A text of a task for captions, table heads and axis labels."""

Label = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL), AfterValidator(_line)]
FolderName = Annotated[str, AfterValidator(_folder_name)]
"""A name that is valid for a folder and in figures."""

Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Size = Annotated[int | Literal["all"], BeforeValidator(_size)]
"""A number of rows."""

Repetitions = Annotated[int, Field(ge=1, le=MAX_REPETITIONS)]
Folds = Annotated[int, Field(ge=2, le=MAX_REPETITIONS)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
