"""YAML read strictly: core-schema scalars, no repeated keys, the line of every key remembered."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.nodes import Node, ScalarNode, SequenceNode

from dsgkit.errors import ConfigError
from dsgkit.hints import did_you_mean, shown

Key = tuple[str | int, ...]
"""The keys (and list positions) that lead from the top of a document to a value."""


@dataclass(frozen=True)
class Mark:
    """Where a value was written: a file and line, or the text of a command line option."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass
class Document:
    """Plain data and the place that every part of it comes from.

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
        """Return ``key`` shortened until it is one that was written."""
        while key and key not in self.marks:
            key = key[:-1]
        return key

    def error(self, key: Key, text: str) -> ConfigError:
        """Return an error that names the place and the key; an override names itself."""
        written = self.nearest(key)
        mark = self.marks[written]
        where = f"{mark}: "
        if mark.line is not None and written:
            where += ".".join(map(str, written)) + ": "
        return ConfigError(where + text)


def read_document(path: Path) -> Document:
    """Read a YAML file whose top is a mapping.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not strict YAML, is empty or is not a mapping.
    """
    document = parse_document(_read_text(path), str(path))
    if document.data is None:
        raise ConfigError(f"{path}: the file is empty")
    if not isinstance(document.data, dict):
        raise ConfigError(f"{document.marks[()]}: a config is a mapping of keys to values")
    return document


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text; ``source`` is the file name of its marks.

    Raises
    ------
    ConfigError
        For anything that is not strict YAML, with its line.
    """
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
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = did_you_mean(path.name, [other.name for other in path.parent.glob("*.yaml")])
        raise ConfigError(f"{path}: no such config file{hint}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder, not a config file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _parse(text: str, mark_at: Callable[[int], Mark]) -> Document:
    try:
        return _build(_StrictLoader(text), mark_at)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{mark_at(line)}: not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{mark_at(line)}: not valid YAML: {error.reason}") from None
    except RecursionError:
        raise ConfigError(
            f"{mark_at(1)}: nested too deeply, or an alias that contains itself"
        ) from None


def _build(loader: _StrictLoader, mark_at: Callable[[int], Mark]) -> Document:
    node = loader.get_single_node()
    if node is None:
        return Document(None, {(): mark_at(1)})
    document = Document(None)
    document.data = _value(loader, node, (), node.start_mark.line, document.marks, mark_at)
    return document


def _value(
    loader: _StrictLoader,
    node: Node,
    key: Key,
    line: int,
    marks: dict[Key, Mark],
    mark_at: Callable[[int], Mark],
) -> Any:
    """Return the node's value, having marked it with ``line`` and its parts with theirs."""
    marks[key] = mark_at(line + 1)
    if isinstance(node, ScalarNode) or node.tag not in _COLLECTIONS:
        return loader.construct_object(node)
    if isinstance(node, SequenceNode):
        return [
            _value(loader, item, (*key, i), item.start_mark.line, marks, mark_at)
            for i, item in enumerate(node.value)
        ]
    return {
        name: _value(loader, item, (*key, name), at, marks, mark_at)
        for name, at, item in _pairs(loader, node, mark_at)
    }


def _pairs(
    loader: _StrictLoader, node: Node, mark_at: Callable[[int], Mark]
) -> list[tuple[str, int, Node]]:
    """Return (key, line, value node) of a mapping whose keys are different texts."""
    lines: dict[str, int] = {}
    pairs = []
    for key_node, item in node.value:
        line = key_node.start_mark.line
        name = loader.construct_object(key_node) if isinstance(key_node, ScalarNode) else None
        if not isinstance(name, str):
            raise ConfigError(
                f"{mark_at(line + 1)}: a key must be text; put {_raw(key_node)} in quotes"
            )
        if name in lines:
            raise ConfigError(
                f"{mark_at(line + 1)}: repeated key {name!r}, first in line {lines[name] + 1}"
            )
        lines[name] = line
        pairs.append((name, line, item))
    return pairs


def _raw(node: Node) -> str:
    return shown(node.value) if isinstance(node, ScalarNode) else "it"


class _StrictLoader(yaml.SafeLoader):
    """Knows the scalars of the YAML 1.2 core schema and nothing else."""

    yaml_constructors: ClassVar[dict] = {}


class _StrictDumper(yaml.SafeDumper):
    """Quotes exactly the texts that the strict loader would not read as text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal lists out: a config is read by people."""
        return True


_TAG = "tag:yaml.org,2002:"
MOST_DIGITS = 4000
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
    if len(text) > MOST_DIGITS:
        raise ValueError("too long to be printed again")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(text: str) -> float:
    special = re.fullmatch(r"([-+]?)\.(inf|nan)", text.lower())
    return float("".join(special.groups()) if special else text)


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
    tag = node.tag.replace(_TAG, "!!")
    raise yaml.constructor.ConstructorError(None, None, f"unknown tag {tag}", node.start_mark)


_StrictLoader.add_constructor(f"{_TAG}null", _scalar(lambda text: None))
_StrictLoader.add_constructor(f"{_TAG}bool", _scalar(_BOOLEANS.__getitem__))
_StrictLoader.add_constructor(f"{_TAG}int", _scalar(_integer))
_StrictLoader.add_constructor(f"{_TAG}float", _scalar(_float))
_StrictLoader.add_constructor(f"{_TAG}str", _scalar(str))
_StrictLoader.add_constructor(None, _unknown_tag)
