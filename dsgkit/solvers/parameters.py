"""Parameters of estimators, declared once: as annotations of their class.

::

    class Ridge(Estimator):
        lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger"), Doc("Weight of ..")] = 0.1
        n_iterations: Annotated[int | None, COUNT, Doc("Iterations.")] = None
        loss: Annotated[Literal["hinge", "ramp"], Doc("Loss.")] = "hinge"
        gamma: Annotated[float | tuple[float, ...], SHARE, OnePer("n_cuts"), Doc("Weight.")] = 0.5

Types say whether a parameter is a number, a whole number, a truth value or one of some words,
whether it may be None, and whether it may be several numbers. What configs accept, what the
constructor's values are checked by, what models of one pass may differ in, how ties between them
end and what the docstring says is read from there; those that several estimators have are in
`dsgkit.solvers.common`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from typing_extensions import Doc

from dsgkit.text.errors import DataError
from dsgkit.text.hints import spelled


@dataclass(frozen=True)
class Range:
    """An interval of numbers.

    Attributes
    ----------
    low, high : float
        Its ends.
    open_low, open_high : bool
        Whether an end itself is excluded.
    """

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, number: float) -> bool:
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below and math.isfinite(number)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The smallest and the largest number in it, None where there is none."""
        low = None if self.open_low or math.isinf(self.low) else float(self.low)
        high = None if self.open_high or math.isinf(self.high) else float(self.high)
        return low, high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{'>' if self.open_low else '>='} {self.low:g}"
        if self.open_low == self.open_high:
            return f"{'strictly ' * self.open_low}between {_text(self.low)} and {_text(self.high)}"
        low, high = (">" if self.open_low else ">="), ("<" if self.open_high else "<=")
        return f"{low} {self.low:g} and {high} {self.high:g}"


def _text(end: float) -> str:
    return str(end) if isinstance(end, int) else f"{end:g}"


@dataclass(frozen=True)
class Smoother:
    """Which values of a parameter make the smoother function: of equal scores, that one wins."""

    values: Literal["larger", "smaller"]


@dataclass(frozen=True)
class _PerModel:
    """Marks a parameter in which the models of one pass may differ."""


@dataclass(frozen=True)
class OnePer:
    """Marks a parameter that may hold several numbers, one for each of a `Trial.counts`."""

    count: str


@dataclass(frozen=True)
class Text:
    """The texts that a parameter takes, where they are not a list of words.

    ``check`` raises `ValueError` for any other text; ``noun`` says what they are.
    """

    check: Callable[[str], Any]
    noun: str


@dataclass(frozen=True)
class Unsaid:
    """A value that is not part of a result's identity: results older than the parameter have it."""

    value: Any


PER_MODEL = _PerModel()
POSITIVE = Range(0, open_low=True)
NOT_NEGATIVE = Range(0)
SHARE = Range(0, 1)
COUNT = Range(1)
SEED = Range(0, 2**64 - 1)
_ANY_NUMBER = Range(-math.inf)

LARGEST_INTEGER = 2**63 - 1
"""The largest whole number of a parameter without a bound of its own: what arrays can count."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator: its default, types, range and documentation.

    Attributes
    ----------
    types : tuple of type
        Of `float`, `int`, `bool`, `str`, `NoneType` and `tuple` (of numbers), those that a value
        may have; none where the class does not say. With words, a text must be one of them.
    range : Range
        Of numbers.
    per_model : bool
        Whether models of one pass may differ in it.
    smoother : {"larger", "smaller"} or None
        As in `Smoother`.
    one_per : str
        As in `OnePer`; empty where it is one value.
    doc : str
        What it is; empty where the class's docstring says so.
    """

    name: str
    default: Any
    types: tuple[type, ...] = ()
    range: Range = _ANY_NUMBER
    words: tuple[str, ...] = ()
    per_model: bool = False
    smoother: Literal["larger", "smaller"] | None = None
    one_per: str = ""
    text: Text | None = None
    unsaid: Unsaid | None = None
    doc: str = ""

    @property
    def numpydoc(self) -> str:
        """Type and default as in a section on parameters, such as ``float > 0, default 0.125``."""
        texts = []
        if {int, float} & set(self.types):
            noun = " or ".join(t.__name__ for t in self.types if t in (int, float))
            texts.append(noun if self.range == _ANY_NUMBER else f"{noun} {self.range}")
        if tuple in self.types:
            texts.append("tuple of such")
        if bool in self.types:
            texts.append("bool")
        if str in self.types and not self.words:
            texts.append("str")
        words = ", ".join(f'"{word}"' for word in self.words)
        if words:
            texts.append(words if texts else f"{{{words}}}")
        if NoneType in self.types:
            texts.append("None")
        default = f'"{self.default}"' if isinstance(self.default, str) else self.default
        kinds = " or ".join(texts).replace(str(SEED.high), "2^64 - 1")
        return f"{kinds}, default {default}"

    def parse(self, value: Any) -> Any:
        """Return a value as the estimator takes it: ``2.0`` is 2 where a whole number is meant.

        Raises
        ------
        ValueError
            If the parameter cannot take it.
        """
        if not self.types:
            return self._like_default(value)
        if isinstance(value, list | tuple | np.ndarray):
            if tuple in self.types and len(value) and all(map(self._takes, value)):
                return tuple(map(float, value))
        elif isinstance(value, bool | np.bool_):
            if bool in self.types:
                return bool(value)
        elif value is None:
            if NoneType in self.types:
                return value
        elif isinstance(value, str):
            if str in self.types and value in (self.words or (value,)):
                self._check_text(value)
                return str(value)  # numpy's texts are a type of their own
        elif _is_finite(value) and _exact(value) in self.range:
            if int in self.types and value == int(value):
                return self._whole(value)
            if float in self.types:
                return float(value)
        raise ValueError(f"must be {self}, got {spelled(value)}")

    def is_unsaid(self, value: Any) -> bool:
        """Return whether a value is not part of a result's identity."""
        return self.unsaid is not None and bool(value == self.unsaid.value)

    def _check_text(self, value: str) -> None:
        if self.text is None:
            return
        try:
            self.text.check(value)
        except ValueError as error:
            raise ValueError(f"must be {self}: {error}") from None

    def _takes(self, entry: Any) -> bool:
        """Return whether one of several numbers is in the range."""
        number = not isinstance(entry, bool | np.bool_) and _is_finite(entry)
        return number and _exact(entry) in self.range

    def _whole(self, value: Any) -> int:
        if self.range.high == math.inf and value > LARGEST_INTEGER:
            raise ValueError(f"must be <= {LARGEST_INTEGER}, got {spelled(value)}")
        return int(value)

    def _like_default(self, value: Any) -> Any:
        """Return a value of a parameter that is not declared, a number in its default's type."""
        if value is None or isinstance(value, str | bool | np.bool_):
            return value
        if not isinstance(value, Real):
            raise ValueError(f"must be one value, got {spelled(value)}")
        if not _is_finite(value):
            raise ValueError(f"must be finite, got {spelled(value)}")
        kind = type(self.default)
        number: Any = value
        return kind(number) if kind is float or (kind is int and number == int(number)) else value

    def __str__(self) -> str:
        texts = []
        if {int, float} & set(self.types):
            noun = "a number" if float in self.types else "a whole number"
            texts.append(noun if self.range == _ANY_NUMBER else f"{noun} {self.range}")
        if tuple in self.types:
            texts.append("a list of such numbers")
        if bool in self.types:
            texts.append("true or false")
        texts += map(spelled, self.words)
        if str in self.types and not self.words:
            texts.append(self.text.noun if self.text else "text")
        if NoneType in self.types:
            texts.append("null")
        return " or ".join(texts)


def _is_finite(value: Any) -> bool:
    """Return whether a value is a number that a float can hold."""
    try:
        return isinstance(value, Real) and math.isfinite(float(value))
    except OverflowError:
        return False


def _exact(value: Any) -> int | float:
    """Return a number of Python's own: a seed of 64 bits is none that a float can hold."""
    return int(value) if isinstance(value, Integral) else float(value)


@functools.cache
def parameters(solver: type) -> Mapping[str, Parameter]:
    """Return the parameters of an estimator's class by name, in the constructor's order."""
    hints = get_type_hints(solver, include_extras=True)
    signature = inspect.signature(solver).parameters.values()
    return {
        p.name: _declared(p.name, p.default, hints.get(p.name))
        for p in signature
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _declared(name: str, default: Any, hint: Any) -> Parameter:
    """Return what an annotation says of a parameter."""
    if hint is None:
        return Parameter(name, default)
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    types, words = _alternatives(kind)
    return Parameter(
        name,
        default,
        types,
        next((mark for mark in marks if isinstance(mark, Range)), _ANY_NUMBER),
        words,
        per_model=PER_MODEL in marks,
        smoother=next((mark.values for mark in marks if isinstance(mark, Smoother)), None),
        one_per=next((mark.count for mark in marks if isinstance(mark, OnePer)), ""),
        text=next((mark for mark in marks if isinstance(mark, Text)), None),
        unsaid=next((mark for mark in marks if isinstance(mark, Unsaid)), None),
        # of an alias that is described anew, the last
        doc=next((mark.documentation for mark in reversed(marks) if isinstance(mark, Doc)), ""),
    )


def _alternatives(kind: Any) -> tuple[tuple[type, ...], tuple[str, ...]]:
    """Return the types and the words of an annotation."""
    types: dict[type, None] = {}
    words: list[str] = []
    for part in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if get_origin(part) is Literal:
            words += get_args(part)
            types[str] = None
        elif part in (float, int, bool, str, NoneType):
            types[part] = None
        elif get_origin(part) is tuple:
            types[tuple] = None
    return tuple(types), tuple(words)


def check_parameters(estimator: Any) -> None:
    """Raise `DataError` unless every parameter of an estimator has a value that it can take."""
    solver: Any = type(estimator)
    for name, parameter in parameters(solver).items():
        try:
            parameter.parse(getattr(estimator, name))
        except ValueError as error:
            raise DataError(f"{name} {error}") from None
