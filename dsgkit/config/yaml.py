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
        """Return the document with another one laid over it.

        Mappings are merged key by key; other values are replaced, and so is ``sweep`` as a whole,
        because it has one axis.
        """
        places = dict(self.places)

        def merge(old: Any, new: Any, key: Key) -> Any:
            is_sweep = key == ("sweep",) or (key[:1] == ("profiles",) and key[2:] == ("sweep",))
            if isinstance(old, dict) and isinstance(new, dict) and not is_sweep:
                return old | {name: merge(old.get(name), new[name], (*key, name)) for name in new}
            for known in [known for known in places if known[: len(key)] == key]:
                del places[known]
            places.update({k: p for k, p in over.places.items() if k[: len(key)] == key})
            return new

        return Document(merge(self.data, over.data, ()), places)


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping."""
    try:
        document = parse(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text; save it as UTF-8"
        raise ConfigError(f"{path}: cannot be read: {why}") from None
    if not isinstance(document.data, dict):
        raise document.error((), "a config is a mapping of keys to values")
    return copy.deepcopy(document)


@functools.lru_cache(maxsize=32)  # many configs have the same base
def parse(text: str, source: str) -> Document:
    """Parse YAML text; ``source`` is its file or option. What is returned must not be changed."""
    document = Document(None)

    def place(line: int) -> str:
        return source if source.startswith("--") else f"{source}:{line + 1}"

    def wrong(line: int, what: str) -> ConfigError:
        return ConfigError(f"{in_a_line(place(line), 300)}: {what}")

    def plain(node: yaml.Node, key: Key, line: int) -> Any:
        """Return a node's value, and keep its place and those of its parts."""
        document.places[key] = place(line)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [plain(n, (*key, i), n.start_mark.line) for i, n in enumerate(node.value)]
        if not (isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map"):
            return scalar(node)
        values: dict[str, Any] = {}
        for name_node, item in node.value:
            line = name_node.start_mark.line
            name = scalar(name_node) if isinstance(name_node, yaml.ScalarNode) else None
            if not isinstance(name, str):
                raise wrong(line, "a key must be text; put it in quotes")
            if name in values:
                raise wrong(line, f"repeated key {spelled(name)}")
            values[name] = plain(item, (*key, name), line)
        return values

    def scalar(node: yaml.Node) -> Any:
        try:
            return _SCALARS[node.tag.removeprefix(_TAG)][1](node.value)
        except (AttributeError, KeyError, TypeError, ValueError):
            value = spelled(node.value) if isinstance(node, yaml.ScalarNode) else "it"
            kind = in_a_line(node.tag.replace(_TAG, "!!"))
            text = f"not valid YAML: {value} is not of type {kind}"
            raise wrong(node.start_mark.line, text) from None

    try:
        node = yaml.compose(text, _StrictLoader)
        document.places[()] = place(0)
        if node is not None:
            document.data = plain(node, (), node.start_mark.line)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        problem = in_a_line(str(error.problem), 120)
        raise wrong(line, f"not valid YAML: {problem}{_ADVICE}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise wrong(line, f"not valid YAML: {error.reason}") from None
    except RecursionError:
        raise wrong(0, "nested too deeply, or an alias that contains itself") from None
    return document


def dump(data: Any) -> str:
    """Return YAML text that `parse` reads back as ``data``."""
    settings: Any = {"sort_keys": False, "default_flow_style": None, "width": 100}
    return yaml.dump(data, Dumper=_StrictDumper, **settings)


class _StrictLoader(yaml.SafeLoader):
    """Takes ``1e-3`` for a number and ``on`` for text, unlike YAML 1.1."""


class _StrictDumper(yaml.SafeDumper):
    """Quotes only texts that the strict loader would not read as text, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


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

for _class in (_StrictLoader, _StrictDumper):
    _class.yaml_implicit_resolvers = {}
    for _name, (_pattern, _) in _SCALARS.items():
        if _name != "str":
            _class.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), None)
