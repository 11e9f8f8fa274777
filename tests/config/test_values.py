"""Ranges against loops over integers; texts that are none are in wrong_inputs.txt."""

from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.values import parse_number, parse_values


@given(st.sampled_from([2, 3, 10]), st.integers(-20, 20), st.integers(0, 15), st.integers(1, 4))
def test_powers_equal_a_loop(base, first, count, step):
    last = first + count * step
    text = f"{base}^{first}..{base}^{last}" + (f" step {step}" if step > 1 else "")
    values = parse_values(text)
    expected = [float(base**k) if k >= 0 else 1 / base**-k for k in range(first, last + 1, step)]
    assert values == expected
    assert all(type(value) is float for value in values)


@given(st.integers(-500, 500), st.integers(0, 60), st.integers(1, 50), st.integers(0, 4))
def test_steps_equal_the_nearest_floats_of_the_decimals(first, count, step, digits):
    def spell(number):
        sign, number = ("-" if number < 0 else ""), abs(number)
        return f"{sign}{number // 10**digits}.{number % 10**digits:0{digits}d}0"

    last = first + count * step
    values = parse_values(f"{spell(first)}..{spell(last)} step {spell(step)}")
    assert values == [float(spell(n)) for n in range(first, last + 1, step)]


def test_scalars_and_lists_are_kept_as_they_are():
    assert parse_values(3) == [3]
    assert parse_values([1, "2^-2", 0.5]) == [1, 0.25, 0.5]
    assert parse_values("stable") == ["stable"]
    assert parse_values(None) == [None]
    assert parse_number(" 10 ^ -2 ") == 0.01
    assert parse_number("2^x") == "2^x"
