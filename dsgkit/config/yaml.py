"""Strict YAML: scalars of the core schema only, no repeated keys, and the place of every key."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from dsgkit.errors import ConfigError, in_a_line, spelled

Key = tuple[str | int, ...]
"""The keys (and list positions) that lead from the top of a document to a value."""


@dataclass
class Document:
    """Plain data, and where each part was written: ``file:line``, or an option's text."""

    data: Any
    places: dict[Key, str] = field(default_factory=dict)

    def error(self, key: Key, text: str) -> ConfigError:
        """Return an error at a key, or at its nearest ancestor that was written."""
        while key and key not in self.places:
            key = key[:-1]
        place = self.places.get(key, "")
        dotted = "" if place.startswith("--") else ".".join(in_a_line(str(part)) for part in key)
        return ConfigError(": ".join(filter(None, [in_a_line(place, 300), dotted, text])))

    def merged(self, over: Document) -> Document:
        """Return the document with another laid over it; a ``sweep`` is replaced as a whole."""
        places = self.places

        def laid(key: Key, old: Any, new: Any) -> Any:
            nonlocal places
            is_sweep = key == ("sweep",) or (key[:1] == ("profiles",) and key[2:] == ("sweep",))
            if isinstance(old, dict) and isinstance(new, dict) and not is_sweep:
                return old | {name: laid((*key, name), old.get(name), new[name]) for name in new}
            kept = {k: place for k, place in places.items() if k[: len(key)] != key}
            places = kept | {k: p for k, p in over.places.items() if k[: len(key)] == key}
            return new

        return Document(laid((), self.data, over.data), places)


def read_document(path: Path, *, own: bool = False) -> Document:
    """Read a YAML file whose top is a mapping; ``own`` is for files that no person wrote."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = _parsed(text, str(path), _FastLoader) if own else parse(text, str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text; save it as UTF-8"
        raise ConfigError(f"{path}: cannot be read: {why}") from None
    if not isinstance(document.data, dict):
        raise document.error((), "a config is a mapping of keys to values")
    return document if own else copy.deepcopy(document)


@functools.lru_cache(maxsize=32)  # many configs have the same base
def parse(text: str, source: str) -> Document:
    """Parse YAML text; ``source`` is its file or option. What is returned must not be changed."""
    return _parsed(text, source, _StrictLoader)


def _parsed(text: str, source: str, loader: Any) -> Document:
    data, problem = None, ""
    lines: dict[Key, int] = {(): 0}
    try:
        if (node := yaml.compose(text, loader)) is not None:
            data = _plain(node, (), node.start_mark.line, lines)
    except yaml.MarkedYAMLError as error:
        problem = str(error.problem)
        if not isinstance(error, ConstructorError):  # of `_plain`
            problem = f"not valid YAML: {in_a_line(problem, 120)}{_ADVICE}"
        lines[()] = error.problem_mark.line if error.problem_mark else 0
    except yaml.reader.ReaderError as error:
        problem = f"not valid YAML: {error.reason}"
        lines[()] = text.count("\n", 0, error.position)
    except RecursionError:
        problem, lines[()] = "nested too deeply, or an alias that contains itself", 0
    is_option = source.startswith("--")
    places = {key: source if is_option else f"{source}:{n + 1}" for key, n in lines.items()}
    if problem:
        raise ConfigError(f"{in_a_line(places[()], 300)}: {problem}")
    return Document(data, places)


def _plain(node: yaml.Node, key: Key, line: int, lines: dict[Key, int]) -> Any:
    """Return a node's value; ``lines`` gets its line and those of its parts, by key."""
    lines[key], tag = line, node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.SequenceNode) and tag == "seq":
        return [_plain(n, (*key, i), n.start_mark.line, lines) for i, n in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode) and tag == "map":
        values: dict[str, Any] = {}
        for name_node, item in node.value:
            mark = name_node.start_mark
            name = _plain(name_node, key, line, lines)
            if not isinstance(name, str) or name in values:
                repeated = f"repeated key {spelled(name)}"
                text = repeated if isinstance(name, str) else "a key must be text; put it in quotes"
                raise ConstructorError(problem=text, problem_mark=mark)
            values[name] = _plain(item, (*key, name), mark.line, lines)
        return values
    try:
        return _SCALARS[tag][1](node.value)
    except (AttributeError, KeyError, TypeError, ValueError):
        value = spelled(node.value) if isinstance(node, yaml.ScalarNode) else "it"
        kind = in_a_line(node.tag.replace(_TAG, "!!"))
        text = f"not valid YAML: {value} is not of type {kind}"
        raise ConstructorError(problem=text, problem_mark=node.start_mark) from None


def dump(data: Any) -> str:
    """Return YAML text that `parse` reads back as ``data``."""
    settings: Any = {"sort_keys": False, "default_flow_style": None, "width": 100}
    return yaml.dump(data, Dumper=_StrictDumper, **settings)


class _StrictLoader(yaml.SafeLoader):
    """Takes ``1e-3`` for a number and ``on`` for text, unlike YAML 1.1."""


class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same by libyaml, if PyYAML has it: ten times faster, but messages tell people less."""


class _StrictDumper(yaml.SafeDumper):
    """Quotes only texts that the strict loader would not read as text."""


_ADVICE = " (quote text with ': ' or signs, close brackets, indent by spaces)"
_TAG = "tag:yaml.org,2002:"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"null|Null|NULL|~|", lambda text: None),
    "bool": (
        r"true|True|TRUE|false|False|FALSE",
        lambda text: {"true": True, "false": False}[text.lower()],
    ),
    "int": (
        r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
        lambda text: int(text, 0 if text[:2] in ("0o", "0x") else 10),
    ),
    "float": (
        rf"{_FLOAT}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        lambda text: float(re.sub(r"\.(?=inf|nan)", "", text.lower())),
    ),
    # a lone surrogate, such as "\ud800", cannot be encoded
    "str": ("", lambda text: text.encode().decode()),
}
"""Pattern and conversion of every kind of scalar; what has none of the patterns is text."""

for _class in (_StrictLoader, _FastLoader, _StrictDumper):
    _class.yaml_implicit_resolvers = {}
    for _name, (_pattern, _) in _SCALARS.items():
        if _name != "str":
            _class.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), None)
