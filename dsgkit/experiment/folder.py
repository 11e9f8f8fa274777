"""The small files of a results folder: config, dataset, task, plan, environments, pictures."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import ValidationError

from dsgkit import __version__
from dsgkit.config.schema import Experiment, load_stored
from dsgkit.data.dataset import Dataset
from dsgkit.errors import ResultsError, spelled
from dsgkit.experiment.plan import Cell, LeftOut, Plan, TooLarge
from dsgkit.experiment.store import Record, Store, finished_elsewhere, open_kept, write_file
from dsgkit.system.files import commit_of, read_arrays, source_hash
from dsgkit.tasks.measures import Description

CONFIG, DATASET, TASK, PLAN = "config.yaml", "dataset.json", "task.json", "plan.json"
ENVIRONMENT, ENVIRONMENTS, ARTEFACTS = "environment.json", "environments", "artefacts"

LEFT_OUT, TOO_LARGE = "left_out", "too_large"
"""Kinds of a stored plan's entries that are not cells."""

_LIBRARIES = (
    *("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pandas", "matplotlib", "pydantic"),
)
_OTHER_RELEASE = "these results are from another release: run the experiment again"


def write_description(
    folder: Path,
    experiment: Experiment,
    dataset: Dataset,
    task: Description,
    plan: Plan,
    threads: int | None,
) -> None:
    """Write the files that describe a run; reports need nothing else but the records."""
    write_file(folder / CONFIG, experiment.to_yaml())
    write_file(folder / DATASET, json.dumps(dataset.describe(), indent=2) + "\n")
    write_file(folder / TASK, task.model_dump_json(indent=2) + "\n")
    write_file(folder / PLAN, "[\n" + ",\n".join(_entries(plan)) + "\n]\n")
    environment = describe_environment(threads)
    keep_environment(folder, environment)
    write_file(folder / ENVIRONMENT, _environment_text(environment))


def _entries(plan: Plan) -> Iterator[str]:
    """Yield the entries of a stored plan, a line each."""
    for cell in plan.cells:
        entry = {name: getattr(cell, name) for name in ("key", "kind", "solver", "trial")}
        entry |= {"at": dict(cell.at), "flops": cell.flops}
        yield json.dumps(entry | ({"also_at": cell.also_at} if cell.also_at else {}))
    for point in plan.left_out:
        yield json.dumps({"kind": LEFT_OUT, "solver": point.solver, "at": dict(point.at)})
    for sizes in plan.too_large:
        yield json.dumps({"kind": TOO_LARGE, **sizes._asdict()})


def read_plan(folder: Path) -> Plan | None:
    """Return the plan of a results folder; None if there is none.

    Its cells have what a report needs, without grid points and predicted memory.
    """
    entries = read_json(folder / PLAN)
    if entries is None:
        return None
    plan = Plan([], [], [])
    try:
        for entry in entries:
            if entry["kind"] == LEFT_OUT:
                plan.left_out.append(LeftOut(entry["solver"], entry["at"]))
            elif entry["kind"] == TOO_LARGE:
                plan.too_large.append(
                    TooLarge(tuple(entry["sizes"]), entry["most"], entry["taken"])
                )
            else:
                names = ("key", "kind", "solver", "trial", "at", "flops")
                known = {name: entry[name] for name in names}
                plan.cells.append(Cell(**known, also_at=tuple(entry.get("also_at", ()))))
    except (KeyError, TypeError) as error:
        raise ResultsError(
            f"{folder / PLAN}: unexpected content ({type(error).__name__}: {error}); "
            f"{_OTHER_RELEASE}"
        ) from None
    return plan


def planned_cells(records: Collection[Record]) -> list[Cell]:
    """Return the cells of records, for a folder without a plan."""
    names = ("key", "kind", "solver", "trial", "at")
    known = [{name: record[name] for name in names} for record in records]
    also = [tuple(record.get("also_at", ())) for record in records]
    return [Cell(**cell, also_at=sizes) for cell, sizes in zip(known, also, strict=True)]


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; None if there is no such file."""
    try:
        with open_kept(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def read_task(folder: Path) -> Description:
    """Return the description of a results folder's task.

    Raises
    ------
    ResultsError
        If the folder is none of results, or the file cannot be read.
    """
    path = folder / TASK
    try:
        with open_kept(path) as file:
            content = file.read()
        return Description.model_validate_json(content)
    except FileNotFoundError:
        raise ResultsError(
            f"{folder}: not a results folder (it has no {TASK}); name one that a run made, such "
            "as results/NAME"
            if folder.is_dir()
            else f"{folder}: there is no such folder; name one that a run made"
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}".removeprefix(": ")
        raise ResultsError(f"{path}: unexpected content ({reason}); {_OTHER_RELEASE}") from None


def check_settings(folder: Path, experiment: Experiment, dataset: Dataset) -> None:
    """Raise `ResultsError` if a folder holds another experiment: other data, seed or protocol.

    More trials, sizes, solvers and grid points are an extension of the same experiment, and files
    may have moved.
    """
    if not (folder / CONFIG).is_file():
        return
    stored, data = load_stored(folder / CONFIG), dataset.describe()
    known = read_json(folder / DATASET) or data
    # settings that an earlier release did not have are compared by their defaults
    unset = type(experiment.protocol).model_construct(kind=experiment.protocol.kind)
    theirs, ours = (
        {"seed": one.seed, "the data": about.get("content_hash"), "the target": about.get("target")}
        | {f"protocol.{name}": value for name, value in protocol.items() if name != "trials"}
        for one, about in ((stored, known), (experiment, data))
        for protocol in [unset.model_dump(mode="json") | one.protocol.model_dump(mode="json")]
    )
    for key in dict.fromkeys([*ours, *theirs]):
        if ours.get(key) != theirs.get(key):
            values = f"is {spelled(theirs.get(key))} there and {spelled(ours.get(key))} here"
            raise ResultsError(
                f"{folder} holds another experiment: {key} "
                + ("differ" if key == "the data" else values)
                + "; give this one another --name, or set the other aside by --fresh"
            )


def describe_environment(threads: int | None = None) -> dict[str, Any]:
    """Return versions, processor, memory, threads of a timed fit and the commit, for JSON."""
    import psutil

    from dsgkit.system.machine import available_threads

    return {
        "dsgkit": __version__,
        "commit": commit_of(),
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "logical_cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "threads": threads or available_threads(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(s.split(":", 1)[1].strip() for s in lines if s.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _environment_text(environment: Mapping[str, Any]) -> str:
    return json.dumps(environment, indent=2) + "\n"


def keep_environment(folder: Path, environment: Mapping[str, Any]) -> str:
    """Write an environment's file, if it is new, and return its name in records: a hash."""
    text = _environment_text(environment)
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    if not (path := folder / ENVIRONMENTS / f"{name}.json").exists():
        write_file(path, text)
    return name


def read_environments(folder: Path, records: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """Return the environments that records name; empty ones for missing files."""
    names = dict.fromkeys(record.get("environment") for record in records)
    return {n: read_json(folder / ENVIRONMENTS / f"{n}.json") or {} for n in names if n}


def copy_records(store: Store, keys: Iterable[str]) -> None:
    """Copy finished cells from the folders next to a store's, with environments and pictures."""
    wanted = [key for key in keys if key not in store.records]
    for source, record in finished_elsewhere(store.folder, wanted):
        picture = source / record.get("artefact", "")
        if "artefact" in record and not picture.is_file():
            continue
        environment = source / ENVIRONMENTS / f"{record.get('environment')}.json"
        for path in (picture, environment):
            copy = store.folder / path.relative_to(source)
            if path.is_file() and not copy.exists():
                write_file(copy, path.read_bytes())
        store.append(record)


def load_artefact(folder: Path, record: Record) -> dict[str, NDArray[Any]]:
    """Return the arrays that a fit's figures are drawn from, by name; empty if it has none.

    Raises
    ------
    ResultsError
        If their file exists but cannot be read.
    """
    if "artefact" not in record:
        return {}
    path = folder / ARTEFACTS / f"{record['key']}.npz"
    try:
        return read_arrays(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ResultsError(
            f"{path}: cannot be read ({error}); remove it to draw the figures without it"
        ) from error


def other_source(
    records: Iterable[Record], environments: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return lines on results that were computed by other code than the running one.

    A record of an earlier release does not say which code computed it, and is not counted.
    """
    numbers: dict[tuple[str, str], dict[str, int]] = {}
    for record in records:
        if record.get("source", source_hash()) != source_hash():
            commit = environments.get(record.get("environment") or "", {}).get("commit")
            origin = record.get("dsgkit", "?"), commit or "an unknown commit"
            solvers = numbers.setdefault(origin, {})
            solvers[record["solver"]] = solvers.get(record["solver"], 0) + 1
    lines = []
    for (version, commit), solvers in numbers.items():
        number = sum(solvers.values())
        some, them = ("result is", "it") if number == 1 else ("results are", "them")
        lines.append(
            f"{number:,} {some} reused from dsgkit {version} at {commit}, whose code differs; "
            f"--fresh --solvers {','.join(solvers)} computes {them} again"
        )
    return lines
