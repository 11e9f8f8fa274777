"""Measure the overhead of an experiment with very many cells.

Plans an experiment of 100,000 cells, half searches and half fits, and writes synthetic records as a
finished run does. Then each of these runs in its own process: ``dsg run --dry-run``, ``dsg run``
with nothing left to do, ``dsg table``, ``dsg status``, and opening the store. Prints wall-clock and
processor seconds, and the peak resident memory in MiB. Exits with code 1 if one takes more than 5
processor seconds or 300 MiB.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from bench_runner import FITS, write_experiment

MAX_SECONDS = 5.0
MAX_MIB = 300.0
RESULTS = "results/trivial"
_DSG = ("-m", "dsgkit")
_OPEN_SCRIPT = """
import pathlib, sys
from dsgkit.experiment.store import Store
Store(pathlib.Path(sys.argv[1])).__exit__()
"""


class Cost(NamedTuple):
    """Time and memory of a process."""

    seconds: float
    processor_seconds: float
    peak_mib: float

    @property
    def kept(self) -> bool:
        """Whether processor time and memory are within the limits."""
        return self.processor_seconds <= MAX_SECONDS and self.peak_mib <= MAX_MIB


def record(cell: Any, environment: str | None, rng: random.Random) -> dict[str, Any]:
    """Return a synthetic record of a cell, with all entries that a run writes."""
    chosen = dict(cell.points[0]) if cell.kind == "fit" else {}
    times = {"load": 1e-6, "compile": 1e-6, cell.kind: round(rng.random(), 6)}
    common = {
        "key": cell.key,
        "times": times,
        "peak_memory": rng.randrange(10**8, 2 * 10**8),
        "kind": cell.kind,
        "solver": cell.solver,
        "label": cell.solver,
        "trial": cell.trial,
        "at": dict(cell.at),
    }
    known = {"status": "ok", "message": "", "dsgkit": "0", "started": "2026-01-01T00:00:00+0000"}
    if cell.kind == "search":
        scores = [[rng.random(), rng.random()] for _ in cell.points]
        own: dict[str, Any] = {"points": list(cell.points), "params": chosen, **known}
        return common | own | {"environment": environment, "fold_scores": scores}
    own = {"params": chosen, **known, "environment": environment, "full": False}
    return common | own | {"scores": {"auc": rng.random()}, "estimator": chosen}


def write_results(folder: Path, cells: int) -> None:
    """Write an experiment, and the results folder of its finished run, into a folder.

    Call it in a process of its own: a child process inherits the peak memory of its parent.
    """
    from dsgkit.config.schema import load_experiment
    from dsgkit.data.dataset import load_dataset
    from dsgkit.experiment.folder import keep_environment, write_description
    from dsgkit.experiment.plan import make_plan
    from dsgkit.experiment.store import CELLS, seal

    os.environ["DSGKIT_CACHE"] = str(folder / "cache")
    os.chdir(folder)  # the folder of the solver's module
    experiment = load_experiment(write_experiment(folder, cells))
    dataset = load_dataset(experiment.dataset)
    plan = make_plan(experiment, dataset)
    results = folder / RESULTS
    results.mkdir(parents=True)
    named = keep_environment(results, {"threads": 2})
    write_description(results, experiment, dataset, plan, threads=2)
    rng = random.Random(0)
    with (results / CELLS).open("wb") as file:
        file.writelines(seal(record(cell, named, rng)) for cell in plan.cells)


def cost(arguments: Sequence[str], folder: Path) -> Cost:
    """Return the cost of running Python with some arguments in a folder."""
    environment = {**os.environ, "DSGKIT_CACHE": str(folder / "cache")}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if code := os.waitstatus_to_exitcode(status):
        raise click.ClickException(f"{' '.join(arguments)} ended with exit code {code}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure(folder: Path, cells: int) -> dict[str, Cost]:
    """Return the costs by action for an experiment of about that many cells."""
    writer = multiprocessing.get_context("spawn").Process(
        target=write_results, args=(folder, cells)
    )
    writer.start()
    writer.join()
    if writer.exitcode:
        raise click.ClickException("the results folder could not be written")
    calls = {
        "open the store": ("-c", _OPEN_SCRIPT, RESULTS),
        "status": (*_DSG, "status", RESULTS),
        "table": (*_DSG, "table", RESULTS),
        "dry-run": (*_DSG, "run", "trivial.yaml", "--dry-run"),
        "finished run": (*_DSG, "run", "trivial.yaml"),
    }
    return {what: cost(arguments, folder) for what, arguments in calls.items()}


@click.command(help=__doc__)
@click.option("--cells", default=100_000, show_default=True, type=click.IntRange(min=2 * FITS))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(cells: int, as_json: bool) -> None:
    """Print the costs."""
    with tempfile.TemporaryDirectory() as name:
        costs = measure(Path(name), cells)
    if as_json:
        click.echo(json.dumps({what: one._asdict() for what, one in costs.items()}))
    else:
        click.echo(f"{'':<16}{'seconds':>10}{'processor':>11}{'MiB':>8}")
        for what, one in costs.items():
            seconds, processor, mib = one
            click.echo(f"{what:<16}{seconds:>10.1f}{processor:>11.1f}{mib:>8.0f}")
    if missed := [what for what, one in costs.items() if not one.kept]:
        click.echo(f"missed: {', '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
