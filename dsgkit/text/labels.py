"""Validation and escaping of text in tables and figures."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from dsgkit.errors import in_a_line, spelled, why_no_line
from dsgkit.text.specs import problem

LONGEST_LABEL = 200
"""Characters of a label in a config."""

_LONGEST_WORDS = 1000
_LONGEST_VALUE = 60


def why_no_label(text: str, most: int = LONGEST_LABEL) -> str:
    r"""Return why figures and tables cannot show a text; empty if they can.

    matplotlib parses text between two dollar signs as a formula, such as ``$\lambda$``, and fails
    at an invalid one only when it draws, after all fits.
    """
    if why := why_no_line(text):
        return why
    if len(text) > most:
        return f"must have at most {most} characters"
    dollars = _dollars(text)
    if dollars == 0 or dollars % 2:  # matplotlib's rule for text without formulas
        return ""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError):
        return r"is not a formula that can be drawn; write \$ for a dollar sign"
    return ""


def _dollars(text: str) -> int:
    return text.count("$") - text.count(r"\$")


def _words(text: str) -> str:
    if why := why_no_label(text, _LONGEST_WORDS):
        raise problem(f"{why}, got {spelled(text)}")
    if _dollars(text) % 2:  # two such texts side by side would be parsed as a formula
        raise problem(rf"has a dollar sign without another; write \$ for one, got {spelled(text)}")
    return text


Words = Annotated[str, AfterValidator(_words)]
"""A text of a task for captions, table heads and axis labels."""


def as_drawn(text: str, most: int = _LONGEST_VALUE) -> str:
    """Return an unchecked text for figures: in one line, with dollar signs escaped."""
    return in_a_line(text, most).replace("$", r"\$")
