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
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd
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
from dsgkit.experiment.plan import Plan, make_plan
from dsgkit.experiment.runs import Run, load
from dsgkit.experiment.store import CELLS, seal, write_file
from dsgkit.tasks.measures import PICTURES as PICTURES_OUTPUT

KEPT = Path("results/reference")
PROFILES = ("-reference", "-full")  # removed from the names of kept folders: `full` has more trials
DROPPED = ("times.load", "times.compile", "peak_memory", "key")  # of searches; keys are planned
ADDED = ("name", "size", "level", "disturbed", "ending")  # columns that no record has


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--unpack", is_flag=True, help="Write records of kept results.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results folder.")
def main(names: tuple[str, ...], unpack: bool, out: Path | None) -> None:
    for name in names:
        if unpack:
            click.echo(unpacked(KEPT / name, out or Path("results")))
        else:
            kept_as = Path(name).name
            for profile in PROFILES:
                kept_as = kept_as.removesuffix(profile)
            target = (out or KEPT) / kept_as
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
    copy_environments(folder, target.parent, fits, searches)
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)


def copy_environments(folder: Path, parent: Path, *tables: pd.DataFrame) -> None:
    """Write the environments that a folder's cells name to the folder of those of another one."""
    names = pd.concat([table["environment"] for table in tables])
    for name, content in read_environments(folder, names).items():
        write_file(parent / ENVIRONMENTS / f"{name}.json", json.dumps(content, indent=2) + "\n")


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
    experiment = load_experiment(folder / CONFIG)
    plan = make_plan(experiment, load_dataset(experiment.dataset))
    target = out / experiment.name
    if (target / CELLS).exists():
        raise ResultsError(f"{target}: has records already; name another --out")
    (target / ARTEFACTS).mkdir(parents=True)
    shutil.copyfile(folder / CONFIG, target / CONFIG)
    task, data = read_task(folder)
    write_file(target / TASK, task.model_dump_json(indent=2) + "\n")
    write_file(target / DATASET, json.dumps(data, indent=2) + "\n")
    fits, traces, searches = (frames.read_frame(folder / name) for name in frames.FILES)
    copy_environments(folder, target, fits, searches)
    with (target / CELLS).open("wb") as file:
        for record in frames.records_of(frames.Frames(fits, traces, keyed(searches, plan))):
            if arrays := load_artefact(folder, record):
                record["artefact"] = f"{ARTEFACTS}/{record['key']}.npz"
                np.savez_compressed(target / record["artefact"], **arrays)  # type: ignore[arg-type]
            file.write(seal(record))
    return target


def keyed(searches: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Return searches with the keys of a plan, without those that are not planned any more.

    A share of a search is known by its solver, trial, sizes and points.
    """
    # the points of a search of one number after the other are known when it has ended
    cells = [(cell, {"points": [] if cell.coordinate else cell.points}) for cell in plan.cells]
    planned, found = (
        table.assign(share=[json.dumps(points, sort_keys=True) for points in table["points"]])
        for table in (frames.searches_of(cells), searches.drop(columns="key"))
    )
    known = {*zip(planned["solver"], planned["share"], strict=True)}
    shares = zip(found["solver"], found["share"], strict=True)
    found["share"] = [share[1] if share in known else "[]" for share in shares]
    names = planned.columns.intersection(found.columns)
    place = [name for name in names if name.startswith(("solver", "trial", "at.", "share"))]
    keys = planned.set_index(place)["key"]
    return found.join(keys, on=place).dropna(subset="key").drop(columns="share")


if __name__ == "__main__":
    main()
