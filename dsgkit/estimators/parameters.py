"""Parameters of estimators, declared as annotations of their class.

::

    class Ridge(Estimator):
        lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")] = 0.1
        n_iterations: Annotated[int | None, COUNT] = None
        loss: Literal["hinge", "ramp"] = "hinge"
        gamma: Annotated[float | tuple[float, ...], SHARE, OnePer("n_cuts")] = 0.5

The type says whether a parameter is a number, an integer, a bool or one of some words, and whether
it may be None or a tuple of numbers. These declarations define what configs and constructors
accept, in which parameters the models of one pass may differ, and how ties in a search are broken.
What a parameter means stands in the class's docstring.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from dsgkit.errors import DataError, shown, spelled
from dsgkit.kernels import kernel_named


@dataclass(frozen=True)
class Range:
    """An interval of numbers, of which an end may be excluded."""

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
        """The smallest and the largest number in the interval, None where there is none."""
        low = None if self.open_low or math.isinf(self.low) else float(self.low)
        high = None if self.open_high or math.isinf(self.high) else float(self.high)
        return low, high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{'>' if self.open_low else '>='} {self.low:g}"
        if self.open_low == self.open_high:
            ends = (str(x) if isinstance(x, int) else f"{x:g}" for x in (self.low, self.high))
            return f"{'strictly ' * self.open_low}between {' and '.join(ends)}"
        low, high = (">" if self.open_low else ">="), ("<" if self.open_high else "<=")
        return f"{low} {self.low:g} and {high} {self.high:g}"


@dataclass(frozen=True)
class Smoother:
    """Which values of a parameter make the function smoother; these win ties in a search."""

    values: Literal["larger", "smaller"]


@dataclass(frozen=True)
class OnePer:
    """Marks a parameter that may hold several numbers; their number is one of a trial's counts."""

    count: str


@dataclass(frozen=True)
class Text:
    """The texts that a parameter accepts, if these are not a fixed list of words.

    ``check`` raises `ValueError` for other texts; ``noun`` names the accepted ones in messages.
    """

    check: Callable[[str], Any]
    noun: str


@dataclass(frozen=True)
class LegacyDefault:
    """A value that is left out of a result's identity: results older than the parameter have it."""

    value: Any


PER_MODEL = "per model"
"""Marks a parameter in which models that are trained in one pass may differ."""

POSITIVE = Range(0, open_low=True)
NOT_NEGATIVE = Range(0)
SHARE = Range(0, 1)
COUNT = Range(1)
SEED = Range(0, 2**64 - 1)
_ANY_NUMBER = Range(-math.inf)

LARGEST_INTEGER = 2**63 - 1
"""The largest integer of a parameter without an upper bound: that of a 64-bit array."""

Spell = Callable[[object], str]

in_python = functools.partial(shown, most=60)
"""Spells values for messages of estimators; those of configs have `spelled`."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator: its default, and what its annotation declares.

    ``types`` are some of `float`, `int`, `bool`, `str`, `NoneType` and `tuple` (of numbers); empty
    without an annotation. ``words`` are the accepted texts, unless any or those of ``text`` are.
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
    legacy_default: LegacyDefault | None = None

    def parse(self, value: Any, spell: Spell = spelled) -> Any:
        """Return a value in the estimator's type: ``2.0`` becomes 2 for an integer.

        `ValueError` for one that is not accepted spells values as a config does, or by ``spell``.
        """
        if not self.types:
            return self._like_default(value, spell)
        if isinstance(value, list | tuple | np.ndarray):
            if tuple in self.types and len(value) and all(map(self._accepts, value)):
                return tuple(map(float, value))
        elif isinstance(value, bool | np.bool_):
            if bool in self.types:
                return bool(value)
        elif value is None:
            if NoneType in self.types:
                return value
        elif isinstance(value, str):
            if str in self.types and value in (self.words or (value,)):
                self._check_text(value, spell)
                return str(value)  # not numpy.str_
        elif _is_finite(value) and _exact(value) in self.range:
            if int in self.types and value == int(value):
                if self.range.high == math.inf and value > LARGEST_INTEGER:
                    raise ValueError(f"must be <= {LARGEST_INTEGER}, got {spell(value)}")
                return int(value)
            if float in self.types:
                return float(value)
        raise ValueError(f"must be {self.accepted(spell)}, got {spell(value)}")

    def is_legacy_default(self, value: Any) -> bool:
        """Return whether a value is left out of a result's identity."""
        return self.legacy_default is not None and bool(value == self.legacy_default.value)

    def _check_text(self, value: str, spell: Spell) -> None:
        if self.text is None:
            return
        try:
            self.text.check(value)
        except ValueError as error:
            raise ValueError(f"must be {self.accepted(spell)}: {error}") from None

    def _accepts(self, entry: Any) -> bool:
        """Return whether an entry of a tuple is a number in the range."""
        number = not isinstance(entry, bool | np.bool_) and _is_finite(entry)
        return number and _exact(entry) in self.range

    def _like_default(self, value: Any, spell: Spell) -> Any:
        """Return a value of an undeclared parameter, numbers in the type of the default."""
        if value is None or isinstance(value, str | bool | np.bool_):
            return value
        if not isinstance(value, Real):
            raise ValueError(f"must be one value, got {spell(value)}")
        if not _is_finite(value):
            raise ValueError(f"must be finite, got {spell(value)}")
        kind = type(self.default)
        number: Any = value
        return kind(number) if kind is float or (kind is int and number == int(number)) else value

    def accepted(self, spell: Spell = spelled) -> str:
        """Return the accepted values in words."""
        texts = []
        if {int, float} & set(self.types):
            noun = "a number" if float in self.types else "a whole number"
            texts.append(noun if self.range == _ANY_NUMBER else f"{noun} {self.range}")
        if tuple in self.types:
            texts.append("a list of such numbers")
        if bool in self.types:
            texts.append(f"{spell(True)} or {spell(False)}")
        texts += map(spell, self.words)
        if str in self.types and not self.words:
            texts.append(self.text.noun if self.text else "text")
        if NoneType in self.types:
            texts.append(spell(None))
        return " or ".join(texts)


def _is_finite(value: Any) -> bool:
    """Return whether a value is a finite number within the range of a float."""
    try:
        return isinstance(value, Real) and math.isfinite(float(value))
    except OverflowError:
        return False


def _exact(value: Any) -> int | float:
    """Return a Python int or float; a float cannot represent every 64-bit seed."""
    return int(value) if isinstance(value, Integral) else float(value)


@functools.cache
def parameters(solver: type) -> Mapping[str, Parameter]:
    """Return the parameters of an estimator's class by name, in the constructor's order."""
    hints = get_type_hints(solver, include_extras=True)
    signature = inspect.signature(solver).parameters.values()
    named = {
        p.name: p.default for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    return {
        name: _declared(name, default, hints.get(name))
        for name, default in (named | behind_keywords(solver)).items()
    }


def behind_keywords(solver: type) -> dict[str, Any]:
    """Return those of ``get_params()`` that a constructor takes by ``**kwargs``, with defaults."""
    signature = inspect.signature(solver).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in signature.values()):
        return {}
    return {n: value for n, value in solver().get_params().items() if n not in signature}


def is_same(value: Any, other: Any) -> bool:
    """Return whether two values of a parameter are equal; NaN is equal to NaN."""
    return bool(value is other or value == other or (value != value and other != other))


def _declared(name: str, default: Any, hint: Any) -> Parameter:
    """Return a parameter from its annotation."""
    if hint is None:
        return Parameter(name, default)
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
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

    def marked(kind: type, without: Any = None) -> Any:
        return next((mark for mark in marks if isinstance(mark, kind)), without)

    return Parameter(
        name,
        default,
        tuple(types),
        marked(Range, _ANY_NUMBER),
        tuple(words),
        per_model=PER_MODEL in marks,
        smoother=getattr(marked(Smoother), "values", None),
        one_per=getattr(marked(OnePer), "count", ""),
        text=marked(Text),
        legacy_default=marked(LegacyDefault),
    )


def check_parameters(estimator: Any) -> None:
    """Raise `DataError` unless every parameter of an estimator has an accepted value."""
    solver: Any = type(estimator)
    for name, parameter in parameters(solver).items():
        value = getattr(estimator, name)
        if not parameter.types and is_same(value, parameter.default):
            continue  # some classes have NaN or infinity as a default
        if name == "random_state" and (value is None or isinstance(value, np.random.RandomState)):
            continue  # not in configs, whose results must be those of a number
        if name == "classes":
            continue  # not in configs, whose targets say the order
        try:
            parameter.parse(value, in_python)
        except ValueError as error:
            raise DataError(f"{name} {error}") from None


def _check_fourier_kernel(name: str) -> None:
    if not kernel_named(name).shift_invariant:
        raise ValueError("this kernel has no random frequencies")


def _check_kernel_with_features(name: str) -> None:
    if not kernel_named(name).has_random_features:
        raise ValueError("this kernel has no random features; dot_product(1) with sigma = 1 has")


# Parameters that several estimators share.

Lam = Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
Gamma = Annotated[float, SHARE, PER_MODEL]
GammaPerCut = Annotated[float | tuple[float, ...], SHARE, PER_MODEL, OnePer("n_cuts")]
OwnHingeWeight = Annotated[float, POSITIVE, Smoother("smaller")]
OwnCStar = Annotated[float | None, NOT_NEGATIVE]
OwnCStarRatio = Annotated[float | None, NOT_NEGATIVE, LegacyDefault(None)]
HingeWeight = Annotated[OwnHingeWeight, PER_MODEL]
CStar = Annotated[OwnCStar, PER_MODEL]
CStarRatio = Annotated[OwnCStarRatio, PER_MODEL]
RampS = Annotated[float, Range(-1, 0, open_low=True), PER_MODEL]
Sigma = Annotated[float | Literal["scale"], POSITIVE, Smoother("smaller")]
KernelName = Annotated[
    str, Text(_check_kernel_with_features, "the name of a kernel"), LegacyDefault("gaussian")
]
FourierKernelName = Annotated[
    str,
    Text(_check_fourier_kernel, "the name of a shift-invariant kernel"),
    LegacyDefault("gaussian"),
]
GramKernelName = Annotated[
    str, Text(kernel_named, "the name of a kernel"), LegacyDefault("gaussian")
]
GaussianOrLinear = Annotated[Literal["gaussian", "linear"], LegacyDefault("gaussian")]
LinearOrKernel = Annotated[str, Text(kernel_named, "linear or the name of a kernel")]
Count = Annotated[int, COUNT]
Frequencies = Annotated[Literal["independent", "structured"], LegacyDefault("independent")]
PassIterations = Annotated[int | None, COUNT]
ThetaLam = Annotated[float, POSITIVE, PER_MODEL]
T0 = Annotated[float | Literal["stable"], NOT_NEGATIVE, PER_MODEL]
if TYPE_CHECKING:
    RandomState = int | np.random.RandomState | None  # in a config, a number
    Classes = Sequence[Any] | None  # in a config, None: a target says the order
else:
    RandomState = Annotated[int, SEED]
    Classes = Annotated[None, LegacyDefault(None)]
Delta = Annotated[Literal["abs", "relu", "leaky_relu", "none"], PER_MODEL]
Leak = Annotated[float, Range(-1, 0), PER_MODEL]
Theta = Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller")]
Prior = Annotated[
    float | Literal["estimate"], Range(0, 1, open_low=True, open_high=True), PER_MODEL
]
ThresholdRule = Literal["logistic", "absolute", "share", "hinge"]
MaxMemory = Annotated[float | None, POSITIVE]
Tolerance = Annotated[float, POSITIVE]
UnlabeledLabel = int | float | str
