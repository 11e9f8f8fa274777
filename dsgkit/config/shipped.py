"""The configs that are shipped with the package, and summaries of those in a folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from dsgkit.errors import ConfigError, nearest_or_all, spelled

SUFFIX = ".yaml"


def folder() -> Path:
    """Return the folder of the shipped configs: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def names() -> list[str]:
    """Return the names of the shipped configs, those in ``claims/`` last."""
    paths = [*sorted(folder().glob("*.yaml")), *sorted(folder().glob("claims/*.yaml"))]
    return [path.relative_to(folder()).with_suffix("").as_posix() for path in paths]


def bases() -> list[str]:
    """Return the names of the base configs that shipped ones extend."""
    return [f"base/{path.stem}" for path in sorted(folder().glob("base/*.yaml"))]


def beneath(name: str) -> Path | None:
    """Return the shipped file with this path, with or without extension; None if there is none."""
    stem = name.removesuffix(SUFFIX)
    path = folder() / f"{stem}{SUFFIX}"
    return path if re.fullmatch(r"\w[\w/-]{0,80}", stem) and path.is_file() else None


def located(path: Path) -> Path:
    """Return the config file of a path, or of the name of a shipped config.

    An existing file wins; otherwise ``codrna_s2auc`` is the shipped config of that name.

    Raises
    ------
    ConfigError
        If there is neither.
    """
    shipped = path if path.is_file() else beneath(str(path))
    if shipped is not None:
        return shipped
    if not path.suffix and not path.exists():
        hint = nearest_or_all(str(path), names(), "dsg list configs")
        raise ConfigError(f"no config file or shipped config {spelled(str(path))}{hint}")
    if alike := [name for name in names() if Path(name).name == path.stem]:
        hint = f"the package has one: dsg run {alike[0]}"
        raise ConfigError(f"{spelled(str(path))}: no such config file; {hint}")
    return path  # reading it reports what is wrong with it


def copy(name: str, to: Path) -> None:
    """Copy a shipped config to a new file, ready to edit.

    Raises
    ------
    ConfigError
        If there is no such config, or the file exists.
    """
    shipped = beneath(name)
    if shipped is None:
        hint = nearest_or_all(name, [*names(), *bases()], "dsg list configs")
        raise ConfigError(f"no shipped config {spelled(name)}{hint}")
    text = shipped.read_text(encoding="utf-8")
    if shipped.parent != folder():
        inside = shipped.parent.relative_to(folder()).as_posix()
        text = re.sub(r"(?m)^extends: ", f"extends: {inside}/", text)
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{to}: exists already; name another file") from None
    except OSError as error:
        raise ConfigError(f"{to}: {error.strerror}") from None


class ConfigSummary(NamedTuple):
    """A config file as ``dsg list configs`` shows it.

    The description is the comment in the first line, or the error in the file.
    """

    name: str
    path: Path
    dataset: str
    solvers: tuple[str, ...]
    profiles: tuple[str, ...]
    description: str


def list_configs(folder: str | Path) -> list[ConfigSummary]:
    """Return a summary of every ``*.yaml`` directly in a folder, by name, without validation."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of configs")
    return [_summary(path) for path in sorted(folder.glob("*.yaml"))]


def _summary(path: Path) -> ConfigSummary:
    from dsgkit.config.load import read_config  # which imports this module

    try:
        data = read_config(path).data
    except ConfigError as error:
        return ConfigSummary(path.stem, path, "", (), (), f"cannot be used: {error}")
    dataset, solvers = (
        value if isinstance(value := data.get(key), dict) else {} for key in ("dataset", "solvers")
    )
    first = path.read_text(encoding="utf-8-sig").partition("\n")[0]
    return ConfigSummary(
        path.stem,
        path,
        str(dataset.get("name") or dataset.get("path") or ""),
        tuple(key for key, solver in solvers.items() if solver is not None),
        tuple(data.get("profiles", {})),
        first.lstrip("#").strip() if first.startswith("#") else "",
    )
