"""What an experiment will take, before it is run."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from dsgkit.config.schema import Experiment
from dsgkit.data.datasets import load_dataset
from dsgkit.experiment.plan import Task, make_plan, solver_label
from dsgkit.experiment.status import duration

_GEMM_SIZE = 1024


def describe_plan(experiment: Experiment) -> str:
    """Return the plan as text: per solver its cells, and what they take in time and memory.

    Times are the solvers' operation counts over the speed of this machine's matrix product, which
    is measured in passing: good to a factor of two or so.
    """
    plan = make_plan(experiment, load_dataset(experiment.dataset))
    speed = _flops_per_second()
    lines = [f"{experiment.name}: {len(plan)} cells"]
    for solver in experiment.solvers:
        for kind in ("search", "fit"):
            tasks = [t for t in plan if (t.cell.solver, t.cell.kind) == (solver, kind)]
            if tasks:
                label = solver_label(experiment, solver)
                lines.append(f"  {label:<12} {_describe(kind, tasks, speed)}")
    total = sum(task.flops for task in plan) / speed
    lines.append(f"  all cells, one after the other: about {duration(total)}")
    return "\n".join(lines)


def _describe(kind: str, tasks: list[Task], speed: float) -> str:
    sizes = _sizes(task.cell.n_unlabeled for task in tasks)
    points = f" x {len(tasks[0].cell.points)} points" if kind == "search" else ""
    what = f"{len(tasks)} {'searches' if kind == 'search' else 'fits'}{points}"
    memory = max(task.memory for task in tasks) / 2**30
    seconds = sum(task.flops for task in tasks) / speed
    return f"{what}, unlabelled {sizes}: about {duration(seconds)}, up to {memory:.2g} GiB"


def _sizes(sizes: Iterable[int]) -> str:
    distinct = sorted(set(sizes))
    return f"{distinct[0]:,}" + (f"..{distinct[-1]:,}" if len(distinct) > 1 else "")


def _flops_per_second() -> float:
    """Return the speed of a float32 matrix product, on all threads."""
    a = np.ones((_GEMM_SIZE, _GEMM_SIZE), np.float32)
    a @ a
    start = time.perf_counter()
    for _ in range(5):
        a @ a
    return 5 * 2 * _GEMM_SIZE**3 / (time.perf_counter() - start)
