"""Step-size rules: the step of iteration t, and the decay of all earlier blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dsgkit.linalg import Array


class StepRule(Protocol):
    """The steps of G models that are trained together.

    Every rule holds the weight of its models' regulariser ``lam/2 ||f||^2``, so that it works with
    any objective.

    Attributes
    ----------
    lam : ndarray of shape (G,)
        Regularisation.
    """

    @property
    def lam(self) -> Array: ...

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return ``(eta_t, 1 - eta_t * lam)``, each of shape (G,), at the 1-based iteration t."""
        ...

    def take(self, models: slice) -> StepRule:
        """Return the rule of some of the models."""
        ...


@dataclass(frozen=True)
class DecreasingStep:
    """``eta_t = theta / (t + t0)``, given by ``theta * lam`` (QSG-S2AUC, Theorem 1).

    Attributes
    ----------
    theta_lam : ndarray of shape (G,)
        ``theta * lam``. The decay ``1 - theta_lam / (t + t0)`` is computed from it directly, so
        that it is exactly 0 where it is 0 in theory.
    lam : ndarray of shape (G,)
        Regularisation.
    t0 : ndarray of shape (G,)
        Offset; 0 is the paper's rule.
    """

    theta_lam: Array
    lam: Array
    t0: Array

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return the steps and the decays of iteration t."""
        shrink = self.theta_lam / (t + self.t0)
        return shrink / self.lam, 1.0 - shrink

    def take(self, models: slice) -> DecreasingStep:
        """Return the rule of some of the models."""
        return DecreasingStep(self.theta_lam[models], self.lam[models], self.t0[models])


@dataclass(frozen=True)
class ConstantStep:
    """The same step at every iteration.

    Attributes
    ----------
    eta : ndarray of shape (G,)
        Above 0; with ``eta * lam = 1`` a step erases all earlier blocks.
    lam : ndarray of shape (G,)
        Regularisation; 1 for TSGS3VM.
    """

    eta: Array
    lam: Array

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return the steps and the decays of iteration t."""
        return self.eta, 1.0 - self.eta * self.lam

    def take(self, models: slice) -> ConstantStep:
        """Return the rule of some of the models."""
        return ConstantStep(self.eta[models], self.lam[models])


@dataclass(frozen=True)
class LinearStep:
    """Steps that decrease linearly to 0 after the last: ``eta (1 - (t - 1)/T)``.

    Attributes
    ----------
    eta : ndarray of shape (G,)
        The first step.
    lam : ndarray of shape (G,)
        Regularisation.
    n_iterations : int
        T.
    """

    eta: Array
    lam: Array
    n_iterations: int

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return the steps and the decays of iteration t."""
        eta = self.eta * (1 - (t - 1) / self.n_iterations)
        return eta, 1.0 - eta * self.lam

    def take(self, models: slice) -> LinearStep:
        """Return the rule of some of the models."""
        return LinearStep(self.eta[models], self.lam[models], self.n_iterations)


@dataclass(frozen=True)
class EitherStep:
    """Combines two step rules: each model follows one of them.

    Attributes
    ----------
    first, second : StepRule
        Both have all models; values for a model that follows the other rule are ignored.
    follows_first : ndarray of bool, shape (G,)
    """

    first: StepRule
    second: StepRule
    follows_first: NDArray[np.bool_]

    @property
    def lam(self) -> Array:
        """Regularisation."""
        return np.where(self.follows_first, self.first.lam, self.second.lam)

    def __call__(self, t: int) -> tuple[Array, Array]:
        """Return the steps and the decays of iteration t."""
        (eta, decay), (other_eta, other_decay) = self.first(t), self.second(t)
        return (
            np.where(self.follows_first, eta, other_eta),
            np.where(self.follows_first, decay, other_decay),
        )

    def take(self, models: slice) -> EitherStep:
        """Return the rule of some of the models."""
        return EitherStep(
            self.first.take(models), self.second.take(models), self.follows_first[models]
        )
