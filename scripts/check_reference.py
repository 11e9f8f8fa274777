"""Recompute some cells of the kept results, and compare.

    python scripts/check_reference.py --cells 6

    python scripts/check_reference.py --every

For each learning setting, cells are drawn by a seed from the searches and fits that took a few
seconds. The exit code is 1 if a number differs by more than rounding.

With --every, the cells are the cheapest search and the cheapest fit of every solver of every
setting, as scripts/reference_cells.txt lists them with the difference that each had from the kept
one. The exit code is 1 if a cell that was identical is not so now, or if another one differs more
than twice as much as then. --write lists the cells anew.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
from keep_results import keyed

from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import DataError
from dsgkit.experiment import frames
from dsgkit.experiment.cell import Job
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.plan import Cell, make_plan, solver_info
from dsgkit.experiment.runs import load
from dsgkit.experiment.workers import LocalExecutor

MAX_CELL_SECONDS = 5.0  # as recorded, of a cell to recompute
# relative to the larger number, or 1: processors round differently, which affects choices
TOLERANCE = 1e-3
# the cells of --every: difference, folder, key and description in each line
LISTED = Path(__file__).with_name("reference_cells.txt")


class Check(NamedTuple):
    """A cell that was computed again, in words, and its difference from the kept one."""

    folder: Path
    key: str
    cell: str
    difference: float

    def __str__(self) -> str:
        return f"{self.difference:.2g} {self.folder.name} {self.key} {self.cell}"


@click.command(help=__doc__)
@click.argument("results", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--cells", default=6, show_default=True, help="Of each setting.")
@click.option("--seed", default=0, show_default=True)
@click.option("--every", is_flag=True, help="Check the listed cells instead.")
@click.option("--write", is_flag=True, help="List the cheapest cells anew.")
def main(results: tuple[Path, ...], cells: int, seed: int, every: bool, write: bool) -> None:
    folders = results or tuple(path.parent for path in Path("results/reference").glob("*/fits*"))
    rows, bounds = short_cells(sorted(folders)), dict[tuple[Path, str], float]()
    by, number = ["setting"], cells
    if write:
        rows, by = rows.sort_values("seconds", kind="stable"), ["setting", "solver", "kind"]
        number = 1
    elif every:
        bounds, number = listed(folders), len(rows)
        rows = rows[rows["folder"].isin([folder for folder, _ in bounds])]
    else:
        rows = rows.sample(frac=1, random_state=seed)
        turns = rows.groupby("folder").cumcount()  # every folder's first cell before a second one
        rows = rows.iloc[turns.argsort(kind="stable")]
    checks: list[Check] = []
    wrong = 0
    with LocalExecutor(1) as workers:
        for _, group in rows.groupby(by):
            for check in islice(computed_again(group, bounds, workers), number):
                bound = np.inf if write else bounds.get(check[:2], TOLERANCE)
                is_wrong = not check.difference <= bound
                click.echo(f"{check}{f': more than {bound:.2g}' if is_wrong else ''}")
                checks.append(check)
                wrong += is_wrong
    for folder, key in bounds.keys() - {check[:2] for check in checks}:
        if opened(folder):
            click.echo(f"{folder.name} {key}: not planned any more")
            wrong += 1
    if write:
        lines = [f"{check}\n" for check in sorted(checks, key=lambda check: check.folder)]
        LISTED.write_text("".join(lines), encoding="utf-8")
    same = sum(check.difference == 0 for check in checks)
    click.echo(f"{len(checks)} cells computed again, {same} identical, {wrong} wrong")
    raise SystemExit(wrong > 0)


def listed(folders: Iterable[Path]) -> dict[tuple[Path, str], float]:
    """Return how much the listed cells of some folders may differ, by folder and key."""
    by_name = {folder.name: folder for folder in folders}
    lines = [line.split() for line in LISTED.read_text(encoding="utf-8").splitlines()]
    return {(by_name[name], key): 2 * float(off) for off, name, key, *_ in lines if name in by_name}


def short_cells(folders: Iterable[Path]) -> pd.DataFrame:
    """Return a row for each search and fit that took a few seconds: its place in the frames."""
    tables = [
        table.assign(folder=run.folder, setting=run.task.kind, kind=kind, row=table.index)
        for run in load(*folders)
        for kind, table in (("search", run.searches), ("fit", run.fits))
    ]
    cells = pd.concat(tables, ignore_index=True)
    times = cells.reindex(columns=["times.search", "times.fit", "times.predict"])
    cells["seconds"] = times.sum(axis=1).where(cells["status"] == "ok")
    columns = ["folder", "setting", "solver", "kind", "row", "seconds"]
    return cells.loc[cells["seconds"] <= MAX_CELL_SECONDS, columns]


Opened = tuple[Experiment, str, dict[tuple[str, str], Cell], dict[str, pd.DataFrame]]
"""A folder's config, the hash of its data, planned cells by solver and key, and kept by kind."""


@functools.cache
def opened(folder: Path) -> Opened | None:
    """Return a folder with its plan; if its data are missing, say so and return None."""
    experiment, (run,) = load_experiment(folder / CONFIG), load(folder)
    try:
        dataset = load_dataset(experiment.dataset)
        plan = make_plan(experiment, dataset)
    except DataError as error:
        click.echo(f"{folder}: left out: {error}", err=True)
        return None
    planned = {(cell.solver, cell.key): cell for cell in plan.cells}
    kept = {"search": keyed(run.searches, plan), "fit": run.fits}
    return experiment, dataset.content_hash, planned, kept


def computed_again(
    rows: pd.DataFrame, wanted: Container[tuple[Path, str]], workers: LocalExecutor
) -> Iterator[Check]:
    """Yield checks of cells that are planned and have their data, only wanted ones if any are."""
    for folder, _, solver, kind, row, _ in rows.itertuples(index=False):
        if (of := opened(folder)) is None:
            continue
        experiment, content_hash, planned, kept = of
        key = kept[kind]["key"].get(row, "")
        if (solver, key) not in planned or (wanted and (folder, key) not in wanted):
            continue
        before, cell = kept[kind].loc[row], planned[solver, key]
        settings = before["params"] or {}, experiment.threads
        version = solver_info(experiment, solver).version
        job = Job(experiment, content_hash, version, cell, *settings, once=True)
        done = [(cell, workers.submit(job).result()[0])]
        table = frames.searches_of(done) if kind == "search" else frames.fits_of(done, ())
        yield Check(folder, key, job.description, difference_of(before, table.iloc[0]))


def difference_of(kept: pd.Series, computed: pd.Series) -> float:
    """Return the largest difference of two cells' scores, relative to the larger one or 1."""
    one, other = numbers_of(kept).align(numbers_of(computed))
    if (one.isna() != other.isna()).any():
        return np.inf
    larger = np.maximum(1, np.maximum(one.abs(), other.abs()))
    return float(np.nanmax([0.0, *((one - other).abs() / larger)]))


def numbers_of(cell: pd.Series) -> pd.Series:
    """Return the scores of a fit, or of a search by point and fold."""
    if "fold_scores" in cell:
        return pd.Series(np.ravel(np.array(cell["fold_scores"] or [], float)))
    return cell[cell.index.str.startswith("scores.")].astype(float)


if __name__ == "__main__":
    main()
