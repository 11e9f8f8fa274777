"""The configs that are shipped with the package, in a checkout or installed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dsgkit.errors import ConfigError, nearest_or_all, spelled

SUFFIX = ".yaml"

NAME = re.compile(r"[\w/-]{1,80}")
"""Pattern of the names of shipped configs: short, without dots."""


def folder() -> Path:
    """Return the folder of the shipped configs: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def names() -> list[str]:
    """Return the names of the shipped configs, those in ``claims/`` last."""
    root = folder()
    paths = [*sorted(root.glob(f"*{SUFFIX}")), *sorted(root.glob(f"claims/*{SUFFIX}"))]
    return [path.relative_to(root).with_suffix("").as_posix() for path in paths]


def located(path: Path) -> Path:
    """Return the config file of a path, or of the name of a shipped config.

    An existing file wins; otherwise ``codrna_s2auc`` is the shipped config of that name.

    Raises
    ------
    ConfigError
        If there is neither.
    """
    name = str(path)
    if os.path.isfile(path):  # noqa: PTH113  False for a name that is too long
        return path
    if (shipped := beneath(name)) is not None:
        return shipped
    if alike := _of_that_stem(path):
        raise ConfigError(
            f"{spelled(name)}: no such config file; the package has one: dsg run {alike}"
        )
    if not _can_be_shipped(name) or path.suffix or os.path.lexists(path):
        # reading it reports what is wrong with it
        return path
    hint = nearest_or_all(name, names(), "dsg list configs")
    raise ConfigError(f"no config file or shipped config {spelled(name)}{hint}")


def _of_that_stem(path: Path) -> str:
    """Return the shipped config with the name of a missing file; empty if there is none."""
    if os.path.lexists(path) or path.suffix != SUFFIX:
        return ""
    return next((name for name in names() if Path(name).name == path.stem), "")


def beneath(name: str) -> Path | None:
    """Return the shipped file with this path, with or without extension; None if there is none."""
    path = folder() / f"{name.removesuffix(SUFFIX)}{SUFFIX}"
    return path if _can_be_shipped(name) and path.is_file() else None


def bases() -> list[str]:
    """Return the names of the base configs that shipped ones extend."""
    return [f"base/{path.stem}" for path in sorted((folder() / "base").glob(f"*{SUFFIX}"))]


def _can_be_shipped(name: str) -> bool:
    return bool(NAME.fullmatch(name.removesuffix(SUFFIX))) and not name.startswith("/")


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
    inside = shipped.parent.relative_to(folder()).as_posix()
    if inside != ".":
        text = re.sub(r"(?m)^extends: ", f"extends: {inside}/", text)
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{to}: exists already; name another file") from None
    except OSError as error:
        raise ConfigError(f"{to}: {error.strerror}") from None
