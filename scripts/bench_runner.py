"""Measure the overhead of the runner, with cells that cost nothing.

Runs an experiment of many cells, half searches and half fits, with a solver that returns at once,
in two worker processes. Prints the time per cell without start and report, the memory of the
processes after each quarter of the run, and the time of ``dsg run`` on the finished experiment.
Exits with code 1 if memory grows by more than a tenth from the first quarter to the last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
import psutil
import yaml

SOLVER = """
from dsgkit.bases import PairwiseAUCEstimator


class FirstColumn(PairwiseAUCEstimator):
    version = 1

    def __init__(self, lam=1.0):
        self.lam = lam

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:][:, 0]
"""
FITS = 20
"""Sweep points of each trial; also the number of shares of a search."""

MAX_GROWTH = 0.1
_LOOK_SECONDS = 0.5
_REPEATS = 5


@dataclass
class Memory:
    """Resident bytes of a process and its workers over time."""

    in_charge: list[int] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)

    def look(self, process: psutil.Process) -> None:
        """Take one measurement, unless workers are starting."""
        children = [child for child in process.children() if "python" in child.name()]
        if len(children) == 2:
            self.in_charge.append(process.memory_info().rss)
            self.workers.append(max(child.memory_info().rss for child in children))

    def quarters(self, values: list[int]) -> list[float]:
        """Return MiB after each quarter of the run: medians of the measurements around it."""
        near = max(1, len(values) // 20)
        ends = [len(values) * part // 4 for part in (1, 2, 3, 4)]
        return [median(values[max(0, end - near) : end]) / 2**20 for end in ends]


def write_experiment(folder: Path, cells: int) -> Path:
    """Write data, solver and config of an experiment of about that size; return the config."""
    rng = np.random.default_rng(0)
    X = rng.random((230, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=230) > 0.5, 1, -1)
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",")
    (folder / "first_column.py").write_text(SOLVER)
    config = {
        "dataset": {"path": "rows.csv", "loader": "delimited"},
        "protocol": {
            "kind": "semi_supervised_auc",
            "labeled": 30,
            "trials": max(1, cells // (2 * FITS)),
            "folds": 2,
        },
        "sweep": {"unlabeled": list(range(100, 100 + FITS))},
        "solvers": {
            "first": {
                "kind": "first_column:FirstColumn",
                "grid": {"lam": [float(k) for k in range(FITS)]},
                "search_at": {"unlabeled": 100},
            }
        },
        "outputs": ["auc_table"],
    }
    path = folder / "trivial.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def run(folder: Path, watch: Memory | None = None) -> float:
    """Run ``dsg run`` in a folder and return its seconds."""
    command = [sys.executable, "-m", "dsgkit", "run", "trivial.yaml", "--jobs", "2", "--once"]
    start = time.perf_counter()
    environment = {**os.environ, "DSGKIT_CACHE": str(folder / "cache")}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        over = threading.Event()
        looker = threading.Thread(target=_watch, args=(process.pid, watch, over))
        if watch is not None:
            looker.start()
        code = process.wait()
        seconds = time.perf_counter() - start
        over.set()
        if watch is not None:
            looker.join()
    if code != 0:
        raise click.ClickException(f"dsg run ended with exit code {code}")
    return seconds


def _watch(pid: int, memory: Memory, over: threading.Event) -> None:
    process = psutil.Process(pid)
    while not over.wait(_LOOK_SECONDS):
        try:
            memory.look(process)
        except psutil.Error:  # a process has ended meanwhile
            continue


def measure(folder: Path, cells: int) -> dict[str, Any]:
    """Return the figures of an experiment of about that many cells."""
    write_experiment(folder, cells)
    memory = Memory()
    seconds = run(folder, memory)
    finished = median(run(folder) for _ in range(_REPEATS))
    with (folder / "results" / "trivial" / "cells.jsonl").open() as file:
        records = [json.loads(line) for line in file]
    in_workers = sum(sum(record["times"].values()) for record in records)
    return {
        "cells": len(records),
        "ms_per_cell": 1000 * (seconds - finished) / len(records),
        "ms_per_cell_in_a_worker": 1000 * in_workers / len(records),
        "memory_in_charge_mib": memory.quarters(memory.in_charge),
        "memory_of_a_worker_mib": memory.quarters(memory.workers),
        "finished_run_seconds": finished,
    }


def grows(quarters: list[float]) -> bool:
    """Return whether memory grew by more than `MAX_GROWTH` from the first quarter to the last."""
    return quarters[-1] > (1 + MAX_GROWTH) * quarters[0]


@click.command(help=__doc__)
@click.option("--cells", default=10_000, show_default=True, type=click.IntRange(min=2 * FITS))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(cells: int, as_json: bool) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Path(name), cells)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        for what, value in figures.items():
            values = value if isinstance(value, list) else [value]
            click.echo(f"{what.replace('_', ' '):<26}" + "".join(f"{v:10.4g}" for v in values))
    grown = [what for what, value in figures.items() if isinstance(value, list) and grows(value)]
    if grown:
        click.echo(f"missed: grows by more than {MAX_GROWTH:.0%}: {', '.join(grown)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
