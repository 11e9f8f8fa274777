"""Ranges against loops over integers; texts that are none are in wrong_inputs.txt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.spec import parse_number, parse_values


@given(st.sampled_from([2, 3, 10]), st.integers(-20, 20), st.integers(0, 15), st.integers(1, 4))
def test_powers_equal_a_loop(base, first, count, step):
    last = first + count * step
    text = f"{base}^{first}..{base}^{last}" + (f" step {step}" if step > 1 else "")
    expected = [float(base**k) if k >= 0 else 1 / base**-k for k in range(first, last + 1, step)]
    assert parse_values(text) == expected


@given(st.integers(-500, 500), st.integers(0, 60), st.integers(1, 50), st.integers(0, 4))
def test_steps_equal_the_nearest_floats_of_the_decimals(first, count, step, digits):
    def spell(number):
        sign, number = ("-" if number < 0 else ""), abs(number)
        return f"{sign}{number // 10**digits}.{number % 10**digits:0{digits}d}0"

    last = first + count * step
    values = parse_values(f"{spell(first)}..{spell(last)} step {spell(step)}")
    assert values == [float(spell(n)) for n in range(first, last + 1, step)]


def test_scalars_and_lists_are_kept_as_they_are():
    assert [parse_values(x) for x in (3, "stable", None)] == [[3], ["stable"], [None]]
    assert parse_values([1, "2^-2", 0.5]) == [1, 0.25, 0.5]
    assert [parse_number(x) for x in (" 10 ^ -2 ", "2^x")] == [0.01, "2^x"]
    assert len(parse_values("1..1000 step 1")) == 1000
    for text in ("1..1001 step 1", [0] * 1001, "10^-400", "0^-1"):
        with pytest.raises(ValueError):
            parse_values(text)
