"""Strict reader of the papers' data files; errors name the place in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dsgkit.config.spec import Spec
from dsgkit.config.yaml import Document, read_document
from dsgkit.errors import ConfigError

Read = TypeVar("Read", bound=Spec)


def read_strictly(path: Path, schema: type[Read], choices: str) -> Read:
    """Read a data file of a paper.

    Parameters
    ----------
    path : Path
    schema : type of Spec
    choices : str
        Key of lists with entries of several kinds.

    Raises
    ------
    ConfigError
        For the first error, with its place in the file.
    """
    document = read_document(path)
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        raise _config_error(error, document, choices) from None


def _config_error(error: ValidationError, document: Document, choices: str) -> ConfigError:
    """Return the first problem with its place in the file; unknown keys come first."""
    first: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    keys = [*first["loc"], *getattr(first.get("ctx", {}).get("error"), "at", ())]
    if choices in keys[:-2]:  # pydantic adds the kind of an entry, which is not a key
        del keys[keys.index(choices) + 2]
    return document.error(
        tuple(keys),
        f"{keys[-1] if keys else ''}: {first['msg'].removeprefix('Value error, ')}".lstrip(": "),
    )
