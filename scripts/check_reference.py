"""Recompute some cells of the kept results, and compare.

    python scripts/check_reference.py --cells 6

For each learning setting, cells are drawn by a seed from the searches and fits that took a few
seconds. The exit code is 1 if a number differs by more than rounding.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import DataError
from dsgkit.experiment.cell import Job
from dsgkit.experiment.folder import CONFIG, read_task
from dsgkit.experiment.plan import Cell, make_plan, solver_info
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Record, read_records

MAX_CELL_SECONDS = 5.0
"""Bound on the recorded seconds of a cell to recompute."""

TOLERANCE = 1e-3
"""Relative to the larger number, or 1: processors round differently, which affects choices."""


class Check(NamedTuple):
    """A recomputed cell.

    Attributes
    ----------
    folder : Path
    cell : str
        Its description.
    difference : float
        Largest difference of its numbers, relative to the larger number or 1; infinite if its
        status differs.
    """

    folder: Path
    cell: str
    difference: float


@click.command(help=__doc__)
@click.argument("results", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--cells", default=6, show_default=True, help="Of each setting.")
@click.option("--seed", default=0, show_default=True)
def main(results: tuple[Path, ...], cells: int, seed: int) -> None:
    """Check results folders, by default all kept ones."""
    folders = results or tuple(path.parent for path in Path("results/reference").glob("*/cells*"))
    by_setting: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        by_setting.setdefault(read_task(folder).kind, []).append(folder)
    differing = 0
    for setting, members in by_setting.items():
        done = list(check_some(members, cells, random.Random(f"{seed} {setting}")))
        wrong = [check for check in done if not check.difference <= TOLERANCE]
        same = sum(check.difference == 0 for check in done)
        click.echo(
            f"{setting}: {len(done)} cells of {len({check.folder for check in done})} folders "
            f"computed again, {same} identical, {len(wrong)} different"
        )
        for check in wrong:
            click.echo(f"  {check.folder}: {check.cell}: differs by {check.difference:.3g}")
        differing += len(wrong)
    raise SystemExit(differing > 0)


def check_some(folders: Sequence[Path], number: int, draw: random.Random) -> Iterator[Check]:
    """Yield checks of ``number`` cells of some folders whose data are available.

    Parameters
    ----------
    folders : sequence of Path
    number : int
    draw : Random
        Draws the folders, and the cells.
    """
    left = number
    order = list(folders)
    draw.shuffle(order)
    for place, folder in enumerate(order):
        share = math.ceil(left / (len(order) - place))
        try:
            checks = list(check(folder, share, draw))
        except DataError as error:
            click.echo(f"{folder}: left out: {error}", err=True)
            continue
        left -= len(checks)
        yield from checks


def check(folder: Path, number: int, draw: random.Random) -> Iterator[Check]:
    """Yield checks of ``number`` cells of a folder.

    Raises
    ------
    DataError
        If its dataset is missing.
    """
    experiment = load_experiment(folder / CONFIG)
    dataset = load_dataset(experiment.dataset)
    records, _ = read_records(folder)
    plan = make_plan(experiment, dataset).cells
    cells = [cell for cell in plan if _is_short(records.get(cell.key))]
    with Options(jobs=1).executor(lambda _job, _fraction, _repeat: None) as workers:
        for cell in draw.sample(cells, min(number, len(cells))):
            job = _job(experiment, dataset, cell, records[cell.key])
            record, _ = workers.submit(job).result()
            yield Check(folder, job.description, difference(records[cell.key], record))


def _is_short(record: Record | None) -> bool:
    if record is None or record["status"] != "ok":
        return False
    times = record["times"]
    return sum(times.get(name, 0.0) for name in ("search", "fit", "predict")) <= MAX_CELL_SECONDS


def _job(experiment: Experiment, dataset: Dataset, cell: Cell, record: Record) -> Job:
    """Return the job of a record, without repeats."""
    version = solver_info(experiment, cell.solver).version
    chosen = {} if record["params"] is None else record["params"]
    return Job(
        experiment,
        dataset.content_hash,
        version,
        cell,
        chosen,
        threads=experiment.threads,
        once=True,
    )


def difference(kept: Record, computed: Record) -> float:
    """Return the largest difference of two records' scores, relative to the larger or 1.

    Infinite if statuses differ, or if only one has some number.
    """
    if kept["status"] != computed["status"]:
        return math.inf
    one, other = list(_numbers(kept)), list(_numbers(computed))
    if len(one) != len(other):
        return math.inf
    return max(map(_relative_difference, one, other), default=0.0)


def _numbers(record: Record) -> Iterator[tuple[str, float | None]]:
    """Yield named scores of a fit, or of a search by point and fold."""
    yield from sorted(record.get("scores", {}).items())
    for place, folds in enumerate(record.get("fold_scores", ())):
        yield from ((f"point {place}, fold {fold}", score) for fold, score in enumerate(folds))


def _relative_difference(a: tuple[str, float | None], b: tuple[str, float | None]) -> float:
    (name_a, x), (name_b, y) = a, b
    if name_a != name_b or (x is None) != (y is None):
        return math.inf
    return 0.0 if x is None or y is None else abs(x - y) / max(1.0, abs(x), abs(y))


if __name__ == "__main__":
    main()
