"""A cell with everything that another process needs to run it."""

from __future__ import annotations

from dataclasses import dataclass

from dsgkit.config import Experiment
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import Cell, Point
from dsgkit.users_code.own import is_import_path


@dataclass(frozen=True)
class Job:
    """One cell to run, and its conditions.

    Attributes
    ----------
    content_hash : str
        Of the dataset that the plan was made for.
    solver_version : int or str
        Of the solver that the plan was made for.
    chosen : dict
        The values of all searched parameters of a fit, chosen by the searches before it.
    threads : int or None
        Threads of a timed fit; None for as many as the machine that runs it has.
    processes : int
        How many searches run at the same time on a machine, and share its threads and memory.
    data_bytes : int
        Of the dataset's rows, which a process that runs the job has to load.
    once : bool
        Whether a fit is timed once only.
    alone : bool
        Whether nothing else may run on the machine meanwhile.
    """

    experiment: Experiment
    content_hash: str
    solver_version: int | str
    cell: Cell
    chosen: Point
    limits: Limits
    threads: int | None = None
    processes: int = 1
    data_bytes: int = 0
    once: bool = False
    alone: bool = False

    @property
    def apart(self) -> str:
        """The import path of a class whose cells have processes of their own, else empty.

        A class from outside of the package may change anything in the process that runs it.
        Classes of scikit-learn, which the package loads anyway, share processes with its own.
        """
        kind = self.experiment.solvers[self.cell.solver].kind
        shared = kind.partition(".")[0] in ("dsgkit", "sklearn")
        return kind if is_import_path(kind) and not shared else ""

    @property
    def description(self) -> str:
        """The job in words."""
        cell, axis = self.cell, self.experiment.axis
        label = self.experiment.solvers[cell.solver].label
        size = f", {cell.at[axis.name]:,} {axis.noun}" if axis else ""
        return f"{label} {cell.kind}, trial {cell.trial + 1}{size}"
