"""Step sizes of models that are trained together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dsgkit.engine import ConstantStep, DecreasingStep, EitherStep, LinearStep, StepRule
from dsgkit.linalg import Array, spaced
from dsgkit.trainers.curvature import UNLABELED_ROWS, largest_eigenvalue, offsets
from dsgkit.trainers.training import Decreasing, Fixed, Training


class Steps(Protocol):
    """A schedule of step sizes; its parameters for each model are in ``training.steps``."""

    def rule(self, training: Training, kernel: str, sigma: float, n_iterations: int) -> StepRule:
        """Return the steps of all models, pool by pool; NaN for a model without a valid step."""
        ...

    def invalid_message(self, training: Training) -> str:
        """Return the error message of a model without a valid step."""
        return "a step is not a number"

    def diverged_message(self, training: Training) -> str:
        """Return the error message of a model that diverged, with what to change."""
        ...


@dataclass(frozen=True)
class DecreasingSteps(Steps):
    """Steps ``theta / (t + t0)``: see `Decreasing`."""

    def rule(self, training: Training, kernel: str, sigma: float, n_iterations: int) -> StepRule:
        """Return the steps of all models, pool by pool."""
        t = training
        theta_lam = np.tile([float(step.theta_lam) for step in t.steps], len(t.pools))
        return DecreasingStep(theta_lam, t.lam, offsets(t, kernel, sigma))

    def diverged_message(self, training: Training) -> str:
        """Return the error message of a model that diverged, with what to change."""
        return (
            f"diverged with lam={training.lam[0]:g}: the first steps are too long; set t0='stable'"
        )


DECREASING = DecreasingSteps()


@dataclass(frozen=True)
class StepsOfMargins(Steps):
    """Steps of margin risks: each model has `Decreasing` steps with a numeric t0, or `Fixed`."""

    def rule(self, training: Training, kernel: str, sigma: float, n_iterations: int) -> StepRule:
        """Return the steps of all models, pool by pool."""
        steps, lam = list(training.steps) * len(training.pools), training.lam
        fixed = np.array([isinstance(step, Fixed) for step in steps])
        eta = [step.eta if isinstance(step, Fixed) else 1.0 for step in steps]
        others = [Decreasing(1.0, 0.0) if isinstance(step, Fixed) else step for step in steps]
        theta_lam, t0 = np.array([(s.theta_lam, s.t0) for s in others], np.float64).T
        return EitherStep(
            DecreasingStep(theta_lam, lam, t0), ConstantStep(np.array(eta), lam), ~fixed
        )

    def diverged_message(self, training: Training) -> str:
        """Return the error message of a model that diverged, with what to change."""
        risk: Any = training.risks[0][0]
        return f"diverged with C={risk.C:g}, beyond single precision: lower C"


@dataclass(frozen=True)
class ConstantSteps(Steps):
    """Steps ``theta / (lam + L)`` of risks that are quadratic in unlabelled rows only; `Constant`.

    L is the curvature, measured on a sample of these rows. A step of ``1 / lam`` or more would
    erase all earlier ones, and is invalid.

    Attributes
    ----------
    measured : bool
        If false, the step is ``theta / sqrt(T)``.
    fading : bool
        Whether steps decrease linearly to 0.
    """

    measured: bool = True
    fading: bool = False

    def rule(self, training: Training, kernel: str, sigma: float, n_iterations: int) -> StepRule:
        """Return the steps of all models, pool by pool."""
        lam = training.lam
        theta = np.tile([float(step.theta) for step in training.steps], len(training.pools))
        if self.measured:
            eta = theta / (lam + _curvatures(training, kernel, sigma))
        else:
            eta = theta / math.sqrt(n_iterations)
        allowed = np.where(eta * lam < 1, eta, np.nan)
        return LinearStep(allowed, lam, n_iterations) if self.fading else ConstantStep(allowed, lam)

    def invalid_message(self, training: Training) -> str:
        """Return the error message of a model without a valid step."""
        return (
            f"theta={training.steps[0].theta:g} makes a step of 1/lam or more with "
            f"lam={training.lam[0]:g}, which is no descent: lower theta"
        )

    def diverged_message(self, training: Training) -> str:
        """Return the error message of a model that diverged, with what to change."""
        return (
            f"diverged with theta={training.steps[0].theta:g}: the steps are too long; lower "
            "theta, or set step='measured'"
        )


def _curvatures(training: Training, kernel: str, sigma: float) -> Array:
    """Return the largest eigenvalue of every risk's second derivative, pool by pool."""
    t = training
    if t.unlabeled_pools is None:
        samples = [t.X_unlabeled] * len(t.pools)
    else:
        samples = [t.X_unlabeled[spaced(pool, UNLABELED_ROWS)] for pool in t.unlabeled_pools]
    largest = [largest_eigenvalue(rows, sigma, kernel) for rows in samples]
    return np.array(
        [
            2 * by_pool[pool].diagonal[-1] * value
            for pool, value in enumerate(largest)
            for by_pool in t.forms
        ]
    )
