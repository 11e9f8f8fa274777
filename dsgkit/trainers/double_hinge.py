"""The similar-unlabelled risk with the double hinge loss, as a quadratic program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.kernels import kernel_named
from dsgkit.linalg import Array, solve_qp
from dsgkit.objectives.similar_unlabeled import similar_share
from dsgkit.random import draw_in_passes
from dsgkit.seeds import derive_seed
from dsgkit.trainers.linear import FeatureMap, Inputs, LinearFunction
from dsgkit.trainers.moments import mean_features
from dsgkit.trainers.training import Folds, Sizes, Trainer, Training, fit_each_fold

USUAL_ITERATIONS = 25
"""Usual iterations of the interior-point method."""

BYTES_PER_ENTRY = 200
"""Bytes of the program for every feature of an unlabelled row, as measured."""

BYTES_PER_ROW = 5000
"""Further bytes of the program for every row."""


@dataclass(frozen=True, eq=False)
class KernelValues:
    """The values of a kernel at some centres, as features."""

    kernel: str
    sigma: float
    centers: Array

    smallest_lam: ClassVar[float] = 0.0

    def map(self) -> FeatureMap:
        """Return the map from rows to their kernel values."""
        return lambda rows: kernel_named(self.kernel).gram(rows, self.centers, self.sigma)

    def check(self, *tables: Any) -> None:
        """Accept all rows: exact kernels are accurate at any."""

    def width(self, n_inputs: int) -> int:
        """Return the number of centres."""
        return len(self.centers)

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of the kernel values of one row."""
        return self.width(n_inputs) * (2.0 * n_inputs + FUNCTION_FLOPS)


@dataclass(frozen=True)
class Minimum(LinearFunction):
    """A minimiser and its objective."""

    objective: float

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes: coefficients, centres of a kernel, objective."""
        known = {**super().attributes, "objective_": self.objective}
        if isinstance(self.features, KernelValues):
            known["centers_"] = self.features.centers
        return known


@dataclass(frozen=True)
class DoubleHinge(Trainer):
    """The minimiser of the risk with the double hinge loss, by an interior-point method.

    Attributes
    ----------
    kernel : str
        "linear" uses the inputs and a constant 1.
    n_centers : int or None
        Unlabelled rows that serve as centres; None takes all.
    """

    kernel: str
    sigma: float
    n_centers: int | None
    random_state: int
    max_seconds: float | None

    def fit(self, training: Training) -> Minimum:
        """Solve the program of the one model of a training; see `Trainer`."""
        if self.kernel == "linear":
            w, objective = self._minimise(Inputs().map(), training)
            return Minimum(Inputs(), w, objective)
        values = KernelValues(self.kernel, self.sigma, self._centers(training.X_unlabeled))
        gram, kernel_values = values.map()(values.centers), values.map()
        whitening = _whitening(np.asarray(gram))
        w, objective = self._minimise(lambda rows: kernel_values(rows) @ whitening, training)
        return Minimum(values, whitening @ w, objective)

    def fold_values(self, training: Training, folds: Folds) -> tuple[Array, Array]:
        """Return out-of-fold values of every point, each trained separately; see `Trainer`."""
        return fit_each_fold(self, training, folds)

    def cost(self, sizes: Sizes, n_models: int = 1) -> Cost:
        """Return the cost of fits of ``n_models`` models, one after the other."""
        n, n_inputs = sizes.n_unlabeled, sizes.n_inputs
        linear, double = self.kernel == "linear", 2
        p = n_inputs + 1 if linear else self._n_centers(n)
        features = 0.0 if linear else p * (n_inputs + FUNCTION_FLOPS / 2 + p)
        solving = USUAL_ITERATIONS * (p**2 + 100 * p)
        return Cost(
            flops=n_models * double * n * (features + solving),
            memory=n * (BYTES_PER_ENTRY * p + BYTES_PER_ROW) + 4 * 8 * p**2,
            flops_per_row=double * p * (1 if linear else n_inputs + FUNCTION_FLOPS),
        )

    def _minimise(self, features: FeatureMap, training: Training) -> tuple[Array, float]:
        """Return the minimiser w and the minimum."""
        t = training
        risk: Any = t.risks[0][0]
        Phi = features(t.X_unlabeled[:]).astype(np.float64, copy=False)
        prior, scale, lam = risk.prior, 2 * risk.prior - 1, float(t.lam[0])
        slope = (1 - prior) / scale * Phi.mean(axis=0)
        slope -= similar_share(prior) / scale * mean_features(features, t.X)
        w = double_hinge_program(Phi, slope, lam, max_seconds=self.max_seconds)
        z = Phi @ w
        hinge = np.maximum(0, np.maximum((1 + z) / 2, z)).mean()
        return w, float(lam / 2 * w @ w + slope @ w + hinge)

    def _centers(self, X_unlabeled: Any) -> Array:
        n = len(X_unlabeled)
        seed = derive_seed(self.random_state, "su_dh", "centers")
        rows = draw_in_passes(seed, 0, 0, 1, self._n_centers(n), n)[0]
        return np.asarray(X_unlabeled[np.sort(rows)], np.float64)

    def _n_centers(self, n_unlabeled: int) -> int:
        return n_unlabeled if self.n_centers is None else min(self.n_centers, n_unlabeled)


def double_hinge_program(
    Phi: Array, slope: Array, lam: float, *, max_seconds: float | None = None
) -> Array:
    """Return the w that minimises ``lam/2 ||w||^2 + slope'w + mean_i max(0, (1 + z_i)/2, z_i)``.

    The variables are w, ``z = Phi w`` (so that the dense Phi enters once) and upper bounds xi on
    the maxima.

    Raises
    ------
    TimeLimitError, FitError
        If the solver runs out of time, or fails.
    """
    n, p = Phi.shape
    identity, zero = sparse.eye(n), sparse.csc_matrix((n, n))
    quadratic = sparse.block_diag([lam * sparse.eye(p), sparse.csc_matrix((2 * n, 2 * n))])
    linear = np.concatenate([slope, np.zeros(n), np.full(n, 1 / n)])
    equal = sparse.hstack([sparse.csc_matrix(Phi), -identity, zero])
    below = sparse.vstack(  # (1 + z)/2 <= xi, z <= xi, 0 <= xi
        [sparse.hstack([factor * identity, -identity]) for factor in (0.5, 1.0, 0.0)]
    )
    at_most = sparse.hstack([sparse.csc_matrix((3 * n, p)), below])
    bounds = np.repeat([-0.5, 0.0, 0.0], n)
    solution = solve_qp(
        quadratic,
        linear,
        (equal, np.zeros(n)),
        (at_most, bounds),
        max_seconds=max_seconds,
        dense=True,  # a thirteenth of the time at n = p = 1,000, as Phi is dense
    )
    return solution[:p]


def _whitening(gram: Array) -> Array:
    """Return W with ``W'gram W = I``, without the eigenvectors lost in rounding."""
    spectrum, vectors = linalg.eigh(gram, check_finite=False)
    kept = spectrum > 1e-10 * spectrum[-1]
    whitening: Array = vectors[:, kept] / np.sqrt(spectrum[kept])
    return whitening
