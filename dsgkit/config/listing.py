"""Summaries of the configs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from dsgkit.config.load import resolve
from dsgkit.errors import ConfigError


class ConfigSummary(NamedTuple):
    """A config file as ``dsg list configs`` shows it.

    Attributes
    ----------
    name : str
        File name without its extension.
    dataset : str
        Name in the catalogue, or path of a local file.
    description : str
        The comment in the first line, or the error in the file.
    """

    name: str
    path: Path
    dataset: str
    solvers: tuple[str, ...]
    profiles: tuple[str, ...]
    description: str


def list_configs(folder: str | Path) -> list[ConfigSummary]:
    """Return a summary of every ``*.yaml`` directly in a folder, by name, without validation.

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of configs")
    return [_summary(path) for path in sorted(folder.glob("*.yaml"))]


def _summary(path: Path) -> ConfigSummary:
    try:
        data = resolve(path).data
    except ConfigError as error:
        return ConfigSummary(path.stem, path, "", (), (), f"cannot be used: {error}")
    dataset = _mapping(data, "dataset")
    return ConfigSummary(
        path.stem,
        path,
        str(dataset.get("name") or dataset.get("path") or ""),
        tuple(key for key, solver in _mapping(data, "solvers").items() if solver is not None),
        tuple(_mapping(data, "profiles")),
        _description(path),
    )


def _mapping(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _description(path: Path) -> str:
    first = path.read_text(encoding="utf-8-sig").partition("\n")[0]
    return first.lstrip("#").strip() if first.startswith("#") else ""
