"""Strict YAML: core-schema scalars only, no repeated keys; records the line of every key."""

from __future__ import annotations

import copy
import functools
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.nodes import Node, ScalarNode, SequenceNode

from dsgkit.config.bounds import MAX_FILE_BYTES, MAX_FILE_VALUES, MAX_NESTING
from dsgkit.errors import ConfigError, did_you_mean, in_a_line, spelled

Key = tuple[str | int, ...]
"""The keys (and list positions) that lead from the top of a document to a value."""


@dataclass(frozen=True)
class Mark:
    """Where a value was written: a file and line, or the text of a command line option."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        source = in_a_line(self.source, 300)
        return source if self.line is None else f"{source}:{self.line}"


@dataclass
class Document:
    """Plain data, and the place where each part of it was written.

    Attributes
    ----------
    data : Any
        Mappings, lists and scalars.
    marks : dict
        From key path to `Mark`; the empty path is the document itself.
    """

    data: Any
    marks: dict[Key, Mark] = field(default_factory=dict)

    def mark(self, key: Key) -> Mark:
        """Return the mark of ``key``, or of its nearest ancestor that has one."""
        return self.marks[self.nearest(key)]

    def nearest(self, key: Key) -> Key:
        """Return ``key``, or its nearest ancestor that was written."""
        while key and key not in self.marks:
            key = key[:-1]
        return key

    def error(self, key: Key, text: str) -> ConfigError:
        """Return an error with the place and the key; the place of an override is its text."""
        written = self.nearest(key)
        mark = self.marks[written]
        where = f"{mark}: "
        if mark.line is not None and written:
            where += ".".join(in_a_line(str(part)) for part in written) + ": "
        return ConfigError(where + text)


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not strict YAML, is empty or is not a mapping.
    """
    document = parse_document(_read_text(path), str(path))
    if document.data is None:
        raise ConfigError(f"{Mark(str(path))}: the file is empty")
    if not isinstance(document.data, dict):
        raise ConfigError(f"{document.marks[()]}: a config is a mapping of keys to values")
    return document


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text; ``source`` is the file name in its marks.

    Raises
    ------
    ConfigError
        For anything that is not strict YAML, with its line.
    """
    parsed = _parsed(text, source)
    return Document(copy.deepcopy(parsed.data), dict(parsed.marks))


@functools.lru_cache(maxsize=32)
def _parsed(text: str, source: str) -> Document:
    """Parse a text once, even if it is the base of several configs."""
    return _parse(text, lambda line: Mark(source, line))


def parse_override(text: str, source: str) -> Document:
    """Parse the YAML value of a command line option; every mark is ``source`` without a line."""
    return _parse(text, lambda line: Mark(source))


def dump(data: Any) -> str:
    """Return YAML text that `parse_document` reads back as ``data``."""
    return yaml.dump(
        data,
        Dumper=_StrictDumper,
        sort_keys=False,
        default_flow_style=None,
        width=100,
    )


def _read_text(path: Path) -> str:
    place = Mark(str(path))
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        hint = did_you_mean(path.name, [other.name for other in path.parent.glob("*.yaml")])
        raise ConfigError(f"{place}: no such config file{hint}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{place}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{place}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # such as a null character in the path
        raise ConfigError(f"{place}: cannot be read: {error}") from None


def _read_bytes(path: Path) -> bytes:
    """Return the content of a regular file: devices and pipes might be endless."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ConfigError(f"{Mark(str(path))}: is a folder, not a config file")
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{Mark(str(path))}: is not a regular file")
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(
            f"{Mark(str(path))}: larger than {MAX_FILE_BYTES:,} bytes; not a config file"
        )
    return content


def _parse(text: str, mark_at: Callable[[int], Mark]) -> Document:
    try:
        return _Builder(text, mark_at).document()
    except _ExtentError as error:
        raise ConfigError(f"{mark_at(error.line)}: {error}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        what = in_a_line(_plainly(str(error.problem)), _LONGEST_PROBLEM)
        raise ConfigError(f"{mark_at(line)}: not valid YAML: {what}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{mark_at(line)}: not valid YAML: {error.reason}") from None


def _plainly(problem: str) -> str:
    """Return a problem of the YAML parser in plain words, with advice."""
    if match := re.fullmatch(r"expected ('.') or ('.'), but got '(.+)'", problem):
        separator, end, token = match.groups()
        before = _TOKENS.get(token, f"'{token}'")
        return f"a {separator} or {end} is missing before {before}"
    for text, advice in _ADVICE.items():
        if problem.startswith(text):
            return advice if text.endswith("<block end>") else f"{problem}; {advice}"
    return problem


_TOKENS = {"<scalar>": "this", "<stream end>": "the end of the file", "<alias>": "this"}
"""Plain words for the parser's tokens."""

_ADVICE = {
    "mapping values are not allowed here": "put text that contains ': ' in quotes",
    "found character '\\t'": "indent with spaces, not tabs",
    "found character": "put text that begins with it in quotes",
    "found unexpected end of stream": "a quotation mark or bracket is not closed",
    "expected <block end>": (
        "this line is indented unlike those above, or something before it is not closed"
    ),
}
"""Advice on problems, by the beginning of their texts."""


class _Builder:
    """Builds plain data from YAML, with a mark for every part, up to the bounds."""

    def __init__(self, text: str, mark_at: Callable[[int], Mark]) -> None:
        self._loader = _StrictLoader(text)
        self._mark_at = mark_at
        self._marks: dict[Key, Mark] = {}

    def document(self) -> Document:
        node = self._loader.get_single_node()
        if node is None:
            return Document(None, {(): self._mark_at(1)})
        return Document(self._value(node, (), node.start_mark.line), self._marks)

    def _value(self, node: Node, key: Key, line: int) -> Any:
        """Return the node's value; mark it with ``line``, and its parts with their lines."""
        if len(key) > MAX_NESTING or len(self._marks) >= MAX_FILE_VALUES:
            raise _too_much(len(key), node)
        self._marks[key] = self._mark_at(line + 1)
        if isinstance(node, ScalarNode) or node.tag not in _COLLECTIONS:
            return self._loader.construct_object(node)
        if isinstance(node, SequenceNode):
            return [
                self._value(item, (*key, i), item.start_mark.line)
                for i, item in enumerate(node.value)
            ]
        return {name: self._value(item, (*key, name), at) for name, at, item in self._pairs(node)}

    def _pairs(self, node: Node) -> list[tuple[str, int, Node]]:
        """Return (key, line, value node) of a mapping; its keys must be distinct texts."""
        lines: dict[str, int] = {}
        pairs = []
        for key_node, item in node.value:
            line = key_node.start_mark.line
            scalar = isinstance(key_node, ScalarNode)
            name = self._loader.construct_object(key_node) if scalar else None
            place = self._mark_at(line + 1)
            if not isinstance(name, str):
                raise ConfigError(f"{place}: a key must be text; put {_raw(key_node)} in quotes")
            if name in lines:
                raise ConfigError(
                    f"{place}: repeated key {spelled(name)}, first in line {lines[name] + 1}"
                )
            lines[name] = line
            pairs.append((name, line, item))
        return pairs


def _too_much(level: int, node: Any) -> _ExtentError:
    """Return the error for a node or event beyond the maximum of nesting, or of values."""
    what = f"more than {MAX_FILE_VALUES:,} values, with aliases expanded"
    if level > MAX_NESTING:
        what = f"nested more than {MAX_NESTING} deep, or an alias that contains itself"
    return _ExtentError(what, node.start_mark.line + 1)


class _ExtentError(Exception):
    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def _raw(node: Node) -> str:
    return spelled(node.value) if isinstance(node, ScalarNode) else "it"


class _StrictLoader(yaml.SafeLoader):
    """Loads the scalars of the YAML 1.2 core schema only."""

    yaml_constructors: ClassVar[dict] = {}

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._level = self._count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node and its children, up to the bounds."""
        if self._level > MAX_NESTING or self._count >= MAX_FILE_VALUES:
            raise _too_much(self._level, self.peek_event())
        self._count += not isinstance(parent, yaml.MappingNode) or index is not None
        self._level += 1
        node = super().compose_node(parent, index)
        self._level -= 1
        return node


class _StrictDumper(yaml.SafeDumper):
    """Quotes only texts that the strict loader would not read as text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated lists in full: a config is read by people."""
        return True


_TAG = "tag:yaml.org,2002:"
MAX_DIGITS = 4000
_LONGEST_PROBLEM = 120
_COLLECTIONS = (f"{_TAG}map", f"{_TAG}seq")
_INTEGER = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = (
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_BOOLEANS = {"true": True, "True": True, "TRUE": True} | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_SCALARS = (
    ("null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", "|".join(_BOOLEANS), list("tTfF")),
    ("int", _INTEGER, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
)
for _class in (_StrictLoader, _StrictDumper):
    _class.yaml_implicit_resolvers = {}
    for _name, _pattern, _first in _SCALARS:
        _class.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("too long to print")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(text: str) -> float:
    special = re.fullmatch(r"([-+]?)\.(inf|nan)", text.lower())
    return float("".join(special.groups()) if special else text)


def _text(text: str) -> str:
    text.encode()  # raises for a lone surrogate, such as "\ud800"
    return text


def _scalar(convert: Callable[[str], Any]) -> Callable[[_StrictLoader, Node], Any]:
    def construct(loader: _StrictLoader, node: Node) -> Any:
        try:
            return convert(node.value)
        except (KeyError, TypeError, ValueError):
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"{_raw(node)} is not of type {node.tag.removeprefix(_TAG)}",
                node.start_mark,
            ) from None

    return construct


def _unknown_tag(loader: _StrictLoader, node: Node) -> Any:
    tag = in_a_line(node.tag.replace(_TAG, "!!"))
    raise yaml.constructor.ConstructorError(None, None, f"unknown tag {tag}", node.start_mark)


_StrictLoader.add_constructor(f"{_TAG}null", _scalar(lambda text: None))
_StrictLoader.add_constructor(f"{_TAG}bool", _scalar(_BOOLEANS.__getitem__))
_StrictLoader.add_constructor(f"{_TAG}int", _scalar(_integer))
_StrictLoader.add_constructor(f"{_TAG}float", _scalar(_float))
_StrictLoader.add_constructor(f"{_TAG}str", _scalar(_text))
_StrictLoader.add_constructor(None, _unknown_tag)
