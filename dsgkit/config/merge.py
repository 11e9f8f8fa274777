"""Laying one document over another, with the place of every value kept."""

from __future__ import annotations

from typing import Any

from dsgkit.config.yaml_loader import Document, Key


def merge(base: Document, over: Document) -> Document:
    """Return ``base`` with ``over`` laid over it.

    Mappings are merged key by key; anything else is replaced as a whole, and so is a sweep, because
    it varies one thing.
    """
    marks = dict(base.marks)
    data = _merge(base.data, over.data, (), over, marks)
    return Document(data, marks)


def subdocument(document: Document, key: Key) -> Document:
    """Return the part of a document under ``key`` as a document of its own."""
    data = document.data
    for part in key:
        data = data[part]
    size = len(key)
    return Document(data, {k[size:]: m for k, m in document.marks.items() if k[:size] == key})


def without(document: Document, *names: str) -> Document:
    """Return a document without some of its top keys."""
    data = {name: value for name, value in document.data.items() if name not in names}
    marks = {key: mark for key, mark in document.marks.items() if not (key and key[0] in names)}
    return Document(data, marks)


def _merge(base: Any, over: Any, key: Key, source: Document, marks: dict[Key, Any]) -> Any:
    if isinstance(base, dict) and isinstance(over, dict) and not _is_sweep(key):
        merged = dict(base)
        for name, value in over.items():
            at = (*key, name)
            if name in base:
                merged[name] = _merge(base[name], value, at, source, marks)
            else:
                merged[name] = value
                _copy_marks(source, at, marks)
        return merged
    for old in [k for k in marks if k[: len(key)] == key]:
        del marks[old]
    _copy_marks(source, key, marks)
    return over


def _is_sweep(key: Key) -> bool:
    return key == ("sweep",) or (len(key) == 3 and key[0] == "profiles" and key[2] == "sweep")


def _copy_marks(source: Document, key: Key, marks: dict[Key, Any]) -> None:
    marks.update({k: m for k, m in source.marks.items() if k[: len(key)] == key})
