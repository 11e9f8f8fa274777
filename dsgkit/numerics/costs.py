"""Predicted time and memory of fits."""

from __future__ import annotations

from dataclasses import dataclass

FUNCTION_FLOPS = 20.0
"""Operations that an exponential, or a cosine and sine together, count as."""

ENTRY_FLOPS = 300.0
"""Operations that a kernel value and its place in memory count as, in addition to its inputs."""


MILLISECOND = 1e8
"""Operations that a millisecond of interpreted code counts as: a measured thread has 1e11
operations a second in a matrix product. On a faster machine both are faster."""

MEASURING_FLOPS = 3e5
"""Operations that the measures of a judged row count as: most of it is sorting by the values."""


@dataclass(frozen=True)
class Pace:
    """How much longer a class of estimators takes than the operations that its `cost` counts.

    Few algorithms are as fast as a matrix product, and how many steps an iterative one takes is
    known only afterwards. A class states what was measured of it as ``pace``; the plan of a run
    multiplies by it. ``scripts/study_plan.py`` compares plans with runs, solver by solver.

    Attributes
    ----------
    training : float
        Seconds of training by those of a matrix product of as many operations.
    scoring : float
        The same of evaluating the fitted function.
    per_model : float
        Milliseconds of every model that is trained, on however few rows.
    """

    training: float = 1.0
    scoring: float = 1.0
    per_model: float = 1.0


UNSTATED = Pace(training=7.0, per_model=5.0)
"""Pace of a class without a `cost`, such as scikit-learn's clusterings, for which an entry for each
pair of rows is counted. As measured for DBSCAN, HDBSCAN and spectral clustering of 1,000 and 3,000
rows of 2 to 166 features; mean shift takes 20 to 250 times as long."""


@dataclass(frozen=True)
class Cost:
    """Approximate cost of a fit; a solver that does not state it counts as small.

    All count in operations of a float32 matrix product, which takes ``2 n k m``: the count over its
    speed is a time. A double-precision operation counts twice; an exponential, or a sine with its
    cosine, counts as `FUNCTION_FLOPS` operations of its precision.

    Attributes
    ----------
    flops : float
        Operations of training.
    memory : int
        Bytes that training allocates at once.
    flops_per_row : float
        Operations of evaluating the fitted function at one row.
    shared_per_row : float
        How many of these are done once for all models that are trained together.
    least_memory : int, optional
        Bytes that training can do with, in more time; None if it needs ``memory``.
    """

    flops: float = 1.0
    memory: int = 0
    flops_per_row: float = 0.0
    shared_per_row: float = 0.0
    least_memory: int | None = None

    def row_flops(self, n_models: int) -> float:
        """Return the operations of evaluating models that are trained together at one row."""
        return self.shared_per_row + n_models * (self.flops_per_row - self.shared_per_row)
