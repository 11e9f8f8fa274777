"""Reads numpydoc docstrings for people at a terminal."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

_MARKUP = (
    (re.compile(r"``(.+?)``", re.S), r"\1"),
    (re.compile(r":[a-z]+:`~?\.?(.+?)`"), r"\1"),
    (re.compile(r"`(?:dsgkit\.(?:\w+\.)*)?([^`]+?)`"), r"\1"),
    (re.compile(r"\[(\d+)\]_"), r"[\1]"),
)


class Described(NamedTuple):
    """A parameter or attribute: its type in words, and what it is."""

    type: str
    text: str


@dataclass(frozen=True)
class Docstring:
    """A docstring in parts: text before sections, parameters and attributes, and references."""

    paragraphs: list[str]
    described: Mapping[str, Described]
    references: list[str]


def docstring_of(thing: Any) -> Docstring:
    """Return the docstring of a class or module, without what it inherits."""
    text = inspect.cleandoc(vars(thing).get("__doc__") or "")
    sections = dict(_sections(text))
    described: dict[str, Described] = {}
    for title in ("Attributes", "Parameters"):
        described |= _described(sections.get(title, ""))
    references = re.split(r"(?m)^\.\. ", sections.get("References", ""))
    return Docstring(
        [_plain(part) for part in sections[""].split("\n\n") if part.strip()],
        described,
        [_plain(part) for part in references if part.strip()],
    )


def descriptions(kind: type) -> dict[str, Described]:
    """Return the parameters and attributes of a class, with those of its base classes."""
    found: dict[str, Described] = {}
    for base in reversed(kind.__mro__):
        own = docstring_of(base).described
        found |= {name: one for name, one in own.items() if one.text or name not in found}
    return found


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each section; the first has no title."""
    parts = re.split(r"(?m)^(\w[\w ]*)\n-{3,}$", text)
    yield "", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def _described(section: str) -> dict[str, Described]:
    """Return the entries of a section: lines of names and type, each with indented text below."""
    found = {}
    for entry in re.split(r"(?m)^(?=\S)", section.strip("\n")):
        names, _, text = entry.partition("\n")
        names, _, kind = names.partition(" : ")
        for name in names.split(","):
            if name.strip():
                found[name.strip()] = Described(_plain(kind), _plain(inspect.cleandoc(text)))
    return found


def _plain(text: str) -> str:
    """Return text without markup, in one line."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
