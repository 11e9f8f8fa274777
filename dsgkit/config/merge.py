"""Merging of documents, which keeps the place of every value."""

from __future__ import annotations

from typing import Any

from dsgkit.config.yaml_loader import Document, Key


def merge(base: Document, over: Document) -> Document:
    """Return ``base`` with the values of ``over`` merged into it.

    Mappings are merged key by key; other values are replaced. ``sweep`` is replaced as a whole,
    because it has one axis.
    """
    replaced: set[Key] = set()
    data = _merge(base.data, over.data, (), replaced)

    def from_over(key: Key) -> bool:
        while key and key not in replaced:
            key = key[:-1]
        return key in replaced

    kept = {key: mark for key, mark in base.marks.items() if not from_over(key)}
    return Document(data, kept | {key: m for key, m in over.marks.items() if from_over(key)})


def subdocument(document: Document, key: Key) -> Document:
    """Return the part of a document under ``key`` as a document."""
    data = document.data
    for part in key:
        data = data[part]
    size = len(key)
    return Document(data, {k[size:]: m for k, m in document.marks.items() if k[:size] == key})


def without(document: Document, *names: str) -> Document:
    """Return a document without some of its top-level keys."""
    data = {name: value for name, value in document.data.items() if name not in names}
    marks = {key: mark for key, mark in document.marks.items() if not (key and key[0] in names)}
    return Document(data, marks)


def _merge(base: Any, over: Any, key: Key, replaced: set[Key]) -> Any:
    """Return the merged data; add the keys with values from ``over`` to ``replaced``."""
    if isinstance(base, dict) and isinstance(over, dict) and not _is_sweep(key):
        merged = dict(base)
        for name, value in over.items():
            if name in base:
                merged[name] = _merge(base[name], value, (*key, name), replaced)
            else:
                merged[name] = value
                replaced.add((*key, name))
        return merged
    replaced.add(key)
    return over


def _is_sweep(key: Key) -> bool:
    return key == ("sweep",) or (len(key) == 3 and key[0] == "profiles" and key[2] == "sweep")
