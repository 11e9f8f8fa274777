"""Parsing of numpydoc docstrings, for display on a terminal."""

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
    """Type and description of a parameter or attribute."""

    type: str
    text: str


@dataclass(frozen=True)
class Docstring:
    """A parsed docstring: text before the sections, parameters and attributes, references."""

    paragraphs: list[str]
    described: Mapping[str, Described]
    references: list[str]


def docstring_of(thing: Any) -> Docstring:
    """Return the docstring of a class or module, not an inherited one."""
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
    known: dict[str, Described] = {}
    for base in reversed(kind.__mro__):
        own = docstring_of(base).described
        known |= {name: entry for name, entry in own.items() if entry.text or name not in known}
    return known


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each section; the title of the first is empty."""
    parts = re.split(r"(?m)^(\w[\w ]*)\n-{3,}$", text)
    yield "", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def _described(section: str) -> dict[str, Described]:
    """Return the entries of a section: ``name, name : type`` with indented text below."""
    entries = {}
    for entry in re.split(r"(?m)^(?=\S)", section.strip("\n")):
        names, _, text = entry.partition("\n")
        names, _, kind = names.partition(" : ")
        for name in names.split(","):
            if name.strip():
                entries[name.strip()] = Described(_plain(kind), _plain(inspect.cleandoc(text)))
    return entries


def _plain(text: str) -> str:
    """Return text without markup, in one line."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())
