"""A cell with everything that another process needs to run it."""

from __future__ import annotations

from dataclasses import dataclass

from dsgkit.config.schema import Experiment
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import Cell, Point
from dsgkit.users_code.own import is_import_path


@dataclass(frozen=True)
class Job:
    """One cell to run, and its conditions.

    Attributes
    ----------
    content_hash : str
        Hash of the planned dataset.
    solver_version : int or str
        Version of the planned solver.
    chosen : dict
        Parameters that the searches before the cell have chosen.
    threads : int or None
        Threads of a timed fit; None for all of the machine that runs it.
    processes : int
        Number of concurrent searches that share the threads and memory of a machine.
    data_bytes : int
        Bytes of the dataset's rows, which the worker has to load.
    once : bool
        Whether a fit is timed only once.
    alone : bool
        Whether no other job may run on the machine meanwhile.
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
    def external_class(self) -> str:
        """The import path of an external class, whose cells run in separate processes, or empty.

        An external class may change anything in the process that runs it. Classes of scikit-learn,
        which the package loads anyway, do not count.
        """
        kind = self.experiment.solvers[self.cell.solver].kind
        shared = kind.partition(".")[0] in ("dsgkit", "sklearn")
        return kind if is_import_path(kind) and not shared else ""

    @property
    def description(self) -> str:
        """Description of the job for progress."""
        cell, axis = self.cell, self.experiment.axis
        label = self.experiment.solvers[cell.solver].label
        size = f", {cell.at[axis.name]:,} {axis.noun}" if axis else ""
        return f"{label} {cell.kind}, trial {cell.trial + 1}{size}"
