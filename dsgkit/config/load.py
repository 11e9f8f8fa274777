"""From a config file to a validated experiment: bases, profiles, overrides."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from dsgkit.config import shipped
from dsgkit.config.bounds import MAX_BASES, MAX_NESTING
from dsgkit.config.changes import first_difference, short_hash
from dsgkit.config.merge import merge, subdocument, without
from dsgkit.config.problems import config_error
from dsgkit.config.schema import Experiment, known_keys
from dsgkit.config.yaml_loader import Document, Key, Mark, parse_override, read_document
from dsgkit.data import catalogue
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import ConfigError, DataError, did_you_mean, nearest_or_all, spelled
from dsgkit.system.files import why_no_path
from dsgkit.text.specs import LONGEST_NAME


def load_experiment(
    path: str | Path,
    *,
    profile: str | None = None,
    overrides: Iterable[str] = (),
    name: str | None = None,
    stored: bool = False,
) -> Experiment:
    """Read a config file with its bases, one of its profiles and overrides.

    Parameters
    ----------
    path : str or Path
        The config file, or the name of a shipped config.
    profile : str, optional
        A name under ``profiles`` of the file or its bases, merged over the rest.
    overrides : iterable of str
        ``a.b=value`` texts, merged over everything; the value is YAML. If they change results,
        the experiment's name ends in a hash of them, which gives it a separate results folder.
    name : str, optional
        The experiment's name, instead of the config's.
    stored : bool
        Whether the config was stored by a run and is read for its results. Parameters are then not
        checked, and solvers and user-defined tasks, which may be gone, are not imported.

    Returns
    -------
    Experiment

    Raises
    ------
    ConfigError
        For the first problem, with its place.
    """
    path = shipped.located(Path(path))
    document = resolve(path)
    profiles = subdocument(document, ("profiles",)) if "profiles" in document.data else None
    document.data["name"] = _plain_name(document, path, profile)
    document = without(document, "profiles")
    if profile is not None:
        chosen = _profile(profiles, profile, path)
        document = _overlay(document, _without_solvers_removed_in(document, chosen))
    before, change = document, Document({}, {})
    for override in map(_override, overrides):
        document, change = _overlay(document, override), merge(change, override)
    if name is not None:
        document = merge(document, Document({"name": name}, {("name",): Mark(f"--name {name}")}))
    experiment = _validated(_absolute_paths(_without_removed(document)), stored)
    named = name is not None or "name" in change.data
    if named or not first_difference(document.data, before.data):
        return experiment
    return experiment.model_copy(update={"name": _changed_name(experiment.name, change)})


def plain_name(path: Path, profile: str | None) -> str:
    """Return the name of a config's experiment without overrides."""
    path = shipped.located(path)
    return _plain_name(resolve(path), path, profile)


def _plain_name(document: Document, path: Path, profile: str | None) -> str:
    name: str = document.data.get("name", path.stem)
    return name if profile is None else f"{name}-{profile}"


def _changed_name(name: str, change: Document) -> str:
    ending = f"-{short_hash(change.data)}"
    return name[: LONGEST_NAME - len(ending)] + ending


def resolve(path: Path) -> Document:
    """Return a config merged over its bases, unvalidated, with their merged ``profiles``.

    Raises
    ------
    ConfigError
        If a file cannot be read, or ``extends`` is circular.
    """
    document = _with_bases(path, [])
    profiles = document.data.get("profiles", {})
    if not isinstance(profiles, dict):
        raise document.error(("profiles",), "must be a mapping of names to settings")
    for name, settings in profiles.items():
        if not isinstance(settings, dict):
            raise document.error(("profiles", name), "must be a mapping of settings")
    return document


def _with_bases(path: Path, children: list[Path]) -> Document:
    document = read_document(path)
    extends = document.data.get("extends")
    own = without(document, "extends")
    if "extends" not in document.data:
        return _overlay(Document({}, {(): document.mark(())}), own)
    if not isinstance(extends, str):
        raise document.error(("extends",), "must be the path of one config file")
    if why := why_no_path(extends):
        raise document.error(("extends",), f"{why}, got {spelled(extends)}")
    base = Path(os.path.normpath(path.parent / extends))
    if not base.is_file():
        base = shipped.beneath(extends) or base
    chain = [*children, path]
    if os.path.realpath(base) in map(os.path.realpath, chain):
        names = " -> ".join(child.name for child in [*chain, base])
        raise document.error(("extends",), f"leads in a circle: {names}")
    if len(chain) > MAX_BASES:
        raise document.error(("extends",), f"leads through more than {MAX_BASES} files")
    if not base.is_file():
        hint = _near_file(extends, path.parent)
        raise document.error(("extends",), f"no such config file: {Mark(str(base))}{hint}")
    # a base's name is not inherited
    return _overlay(without(_with_bases(base, chain), "name"), own)


def _near_file(extends: str, folder: Path) -> str:
    """Return a hint with the nearest name of a config, in the same folder or shipped."""
    place = Path(extends).parent
    names = [Path(name) for name in (*shipped.bases(), *shipped.names())]
    known = {name.name for name in names if name.parent == place}
    with suppress(OSError):
        files = (folder / place).glob(f"*{shipped.SUFFIX}")
        known |= {file.stem for file in files if file.is_file()}
    near = difflib.get_close_matches(Path(extends).stem, sorted(known), n=1)  # endings are alike
    return f" (did you mean {spelled(str(place / near[0]) + shipped.SUFFIX)}?)" if near else ""


def _overlay(base: Document, over: Document) -> Document:
    """Merge; removing a solver that does not exist is an error, a mistake for ``{}``."""
    solvers = over.data.get("solvers")
    known = base.data.get("solvers")
    known = known if isinstance(known, dict) else {}
    for name, solver in solvers.items() if isinstance(solvers, dict) else ():
        if solver is None and name not in known:
            hint = did_you_mean(name, known) or "; write {} for its defaults"
            raise over.error(("solvers", name), f"null removes a solver, but none is there{hint}")
    return merge(base, over)


def _profile(profiles: Document | None, name: str, path: Path) -> Document:
    known = profiles.data if profiles else {}
    if profiles is None or name not in known:
        if not known:
            raise ConfigError(
                f"{Mark(str(path))}: has no profiles; leave out --profile {spelled(name)}, or add "
                "`profiles` to the file"
            )
        hint = nearest_or_all(name, known)
        raise ConfigError(f"{Mark(str(path))}: unknown profile {spelled(name)}{hint}")
    return subdocument(profiles, (name,))


def _without_solvers_removed_in(document: Document, profile: Document) -> Document:
    """Return a profile without a base's settings for solvers that the config removes."""
    solvers, theirs = document.data.get("solvers"), profile.data.get("solvers")
    if not (isinstance(solvers, dict) and isinstance(theirs, dict)):
        return profile
    kept = {name: value for name, value in theirs.items() if solvers.get(name, {}) is not None}
    return Document({**profile.data, "solvers": kept}, profile.marks)


def _override(text: str) -> Document:
    """Return ``a.b=value`` as a document ``{a: {b: value}}`` marked with the option's text."""
    source = f"--set {text}"
    dotted, equals, value = text.partition("=")
    keys = [key.strip() for key in dotted.split(".")]
    if not equals or not all(keys):
        raise ConfigError(f"{Mark(source)}: write key=value, such as protocol.trials=3")
    if not value.strip():
        raise ConfigError(f"{Mark(source)}: no value after '='; write null if you mean nothing")
    if len(keys) > MAX_NESTING:
        raise ConfigError(f"{Mark(source)}: more than {MAX_NESTING} nested keys")
    document = parse_override(value, source)
    marks: dict[Key, Mark] = {tuple(keys[:i]): Mark(source) for i in range(len(keys))}
    marks |= {(*keys, *key): mark for key, mark in document.marks.items()}
    data = document.data
    for key in reversed(keys):
        data = {key: data}
    return Document(data, marks)


def _without_removed(document: Document) -> Document:
    solvers = document.data.get("solvers")
    if not isinstance(solvers, dict):
        return document
    kept = {name: solver for name, solver in solvers.items() if solver is not None}
    return Document({**document.data, "solvers": kept}, document.marks)


def _absolute_paths(document: Document) -> Document:
    """Resolve a dataset's paths relative to the config that states them."""
    dataset = document.data.get("dataset")
    if not isinstance(dataset, dict):
        return document
    paths = {}
    for name in ("path", "test_path"):
        if isinstance(path := dataset.get(name), str):
            if why := why_no_path(path):
                raise document.error(("dataset", name), f"{why}, got {spelled(path)}")
            try:
                paths[name] = _absolute(path, document.mark(("dataset", name)))
            except RuntimeError:
                text = f"no user of this machine has the home folder of {spelled(path)}"
                raise document.error(("dataset", name), text) from None
    return Document({**document.data, "dataset": {**dataset, **paths}}, document.marks)


def _absolute(path: str, mark: Mark) -> str:
    folder = Path() if mark.line is None else Path(mark.source).parent
    return os.path.normpath((folder / Path(path).expanduser()).absolute())


def _validated(document: Document, stored: bool) -> Experiment:
    try:
        experiment = Experiment.model_validate(document.data, context={"stored": stored})
    except ValidationError as error:
        problem = config_error(error, document, known_keys)
        raise problem from problem.__cause__
    if experiment.dataset.name is not None:
        _check_name(experiment.dataset, document)
    return experiment


def _check_name(dataset: DatasetSpec, document: Document) -> None:
    if dataset.path is None:
        try:
            catalogue.get(str(dataset.name))
        except DataError as error:
            raise document.error(("dataset", "name"), str(error)) from None
    elif dataset.name in catalogue.DATASETS:
        text = f"{dataset.name!r} is a registered dataset; call the file by another name"
        raise document.error(("dataset", "name"), text)
