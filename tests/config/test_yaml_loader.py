"""Strict YAML: against the core schema's table, and as the inverse of dump."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.config.yaml_loader import Mark, dump, parse_document, parse_override, read_document
from dsgkit.text.errors import ConfigError


def load(text):
    return parse_document(text, "c.yaml").data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("2.0e3", 2000.0),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-2.", -2.0),
        ("+.5e+1", 5.0),
        ("-.inf", -math.inf),
        ("12", 12),
        ("-12", -12),
        ("010", 10),
        ("0o17", 15),
        ("0xFf", 255),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("10:30", "10:30"),
        ("1_000", "1_000"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("tRue", "tRue"),
        ("2^-3..2^3", "2^-3..2^3"),
        ("2020-01-01", "2020-01-01"),
        ("1e", "1e"),
        ("0b11", "0b11"),
        ("<<", "<<"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
    ],
)
def test_scalars_are_those_of_the_core_schema(text, value):
    read = load(f"a: {text}")["a"]
    assert read == value
    assert type(read) is type(value)


def test_nan():
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
        ("a: 1\nb: 2\na: 3\n", "c.yaml:3: repeated key 'a', first in line 1"),
        ("x:\n  a: 1\n  a: 1\n", "c.yaml:3: repeated key 'a', first in line 2"),
        ("a: {b: 1, b: 2}\n", "c.yaml:1: repeated key 'b', first in line 1"),
        ("a: 1\n'a': 2\n", "c.yaml:2: repeated key 'a', first in line 1"),
        ("a: 1\n1: 2\n", "c.yaml:2: a key must be text; put '1' in quotes"),
        ("true: 2\n", "c.yaml:1: a key must be text; put 'true' in quotes"),
        ("[1]: 2\n", "c.yaml:1: a key must be text; put it in quotes"),
        (
            "a: 1\nb: [1, 2\n",
            "c.yaml:3: not valid YAML: a ',' or ']' is missing before the end of the file",
        ),
        ("a: {b: [1] c: 2}\n", "c.yaml:1: not valid YAML: a ',' or '}' is missing before this"),
        ("a: {b: 1 c: 2}\n", "c.yaml:1: not valid YAML: a ',' or '}' is missing before ':'"),
        (
            "a:\n\tb: 2\n",
            "c.yaml:2: not valid YAML: found character '\\t' that cannot start any token; indent "
            "by spaces, not by tabs",
        ),
        (
            "a: @x\n",
            "c.yaml:1: not valid YAML: found character '@' that cannot start any token; put text "
            "that begins with it in quotes",
        ),
        (
            "a: 'x\n",
            "c.yaml:2: not valid YAML: found unexpected end of stream; a quotation mark or bracket "
            "is not closed",
        ),
        ("a:\n  b: 1\n c: 2\n", "c.yaml:3: not valid YAML: this line is indented unlike those"),
        ("a: 1\n\tb: 2\n", "c.yaml:2: not valid YAML: "),
        ("a: b: c\n", "c.yaml:1: not valid YAML: mapping values are not allowed here"),
        ("a: 1\nb: *x\n", "c.yaml:2: not valid YAML: found undefined alias 'x'"),
        ("a: 1\nb: !!python/none x\n", "c.yaml:2: not valid YAML: unknown tag !!python/none"),
        ("a: !x {b: 1}\n", "c.yaml:1: not valid YAML: unknown tag !x"),
        ("a: 1\nb: !!int x\n", "c.yaml:2: not valid YAML: 'x' is not of type int"),
        ("a: !!bool {b: 1}\n", "c.yaml:1: not valid YAML: it is not of type bool"),
        ("a: 1\nb: \x07\n", "c.yaml:2: not valid YAML: special characters are not allowed"),
        ("a: 1\n---\nb: 2\n", "c.yaml:2: not valid YAML: but found another document"),
        ("a: &x [*x]\n", "c.yaml:1: nested more than 50 deep, or an alias that contains itself"),
        ("[" * 5000, "c.yaml:1: nested more than 50 deep"),
        ("a: " + "1" * 5000, "c.yaml:1: not valid YAML: "),
    ],
)
def test_what_is_not_strict_yaml_is_one_line_with_its_place(text, message):
    with pytest.raises(ConfigError) as error:
        load(text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "c.yaml: the file is empty"),
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
