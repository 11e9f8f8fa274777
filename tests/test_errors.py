"""What messages quote of a user's values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.text.errors import shown

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.tuples() | st.dictionaries(st.text(), inner)
    ),
    max_leaves=8,
)


@given(VALUES, st.integers(4, 90))
def test_a_value_is_its_repr_as_far_as_a_line_goes(value, most):
    text = shown(value, most)
    assert (
        text == repr(value) if len(repr(value)) <= most else text == repr(value)[: most - 3] + "..."
    )
    assert text.isprintable()


def laughs(levels=40):
    """Lists of ten times the one before: 10^40 parts in forty lists."""
    value = ["lol"]
    for _ in range(levels):
        value = [value] * 10
    return value


def nested(levels=200_000):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def endless():
    value = {}
    value["itself"] = value
    return value


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no")


class Lines:
    def __repr__(self):
        return "one\ntwo\x1b[31m"


@pytest.mark.parametrize(
    ("value", "start"),
    [
        (laughs(), "[" * 41 + "'lol'], "),
        (endless(), "{'itself': {'itself': "),
        ("\x00\n\ud800" * 10**6, r"'\x00\n\ud800\x00\n"),
        (10**5000, "<int>"),
        (Unspeakable(), "<Unspeakable>"),
        (Lines(), r"one\ntwo\x1b[31m"),
    ],
    ids=["laughs", "endless", "text", "digits", "raising", "lines"],
)
def test_whatever_it_is_a_value_is_one_short_printable_line(value, start):
    text = shown(value)
    assert text.startswith(start)
    assert len(text) <= 80
    assert text.isprintable()


def test_a_deep_value_is_shown_too():
    value = nested()
    assert shown(value) == "[" * 77 + "..."
    while value:  # one level at a time: Python frees nested lists by recursion
        value = value.pop()
