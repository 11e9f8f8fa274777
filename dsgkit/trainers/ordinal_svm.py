"""Ordinal support vector machines, solved over as many kernel columns as memory allows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.errors import FitError
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import training_rows
from dsgkit.system.progress import report
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.columns import (
    MIN_COLUMNS,
    KernelColumns,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.trainers.svor_smo import OrdinalProgram, program_memory
from dsgkit.trainers.training import Array, Given

_STEP_FLOPS = 500.0
"""Operations of a step per row and cut that has the row on a side, including its share of the moves
of all free variables."""

_STEPS_PER_ROW = 5.0
"""Steps of a fit; 1 for a small C, 10 for a large one."""


@dataclass(frozen=True)
class OrdinalSVM:
    """Solver of the dual of an ordinal support vector machine.

    Models that differ only in the weight of the losses share the kernel matrix of each fold, and
    each starts from the solution for the next smaller weight.

    Attributes
    ----------
    kernel : {"gaussian", "linear"}
    sigma : float
    explicit : bool
        If true, the sides of a cut are the two classes next to it, else all classes.
    ridge, tol : float
    max_iter : int
        Parameters of `OrdinalProgram`.
    memory_limit : int
        Bytes. As many kernel columns are kept as fit; this affects only the time.
    """

    kernel: str
    sigma: float
    explicit: bool
    ridge: float
    tol: float
    max_iter: int
    memory_limit: int = field(compare=False)

    def fit(self, given: Given, weight: float) -> Expansion:
        """Train one machine; see `OrdinalTrainer`."""
        return self._solved(given, *self._problem(given), weight)

    def fold_values(
        self, given: Given, folds: Sequence[NDArray[np.integer]], weights: Sequence[float]
    ) -> Array:
        """Return out-of-fold values of a machine for each weight; see `OrdinalTrainer`."""
        values = np.full((len(weights), len(given.codes)), np.nan)
        for number, held_out in enumerate(folds):
            report(number / len(folds))
            train = training_rows(held_out, len(given.codes))
            part = given._replace(X=given.X[train], codes=given.codes[train])
            columns, program = self._problem(part)
            for g in np.argsort(weights, kind="stable"):
                with suppress(FitError):
                    machine = self._solved(part, columns, program, weights[g])
                    values[g, held_out] = machine.values(given.X[held_out])
        return values

    def _problem(self, given: Given) -> tuple[KernelColumns, OrdinalProgram]:
        """Return the kernel of the rows, sorted by class, and the dual problem."""
        order = np.argsort(given.codes, kind="stable")
        present, consecutive = np.unique(given.codes[order], return_inverse=True)
        points = np.array(given.X[:].T[:, order], np.float64, order="C")
        n_inputs, n = points.shape
        room = self.memory_limit - program_memory(n, len(present) - 1) - points.nbytes
        capacity = columns_within(n, n_inputs, room)
        columns = kernel_columns(points, self.kernel, self.sigma, capacity)
        program = OrdinalProgram(columns, consecutive, explicit=self.explicit, ridge=self.ridge)
        return columns, program

    def _solved(
        self, given: Given, columns: KernelColumns, program: OrdinalProgram, weight: float
    ) -> Expansion:
        """Return the machine for a weight, starting from the current variables."""
        program.solve(weight, self.tol, self.max_iter)
        beta = program.beta
        used = beta != 0
        # cuts between the same two present classes share a threshold
        present = np.unique(given.codes)
        n_below = np.searchsorted(present, np.arange(given.n_sources - 1), side="right")
        thresholds = np.concatenate([[-np.inf], program.thresholds(), [np.inf]])[n_below]
        return Expansion(
            self.kernel,
            self.sigma,
            columns.points.T[used],
            beta[used],
            extra_attributes={"n_iter_": program.n_steps, "own_thresholds_": thresholds},
        )

    def cost(self, n_inputs: int, n_labeled: int, n_cuts: int, n_models: int) -> Cost:
        """Return the estimated cost of a fit.

        If the kernel matrix does not fit, but some columns do, the memory is the limit.
        """
        n = n_labeled
        fewest, all_columns = (_memory(n, n_inputs, kept, n_cuts) for kept in (MIN_COLUMNS, n))
        cuts_per_row = min(2, n_cuts) if self.explicit else n_cuts
        step = _STEP_FLOPS * n * cuts_per_row
        entries = n**2 * (ENTRY_FLOPS + 6.0 * n_inputs)
        return Cost(
            flops=n_models * (entries + _STEPS_PER_ROW * n * step),
            memory=max(fewest, min(all_columns, self.memory_limit)),
            flops_per_row=expansion_flops(n, n_inputs),
        )


def _memory(n: int, n_inputs: int, capacity: int, n_cuts: int) -> int:
    """Return the bytes of a fit on ``n`` rows with some columns kept, or of predicting after it."""
    fit = columns_memory(n, n_inputs, capacity) + program_memory(n, n_cuts) + 8 * n * n_inputs
    return max(fit, 8 * n * (n_inputs + 1) + expansion_memory(n, n_inputs))
