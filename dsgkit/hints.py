"""Wording that messages about names and values share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from dsgkit import errors

LONGEST_SHOWN_PATH = 300
"""Characters of a path in a message."""

_LONGEST_SLIP = 100
_LONGEST_LIST = 1000
"""Characters."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name nearest to ``name``, or nothing."""
    if len(name) > _LONGEST_SLIP:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {spelled(close[0])}?)" if close else ""


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """Return `did_you_mean`, or the list of all known names if none is near."""
    known = list(known)
    return did_you_mean(name, known) or f"; known: {listed(known)}"


def listed(names: Iterable[str]) -> str:
    """Return names beside each other, not endlessly many."""
    return errors.in_a_line(", ".join(names), _LONGEST_LIST)


def spelled(value: Any) -> str:
    """Return a value as a config would spell it, shortened to fit in a line."""
    words: dict[Any, str] = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    return errors.shown(value, 60)
