"""pydantic's errors as one line, in terms of the config and with its place there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from dsgkit.config.yaml_loader import Document, Key
from dsgkit.errors import ConfigError, nearest_or_all, spelled

_EXPECTED_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text (put it in quotes)",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
}


KnownKeys = Callable[[Any, Key], list[str]]
"""Takes a document's data and a place in it; returns the keys that are allowed there."""


def config_error(error: ValidationError, document: Document, known_keys: KnownKeys) -> ConfigError:
    """Return the error to show for an invalid document.

    Unknown keys come first: a mistyped key is also a missing one. The exception behind a problem,
    such as one of user code, becomes the error's cause.
    """
    problems = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    key, text = _wording(dict(problems[0]), document, known_keys)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    config_problem = document.error(key, text + more)
    config_problem.__cause__ = problems[0].get("ctx", {}).get("cause")
    return config_problem


def _wording(error: dict[str, Any], document: Document, known_keys: KnownKeys) -> tuple[Key, str]:
    """Return the key of a problem and its description."""
    key, kind, value = error["loc"], error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        known = known_keys(document.data, key[:-1])
        return key, f"unknown key {spelled(key[-1])}{nearest_or_all(str(key[-1]), known)}"
    if kind == "missing":
        return key[:-1] if len(key) == 1 else key, f"missing key {key[-1]!r}"
    if kind == "problem":
        return (*key, *context["at"]), context["text"]
    if kind in _EXPECTED_TYPES:
        return key, f"must be {_EXPECTED_TYPES[kind]}, got {spelled(value)}"
    if kind == "literal_error":
        return key, f"must be {context['expected']}, got {spelled(value)}"
    if kind == "greater_than_equal":
        return key, f"must be >= {context['ge']}, got {spelled(value)}"
    if kind == "less_than_equal":
        return key, f"must be <= {context['le']}, got {spelled(value)}"
    return key, f"{error['msg'][0].lower()}{error['msg'][1:]}, got {spelled(value)}"
