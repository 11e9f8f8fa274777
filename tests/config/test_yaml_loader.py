"""Strict YAML: against the core schema's table, and as the inverse of dump."""

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.yaml_loader import Mark, dump, parse_document, parse_override, read_document
from dsgkit.errors import ConfigError


def load(text):
    return parse_document(text, "c.yaml").data


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


@given(PLAIN)
def test_dump_is_read_back(data):
    assert load(dump(data)) == data


@given(LOOKS_LIKE_SOMETHING)
def test_texts_that_look_like_something_else_stay_texts(text):
    assert load(dump({"a": [text], text: 1})) == {"a": [text], text: 1}


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(-9, 9), min_size=1))
def test_ordinary_documents_read_as_pyyaml_reads_them(data):
    text = yaml.safe_dump(data)
    assert load(text) == yaml.safe_load(text)


def test_every_key_and_item_is_marked_with_its_line():
    text = "# comment\na:\n  b: 1\n\n  c:\n  - 2\n  - {d: 3}\ne: [4,\n  5]\n"
    marks = parse_document(text, "c.yaml").marks
    assert {key: mark.line for key, mark in marks.items()} == {
        (): 2,
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "c"): 5,
        ("a", "c", 0): 6,
        ("a", "c", 1): 7,
        ("a", "c", 1, "d"): 7,
        ("e",): 8,
        ("e", 0): 8,
        ("e", 1): 9,
    }
    assert {mark.source for mark in marks.values()} == {"c.yaml"}


def test_an_alias_is_the_value_it_names():
    assert load("a: &x {b: 1}\nc: *x") == {"a": {"b": 1}, "c": {"b": 1}}


def test_an_override_is_marked_by_its_text():
    assert set(parse_override("{a: [1]}", "--set x").marks.values()) == {Mark("--set x")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a:\n\tb: 2\n",
            "c.yaml:2: not valid YAML: found character '\\t' that cannot start any token;",
        ),
        ("a: 1\n\tb: 2\n", "c.yaml:2: not valid YAML: "),
        ("a: 1\nb: \x07\n", "c.yaml:2: not valid YAML: special characters are not allowed"),
    ],
)
def test_odd_characters_are_one_line(text, message):
    with pytest.raises(ConfigError) as error:
        load(text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# only a comment\n", "c.yaml: the file is empty"),
        (b"\n- 1\n- 2\n", "c.yaml:2: a config is a mapping of keys to values"),
        (b"codrna\n", "c.yaml:1: a config is a mapping of keys to values"),
        (b"a: \xff\n", "c.yaml: not UTF-8 text (byte 3); save it as UTF-8"),
    ],
)
def test_files_that_are_no_configs(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    path = tmp_path.relative_to(tmp_path) / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_document(path)
    assert str(error.value) == message


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"x\.yaml: no such config file"):
        read_document(tmp_path / "x.yaml")
    (tmp_path / "codrna.yaml").touch()
    with pytest.raises(ConfigError, match=r"such config file \(did you mean 'codrna\.yaml'\?\)"):
        read_document(tmp_path / "cordna.yaml")
    with pytest.raises(ConfigError, match="is a folder, not a config file"):
        read_document(tmp_path)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": 2}
    assert document.mark(("b",)).line == 2
