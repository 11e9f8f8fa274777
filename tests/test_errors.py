"""What messages quote of a user's names and values."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.errors import (
    MemoryLimitError,
    did_you_mean,
    nearest_or_all,
    shown,
    spelled,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES, st.integers(4, 90))
def test_a_value_is_its_repr_in_one_short_printable_line(value, most):
    text = shown(value, most)
    assert text.isprintable() and len(text) <= most
    if repr(value).isprintable() and len(repr(value)) <= most:
        assert text == repr(value)


class Raising:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ("\x00\n\ud800" * 10**6, r"'\x00\n\ud800\x00\n"),
        (10**5000, "<int>"),
        (Raising(), "<Raising>"),
    ],
    ids=["text", "digits", "raising"],
)
def test_odd_values_are_shown(value, start):
    assert shown(value).startswith(start) and len(shown(value)) <= 80


def test_values_are_spelled_as_in_a_config():
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]


def test_hints_name_the_nearest_or_all_or_a_command_that_lists_them():
    """Of few names they are in wrong_inputs.txt."""
    few, many = ["trials", "folds"], [f"name_{i}" for i in range(100)]
    nearest = "; nearest of 100: name_4, name_14, name_24, name_34, name_40"
    for hint, expected in (
        (did_you_mean("qqq", few), ""),
        (nearest_or_all("nome_4", iter(many)), " (did you mean 'name_4'?)"),
        (nearest_or_all("4", many), nearest),
        (nearest_or_all("4", many, "dsg list x"), f"{nearest}; `dsg list x` lists all"),
        (nearest_or_all("xyz", many, "dsg list x"), "; `dsg list x` lists all 100"),
    ):
        assert hint == expected


def test_a_memory_limit_crosses_processes():
    error = pickle.loads(pickle.dumps(MemoryLimitError(2**31, 2**30)))
    assert str(error) == "out of memory limit: needs 2.0 GiB, limit 1.0 GiB"
    assert (error.needed, error.limit) == (2**31, 2**30)
