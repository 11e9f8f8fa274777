"""RFF-SU-SL: the objective of SU-SL on fixed random Fourier features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from dsgkit.costs import Pace
from dsgkit.features import FourierFeatures
from dsgkit.solvers.inputs import check_projections
from dsgkit.solvers.parameters import COUNT, SEED
from dsgkit.solvers.sigma import Sigma, WithSigma
from dsgkit.solvers.similar.base import PairFolds, points_of
from dsgkit.solvers.similar.explicit_features import Array, ExplicitFeaturesEstimator
from dsgkit.solvers.similar.quadratic import FeatureMap


class RFFSUSL(WithSigma, ExplicitFeaturesEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss over fixed random features.

    The objective of `SUSL`, with the Gaussian kernel replaced by ``2 n_features`` random features:
    O(n n_features^2) time in one pass over the unlabelled rows, which are never held in memory
    together, and O(n_features^2) memory.

    Parameters
    ----------
    lam : float
        Weight of the regulariser ``lam/2 ||w||^2``.
    sigma : float or "scale"
        Parameter of the kernel ``exp(-sigma ||x - x'||^2)``. "scale" fits it to the rows
        (`dsgkit.solvers.sigma.scale_of`).
    n_features : int
        Random frequencies; each gives a cosine and a sine.
    prior : float or "estimate"
        The share pi of the class 1 among unlabelled rows, not 1/2; ``estimate`` takes it for the
        larger class and estimates pi (`dsgkit.priors.similar_prior`).
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the frequencies.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    coef_ : ndarray of shape (2 * n_features,)
    prior_ : float
        The prior, given or estimated.
    classes_ : ndarray of shape (2,)
        -1 and 1.

    References
    ----------
    .. [1] Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2, per_model=5)

    sigma: Sigma
    n_features: Annotated[int, COUNT]
    random_state: Annotated[int, SEED]

    # single precision sums moments of features to some 2^-24, which are eigenvalues below 0 too
    _smallest_lam: ClassVar[float] = 2.0**-23

    def __init__(
        self,
        lam: float = 0.1,
        sigma: float | Literal["scale"] = "scale",
        *,
        n_features: int = 1000,
        prior: float | Literal["estimate"] = "estimate",
        max_memory: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.n_features = n_features
        self.prior = prior
        self.max_memory = max_memory
        self.random_state = random_state

    def _fourier(self) -> FourierFeatures:
        return FourierFeatures(
            "gaussian", float(self._sigma), int(self.n_features), int(self.random_state)
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
            check_projections(rows, self._fourier().sigma)

    def _features(self) -> FeatureMap:
        fourier = self._fourier()
        return lambda rows: fourier.transform(rows, 0)

    def _width(self, n_inputs: int) -> int:
        return 2 * int(self.n_features)

    def _feature_flops(self, n_inputs: int) -> float:
        return self._fourier().row_flops(n_inputs)
