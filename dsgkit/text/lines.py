"""Which texts are one line that can be printed."""

from __future__ import annotations

import re

CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Characters that do not belong in a line, as the inside of a regular expression's brackets."""

_CONTROL = re.compile(rf"[{CONTROL}\ud800-\udfff]")


def why_no_line(text: str) -> str:
    """Return why a text cannot be printed in a line, as names and labels are; empty if it can."""
    found = _CONTROL.search(text)
    return "" if found is None else f"must not hold {found[0]!a}, which cannot be printed"
