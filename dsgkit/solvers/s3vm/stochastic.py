"""Base of the S3VMs that are trained by stochastic gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.errors import DsgWarning
from dsgkit.objectives.margin import MarginRisk
from dsgkit.solvers.block_functions import BlockFunctionEstimator
from dsgkit.solvers.common import CStar, CStarRatio, Frequencies, KernelName, RampS, RandomState
from dsgkit.solvers.declared import fitted, preset
from dsgkit.solvers.minimise import training_of
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.s3vm.base import step_of
from dsgkit.solvers.s3vm.parameters import Anneal, Balance, FirstMove, StepSize, UnlabeledLoss
from dsgkit.trainers.blocks import RandomFeatures
from dsgkit.trainers.steps import Steps, StepsOfMargins
from dsgkit.trainers.training import Given, Step, Training

MIN_ITERATIONS = 500
"""Least iterations by default: one pass over 500 rows has only 2."""

FEW_ITERATIONS = 200
"""The value "one_pass" warns about fewer iterations than this."""


class StochasticS3VM(BlockFunctionEstimator):
    """Base of the S3VMs that are trained by stochastic gradients on random features.

    A subclass names this base before `S3VM`.
    """

    version: ClassVar[int] = 2

    _: KW_ONLY
    C_star: CStar = None
    C_star_ratio: CStarRatio = None
    kernel: KernelName = "gaussian"
    loss: UnlabeledLoss = "shg"
    ramp_s: RampS = 0.0
    step: StepSize = "decreasing"
    first_move: FirstMove = 10.0
    anneal: Anneal = False
    balance: Balance = False
    batch_size: Annotated[int, COUNT, Doc("Rows b of each of the three batches.")] = 256

    n_iter_: int = fitted("Iterations made.")

    n_features: int | None
    n_iterations: int | Literal["one_pass"] | None
    n_passes: int = preset(1)
    random_state: RandomState
    frequencies: Frequencies

    def _risk(self, n_labeled: int, n_unlabeled: int) -> MarginRisk:
        return MarginRisk(
            self.C,
            self._unlabeled_weight(n_labeled, n_unlabeled),
            self._iterations(n_unlabeled) / 2 if self.anneal else 0.0,
            loss=self.loss,
            ramp_s=self.ramp_s,
            balance=bool(self.balance),
        )

    def _step(self) -> Step:
        return step_of(self.C, self.step, self.first_move)

    def _steps_on(self, n_labeled: int, n_unlabeled: int) -> tuple[RandomFeatures, int, int, Steps]:
        """Return features, batch size, iterations and steps for trainers."""
        features = RandomFeatures(
            self.kernel,
            float(self._sigma),
            self._n_features(n_labeled + n_unlabeled),
            int(self.random_state),
            self.frequencies,
        )
        n_iterations = self._iterations(n_unlabeled)
        return features, int(self.batch_size), n_iterations, StepsOfMargins()

    def _training(self, models: Sequence[Any], given: Given) -> Training:
        self._warn_of_few_iterations(len(given.X_unlabeled))
        return training_of(models, given)

    def settled(  # type: ignore[override]  # of its counts by name
        self, *, n_labeled: int, n_unlabeled: int
    ) -> Self:
        """Return a clone with the iterations and features for these rows; see the base class."""
        copy: Self = clone(self)
        return copy.set_params(
            n_iterations=self._iterations(n_unlabeled),
            n_features=self._n_features(n_labeled + n_unlabeled),
        )

    def _warn_of_few_iterations(self, n_unlabeled: int) -> None:
        n_iterations = self._iterations(n_unlabeled)
        if self.n_iterations == "one_pass" and n_iterations < FEW_ITERATIONS:
            text = (
                f"'one_pass' is only {n_iterations:,} iterations with {n_unlabeled:,} unlabelled "
                f"rows: n_iterations null makes at least {MIN_ITERATIONS}"
            )
            warnings.warn(text, DsgWarning, stacklevel=2)

    def _iterations(self, n_unlabeled: int) -> int:
        """Return ``n_iterations``, or the iterations of ``n_passes`` passes."""
        passes = int(self.n_passes) * -(-n_unlabeled // int(self.batch_size))
        if self.n_iterations is None:
            return max(passes, MIN_ITERATIONS)
        return passes if self.n_iterations == "one_pass" else int(self.n_iterations)

    def _n_features(self, n_rows: int) -> int:
        """Return ``n_features``, by default the square root of the number of training rows."""
        return math.isqrt(n_rows - 1) + 1 if self.n_features is None else int(self.n_features)
