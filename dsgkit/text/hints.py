"""Names and values in messages: hints on mistyped names, values as configs spell them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from dsgkit.text import errors

LONGEST_SHOWN_PATH = 300
"""Characters of a path in a message."""

_LONGEST_SLIP = 100
_LONGEST_LIST = 1000
"""Characters."""
_LONGEST_HINT = 200
"""Characters of a list of all known names; of longer lists only the nearest names are shown."""
_MOST_NEAREST = 5


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the known name nearest to ``name``, or nothing.

    The similarity must be at least ``likeness``, between 0 and 1.
    """
    if len(name) > _LONGEST_SLIP:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=likeness)
    return f" (did you mean {spelled(close[0])}?)" if close else ""


def nearest_or_all(name: str, known: Iterable[str], command: str = "") -> str:
    """Return `did_you_mean`; if no name is near, all known names.

    If these are too many, the hint shows those that contain ``name``; if there are none, it refers
    to ``command``, or, without a command, shows the nearest ones.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
    command : str
        Command that lists all names.
    """
    known = list(known)
    if hint := did_you_mean(name, known):
        return hint
    if len(", ".join(known)) <= _LONGEST_HINT:
        return f"; known: {listed(known)}"
    near = [other for other in known if name and name.lower() in other.lower()]
    if command and not near:
        return f"; `{command}` lists all {len(known)}"
    near = near or difflib.get_close_matches(name[:_LONGEST_SLIP], known, n=_MOST_NEAREST, cutoff=0)
    shown = errors.in_a_line(", ".join(near[:_MOST_NEAREST]), _LONGEST_HINT)
    hint = f"; nearest of {len(known)}: {shown}"
    return f"{hint}; `{command}` lists all" if command else hint


def listed(names: Iterable[str]) -> str:
    """Return names as a comma-separated line, shortened."""
    return errors.in_a_line(", ".join(names), _LONGEST_LIST)


def spelled(value: Any) -> str:
    """Return a value as a config spells it, shortened to fit in a line."""
    words: dict[Any, str] = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    return errors.shown(value, 60)
