"""What messages quote of a user's names and values."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.errors import MemoryLimitError, nearest_or_all, shown, spelled

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


def test_odd_values_are_shown_and_others_are_spelled_as_in_a_config():
    odd = "\x00\n\ud800" * 10**6, 10**5000, Raising()
    expected = r"'\x00\n\ud800\x00\n", "<int>", "<Raising>"
    assert [shown(value)[: len(text)] for value, text in zip(odd, expected, strict=True)] == [
        *expected
    ]
    assert [spelled(value) for value in (None, True, 3, "a")] == ["null", "true", "3", "'a'"]


MANY = [f"name_{i}" for i in range(100)]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("nome_4", iter(MANY), " (did you mean 'name_4'?)"),
        ("xyz", ["trials", "folds"], "; known: trials, folds"),
        ("xyz", MANY, "; `dsg list x` lists all 100"),
        ("xyz", [], ""),
    ],
)
def test_a_hint_is_the_nearest_name_or_all_or_a_command_that_lists_them(name, known, hint):
    assert nearest_or_all(name, known, "dsg list x") == hint


def test_a_memory_limit_crosses_processes():
    error = pickle.loads(pickle.dumps(MemoryLimitError(2**31, 2**26)))
    assert str(error) == "out of memory limit: needs 2.0 GiB, limit 0.06 GiB"
    assert (error.needed, error.limit) == (2**31, 2**26)
