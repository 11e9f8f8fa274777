"""Strict YAML: against the core schema's table, as the inverse of dump, and merged."""

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.yaml import Document, dump, parse, read_document
from dsgkit.errors import ConfigError

SCALARS = """
1e-3 0.001, 2.0e3 2000.0, 1E3 1000.0, .5 0.5, -2. -2.0, +.5e+1 5.0, !!float#1 1.0, -.inf -inf
12 12, -12 -12, 010 10, 0o17 15, 0xFf 255, true True, FALSE False, ~ None, null None
10:30 '10:30', 1_000 '1_000', on 'on', off 'off', yes 'yes', No 'No', tRue 'tRue', << '<<'
2^-3..2^3 '2^-3..2^3', 2020-01-01 '2020-01-01', 1e '1e', 0b11 '0b11', '1' '1', !!str#1 '1'
"""


def test_scalars_are_those_of_the_core_schema():
    for row in re.split(r"\n|, ", SCALARS.strip()):
        text, value = row.split()
        assert repr(parse(f"a: {text.replace('#', ' ')}", "c.yaml").data["a"]) == value, text
    assert math.isnan(parse(".nan", "c.yaml").data)


LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
ODD = ["1e-3", "0o17", "on", "10:30", "null", "~", "1", "true", "<<", "=", ".inf"]
PLAIN = st.recursive(
    LEAF | st.sampled_from(ODD),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_dump_is_read_back(data):
    assert parse(dump(data), "c.yaml").data == data


def test_every_key_and_item_has_its_line_and_an_override_its_text(tmp_path):
    text = "# comment\na:\n  b: 1\n\n  c:\n  - 2\n  - {d: 3}\ne: [4,\n  5]\nf: &x {b: 1}\ng: *x\n"
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())  # as Windows writes it
    document = read_document(path)
    assert document.data == yaml.safe_load(text)
    assert {".".join(map(str, key)): place for key, place in document.places.items()} == {
        name: f"{path}:{line}"
        for name, line in {
            **{"": 2, "a": 2, "a.b": 3, "a.c": 5, "a.c.0": 6, "a.c.1": 7, "a.c.1.d": 7},
            **{"e": 8, "e.0": 8, "e.1": 9, "f": 10, "f.b": 10, "g": 11, "g.b": 10},
        }.items()
    }
    assert set(parse("{a: [1]}", "--set x").places.values()) == {"--set x"}
    assert parse("", "c.yaml") == Document(None, {(): "c.yaml:1"})
    assert str(document.error(("e", 1, "x"), "bad")) == f"{path}:9: e.1: bad"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n- 1\n- 2\n", "c.yaml:2: a config is a mapping of keys to values"),
        (b"a: \xff\n", "c.yaml: cannot be read: not UTF-8 text; save it as UTF-8"),
        (b"a: 1\nb: \x07\n", "c.yaml:2: not valid YAML: special characters are not allowed"),
        (b'a: "\\ud800"\n', r"c.yaml:1: not valid YAML: '\ud800' is not of type !!str"),
        (b"a:\n  ? [b]\n  : 1\n", "c.yaml:2: a key must be text; put it in quotes"),
        (b"seed: " + b"9" * 5000, "c.yaml:1: not valid YAML: '9999"),
        (b"a: 1\nx: " + b"[" * 20_000, "c.yaml:1: nested too deeply"),
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


def test_mappings_are_merged_with_the_place_of_every_key():
    base = "a: {b: 1, c: [1, 2], d: {e: 1}}\nsweep: {x: 1}\nprofiles: {p: {sweep: {x: 1}, s: 1}}"
    over = "f: 1\na: {c: [3], d: {h: {}}, b: {i: 2}}\nsweep: {y: 2}\nprofiles: {p: {sweep: {y: 2}}}"
    both = "a: {b: {i: 2}, c: [3], d: {e: 1, h: {}}}\nsweep: {y: 2}\n"
    both += "profiles: {p: {sweep: {y: 2}, s: 1}}\nf: 1"
    first, second = parse(base, "base"), parse(over, "over")
    merged = first.merged(second)
    assert dump(merged.data) == dump(yaml.safe_load(both))
    assert merged.places.keys() == parse(both, "both").places.keys()
    of_base = {"", "a", "a.d", "a.d.e", "profiles", "profiles.p", "profiles.p.s"}
    for key, place in merged.places.items():
        source = first if ".".join(map(str, key)) in of_base else second
        assert place == source.places[key], key
    assert merged.merged(second) == merged
    assert (first.data, second.data) == (yaml.safe_load(base), yaml.safe_load(over))
