"""Check that a text is a single printable line."""

from __future__ import annotations

import re

CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Characters that a line must not contain, as a character class of a regular expression."""

_CONTROL = re.compile(rf"[{CONTROL}\ud800-\udfff]")


def why_no_line(text: str) -> str:
    """Return why a text, such as a name or label, cannot be printed in a line; empty if it can."""
    match = _CONTROL.search(text)
    return "" if match is None else f"must not contain {match[0]!a}, which cannot be printed"
