"""Compiled parser of decimal numbers: returns the nearest float64, like Python's ``float``.

Up to 19 digits and a power of ten become a float64 by one product or quotient of exact numbers
[1]_, or by a product with 128 bits of the power [2]_. The few numbers that neither method decides
(next to the midpoint of two float64, subnormal, overflowing, too long) are left to the caller.

References
----------
.. [1] W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990.
.. [2] D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience
   51(8), 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.system.jit import exact

ONE = np.uint64(1)

_DIGITS = 19
_MAX_DIGITS = 500
_POWER_CAP = 100_000
_LONG_POWER = np.uint64(20)
_MIN_POWER, _MAX_POWER = -342, 308
_EXACT_POWER = 22
_EXACT_POWERS = np.array([float(10**k) for k in range(_EXACT_POWER + 1)])
_LOW_BITS = np.uint64(2**32 - 1)
_ALL_BITS = np.uint64(2**64 - 1)


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the 128 leading bits of 5**q for all q, the high half of each first.

    Truncated, but rounded up for -27 <= q < 0, where a quotient by 5**-q may be exact.
    """
    rows = []
    for q in range(_MIN_POWER, _MAX_POWER + 1):
        power = 5 ** abs(q)
        n = power.bit_length()
        if q >= 0:
            bits = (power << 128) >> n
        elif q >= -27:
            bits = (1 << (n + 127)) // power + 1
        else:
            bits = (1 << (n + 127)) // power
        rows.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(rows, np.uint64)


_FIVES = _powers_of_five()


@exact
def _product(a: int, b: int) -> Any:
    """Return the high and the low half of the product of two uint64."""
    a0, a1, b0, b1 = a & _LOW_BITS, a >> np.uint64(32), b & _LOW_BITS, b >> np.uint64(32)
    low, cross, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    middle = (low >> np.uint64(32)) + (cross & _LOW_BITS) + other
    high += (cross >> np.uint64(32)) + (middle >> np.uint64(32))
    return high, (middle << np.uint64(32)) | (low & _LOW_BITS)


@exact
def _leading_zeros(w: Any) -> Any:
    n = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == np.uint64(0):
            w <<= np.uint64(step)
            n += step
    return n, w


@exact
def _nearest(w: Any, q: Any) -> Any:
    """Return if the result is certain, and the bits of the float64 nearest to w * 10**q; w > 0."""
    if q < _MIN_POWER or q > _MAX_POWER:
        return False, np.uint64(0)
    zeros, w = _leading_zeros(w)
    high, low = _product(w, _FIVES[q - _MIN_POWER, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(w, _FIVES[q - _MIN_POWER, 1])
        low += more
        if more > low:
            high += np.uint64(1)
    if low == _ALL_BITS and (q < -27 or q > 55):
        return False, np.uint64(0)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent: Any = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0:
        return False, np.uint64(0)
    if (
        low <= np.uint64(1)
        and -4 <= q <= 23
        and mantissa & np.uint64(3) == np.uint64(1)
        and mantissa << shift == high
    ):
        mantissa &= ~np.uint64(1)  # exactly at the midpoint: round to even
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >= np.uint64(2**53):
        mantissa = np.uint64(2**52)
        exponent += 1
    if exponent >= 2047:
        return False, np.uint64(0)
    return True, (mantissa & np.uint64(2**52 - 1)) | (np.uint64(exponent) << np.uint64(52))


@exact
def _value(w: Any, q: int, cut: bool) -> Any:
    """Return if the result is certain, and w * 10**q; with ``cut``, w lacks further digits."""
    if w == np.uint64(0):
        return True, 0.0
    if not cut and w < np.uint64(2**53) and -_EXACT_POWER <= q <= _EXACT_POWER:
        if q < 0:
            return True, np.float64(np.int64(w)) / _EXACT_POWERS[-q]
        return True, np.float64(np.int64(w)) * _EXACT_POWERS[q]
    decided, bits = _nearest(w, q)
    if cut and decided:
        above, next_bits = _nearest(w + np.uint64(1), q)
        decided = above and bits == next_bits
    return decided, np.uint64(bits).view(np.float64)


@exact
def read_number(data: NDArray[np.uint8], at: Any) -> Any:
    """Read the number that begins at a position.

    Parameters
    ----------
    data : ndarray of uint8
        The last byte must not be part of a number: it ends the search.
    at : uint64
        The position. (Unsigned: numba checks signed integers for counting from the end.)

    Returns
    -------
    found : bool
        False if there is no number, or if it is left to the caller.
    value : float
        The number.
    at : uint64
        The position after it, if ``found``.
    """
    negative = data[at] == 45
    at += np.uint64(negative | (data[at] == 43))
    first = at
    w, at = _read_digits(data, np.uint64(0), at)
    n_digits = np.int64(at - first)
    q: Any = 0
    if data[at] == 46:
        point = at + ONE
        w, at = _read_digits(data, w, point)
        q = -np.int64(at - point)
        n_digits -= q
    last = at
    if n_digits == 0 or n_digits > _MAX_DIGITS:
        return False, 0.0, at
    if data[at] | 32 == 101:
        power, at = _read_power(data, at + ONE)
        if power == _POWER_CAP:
            return False, 0.0, at
        q += power
    if n_digits > _DIGITS:
        found, value = _long_value(data, first, last, q)
    else:
        found, value = _value(w, q, False)
    return found, -value if negative else value, at


@exact
def _read_digits(data: NDArray[np.uint8], w: Any, at: Any) -> Any:
    """Append digits to w; return it and the position after them."""
    digit = data[at] - np.uint8(48)
    while digit <= 9:
        w = w * np.uint64(10) + np.uint64(digit)
        at += ONE
        digit = data[at] - np.uint8(48)
    return w, at


@exact
def _read_power(data: NDArray[np.uint8], at: Any) -> Any:
    """Return the power of ten, _POWER_CAP if it is invalid, and the position after it."""
    down = data[at] == 45
    at += np.uint64(down | (data[at] == 43))
    start = at
    power: Any = 0
    while 48 <= data[at] <= 57:
        power = min(10 * power + np.int64(data[at]) - 48, _POWER_CAP)
        at += ONE
    if at == start or at > start + _LONG_POWER:
        return _POWER_CAP, at
    return -power if down and power < _POWER_CAP else power, at


@exact
def _long_value(data: NDArray[np.uint8], at: Any, end: Any, q: Any) -> Any:
    """Return `_value` for too many digits for an integer, perhaps with a point."""
    w: Any = np.uint64(0)
    cut: Any = False
    n: Any = 0
    while at < end:
        if data[at] != 46:
            digit = np.uint64(data[at] - np.uint8(48))
            if n < _DIGITS:
                w = w * np.uint64(10) + digit
                n += w > np.uint64(0)
            else:
                cut |= digit > np.uint64(0)
                q += 1
        at += ONE
    return _value(w, q, cut)
