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

import math
import random
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
from keep_results import keyed

from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.errors import DataError
from dsgkit.experiment.cell import Job
from dsgkit.experiment.folder import CONFIG, read_task
from dsgkit.experiment.plan import Cell, Plan, make_plan, solver_info
from dsgkit.experiment.runs import load
from dsgkit.experiment.store import Record
from dsgkit.experiment.workers import LocalExecutor

MAX_CELL_SECONDS = 5.0
"""Bound on the recorded seconds of a cell to recompute."""

TOLERANCE = 1e-3
"""Relative to the larger number, or 1: processors round differently, which affects choices."""


LISTED = Path(__file__).with_name("reference_cells.txt")
"""The cells of --every: difference, folder, key and description in each line."""


class Check(NamedTuple):
    """A recomputed cell.

    Attributes
    ----------
    folder : Path
    key, cell : str
        Its key and its description.
    difference : float
        Largest difference of its numbers, relative to the larger number or 1; infinite if its
        status differs.
    """

    folder: Path
    key: str
    cell: str
    difference: float


@click.command(help=__doc__)
@click.argument("results", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--cells", default=6, show_default=True, help="Of each setting.")
@click.option("--seed", default=0, show_default=True)
@click.option("--every", is_flag=True, help="Check the listed cells instead.")
@click.option("--write", is_flag=True, help="With --every: list the cells anew.")
def main(results: tuple[Path, ...], cells: int, seed: int, every: bool, write: bool) -> None:
    """Check results folders, by default all kept ones."""
    folders = results or tuple(path.parent for path in Path("results/reference").glob("*/fits*"))
    if every:
        raise SystemExit(check_listed(sorted(folders), write) > 0)
    by_setting: dict[str, list[Path]] = {}
    for folder in sorted(folders):
        by_setting.setdefault(read_task(folder)[0].kind, []).append(folder)
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


def check_listed(folders: Sequence[Path], write: bool) -> int:
    """Check the listed cells of some folders, or list the cheapest; return how many changed."""
    rows = [] if write else LISTED.read_text(encoding="utf-8").splitlines()
    split = (row.split(" ", 3) for row in rows)
    before = {(name, key): float(difference) for difference, name, key, _ in split}
    listed = cheapest(folders) if write else set(before)
    lines: list[str] = []
    changed = 0
    for folder in folders:
        keys = {key for name, key in listed if name == folder.name}
        if not keys:
            continue
        try:
            checks = list(check(folder, partial(_among, keys)))
        except DataError as error:
            click.echo(f"{folder}: left out: {error}", err=True)
            continue
        for key in keys.difference(one.key for one in checks) if not write else ():
            click.echo(f"{folder.name} {key}: not planned any more")
            changed += 1
        for one in checks:
            lines.append(f"{one.difference:.2g} {folder.name} {one.key} {one.cell}")
            listed_as = before.get((folder.name, one.key), math.inf)
            worse = one.difference > 2 * listed_as
            click.echo(lines[-1] + f", {listed_as:.2g} when listed" * worse)
            changed += worse
    if write:
        LISTED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    click.echo(f"{len(lines)} cells computed again, {changed} changed since they were listed")
    return changed


def cheapest(folders: Sequence[Path]) -> set[tuple[str, str]]:
    """Return folder and key of the cheapest search and fit of every solver of every setting."""
    best: dict[tuple[str, ...], tuple[float, str, str]] = {}
    for folder in folders:
        experiment = load_experiment(folder / CONFIG)
        try:
            plan = make_plan(experiment, load_dataset(experiment.dataset))
        except DataError as error:
            click.echo(f"{folder}: left out: {error}", err=True)
            continue
        for key, record in records_of(folder, plan).items():
            place = (experiment.protocol.kind, record["solver"], record["kind"])
            if (seconds := _seconds(record)) <= MAX_CELL_SECONDS:
                cell = (seconds, folder.name, key)
                best[place] = min(best.get(place, cell), cell)
    return {(name, key) for _, name, key in best.values()}


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
            checks = list(check(folder, partial(_some, share, draw)))
        except DataError as error:
            click.echo(f"{folder}: left out: {error}", err=True)
            continue
        left -= len(checks)
        yield from checks


def _among(keys: Container[str], cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.key in keys]


def _some(number: int, draw: random.Random, cells: Sequence[Cell]) -> list[Cell]:
    return draw.sample(cells, min(number, len(cells)))


def check(folder: Path, choose: Callable[[list[Cell]], list[Cell]]) -> Iterator[Check]:
    """Yield checks of the cells that are chosen from a folder's short ones.

    Raises
    ------
    DataError
        If its dataset is missing.
    """
    experiment = load_experiment(folder / CONFIG)
    dataset = load_dataset(experiment.dataset)
    plan = make_plan(experiment, dataset)
    records = records_of(folder, plan)
    planned = [cell for cell in plan.cells if cell.key in records]
    cells = [cell for cell in planned if _seconds(records[cell.key]) <= MAX_CELL_SECONDS]
    with LocalExecutor(1) as workers:
        for cell in choose(cells):
            job = _job(experiment, dataset, cell, records[cell.key])
            record, _ = workers.submit(job).result()
            difference = difference_of(records[cell.key], record)
            yield Check(folder, cell.key, job.description, difference)


def records_of(folder: Path, plan: Plan) -> dict[str, Record]:
    """Return the kept records of a folder by key."""
    (run,) = load(folder)
    return {record["key"]: record for record in keyed((one for _, one in run.recorded), plan)}


def _seconds(record: Record) -> float:
    """Return how long a cell took; infinite if it did not succeed."""
    if record["status"] != "ok":
        return math.inf
    return sum(record["times"].get(name, 0.0) for name in ("search", "fit", "predict"))


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


def difference_of(kept: Record, computed: Record) -> float:
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
    known = record.get("scores", {}).items()
    yield from sorted((name, score) for name, score in known if score is not None)
    for place, folds in enumerate(record.get("fold_scores", ())):
        yield from ((f"point {place}, fold {fold}", score) for fold, score in enumerate(folds))


def _relative_difference(a: tuple[str, float | None], b: tuple[str, float | None]) -> float:
    (name_a, x), (name_b, y) = a, b
    if name_a != name_b or (x is None) != (y is None):
        return math.inf
    return 0.0 if x is None or y is None else abs(x - y) / max(1.0, abs(x), abs(y))


if __name__ == "__main__":
    main()
