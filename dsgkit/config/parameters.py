"""Which values a parameter of a solver may take in a config."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from dsgkit.config.ranges import parse_number
from dsgkit.hints import shown

Scalar = float | int | str | bool | None

LARGEST_INTEGER = 2**63 - 1
"""The largest whole number of a config: what 64 bits hold, as arrays and seeds need."""


def is_finite(value: Any) -> bool:
    """Tell whether a value is a number, not a truth value, that a float can hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


@dataclass(frozen=True)
class Rule:
    """The values of one parameter: an interval of numbers, and words or null beside it.

    Attributes
    ----------
    low, high : float
        The interval.
    open_ends : bool
        Whether the ends themselves are excluded.
    open_low : bool
        Whether the low end alone is excluded.
    whole : bool
        Whether only whole numbers are meant.
    others : tuple
        Texts, and None for null, that are accepted too.
    """

    low: float
    high: float = math.inf
    open_ends: bool = False
    open_low: bool = False
    whole: bool = False
    others: tuple[str | None, ...] = ()

    def parse(self, value: Any) -> Scalar:
        """Return the value as the solver takes it: a float, an int, a word or None.

        Raises
        ------
        ValueError
            If the parameter cannot take it.
        """
        if (value is None or isinstance(value, str)) and value in self.others:
            return value
        number = parse_number(value)
        if is_finite(number) and self._inside(number):
            return int(number) if self.whole else float(number)
        largest = LARGEST_INTEGER if self.whole else sys.float_info.max
        if self.high == math.inf and isinstance(number, int | float) and number > largest:
            raise ValueError(f"must be <= {largest}, got {shown(value)}")
        raise ValueError(f"must be {self}, got {shown(value)}")

    def _inside(self, number: float) -> bool:
        if self.whole and (number != int(number) or number > LARGEST_INTEGER):
            return False
        if self.open_ends:
            return self.low < number < self.high
        if self.open_low:
            return self.low < number <= self.high
        return self.low <= number <= self.high

    def __str__(self) -> str:
        noun = "a whole number" if self.whole else "a number"
        if self.open_low:
            text = f"{noun} > {self.low:g} and <= {self.high:g}"
        elif self.high < math.inf:
            between = " strictly" if self.open_ends else ""
            text = f"{noun}{between} between {self.low:g} and {self.high:g}"
        else:
            text = f"{noun} {'>' if self.open_ends else '>='} {self.low:g}"
        return " or ".join([text, *map(shown, self.others)])


@dataclass(frozen=True)
class Switch:
    """The two truth values."""

    def parse(self, value: Any) -> Scalar:
        """Return the value as it is.

        Raises
        ------
        ValueError
            If it is not a truth value.
        """
        if isinstance(value, bool):
            return value
        raise ValueError(f"must be true or false, got {shown(value)}")


@dataclass(frozen=True)
class Choice:
    """The words that one parameter may be.

    Attributes
    ----------
    words : tuple of str
    """

    words: tuple[str, ...]

    def parse(self, value: Any) -> Scalar:
        """Return the word, or raise `ValueError` if it is none of them."""
        if isinstance(value, str) and value in self.words:
            return value
        raise ValueError(f"must be {self}, got {shown(value)}")

    def __str__(self) -> str:
        return " or ".join(map(shown, self.words))


_POSITIVE = Rule(0, open_ends=True)
_COUNT = Rule(1, whole=True)

RULES: dict[str, Rule | Switch | Choice] = {
    "lam": _POSITIVE,
    "sigma": _POSITIVE,
    "gamma": Rule(0, 1),
    "eta": Rule(-1, 1),
    "theta_lam": _POSITIVE,
    "t0": Rule(0, others=("stable",)),
    "batch_size": _COUNT,
    "n_features": Rule(1, whole=True, others=(None,)),
    "n_iterations": Rule(1, whole=True, others=(None,)),
    "n_centers": Rule(1, whole=True, others=(None,)),
    "prior": Rule(0, 1, open_ends=True, others=("class_proportion", "penl1")),
    "C": _POSITIVE,
    "C_star": Rule(0, others=(None,)),
    "balance": Switch(),
    "max_iter": _COUNT,
    "tol": _POSITIVE,
    "loss": Choice(("shg", "sshg", "ramp", "da")),
    "ramp_s": Rule(-1, 0, open_low=True),
    "step": Rule(0, 1, open_low=True),
    "n_passes": _COUNT,
    "pairs_per_switch": Rule(1, whole=True, others=(None,)),
    "labeled_budget": _COUNT,
    "unlabeled_budget": Rule(0, 1),
    "max_memory": Rule(0, open_ends=True, others=(None,)),
    "random_state": Rule(0, whole=True),
}
"""The parameters whose values are checked before anything runs."""


def parse_parameter(name: str, value: Any) -> Scalar:
    """Return a parameter's value, checked by its rule if it has one.

    Raises
    ------
    ValueError
        If the parameter cannot take the value, or it is not a scalar.
    """
    return RULES[name].parse(value) if name in RULES else _parse_scalar(value)


def parse_like(default: Any, value: Any) -> Scalar:
    """Return the value of a parameter that has no rule, a number in its default's type.

    ``2^5`` is 32 where the default is 10, and ``1`` is 1.0 where it is 0.5.

    Raises
    ------
    ValueError
        If the value is not a scalar, or not finite.
    """
    parsed: Any = _parse_scalar(value)
    kind = type(default)
    if is_finite(parsed) and (kind is float or (kind is int and parsed == int(parsed))):
        return kind(parsed)
    return parsed


def _parse_scalar(value: Any) -> Scalar:
    parsed = parse_number(value)
    if parsed is not None and not isinstance(parsed, float | int | str | bool):
        raise ValueError(f"must be one value, got {shown(value)}")
    if isinstance(parsed, float) and not math.isfinite(parsed):
        raise ValueError(f"must be finite, got {shown(value)}")
    return parsed
