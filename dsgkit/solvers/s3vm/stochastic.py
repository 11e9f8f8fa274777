"""Base of the S3VMs that follow stochastic gradients on random features."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.engine import (
    ConstantStep,
    DecreasingStep,
    DSGModel,
    EitherStep,
    Problem,
    Source,
    StepRule,
    sizes,
)
from dsgkit.features import FeatureBlocks, random_features
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Cost
from dsgkit.objectives.s3vm import S3VMObjective, Values
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.block_functions import TogetherModels, finite_models
from dsgkit.solvers.common import Frequencies, RampS, RandomState
from dsgkit.solvers.declared import preset
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.parameters import (
    PER_MODEL,
    POSITIVE,
    Range,
)
from dsgkit.solvers.s3vm.balance import n_rows_in_mean, with_intercepts
from dsgkit.solvers.s3vm.base import S3VM, weighted_loss
from dsgkit.system.progress import part
from dsgkit.text.errors import DivergedError, DsgWarning

LossName = Literal["shg", "sshg", "ramp", "da"]

UnlabeledLoss = Annotated[
    LossName,
    PER_MODEL,
    Doc(
        "Loss u of the unlabelled rows: symmetric hinge ``max(0, "
        "1 - |r|)``, its square ``1/2 max(0, 1 - |r|)^2``, the two ramps ``sum_{z = "
        "r, -r} max(0, 1 - z) - max(0, s - z)``, or ``exp(-5 r^2)``. At r = 0, "
        "where all rows start, the derivative is 0, the mean of the two sides: "
        "``sign(0) = 0``."
    ),
]

Step = Annotated[
    float | Literal["decreasing"],
    Range(0, 1, open_low=True),
    PER_MODEL,
    Doc(
        "The decreasing step ``1 / (t + C / first_move)``, or a constant one: "
        "``1/eta`` of the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the "
        "model is its last block alone. Which constant serves depends on C and on "
        "the iterations; the decreasing step needs no such search."
    ),
]

FirstMove = Annotated[
    float,
    POSITIVE,
    PER_MODEL,
    Doc("How far the first decreasing step goes, in margins: 3 to 30 are of use."),
]

Anneal = Annotated[
    bool,
    PER_MODEL,
    Doc("Whether C* grows from 0 to full in the first half of the iterations, as ``(2 t / T)^3``."),
]

Balance = Annotated[
    bool,
    PER_MODEL,
    Doc(
        "Whether the mean of the values over the unlabelled rows is held at that of "
        "the labels. All losses are then taken at ``f + b``, where b makes it so in "
        "every batch, and at the end the model gets the intercept that does so over "
        "all unlabelled rows, or 32,768 of them."
    ),
]

"""The losses of unlabelled rows, those of `dsgkit.objectives.s3vm`."""

MIN_ITERATIONS = 500
"""Iterations that are made where one pass has fewer: of 500 rows, it has 2."""

FEW_ITERATIONS = 200
"""There is a warning where one pass, asked for as such, has fewer than this."""

_INTERCEPTS_SHARE = 0.1
"""Time that the intercepts of a balance are assumed to add, relative to that of training."""


class StochasticS3VM(DoublyStochasticEstimator, S3VM):
    """Base of the solvers that follow stochastic gradients of the S3VM objective.

    Subclasses implement `_train`, and say what they cost.
    """

    version: ClassVar[int] = 2

    kernel: str
    loss: UnlabeledLoss
    ramp_s: RampS
    step: Step
    first_move: FirstMove
    anneal: Anneal
    balance: Balance
    batch_size: int
    n_features: int | None
    n_iterations: int | Literal["one_pass"] | None
    n_passes: int = preset(1)
    random_state: RandomState
    frequencies: Frequencies

    def _train(self, problem: Problem) -> list[DSGModel]:
        """Return the models of a problem, in order."""
        raise NotImplementedError

    def settled(  # type: ignore[override]  # of its counts by name
        self, *, n_labeled: int, n_unlabeled: int
    ) -> Self:
        """Return a clone with the iterations and features of so many rows; see the base class."""
        copy: Self = clone(self)
        return copy.set_params(
            n_iterations=self._iterations(n_unlabeled),
            n_features=self._n_features(n_labeled + n_unlabeled),
        )

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Train a model for each of many settings, all in one pass over the features.

        As in the base class; the points of one pass must agree in all parameters but C, C_star,
        C_star_ratio, loss, ramp_s, step, first_move, anneal and balance. A model that diverged has
        values of NaN.
        """
        if folds is not None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        settings = self._settings(self._with_sigma(points, X, X_unlabeled))
        checked = clone(self)
        return TogetherModels(checked, _trained(settings, *checked._inputs(X, y, X_unlabeled)))

    def _warn_of_few_iterations(self, n_unlabeled: int) -> None:
        n_iterations = self._iterations(n_unlabeled)
        if self.n_iterations == "one_pass" and n_iterations < FEW_ITERATIONS:
            text = (
                f"'one_pass' is only {n_iterations:,} iterations with {n_unlabeled:,} unlabelled "
                f"rows: n_iterations null makes at least {MIN_ITERATIONS}"
            )
            warnings.warn(text, DsgWarning, stacklevel=2)

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        (model,) = _trained([self], X, positive, X_unlabeled)
        if not finite_models(model).all():
            raise DivergedError(f"diverged with C={self.C:g}, beyond single precision: lower C")
        self.model_ = model
        self.n_iter_ = self._iterations(len(X_unlabeled))

    def _loss(self, values: list[Values], C: float, C_star: float) -> float:
        return weighted_loss(values, C, C_star, self.loss, self.ramp_s)

    def _iterations(self, n_unlabeled: int) -> int:
        """Return ``n_iterations``, or what its passes over the unlabelled rows amount to."""
        passes = int(self.n_passes) * -(-n_unlabeled // int(self.batch_size))
        if self.n_iterations is None:
            return max(passes, MIN_ITERATIONS)
        return passes if self.n_iterations == "one_pass" else int(self.n_iterations)

    def _remembered(self) -> int | None:
        """Return after how many iterations a block is forgotten; None: never."""
        return None if self.step == "decreasing" else sizes.remembered(float(self.step))

    def _features_for(self, n_rows: int) -> FeatureBlocks:
        """Return the random features for so many training rows."""
        m = self._n_features(n_rows)
        return random_features(
            self.kernel, float(self._sigma), m, int(self.random_state), self.frequencies
        )

    def _n_features(self, n_rows: int) -> int:
        """Return ``n_features``, by default the root of the number of all training rows."""
        return math.isqrt(n_rows - 1) + 1 if self.n_features is None else int(self.n_features)

    def _with_balance(
        self, cost: Cost, n_models: int, n_coefficients: int, n_unlabeled: int
    ) -> Cost:
        """Return the cost of training models of so many coefficients, and of their intercepts."""
        if not self.balance:
            return cost
        row = cost.flops_per_row + 2.0 * n_coefficients * (n_models - 1)
        return replace(cost, flops=cost.flops + n_rows_in_mean(n_unlabeled) * row)


def _trained(
    settings: Sequence[StochasticS3VM], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> list[DSGModel]:
    """Return the models of all settings, in order; rows and memory are checked."""
    shared, n_labeled, n_unlabeled = settings[0], len(X), len(X_unlabeled)
    check_projections(X, shared._sigma, shared.kernel)
    cost = shared.cost(
        X.shape[1], n_models=len(settings), n_labeled=n_labeled, n_unlabeled=n_unlabeled
    )
    shared._check_memory(cost)
    shared._warn_of_few_iterations(n_unlabeled)
    problem = _problem(settings, X, positive, X_unlabeled)
    balance = np.array([s.balance for s in settings])
    trained = 1.0 - balance.any() * _INTERCEPTS_SHARE
    with part(0, trained):
        models = shared._train(problem)
    if balance.any():
        mean = 2 * float(positive.mean()) - 1
        with part(trained, 1):
            models = with_intercepts(models, X_unlabeled, mean, balance, int(shared.random_state))
    if not any(finite_models(model).any() for model in models):
        check_projections(X_unlabeled, shared._sigma, shared.kernel)
    return models


def _problem(
    settings: Sequence[StochasticS3VM], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> Problem:
    """Return the problem of training a model for every setting."""
    n_labeled, n_unlabeled = len(X), len(X_unlabeled)
    shared = settings[0]
    n_iterations = shared._iterations(n_unlabeled)
    columns = [(s.C, s._unlabeled_weight(n_labeled, n_unlabeled), s.ramp_s) for s in settings]
    C, C_star, ramp_s = np.array(columns, np.float64).T
    return Problem(
        tables=[X, X_unlabeled],
        sources=[
            Source(0, [np.flatnonzero(positive)]),
            Source(0, [np.flatnonzero(~positive)]),
            Source(1, in_passes=True),
        ],
        objective=S3VMObjective(
            C,
            C_star,
            float(positive.mean()),
            [s.loss for s in settings],
            ramp_s,
            full_from=np.array([n_iterations / 2 if s.anneal else 0.0 for s in settings]),
            balance=np.array([s.balance for s in settings]),
        ),
        step=_steps(settings),
        features=shared._features_for(n_labeled + n_unlabeled),
        n_iterations=n_iterations,
        batch_size=int(shared.batch_size),
        group=np.zeros(len(settings), np.int64),
    )


def _steps(settings: Sequence[StochasticS3VM]) -> StepRule:
    """Return each setting's steps: its constant one, or ``1 / (t + C / first_move)``.

    With the latter the first move is one of about ``first_move`` margins, as the largest derivative
    is C; the decay is that of the regulariser's weight, 1.
    """
    decreasing = np.array([s.step == "decreasing" for s in settings])
    constant = [1.0 if s.step == "decreasing" else float(s.step) for s in settings]
    ones = np.ones(len(settings))
    t0 = np.array([s.C / s.first_move for s in settings])
    return EitherStep(
        DecreasingStep(theta_lam=ones, lam=ones, t0=t0),
        ConstantStep(np.array(constant), lam=ones),
        follows_first=decreasing,
    )
