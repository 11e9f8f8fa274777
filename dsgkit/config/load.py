"""From a config file to its resolved settings: bases, a profile, overrides."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dsgkit.config.yaml import Document, Key, dump, parse, read_document
from dsgkit.errors import ConfigError, did_you_mean, in_a_line, nearest_or_all, spelled

_NOT_OF_RESULTS = ("name", "threads", "inference", "outputs")
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


def copy_shipped(name: str, to: Path, *, full: bool = False) -> None:
    """Copy a shipped config to a new file, ready to edit; ``full`` merges it with its bases."""
    path = _shipped(name)
    if path is None:
        raise ConfigError(f"no shipped config {spelled(name)}{did_you_mean(name, shipped_names())}")
    text = path.read_text(encoding="utf-8")
    if full:
        data = read_config(path).data
        removed = {key for key, solver in data.get("solvers", {}).items() if solver is None}
        for part in (data, *data.get("profiles", {}).values()):
            if "solvers" in part:
                part["solvers"] = {k: v for k, v in part["solvers"].items() if k not in removed}
        dataset = {key: data[key] for key in ("dataset",) if key in data}  # as people write it
        text = f"{text.partition(chr(10))[0]}\n{dump(dataset | data)}"
    elif path.parent != SHIPPED:
        inside = path.parent.relative_to(SHIPPED).as_posix()
        text = re.sub(r"(?m)^extends: ", f"extends: {inside}/", text)
    with to.open("x", encoding="utf-8") as file:
        file.write(text)


def _called(name: Path) -> Path:
    """Return the shipped config of a name that is no file."""
    if (path := _shipped(str(name))) is None:
        files = (str(near) for near in name.parent.glob("*.yaml"))
        hint = (
            did_you_mean(str(name.with_suffix(".yaml")), files)
            or did_you_mean(name.stem, shipped_names())
            or "; `dsg list configs` lists those of the package"
        )
        raise ConfigError(f"no config file or shipped config {spelled(str(name))}{hint}")
    return path


def resolve(
    path: str | Path,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    name: str | None = None,
) -> Document:
    """Return the settings of an experiment, not yet validated; arguments as `load_experiment`."""
    path = Path(path)
    if not path.exists():
        path = _called(path)
    document = read_config(path)
    profiles = document.data.pop("profiles", {})
    called = document.data.setdefault("name", path.stem)
    if profile is not None:
        if profile not in profiles:
            hint = nearest_or_all(profile, profiles) or "; the file has no profiles"
            raise ConfigError(f"{path}: unknown profile {spelled(profile)}{hint}")
        solvers, key = document.data.get("solvers", {}), ("profiles", profile)
        removed = {name: None for name, solver in solvers.items() if solver is None}
        places = {k[2:]: place for k, place in document.places.items() if k[:2] == key}
        document = _overlaid(document, Document(profiles[profile], places))
        document.data["name"] = called = f"{called}-{profile}"
        if removed:  # a solver that the config removes stays removed
            document.data["solvers"] |= removed
    before, change = document.data, Document({})
    for text in overrides:
        override = _override(text)
        document, change = _overlaid(document, override), change.merged(override)
    of_folder = partial(of_results, trials=False)
    if name is not None:
        document.data["name"], document.places["name",] = name, f"--name {name}"
    elif "name" not in change.data and of_folder(document.data) != of_folder(before):
        document.data["name"] = f"{called}-{_short_hash(change.data)}"
    if solvers := document.data.get("solvers"):
        document.data["solvers"] = {k: v for k, v in solvers.items() if v is not None}
    dataset = document.data.get("dataset")
    for part in ("path", "test_path", "pairs") if isinstance(dataset, dict) else ():
        if isinstance(written := dataset.get(part), str):
            place = document.places["dataset", part]  # of the config that states the path, or --set
            folder = Path() if place.startswith("--") else Path(place.rpartition(":")[0]).parent
            dataset[part] = os.path.normpath((folder / Path(written).expanduser()).absolute())
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
    if not isinstance(profiles := document.data.get("profiles", {}), dict):
        raise document.error(("profiles",), "must be a mapping of names to settings")
    for name, settings in profiles.items():
        if not isinstance(settings, dict):
            raise document.error(("profiles", name), "must be a mapping of settings")
    return document


def _overlaid(base: Document, over: Document) -> Document:
    """Merge; removing a solver that is not there is a mistake for ``{}``."""
    known, solvers = base.data.get("solvers", {}), over.data.get("solvers", {})
    if not isinstance(solvers, dict):
        text = f"must be a mapping of keys to values, got {spelled(solvers)}"
        raise over.error(("solvers",), text)
    for key, solver in solvers.items():
        if solver is None and key not in known:
            hint = did_you_mean(key, known) or "; write {} for its defaults"
            raise over.error(("solvers", key), f"null removes a solver, but none is there{hint}")
    return base.merged(over)


def _override(text: str) -> Document:
    """Return ``a.b=value`` as a document ``{a: {b: value}}``, with the option as its place."""
    source = f"--set {text}"
    dotted, _, value = text.partition("=")
    keys: Key = tuple(key.strip() for key in dotted.split("."))
    if not (value.strip() and all(keys)):
        advice = "write key=value, such as protocol.trials=3 (null for none)"
        raise ConfigError(f"{in_a_line(source, 300)}: {advice}")
    document = copy.deepcopy(parse(value, source))
    places = {keys[:i]: source for i in range(len(keys))}
    places |= {(*keys, *key): source for key in document.places}
    data = document.data
    for key in reversed(keys):
        data = {key: data}
    return Document(data, places)


def of_results(data: Mapping[str, Any], *, trials: bool = True) -> dict[str, Any]:
    """Return the settings that results depend on; without ``trials``, those that name a folder."""
    settings = {k: v for k, v in data.items() if k not in _NOT_OF_RESULTS}
    if solvers := settings.get("solvers"):
        settings["solvers"] = {
            key: {k: v for k, v in solver.items() if k not in ("label", "against")}
            if isinstance(solver, dict)
            else solver
            for key, solver in solvers.items()
        }
    if not trials and isinstance(protocol := settings.get("protocol"), dict):
        settings["protocol"] = {k: value for k, value in protocol.items() if k != "trials"}
    return settings


def _short_hash(change: Mapping[str, Any]) -> str:
    """Return a few hexadecimal digits that name a change of settings."""
    settings = of_results(change, trials=False)
    if solvers := settings.get("solvers"):  # a new label alone is no change
        settings["solvers"] = {k: v for k, v in solvers.items() if v or not change["solvers"][k]}
    settings = {name: value for name, value in settings.items() if value != {}}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:6]
