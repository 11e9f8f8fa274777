"""Reading the data files of papers strictly, with places in errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dsgkit.config.yaml_loader import Document, read_document
from dsgkit.text.errors import ConfigError
from dsgkit.text.specs import Spec

Read = TypeVar("Read", bound=Spec)


def read_strictly(path: Path, schema: type[Read], choices: str) -> Read:
    """Read a data file of a paper.

    Parameters
    ----------
    path : Path
    schema : type of Spec
    choices : str
        The key of the lists whose entries are of several kinds.

    Raises
    ------
    ConfigError
        For the first thing that is wrong, with its place.
    """
    document = read_document(path)
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        raise _config_error(error, document, choices) from None


def _config_error(error: ValidationError, document: Document, choices: str) -> ConfigError:
    """Return the first problem, unknown keys before others, where it stands in the file."""
    found: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    at = [*found["loc"], *found.get("ctx", {}).get("at", ())]
    if choices in at[:-2]:  # pydantic names the kind of an entry, which is no key
        del at[at.index(choices) + 2]
    return document.error(tuple(at), f"{at[-1] if at else ''}: {found['msg']}".lstrip(": "))
