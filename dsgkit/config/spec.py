"""Base of validated settings: common types, ranges, and errors that know their place."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dsgkit.errors import nearest_or_all, spelled

LARGEST_INTEGER = 2**63 - 1  # of an array
MAX_VALUES = 1000  # of a grid; more are assumed to be a mistake

_NUMBER = r"[-+]?(?:\d{1,99}\.?\d{0,99}|\.\d{1,99})(?:[eE][-+]?\d{1,2})?"
_POWER, _EXPONENT = r"(\d{1,9})\s*\^\s*", r"([-+]?\d{1,4})"
_POWERS = rf"{_POWER}{_EXPONENT}\s*\.\.\s*\1\s*\^\s*{_EXPONENT}(?:\s+step\s+(\d{{1,9}}))?"
_STEPS = rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s+step\s+({_NUMBER})"


class Spec(BaseModel):
    """Base class of settings: unknown keys are errors, types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True
    )


class Problem(ValueError):  # noqa: N818
    """A mistake in settings, at the keys that lead to it from the validated value on."""

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
        mapping({place[-1]: None}, *at, *place[:-1], known=known.model_fields)
    if kind == "missing":
        raise Problem(f"missing key {place[-1]!r}", *at, *place)
    text = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if kind == "list_type" and isinstance(first["input"], str | int | float):
        text = f"must be a list, such as [{first['input']}]"
    raise Problem(f"{text}, got {spelled(first['input'])}", *at, *place)


def mapping(value: Any, *at: str | int, known: Collection[str] | None = None) -> dict[str, Any]:
    """Return a value that must be a mapping, of ``known`` keys if these are given."""
    if not isinstance(value, dict):
        raise Problem(f"must be a mapping of keys to values, got {spelled(value)}", *at)
    if known is not None:
        for key in value:
            if key not in known:
                raise Problem(f"unknown key {spelled(key)}{nearest_or_all(key, known)}", *at, key)
    return value


def parse_number(value: Any) -> Any:
    """Return the value of a power such as ``2^-3``, or of those in a list; others unchanged."""
    if isinstance(value, list):
        return [parse_number(item) for item in value]
    power = re.fullmatch(_POWER + _EXPONENT, value.strip()) if isinstance(value, str) else None
    if power is None:
        return value
    with suppress(ArithmeticError):
        if number := float(Fraction(power[1]) ** int(power[2])):
            return number
    raise ValueError(f"{power[1]}^{power[2]} is no floating point number")


def parse_values(value: Any) -> list[Any]:
    """Return the values of a grid entry: a list, one value, or a range such as ``2^-3..2^3``.

    A range includes both ends; ``ValueError`` for a text with ``..`` that is none, or for too many.
    """
    if not (isinstance(value, str) and ".." in value):
        values: list[Any] = parse_number(value if isinstance(value, list) else [value])
        if len(values) > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES} values")
        return values
    match = re.fullmatch(_POWERS, value.strip()) or re.fullmatch(_STEPS, value.strip())
    if match is None:
        advice = "write 2^-3..2^3, 0..1 step 0.1, a number or a list"
        raise ValueError(f"{spelled(value)} is not a range: {advice}")
    *base, first, last, step = match.groups("1")
    start, end, by = map(Fraction, (first, last, step))
    count = (end - start) / by if by > 0 else Fraction(-1)
    if not 0 <= count < MAX_VALUES or count.denominator != 1:
        advice = f"must ascend to its end in whole steps, in at most {MAX_VALUES} values"
        raise ValueError(f"{spelled(value)} {advice}")
    numbers = [start + i * by for i in range(int(count) + 1)]
    return [parse_number(f"{base[0]}^{n}") if base else float(n) for n in numbers]


def is_finite(value: Any) -> bool:
    """Return whether a value is a number (not a bool) within the range of float."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


def _interval(value: Any) -> tuple[float, float]:
    if isinstance(value, list | tuple) and [type(x) in (int, float) for x in value] == [True] * 2:
        low, high = value
        in_range = -sys.float_info.max <= low <= high <= sys.float_info.max
        if in_range and float(low) < float(high):
            return float(low), float(high)
    raise Problem(f"must be two increasing numbers, such as [0, 1], got {spelled(value)}")


def _size(value: Any) -> Any:
    if value != "all" and not (type(value) is int and 1 <= value <= LARGEST_INTEGER):
        raise Problem(f"must be a whole number >= 1 or 'all', got {spelled(value)}")
    return value


def _matching(pattern: str, wanted: str, value: str) -> str:
    if not re.fullmatch(pattern, value):
        raise Problem(f"{wanted}, got {spelled(value)}")
    return value


_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_NAME = "a name starts with a letter or digit, holds no slash and has at most 100 characters"
_folder_name = partial(_matching, rf"\w[^/\\{_UNPRINTABLE}]{{0,99}}", _NAME)
_line = partial(_matching, rf"[^{_UNPRINTABLE}]*", "must be printable in a line")

Text = Annotated[str, Field(min_length=1)]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_line)]
FolderName = Annotated[str, AfterValidator(_folder_name)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Size = Annotated[int | Literal["all"], BeforeValidator(_size)]
Repetitions = Annotated[int, Field(ge=1, le=10_000)]
Folds = Annotated[int, Field(ge=2, le=10_000)]
Interval = Annotated[tuple[float, float], BeforeValidator(_interval)]
