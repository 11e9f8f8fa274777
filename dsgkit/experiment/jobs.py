"""A cell with all that another process needs to run it."""

from __future__ import annotations

from dataclasses import dataclass

from dsgkit.config.schema import Experiment
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import Point, Task


@dataclass(frozen=True)
class Job:
    """One cell to run, and the conditions under which it does.

    Attributes
    ----------
    experiment : Experiment
    content_hash : str
        Of the dataset that the plan was made for.
    solver_version : int or str
        Of the solver that the plan was made for.
    task : Task
    chosen : dict
        Grid point of a fit; empty for a search.
    limits : Limits
    threads : int or None
        Threads of a timed fit; None for as many as the machine that runs it has.
    processes : int
        How many searches run at the same time on a machine, and share its threads and memory.
    """

    experiment: Experiment
    content_hash: str
    solver_version: int | str
    task: Task
    chosen: Point
    limits: Limits
    threads: int | None = None
    processes: int = 1

    @property
    def alone(self) -> bool:
        """Whether nothing else may run on the machine: fits are timed."""
        return self.task.cell.kind == "fit"

    @property
    def description(self) -> str:
        """What it is, in words."""
        cell = self.task.cell
        label = self.experiment.solvers[cell.solver].label
        return f"{label} {cell.kind}, trial {cell.trial + 1}, {cell.n_unlabeled:,} unlabelled"
