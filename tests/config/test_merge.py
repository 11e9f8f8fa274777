"""Merging documents: against a dictionary of leaves, and where values come from."""

from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.merge import merge, subdocument, without
from dsgkit.config.yaml_loader import dump, parse_document

KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)
TREES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=3)


def leaves(tree, key=()):
    if not isinstance(tree, dict):
        return {key: tree}
    return {k: v for name, value in tree.items() for k, v in leaves(value, (*key, name)).items()}


def document(tree, source):
    return parse_document(dump(tree), source)


def related(key, other):
    size = min(len(key), len(other))
    return key[:size] == other[:size]


@given(TREES, TREES)
def test_leaves_are_those_of_over_and_what_it_leaves_of_base(base, over):
    merged = merge(document(base, "base"), document(over, "over"))
    kept = {k: v for k, v in leaves(base).items() if not any(related(k, o) for o in leaves(over))}
    assert leaves(merged.data) == kept | leaves(over)
    for key in kept:
        assert merged.mark(key).source == "base"
    for key in leaves(over):
        assert merged.mark(key).source == "over"


@given(TREES, TREES)
def test_marks_are_of_what_is_there(base, over):
    merged = merge(document(base, "base"), document(over, "over"))
    again = parse_document(dump(merged.data), "again")
    assert merged.marks.keys() == again.marks.keys()


@given(TREES, TREES, TREES)
def test_inputs_are_left_alone_and_merging_twice_changes_nothing(a, b, c):
    first, second = document(a, "a"), document(b, "b")
    merged = merge(first, second)
    assert merge(merged, second).data == merged.data
    merge(merged, document(c, "c"))
    assert (first.data, second.data) == (a, b)
    assert merged.data == merge(first, second).data


def test_a_sweep_is_replaced_whole():
    base = document({"sweep": {"unlabeled": [1]}, "profiles": {"p": {"sweep": {"a": [1]}}}}, "b")
    over = document({"sweep": {"labeled": [2]}, "profiles": {"p": {"sweep": {"c": [2]}}}}, "o")
    assert merge(base, over).data == over.data


def test_parts_of_a_document():
    whole = parse_document("a: 1\nb:\n  c: 2\n", "f")
    part = subdocument(whole, ("b",))
    assert part.data == {"c": 2}
    assert part.mark(("c",)).line == 3
    rest = without(whole, "b")
    assert rest.data == {"a": 1}
    assert set(rest.marks) == {(), ("a",)}
