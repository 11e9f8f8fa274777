"""Minimisers over explicit features, in closed form after one pass over the unlabelled rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsgkit.costs import FUNCTION_FLOPS
from dsgkit.features import Blocks, random_features
from dsgkit.kernels import check_projections, kernel_named
from dsgkit.linalg import EIGH_FLOPS, Array, eigh_memory, row_blocks
from dsgkit.objectives.pairwise_risk import PairwiseRisk
from dsgkit.random import draw_in_passes
from dsgkit.seeds import derive_seed
from dsgkit.trainers.closed_form import ClosedForm, Expansion
from dsgkit.trainers.linear import BLOCK_ROWS, FeatureMap, LinearFunction
from dsgkit.trainers.moments import (
    FeatureMoments,
    feature_moments,
    moments_response,
    moments_response_at,
    solve,
)
from dsgkit.trainers.nystrom import NystromFeatures, nystrom_memory
from dsgkit.trainers.responses import PrimalResponse
from dsgkit.trainers.training import Function, Training

KERNEL_ROWS = 512
"""Rows whose kernel values are held at a time."""


@dataclass(frozen=True)
class RandomFeatures:
    """Parameters of blocks of random features of a kernel."""

    # moments summed in single precision err by about 2^-24, so eigenvalues may be negative
    smallest_lam: ClassVar[float] = 2.0**-23

    kernel: str
    sigma: float
    n_features: int
    random_state: int
    frequencies: str = "independent"

    def blocks(self) -> Blocks:
        """Return the blocks."""
        return random_features(
            self.kernel, self.sigma, self.n_features, self.random_state, self.frequencies
        )

    def check(self, *tables: Any) -> None:
        """Raise `DataError` for rows whose features would be inaccurate."""
        for rows in tables:
            check_projections(rows, self.sigma, self.kernel)

    def map(self) -> FeatureMap:
        """Return the map from rows to block 0."""
        blocks = self.blocks()
        return lambda rows: blocks.transform(rows, 0)

    def width(self, n_inputs: int) -> int:
        """Return the number of features of a block."""
        return self.blocks().width

    def row_flops(self, n_inputs: int) -> float:
        """Return the operations of a block at one row."""
        return self.blocks().row_flops(n_inputs)


def random_features_of(estimator: Any) -> RandomFeatures:
    """Return the specification of an estimator's random features, from its parameters."""
    return RandomFeatures(
        getattr(estimator, "kernel", "gaussian"),
        float(estimator._sigma),
        int(estimator.n_features),
        int(estimator.random_state),
        estimator.frequencies,
    )


@dataclass(frozen=True)
class ExplicitFeatures(ClosedForm):
    """Base class of closed forms whose features map each row separately."""

    @abstractmethod
    def moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        """Return the moments from which the system is built."""

    def response(self, X: Any, X_unlabeled: Any) -> PrimalResponse:
        """Return the response of the features of these rows."""
        return moments_response(self.moments(X, X_unlabeled))

    def response_at(self, X: Any, X_unlabeled: Any, penalty: float, weight: float) -> Array:
        """Return the response at one penalty and weight."""
        return moments_response_at(self.moments(X, X_unlabeled), penalty, weight)


@dataclass(frozen=True)
class FeatureFunction(LinearFunction):
    """A function of block 0 of random features."""

    features: RandomFeatures

    @property
    def attributes(self) -> dict[str, Any]:
        """Features and coefficients."""
        return {"features_": self.features.blocks(), **super().attributes}


@dataclass(frozen=True)
class OnRandomFeatures(ExplicitFeatures):
    """The minimiser over fixed random features.

    ``2 n_features`` features, of a dot-product kernel ``n_features``. O(n n_features^2) time in one
    pass over the unlabelled rows, which are streamed, and O(n_features^2) memory.
    """

    features: RandomFeatures

    # moments summed in single precision err by about 2^-24, so eigenvalues may be negative
    smallest_penalty: ClassVar[float] = 2.0**-22

    def solve(self, training: Training, risk: PairwiseRisk, penalty: float) -> Function:
        """Return the minimiser of one risk on all rows."""
        moments = self.moments(training.X, training.X_unlabeled)
        coef = solve(moments, training.codes, risk, penalty)
        return FeatureFunction(self.features, coef)

    def moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        """Return the moments from which the system is built."""
        self.features.check(X, X_unlabeled)
        return feature_moments(self.features.map(), X, X_unlabeled, BLOCK_ROWS)

    def size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the number of features."""
        return self.features.blocks().width

    def fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that a fit, or evaluating it, allocates."""
        n_columns = self.size(n_labeled, n_unlabeled)
        block = 4 * min(n_unlabeled, BLOCK_ROWS) * (n_columns + n_inputs)
        return (8 + 4) * n_columns**2 + max(block, 20 * n_labeled * n_columns)

    def grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `response` allocates."""
        fit = self.fit_memory(n_labeled, n_unlabeled, n_inputs)
        n_columns = self.size(n_labeled, n_unlabeled)
        return max(fit, eigh_memory(n_columns) + 16 * n_labeled * n_columns)

    def building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the approximate number of operations that build the matrix."""
        # features and their products are single precision, at half the cost of double
        features = self.features.blocks()
        per_row = features.width**2 / 2 + features.row_flops(n_inputs) / 2
        return (n_labeled + n_unlabeled) * per_row

    def row_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the operations of a fitted function at one row."""
        features = self.features.blocks()
        return features.row_flops(n_inputs) + 4.0 * features.width


@dataclass(frozen=True)
class OnLandmarks(ExplicitFeatures):
    """The minimiser over kernel expansions at landmarks (Nystrom), penalised by the kernel's norm.

    Attributes
    ----------
    n_landmarks : int
        Unlabelled landmarks; all labelled rows are landmarks too.
    """

    kernel: str
    sigma: float
    n_landmarks: int
    random_state: int

    def solve(self, training: Training, risk: PairwiseRisk, penalty: float) -> Expansion:
        """Return the minimiser of one risk on all rows."""
        t = training
        features = self._features(t.X, t.X_unlabeled)
        w = solve(_nystrom_moments(features, t.X, t.X_unlabeled), t.codes, risk, penalty)
        return Expansion(self.kernel, self.sigma, features.landmarks, features.expansion(w))

    def moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        """Return the moments from which the system is built."""
        return _nystrom_moments(self._features(X, X_unlabeled), X, X_unlabeled)

    def size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the number of landmarks."""
        return n_labeled + min(self.n_landmarks, n_unlabeled)

    def fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that a fit, or evaluating it, allocates."""
        n = self.size(n_labeled, n_unlabeled)
        rows_held = max(n_labeled, min(n_unlabeled, KERNEL_ROWS))
        moments = 8 * n * (3 * n + 2 * rows_held + n_labeled + 3 * n_inputs)
        predicting = kernel_named(self.kernel).memory(n, n_inputs)
        return max(nystrom_memory(n, n_inputs), moments, predicting)

    def grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `response` allocates."""
        n = self.size(n_labeled, n_unlabeled)
        response = eigh_memory(n) + 8 * n * (2 * n_labeled + n_inputs)
        return max(self.fit_memory(n_labeled, n_unlabeled, n_inputs), response)

    def building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the approximate number of operations that build the matrix."""
        # per row: kernel values, their products, and products with the leading directions
        n = self.size(n_labeled, n_unlabeled)
        per_landmark = 1.5 * n + 2 * n_inputs + FUNCTION_FLOPS
        return (n_labeled + n_unlabeled) * n * per_landmark + EIGH_FLOPS * n**3

    def _features(self, X: Any, X_unlabeled: Any) -> NystromFeatures:
        n_drawn = min(self.n_landmarks, len(X_unlabeled))
        seed = derive_seed(self.random_state, "landmarks")
        drawn = np.sort(draw_in_passes(seed, 0, 0, 1, n_drawn, len(X_unlabeled))[0])
        landmarks = np.concatenate([X[:], X_unlabeled[drawn]]).astype(np.float64, copy=False)
        return NystromFeatures(kernel_named(self.kernel), landmarks, self.sigma)


def _nystrom_moments(features: NystromFeatures, X: Any, X_unlabeled: Any) -> FeatureMoments:
    n = len(X_unlabeled)
    gram, total = features.moments(X_unlabeled[block] for block in row_blocks(n, KERNEL_ROWS))
    return FeatureMoments(features.transform(X[:]), gram, total / n, n)


@dataclass(frozen=True)
class OnCenters(ExplicitFeatures):
    """The minimiser over kernel expansions at some rows, penalised by the norm of coefficients.

    Attributes
    ----------
    n_centers : int or None
        Random rows that serve as centres; None takes all.
    """

    kernel: str
    sigma: float
    n_centers: int | None
    random_state: int

    def solve(self, training: Training, risk: PairwiseRisk, penalty: float) -> Expansion:
        """Return the minimiser of one risk on all rows."""
        t = training
        centers = self._centers(t.X, t.X_unlabeled)
        coef = solve(self._moments_at(centers, t.X, t.X_unlabeled), t.codes, risk, penalty)
        return Expansion(self.kernel, self.sigma, centers, coef, norm_of_coef=True)

    def moments(self, X: Any, X_unlabeled: Any) -> FeatureMoments:
        """Return the moments from which the system is built.

        Held-out rows remain centres: a centre has no label, and so all folds share the features.
        """
        return self._moments_at(self._centers(X, X_unlabeled), X, X_unlabeled)

    def size(self, n_labeled: int, n_unlabeled: int) -> int:
        """Return the number of centres."""
        n_rows = n_labeled + n_unlabeled
        return n_rows if self.n_centers is None else min(self.n_centers, n_rows)

    def fit_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that a fit, or evaluating it, allocates."""
        n_centers = self.size(n_labeled, n_unlabeled)
        rows_held = max(2 * n_labeled, min(n_unlabeled, KERNEL_ROWS))
        fit = 8 * n_centers * (n_centers + rows_held + 3 * n_inputs)
        return max(fit, kernel_named(self.kernel).memory(n_centers, n_inputs))

    def grid_memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes that `response` allocates."""
        fit = self.fit_memory(n_labeled, n_unlabeled, n_inputs)
        n_centers = self.size(n_labeled, n_unlabeled)
        return max(fit, eigh_memory(n_centers) + 8 * n_centers * (2 * n_labeled + 3 * n_inputs))

    def building_flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return the approximate number of operations that build the matrix."""
        n_centers = self.size(n_labeled, n_unlabeled)
        per_center = n_centers + 2 * n_inputs + FUNCTION_FLOPS
        return (n_labeled + n_unlabeled) * n_centers * per_center

    def _centers(self, X: Any, X_unlabeled: Any) -> Array:
        """Return all rows, or a random sample of them."""
        if self.n_centers is None:
            parts = [X[:], X_unlabeled[:]]
        else:
            n = len(X) + len(X_unlabeled)
            seed = derive_seed(self.random_state, "centers")
            drawn = np.sort(draw_in_passes(seed, 0, 0, 1, min(self.n_centers, n), n)[0])
            parts = [X[drawn[drawn < len(X)]], X_unlabeled[drawn[drawn >= len(X)] - len(X)]]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def _moments_at(self, centers: Array, X: Any, X_unlabeled: Any) -> FeatureMoments:
        gram = kernel_named(self.kernel).gram
        return feature_moments(
            lambda rows: gram(rows, centers, self.sigma), X, X_unlabeled, KERNEL_ROWS
        )
