"""Predicted time and memory of fits."""

from __future__ import annotations

from dataclasses import dataclass

FUNCTION_FLOPS = 20.0  # of an exponential, or of a cosine and a sine together
ENTRY_FLOPS = 300.0  # of a kernel value and its memory access, beyond its products
MEASURING_FLOPS = 3e5  # of the measures of a judged row, mostly sorting by the values
MILLISECOND = 1e8
"""Operations counted for a millisecond of interpreted code: a measured thread does 1e11 operations
a second in a matrix product. On a faster machine both are faster."""


def interpreted_flops(n_steps: float, n_models: int, each: float, per_model: float) -> float:
    """Return the operations counted for steps: measured milliseconds of each, and per model."""
    return n_steps * (each + per_model * n_models) * MILLISECOND


@dataclass(frozen=True)
class Pace:
    """Measured time of a class of estimators, relative to the operations of its `cost`.

    Few algorithms are as fast as a matrix product, and the number of steps of an iterative one is
    known only afterwards. A class states its measured ``pace``, by which the plan of a run is
    multiplied.
    """

    training: float = 1.0  # seconds, relative to those of a matrix product of as many operations
    scoring: float = 1.0  # the same for evaluating the fitted function
    per_model: float = 1.0  # milliseconds per trained model, on any number of rows


UNSTATED = Pace(training=7.0, per_model=5.0)
"""Pace of a class without a `cost`, such as scikit-learn's clusterings, which count as one kernel
value per pair of rows. Measured for DBSCAN, HDBSCAN and spectral clustering of 1,000 and 3,000 rows
of 2 to 166 features; mean shift takes 20 to 250 times as long."""


@dataclass(frozen=True)
class Cost:
    """Approximate cost of a fit; the default is negligible.

    The unit is an operation of a float32 matrix product, which takes ``2 n k m``: divided by its
    speed, a count is a time. A double-precision operation counts twice; an exponential, or a sine
    with its cosine, counts as `FUNCTION_FLOPS` operations of its precision.
    """

    flops: float = 1.0  # operations of training
    memory: int = 0  # bytes that training allocates at once
    flops_per_row: float = 0.0  # operations of evaluating the fitted function at one row
    shared_per_row: float = 0.0  # those of them that models trained together share

    def row_flops(self, n_models: int) -> float:
        """Return the number of operations to evaluate jointly trained models at one row."""
        return self.shared_per_row + n_models * (self.flops_per_row - self.shared_per_row)
