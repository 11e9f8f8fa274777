"""The configs that are shipped with the package."""

from __future__ import annotations

import re
from pathlib import Path

from dsgkit.errors import ConfigError, did_you_mean, spelled

_LISTED = "; `dsg list configs` lists those of the package"


def folder() -> Path:
    """Return the folder of the shipped configs: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def names() -> list[str]:
    """Return the names of the shipped configs, with those in ``base/`` and ``claims/``."""
    paths = sorted(folder().rglob("*.yaml"))
    return [path.relative_to(folder()).with_suffix("").as_posix() for path in paths]


def beneath(name: str) -> Path | None:
    """Return the shipped file with this path, with or without extension; None if there is none."""
    stem = name.removesuffix(".yaml")
    path = folder() / f"{stem}.yaml"
    return path if re.fullmatch(r"\w[\w/-]{0,80}", stem) and path.is_file() else None


def located(path: Path) -> Path:
    """Return the config file of a path, or of the name of a shipped config; a file wins."""
    shipped = path if path.exists() else beneath(str(path))
    if shipped is None:
        known = [*(near.stem for near in path.parent.glob("*.yaml")), *names()]
        hint = did_you_mean(path.stem, known) or _LISTED
        raise ConfigError(f"no config file or shipped config {spelled(str(path))}{hint}")
    return shipped


def copy(name: str, to: Path) -> None:
    """Copy a shipped config to a new file, ready to edit."""
    shipped = beneath(name)
    if shipped is None:
        hint = did_you_mean(name, names()) or _LISTED
        raise ConfigError(f"no shipped config {spelled(name)}{hint}")
    text = shipped.read_text(encoding="utf-8")
    if shipped.parent != folder():
        inside = shipped.parent.relative_to(folder()).as_posix()
        text = re.sub(r"(?m)^extends: ", f"extends: {inside}/", text)
    with to.open("x", encoding="utf-8") as file:
        file.write(text)
