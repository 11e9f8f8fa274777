"""Keep results in the repository, or unpack kept ones to go on with them.

    python scripts/keep_results.py results/iris_clustering-reference

writes results/reference/iris_clustering: the config, the task, every fit, search and training trace
as a frame, and the clusterings of one trial for pictures. All commands on results read it.

    python scripts/keep_results.py --unpack iris_clustering --out results

writes the records back from the frames to results/iris_clustering-reference, where `dsg run` goes
on, with further trials or solvers. It needs the dataset: kept searches have no keys, and get those
of the plan.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dsgkit.config.schema import load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import ResultsError
from dsgkit.experiment import frames
from dsgkit.experiment.folder import (
    ARTEFACTS,
    CONFIG,
    DATASET,
    ENVIRONMENTS,
    PICTURES,
    TASK,
    load_artefact,
    read_environments,
    read_task,
)
from dsgkit.experiment.plan import Cell, Plan, make_plan
from dsgkit.experiment.runs import Run, load
from dsgkit.experiment.store import CELLS, Record, seal
from dsgkit.tasks.measures import PICTURES as PICTURES_OUTPUT

KEPT = Path("results/reference")
PROFILE = "-reference"  # removed from the names of kept folders: the most common profile
DROPPED = ("times.load", "times.compile", "peak_memory", "key")  # of searches; keys are planned
ADDED = ("name", "size", "level", "ending")  # columns of a run's fits that are no entry of records


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--unpack", is_flag=True, help="Write records of kept results.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results folder.")
def main(names: tuple[str, ...], unpack: bool, out: Path | None) -> None:
    """Keep results folders, or unpack kept ones."""
    for name in names:
        if unpack:
            click.echo(unpacked(KEPT / name, out or Path("results")))
        else:
            target = (out or KEPT) / Path(name).name.removesuffix(PROFILE)
            keep(Path(name), target)
            click.echo(target)


def keep(folder: Path, target: Path) -> None:
    """Write the kept form of a results folder in place of an earlier one."""
    (run,) = load(folder)
    new = target.with_name(f".{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    shutil.copyfile(folder / CONFIG, new / CONFIG)
    task, data = read_task(folder)
    about = {"dataset": data, **task.model_dump(mode="json", exclude_defaults=True)}
    (new / f"{TASK}.xz").write_bytes(lzma.compress(json.dumps(about, indent=1).encode()))
    fits, arrays = run.fits.drop(columns=[*ADDED]), dict(pictures(run))
    fits["artefact"] = [PICTURES if key in arrays else "" for key in fits["key"]]
    searches = run.searches.drop(columns=[*ADDED, *DROPPED], errors="ignore")
    traces = run.traces.drop(columns=["name", "size", "also_at"])
    for name, table in zip(frames.FILES, (fits, traces, searches), strict=True):
        if len(table):
            (new / name).write_bytes(frames.packed(table))
    if arrays:
        file = io.BytesIO()
        named = {f"{key}/{name}": one for key, of in arrays.items() for name, one in of.items()}
        np.savez(file, **named)  # type: ignore[arg-type]
        (new / PICTURES).write_bytes(lzma.compress(file.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    environments = target.parent / ENVIRONMENTS
    environments.mkdir(exist_ok=True)
    known = {*fits["environment"], *searches["environment"]}
    for name, content in read_environments(folder, known).items():
        (environments / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def pictures(run: Run) -> Iterator[tuple[str, dict[str, NDArray[np.generic]]]]:
    """Yield the key and the arrays of each solver's first fit with a picture."""
    if PICTURES_OUTPUT in run.experiment.outputs:
        drawn = run.fits[run.fits["artefact"] != ""].sort_values("trial")
        for row in drawn.drop_duplicates("solver").to_dict("records"):
            if arrays := load_artefact(run.folder, row):
                if "domain" in arrays:
                    arrays["domain"] = contour_of(arrays["domain"])
                yield row["key"], arrays


def contour_of(f: NDArray[np.floating]) -> NDArray[np.float16]:
    """Return a function on a grid, shape (n_y, n_x), reduced to its contour at zero.

    The contour lies in grid squares with corners of both signs. Their values are rounded to three
    digits; all other values become a constant of the same sign.
    """
    inside = np.pad(f >= 0, 1, mode="edge")
    blocks = sliding_window_view(inside, (3, 3))
    crossed = blocks.any(axis=(2, 3)) & ~blocks.all(axis=(2, 3))
    far = np.abs(f).max() if crossed.any() else 1.0
    return np.where(crossed, f, np.where(f >= 0, far, -far)).astype(np.float16)


def unpacked(folder: Path, out: Path) -> Path:
    """Write the records of kept results to a results folder and return it."""
    kept = frames.Frames(*(frames.read_frame(folder / name) for name in frames.FILES))
    experiment = load_experiment(folder / CONFIG)
    target = out / experiment.name
    if (target / CELLS).exists():
        raise ResultsError(f"{target}: has records already; name another --out")
    (target / ENVIRONMENTS).mkdir(parents=True)
    shutil.copyfile(folder / CONFIG, target / CONFIG)
    task, data = read_task(folder)
    (target / TASK).write_text(task.model_dump_json(indent=2) + "\n")
    (target / DATASET).write_text(json.dumps(data, indent=2) + "\n")
    plan = make_plan(experiment, load_dataset(experiment.dataset))
    with (target / CELLS).open("wb") as file:
        for record in keyed(frames.records_of(kept), plan):
            if record.pop("artefact", None):
                record["artefact"] = _unpack_arrays(folder, target, record["key"])
            file.write(seal(record))
    known = {*kept.fits["environment"], *kept.searches["environment"]}
    for name, content in read_environments(folder, known).items():
        (target / ENVIRONMENTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    return target


def keyed(records: Iterable[Record], plan: Plan) -> Iterator[Record]:
    """Yield records with the keys of a plan; searches that are not planned any more are left out.

    A share of a search is known by its solver, trial, sizes and points.
    """
    # the points of a search of one number after the other are known when it has ended
    keys = {
        _share(_about(cell), () if cell.coordinate else cell.points): cell.key
        for cell in plan.cells
        if cell.kind == "search"
    }
    for record in records:
        if record["kind"] == "search":
            shares = (_share(record, points) for points in (record["points"], ()))
            record["key"] = next((keys[share] for share in shares if share in keys), "")
        if record["key"]:
            yield record


def _about(cell: Cell) -> Record:
    return {"solver": cell.solver, "trial": cell.trial, "at": dict(cell.at)}


def _share(cell: Record, points: Iterable[object]) -> str:
    about = [cell[name] for name in ("solver", "trial", "at")]
    return json.dumps([*about, *points], sort_keys=True)


def _unpack_arrays(folder: Path, target: Path, key: str) -> str:
    """Write the arrays of a fit's pictures and return the name of their file."""
    name = f"{ARTEFACTS}/{key}.npz"
    (target / ARTEFACTS).mkdir(exist_ok=True)
    arrays = load_artefact(folder, {"key": key, "artefact": PICTURES})
    np.savez_compressed(target / name, **arrays)  # type: ignore[arg-type]
    return name


if __name__ == "__main__":
    main()
