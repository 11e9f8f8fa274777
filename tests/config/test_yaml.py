"""Strict YAML: against the core schema's table, as the inverse of dump, and merged."""

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.yaml import dump, parse, read_document
from dsgkit.errors import ConfigError


def load(text):
    return parse(text, "c.yaml").data


SCALARS = """
1e-3 0.001, 2.0e3 2000.0, 1E3 1000.0, .5 0.5, -2. -2.0, +.5e+1 5.0, !!float#1 1.0, -.inf -inf
12 12, -12 -12, 010 10, 0o17 15, 0xFf 255, true True, FALSE False, ~ None, null None
10:30 '10:30', 1_000 '1_000', on 'on', off 'off', yes 'yes', No 'No', tRue 'tRue', << '<<'
2^-3..2^3 '2^-3..2^3', 2020-01-01 '2020-01-01', 1e '1e', 0b11 '0b11', '1' '1', !!str#1 '1'
"""


def test_scalars_are_those_of_the_core_schema():
    for row in re.split(r"\n|, ", SCALARS.strip()):
        text, value = row.split()
        assert repr(load(f"a: {text.replace('#', ' ')}")["a"]) == value, text
    assert math.isnan(load("a: .nan")["a"])


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
LOOKS_LIKE_SOMETHING = st.sampled_from(
    ["1e-3", "0o17", "on", "yes", "10:30", "null", "~", "1", "true", "2^-3", "<<", "=", ".inf", ""]
)


@given(PLAIN | LOOKS_LIKE_SOMETHING.map(lambda text: {"a": [text], text: 1}))
def test_dump_is_read_back(data):
    assert load(dump(data)) == data


def test_every_key_and_item_has_its_line_and_an_override_its_text():
    text = "# comment\na:\n  b: 1\n\n  c:\n  - 2\n  - {d: 3}\ne: [4,\n  5]\nf: &x {b: 1}\ng: *x\n"
    places = parse(text, "c.yaml").places
    lines = {".".join(map(str, key)): int(place.split(":")[1]) for key, place in places.items()}
    assert lines == {
        **{"": 2, "a": 2, "a.b": 3, "a.c": 5, "a.c.0": 6, "a.c.1": 7, "a.c.1.d": 7},
        **{"e": 8, "e.0": 8, "e.1": 9, "f": 10, "f.b": 10, "g": 11, "g.b": 10},
    }
    assert load(text) == yaml.safe_load(text)
    assert set(parse("{a: [1]}", "--set x").places.values()) == {"--set x"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n- 1\n- 2\n", "c.yaml:2: a config is a mapping of keys to values"),
        (b"codrna\n", "c.yaml:1: a config is a mapping of keys to values"),
        (b"a: \xff\n", "c.yaml: cannot be read: not UTF-8 text; save it as UTF-8"),
        (b"a: 1\nb: \x07\n", "c.yaml:2: not valid YAML: special characters are not allowed"),
        (b'a: "\\ud800"\n', r"c.yaml:1: not valid YAML: '\ud800' is not of type !!str"),
        (b"seed: " + b"9" * 5000, "c.yaml:1: not valid YAML: '9999"),
        (b"x: " + b"[" * 20_000, "c.yaml:1: nested too deeply"),
        (None, "c.yaml: cannot be read: No such file or directory"),
    ],
)
def test_files_that_are_no_configs_are_one_line(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    path = tmp_path.relative_to(tmp_path) / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_document(path)
    line = str(error.value)
    assert line.startswith(message) and line.isprintable() and len(line) < 300


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": 2}
    assert document.places["b",].endswith("c.yaml:2")


VALUES = st.recursive(
    st.integers(0, 9) | st.lists(st.integers(0, 9), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=8,
)
TREES = st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1, max_size=3)


def laid_over(base, over, key=()):
    """Return two trees merged, and the source of every leaf."""
    if not (isinstance(over, dict) and isinstance(base, dict)):
        return (base, {key: "base"}) if over is None else (over, {key: "over"})
    parts = {
        name: laid_over(base.get(name), over.get(name), (*key, name)) for name in {**base, **over}
    }
    sources = {k: source for _, found in parts.values() for k, source in found.items()}
    return {name: data for name, (data, _) in parts.items()}, sources


@given(TREES, TREES)
def test_trees_are_merged_with_the_place_of_every_leaf(base, over):
    first, second = parse(dump(base), "base"), parse(dump(over), "over")
    merged = first.merged(second)
    expected, sources = laid_over(base, over)
    assert merged.data == expected
    assert {key: merged.places[key].split(":")[0] for key in sources} == sources
    assert merged.places.keys() == parse(dump(merged.data), "again").places.keys()
    assert merged.merged(second) == merged
    assert (first.data, second.data) == (base, over)


def test_a_sweep_is_replaced_whole():
    base = {"sweep": {"unlabeled": [1]}, "profiles": {"p": {"sweep": {"a": [1]}}}}
    over = {"sweep": {"labeled": [2]}, "profiles": {"p": {"sweep": {"c": [2]}}}}
    assert parse(dump(base), "b").merged(parse(dump(over), "o")).data == over
