"""RFF-SU-SL: the objective of SU-SL on fixed random Fourier features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

from dsgkit.features import FeatureBlocks, random_features
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Pace
from dsgkit.solvers.common import (
    FixedFeatures,
    Frequencies,
    Lam,
    MaxMemory,
    Prior,
    RandomState,
    Sigma,
)
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.base import PairFolds, points_of
from dsgkit.solvers.similar.explicit_features import Array, ExplicitFeaturesEstimator
from dsgkit.solvers.similar.quadratic import FeatureMap


class RFFSUSL(WithSigma, ExplicitFeaturesEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss over fixed random features.

    The objective of `SUSL`, with the Gaussian kernel replaced by ``2 n_features`` random features:
    O(n n_features^2) time in one pass over the unlabelled rows, which are never held in memory
    together, and O(n_features^2) memory.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2, per_model=5)

    # single precision sums moments of features to some 2^-24, which are eigenvalues below 0 too
    _smallest_lam: ClassVar[float] = 2.0**-23

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    n_features: FixedFeatures = 1000
    frequencies: Frequencies = "independent"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def _fourier(self) -> FeatureBlocks:
        return random_features(
            "gaussian",
            float(self._sigma),
            int(self.n_features),
            int(self.random_state),
            self.frequencies,
        )

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        self._check_projections(S, X_unlabeled)
        super()._fit(S, X_unlabeled)

    def _fold_values(
        self, models: Sequence[Self], pairs: Array, X_unlabeled: Any, folds: PairFolds
    ) -> Iterator[tuple[Array, Array]]:
        models[0]._check_projections(points_of(pairs), X_unlabeled)
        yield from super()._fold_values(models, pairs, X_unlabeled, folds)

    def _values(self, X: Any) -> Array:
        self._check_projections(X)
        return super()._values(X)

    def _check_projections(self, *tables: Any) -> None:
        for rows in tables:
            check_projections(rows, self._sigma)

    def _features(self) -> FeatureMap:
        fourier = self._fourier()
        return lambda rows: fourier.transform(rows, 0)

    def _width(self, n_inputs: int) -> int:
        return 2 * int(self.n_features)

    def _feature_flops(self, n_inputs: int) -> float:
        return self._fourier().row_flops(n_inputs)
