"""The small files of a results folder: config, dataset, task, plan, environments, pictures."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import lzma
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from numpy.typing import NDArray
from pydantic import ValidationError

from dsgkit import __version__
from dsgkit.config.schema import Experiment, load_stored
from dsgkit.data.dataset import Dataset
from dsgkit.errors import ResultsError, spelled
from dsgkit.estimators import catalogue
from dsgkit.experiment.plan import Cell, LeftOut, Plan, TooLarge
from dsgkit.experiment.store import Store, finished_elsewhere, write_file
from dsgkit.system.files import commit_of, read_arrays, source_hash
from dsgkit.system.machine import available_threads
from dsgkit.tasks.base import TASKS, Task, get, takes
from dsgkit.tasks.measures import STANDARD, Description, SolverFacts

CONFIG, DATASET, TASK, PLAN = "config.yaml", "dataset.json", "task.json", "plan.json"
ENVIRONMENT, ENVIRONMENTS, ARTEFACTS = "environment.json", "environments", "artefacts"
PICTURES = "pictures.npz.xz"  # of kept results

_LIBRARIES = (
    *("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pandas", "matplotlib", "pydantic"),
)


def write_description(
    folder: Path, experiment: Experiment, dataset: Dataset, plan: Plan, threads: int | None
) -> None:
    """Write the files that describe a run; reports need nothing else but the records."""
    write_file(folder / CONFIG, experiment.to_yaml())
    write_file(folder / DATASET, json.dumps(dataset.describe(), indent=2) + "\n")
    write_file(folder / TASK, describe(experiment).model_dump_json(indent=2) + "\n")
    names = ("key", "kind", "solver", "trial", "at", "flops", "judging", "also_at")
    entries = [
        *({n: v for n in names if (v := getattr(cell, n)) != ()} for cell in plan.cells),
        *({"kind": "left_out", **point._asdict()} for point in plan.left_out),
        *({"kind": "too_large", **sizes._asdict()} for sizes in plan.too_large),
    ]
    write_file(folder / PLAN, "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n")
    name = keep_environment(folder, describe_environment(threads or experiment.threads))
    write_file(folder / ENVIRONMENT, (folder / ENVIRONMENTS / f"{name}.json").read_bytes())


def describe(experiment: Experiment) -> Description:
    """Return the description of an experiment's task, which is all that a report needs of it."""
    protocol, facts, searches = experiment.drawn, {}, False
    for key, spec in experiment.solvers.items():
        solver = catalogue.get(spec.kind)
        choices = [item for stage in spec.search for item in stage.choices.items()]
        searches |= any(len(grid) > 1 for _, grid in choices)
        values = [*spec.params.values(), *(value for _, grid in choices for value in grid)]
        given = (name for name in protocol.told if name in values or takes(solver.load(), name))
        facts[key] = SolverFacts(
            told=protocol.told.get(next(given, ""), ""),
            ends={name: solver.parameters[name].range.ends for name, _ in choices},
        )
    return Description(
        kind=protocol.kind,
        setting=protocol.setting,
        protocol=protocol.protocol,
        selection=protocol.selection,
        oracle=protocol.oracle if searches else "",
        draws=experiment.task.draws,
        axis=experiment.axis,
        measures=(*experiment.task.measures, *STANDARD),
        chooses=protocol.chooses or experiment.task.chooses,
        published=protocol.published and protocol.published(experiment.dataset.name),
        not_of_splits=("trials", *protocol.only_for_search, *protocol.only_for_judging),
        solvers=facts,
    )


def read_plan(folder: Path) -> Plan | None:
    """Return the plan of a results folder, with what a report needs; None if there is none."""
    entries = read_json(folder / PLAN)
    if entries is None:
        return None
    too_large = [entry for entry in entries if entry["kind"] == "too_large"]
    return Plan(
        [cell_of(entry) for entry in entries if entry["kind"] in ("search", "fit")],
        [LeftOut(entry["solver"], entry["at"]) for entry in entries if entry["kind"] == "left_out"],
        [TooLarge(tuple(one["sizes"]), one["most"], one["taken"]) for one in too_large],
    )


def cell_of(entry: Mapping[str, Any]) -> Cell:
    """Return the cell of an entry of a stored plan, or of a record."""
    known = {name: entry[name] for name in ("key", "kind", "solver", "trial", "at")}
    work = {name: entry.get(name, 0.0) for name in ("flops", "judging")}
    return Cell(**known, **work, also_at=tuple(entry.get("also_at", ())))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, or of ``<path>.xz`` of kept results; None without one."""
    archive = path.with_name(f"{path.name}.xz")
    try:
        is_packed = archive.exists() and not path.exists()
        with lzma.open(archive) if is_packed else path.open("rb") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}); run the experiment again") from None


def read_task(folder: Path) -> tuple[Description, dict[str, Any]]:
    """Return a run's task and facts about its data; kept results have both in one file."""
    content, data = read_json(folder / TASK), read_json(folder / DATASET) or {}
    if content is None:
        why = f"not a results folder (it has no {TASK})" if folder.is_dir() else "no such folder"
        raise ResultsError(f"{folder}: {why}; name one that a run made, such as results/NAME")
    try:
        data = content.pop("dataset", data)
        if content.get("draws") is None:  # of an earlier release
            kind = content.get("kind")
            content["draws"] = (get(kind) if kind in TASKS else Task).draws
        return Description.model_validate(content), data
    except (ValidationError, AttributeError, TypeError):
        advice = "written by another release; run the experiment again"
        raise ResultsError(f"{folder / TASK}: {advice}") from None


def check_settings(folder: Path, experiment: Experiment, dataset: Dataset) -> None:
    """Raise `ResultsError` if a folder holds an experiment with other data, seed or protocol."""
    # more trials, sizes, solvers and grid points extend the same experiment, and files may move;
    # settings that an earlier release did not have are compared by their defaults
    unset = type(experiment.protocol).model_construct(kind=experiment.protocol.kind)

    def settings(one: Experiment, about: Mapping[str, Any]) -> dict[str, Any]:
        protocol = unset.model_dump(mode="json") | one.protocol.model_dump(mode="json")
        protocol = {f"protocol.{k}": v for k, v in protocol.items() if k != "trials"}
        data = {
            "the hash of the data": about.get("content_hash"),
            "the target": about.get("target"),
        }
        return {"seed": one.seed} | data | protocol

    here = dataset.describe()
    theirs = settings(load_stored(folder / CONFIG), read_json(folder / DATASET) or here)
    for key, ours in settings(experiment, here).items():
        if theirs.get(key) != ours:
            raise ResultsError(
                f"{folder} holds another experiment: {key} is {spelled(theirs.get(key))} there and "
                f"{spelled(ours)} here; give this one another --name, or set the other aside by "
                "--fresh"
            )


@functools.cache
def describe_environment(threads: int | None = None) -> dict[str, Any]:
    """Return versions, processor, memory, threads of a timed fit and the commit, for JSON."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line for line in lines if line.startswith("model name"))
        processor = model.split(":", 1)[1].strip()
    return {
        "dsgkit": __version__,
        "commit": commit_of(),
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.release()}",
        "processor": processor,
        "logical_cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "threads": threads or available_threads(),
    }


def keep_environment(folder: Path, environment: Mapping[str, Any]) -> str:
    """Write an environment's file, if it is new, and return its name in records: a hash."""
    text = json.dumps(environment, indent=2) + "\n"
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    if not (path := folder / ENVIRONMENTS / f"{name}.json").exists():
        write_file(path, text)
    return name


def read_environments(folder: Path, names: Iterable[str | None]) -> dict[str, dict[str, Any]]:
    """Return environments by their names in records; empty ones for missing files."""
    # kept results of several runs share a folder next to theirs
    places = [folder / ENVIRONMENTS, folder.parent / ENVIRONMENTS]
    return {
        name: next((found for place in places if (found := read_json(place / f"{name}.json"))), {})
        for name in dict.fromkeys(filter(None, names))
    }


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


def load_artefact(folder: Path, record: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that a fit's figures are drawn from, by name; empty if it has none."""
    if not (name := record.get("artefact")):
        return {}
    path = folder / name
    try:
        if name != PICTURES:
            return read_arrays(path)
        with lzma.open(path) as file:  # of all fits, with their keys before the names
            arrays = read_arrays(io.BytesIO(file.read()))
        own = f"{record['key']}/"
        return {n.removeprefix(own): one for n, one in arrays.items() if n.startswith(own)}
    except FileNotFoundError:
        return {}
    except (ValueError, lzma.LZMAError, EOFError) as error:
        raise ResultsError(f"{path}: cannot be read ({error}); remove it") from error


def other_source(records: Iterable[Mapping[str, Any]], folder: Path) -> list[str]:
    """Return lines on results of a folder that were computed by other code, if they say so."""
    reused = [one for one in records if (one.get("source") or source_hash()) != source_hash()]
    environments = read_environments(folder, (one.get("environment") for one in reused))
    origins: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in reused:
        known = environments.get(record.get("environment") or "", {})
        commit = known.get("commit") or "an unknown commit"
        origins[record["dsgkit"], commit][record["solver"]] += 1
    return [
        f"{solvers.total():,} results are reused from dsgkit {version} at {commit}, whose code "
        f"differs; --fresh --solvers {','.join(solvers)} computes them again"
        for (version, commit), solvers in origins.items()
    ]
