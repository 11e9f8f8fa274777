"""Kernel machines: kernel expansions with an offset, and the base class of their trainers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.costs import Cost
from dsgkit.errors import FitError
from dsgkit.linalg import Array
from dsgkit.objectives.margin import MarginRisk
from dsgkit.objectives.pairwise_risk import POSITIVE
from dsgkit.trainers.closed_form import Expansion
from dsgkit.trainers.training import Sizes, Step, Training


@dataclass(frozen=True)
class KernelMachine(Expansion):
    """A function ``sum_i a_i k(z_i, .) + b``; b does not count in its norm."""

    intercept: float = field(kw_only=True)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the estimator."""
        return {**super().attributes, "intercept_": self.intercept}

    def values(self, X: Any) -> Array:
        """Return its values at the rows of ``X``."""
        return super().values(X) + self.intercept

    def squared_norm(self) -> float:
        """Return the squared norm of the function without its intercept."""
        return float(self.coef @ (self.values(self.centers) - self.intercept))


@dataclass(frozen=True)
class KernelMachines:
    """Machines of some settings; None for a setting without a solution."""

    machines: Sequence[KernelMachine | None]

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether each setting has a solution."""
        return np.array([machine is not None for machine in self.machines])

    def values(self, X: Any) -> Array:
        """Return the values of all machines at the rows of ``X``, a column each."""
        missing = np.full(len(X), np.nan)
        return np.column_stack([missing if m is None else m.values(X) for m in self.machines])


@dataclass(frozen=True)
class MachineTrainer:
    """Base class of trainers of kernel machines, which train one machine after the other."""

    kernel: str
    sigma: float

    @abstractmethod
    def solve(
        self, training: Training, risk: MarginRisk, step: Step | None, prepared: Any
    ) -> KernelMachine:
        """Return the machine of a risk, given what `prepared` returns."""

    @abstractmethod
    def models_cost(self, sizes: Sizes, n_models: int, risk: MarginRisk, step: Step | None) -> Cost:
        """Return the cost of `fit`, or of `functions` with ``n_models`` models."""

    def prepared(self, training: Training) -> Any:
        """Return data that all machines of a training share; None by default."""
        return None

    def fit(self, training: Training) -> KernelMachine:
        """Train the one machine of a training.

        Raises
        ------
        FitError
            If there is no solution, or it cannot be computed.
        """
        return self._solve(training, 0, self.prepared(training))

    def functions(self, training: Training) -> KernelMachines:
        """Train all machines of a training."""
        prepared, machines = self.prepared(training), []
        for point in range(len(training.risks)):
            machine = None
            with suppress(FitError):
                machine = self._solve(training, point, prepared)
            machines.append(machine)
        return KernelMachines(machines)

    def _solve(self, training: Training, point: int, prepared: Any) -> KernelMachine:
        risk: Any = training.risks[point][0]
        step = training.steps[point] if training.steps else None
        return self.solve(training, risk, step, prepared)


def signs_of(training: Training) -> Array:
    """Return the labels -1 and 1 of the labelled rows."""
    return np.where(training.codes == POSITIVE, 1.0, -1.0)
