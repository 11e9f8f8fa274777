"""From a config file to its resolved settings: bases, a profile, overrides."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsgkit.config.yaml import Document, Key, parse, read_document
from dsgkit.errors import ConfigError, did_you_mean, in_a_line, nearest_or_all, spelled

SHIPPED = Path(__file__).parents[1] / "configs"  # of the installed package
if not SHIPPED.is_dir():
    SHIPPED = Path(__file__).parents[2] / "configs"  # of the checkout


def shipped_names() -> list[str]:
    """Return the names of the shipped configs, with those in ``base/`` and ``claims/``."""
    paths = sorted(SHIPPED.rglob("*.yaml"))
    return [path.relative_to(SHIPPED).with_suffix("").as_posix() for path in paths]


def _shipped(name: str) -> Path | None:
    """Return the shipped file with this path, with or without extension; None if there is none."""
    stem = name.removesuffix(".yaml")
    path = SHIPPED / f"{stem}.yaml"
    return path if re.fullmatch(r"\w[\w/-]{0,80}", stem) and path.is_file() else None


def copy_shipped(name: str, to: Path) -> None:
    """Copy a shipped config to a new file, ready to edit."""
    path = _shipped(name)
    if path is None:
        raise ConfigError(f"no shipped config {spelled(name)}{did_you_mean(name, shipped_names())}")
    text = path.read_text(encoding="utf-8")
    if path.parent != SHIPPED:
        inside = path.parent.relative_to(SHIPPED).as_posix()
        text = re.sub(r"(?m)^extends: ", f"extends: {inside}/", text)
    with to.open("x", encoding="utf-8") as file:
        file.write(text)


def _located(name: Path) -> Path:
    """Return the config file of a path, or of the name of a shipped config; a file wins."""
    path = name if name.exists() else _shipped(str(name))
    if path is None:
        known = [*(near.stem for near in name.parent.glob("*.yaml")), *shipped_names()]
        hint = did_you_mean(name.stem, known) or "; `dsg list configs` lists those of the package"
        raise ConfigError(f"no config file or shipped config {spelled(str(name))}{hint}")
    return path


def resolve(
    path: str | Path,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    name: str | None = None,
) -> Document:
    """Return the resolved settings of an experiment, not yet validated.

    Parameters
    ----------
    path : str or Path
        The config file, or the name of a shipped config.
    profile : str, optional
        A name under ``profiles`` of the file or its bases, merged over the rest.
    overrides : iterable of str
        ``a.b=value`` texts, merged over everything; the value is YAML. If they change results,
        the experiment's name ends in a hash of them, which gives it a separate results folder; more
        trials go on in the same folder.
    name : str, optional
        The experiment's name, instead of the config's.
    """
    path = _located(Path(path))
    document = read_config(path)
    profiles = document.data.pop("profiles", {})
    document.data.setdefault("name", path.stem)
    if profile is not None:
        if profile not in profiles:
            hint = nearest_or_all(profile, profiles) or "; the file has no profiles"
            raise ConfigError(f"{path}: unknown profile {spelled(profile)}{hint}")
        settings, key = profiles[profile], ("profiles", profile)
        removed = [k for k, solver in _solvers(document.data).items() if solver is None]
        if solvers := _solvers(settings):  # a solver that the config removes stays removed
            kept = {k: solver for k, solver in solvers.items() if k not in removed}
            settings = {**settings, "solvers": kept}
        places = {k[2:]: place for k, place in document.places.items() if k[:2] == key}
        profiled = f"{document.data['name']}-{profile}"
        document = _overlaid(document, Document(settings, places))
        document.data["name"] = profiled
    before, change = document.data, Document({})
    for override in map(_override, overrides):
        document, change = _overlaid(document, override), change.merged(override)
    if name is not None:
        document = document.merged(Document({"name": name}, {("name",): f"--name {name}"}))
    elif "name" not in change.data and _of_folder(document.data) != _of_folder(before):
        document.data["name"] = f"{before['name']}-{_short_hash(change.data)}"
    if isinstance(solvers := document.data.get("solvers"), dict):
        document.data["solvers"] = {k: v for k, v in solvers.items() if v is not None}
    _make_paths_absolute(document)
    return document


def read_config(path: Path, children: tuple[Path, ...] = ()) -> Document:
    """Return a config merged over the configs that it extends, with their merged ``profiles``."""
    document, chain = read_document(path), (*children, path)
    parent = Document({}, {(): document.places[()]})
    if (extends := document.data.pop("extends", None)) is not None:
        base = Path(os.path.normpath(path.parent / str(extends)))
        if not base.is_file():
            base = _shipped(str(extends)) or base
        if base.resolve() in [child.resolve() for child in chain]:
            names = " -> ".join(child.name for child in [*chain, base])
            raise document.error(("extends",), f"leads in a circle: {names}")
        if not base.is_file():
            hint = did_you_mean(str(extends), [f"{name}.yaml" for name in shipped_names()])
            raise document.error(("extends",), f"no such config file: {spelled(extends)}{hint}")
        parent = read_config(base, chain)
        parent.data.pop("name", None)
    document = _overlaid(parent, document)
    profiles = document.data.get("profiles", {})
    if not isinstance(profiles, dict):
        raise document.error(("profiles",), "must be a mapping of names to settings")
    for name, settings in profiles.items():
        if not isinstance(settings, dict):
            raise document.error(("profiles", name), "must be a mapping of settings")
    return document


def _overlaid(base: Document, over: Document) -> Document:
    """Merge; removing a solver that is not there is a mistake for ``{}``."""
    known = _solvers(base.data)
    for key, solver in _solvers(over.data).items():
        if solver is None and key not in known:
            hint = did_you_mean(key, known) or "; write {} for its defaults"
            raise over.error(("solvers", key), f"null removes a solver, but none is there{hint}")
    return base.merged(over)


def _solvers(data: Mapping[str, Any]) -> dict[str, Any]:
    solvers = data.get("solvers")
    return solvers if isinstance(solvers, dict) else {}


def _override(text: str) -> Document:
    """Return ``a.b=value`` as a document ``{a: {b: value}}``, with the option as its place."""
    source = f"--set {text}"
    dotted, _, value = text.partition("=")
    keys: Key = tuple(key.strip() for key in dotted.split("."))
    if not (value.strip() and all(keys)):
        advice = "write key=value, such as protocol.trials=3 (null for none)"
        raise ConfigError(f"{in_a_line(source, 300)}: {advice}")
    document = parse(value, source)
    places = {keys[:i]: source for i in range(len(keys))}
    places |= {(*keys, *key): source for key in document.places}
    data = document.data
    for key in reversed(keys):
        data = {key: data}
    return Document(data, places)


def _make_paths_absolute(document: Document) -> None:
    """Resolve a dataset's paths relative to the config that states them."""
    dataset = document.data.get("dataset")
    for name in ("path", "test_path", "pairs"):
        if isinstance(dataset, dict) and isinstance(path := dataset.get(name), str):
            place = document.places[("dataset", name)]
            folder = Path() if place.startswith("--") else Path(place.rpartition(":")[0]).parent
            dataset[name] = os.path.normpath((folder / Path(path).expanduser()).absolute())


def of_results(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a config, or of a part of one, that results depend on."""
    settings = {k: v for k, v in data.items() if k not in ("name", "threads", "outputs")}
    if solvers := _solvers(settings):
        settings["solvers"] = {
            key: {k: v for k, v in solver.items() if k not in ("label", "against")}
            if isinstance(solver, dict)
            else solver
            for key, solver in solvers.items()
        }
    return settings


def _of_folder(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that make a results folder another one: not the number of trials."""
    settings = of_results(data)
    if isinstance(protocol := settings.get("protocol"), dict):
        settings["protocol"] = {k: value for k, value in protocol.items() if k != "trials"}
    return settings


def _short_hash(change: Mapping[str, Any]) -> str:
    """Return a few hexadecimal digits that name a change of settings."""
    settings = _of_folder(change)
    if solvers := _solvers(settings):  # a new label alone is no change
        settings["solvers"] = {k: v for k, v in solvers.items() if v or not change["solvers"][k]}
    settings = {name: value for name, value in settings.items() if value != {}}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:6]
