"""Estimates of what an experiment takes, before it is run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dsgkit.config import Experiment
from dsgkit.data.datasets import load_dataset
from dsgkit.experiment.plan import Cell, make_plan
from dsgkit.experiment.status import duration
from dsgkit.tasks.base import Axis

_GEMM_SIZE = 1024


def describe_plan(experiment: Experiment) -> str:
    """Return the plan as text: per solver its cells, and what they take in time and memory.

    Times are the solvers' operation counts over the speed of this machine's matrix product, which
    is measured in passing: good to a factor of two or so.
    """
    plan = make_plan(experiment, load_dataset(experiment.dataset))
    speed = _flops_per_second()
    lines = [f"{experiment.name}: {len(plan)} cells"]
    alike: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in plan:
        alike[cell.solver, cell.kind].append(cell)
    for solver in experiment.solvers:
        for kind in ("search", "fit"):
            if cells := alike[solver, kind]:
                what = _describe(cells, speed, experiment.axis)
                lines.append(f"  {experiment.solvers[solver].label:<12} {what}")
    total = sum(cell.flops for cell in plan) / speed
    lines.append(f"  all cells, one after the other: about {duration(total)}")
    return "\n".join(lines)


def _describe(cells: Sequence[Cell], speed: float, axis: Axis | None) -> str:
    """Return what cells of one solver and kind take."""
    search = cells[0].kind == "search"
    what = f"{len(cells)} {'searches' if search else 'fits'}"
    what += f" x {_range({len(cell.points) for cell in cells})} points" if search else ""
    what += f", {_range({cell.at[axis.name] for cell in cells})} {axis.noun}" if axis else ""
    memory = max(cell.work.memory for cell in cells) / 2**30
    seconds = sum(cell.flops for cell in cells) / speed
    return f"{what}: about {duration(seconds)}, up to {memory:.2g} GiB"


def _range(numbers: set[int]) -> str:
    return "..".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))


def _flops_per_second() -> float:
    """Return the speed of a float32 matrix product, on all threads."""
    a = np.ones((_GEMM_SIZE, _GEMM_SIZE), np.float32)
    a @ a
    start = time.perf_counter()
    for _ in range(5):
        a @ a
    return 5 * 2 * _GEMM_SIZE**3 / (time.perf_counter() - start)
