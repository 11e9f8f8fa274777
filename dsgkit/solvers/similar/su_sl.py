"""SU-SL: the similar-unlabelled risk with the squared loss, in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.numerics.linear_systems import EIGH_FLOPS, eigh_memory
from dsgkit.numerics.rows import training_rows
from dsgkit.solvers.common import Lam, LinearOrKernel, MaxMemory, Prior, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.base import PairFolds, points_of, without
from dsgkit.solvers.similar.explicit_features import (
    ExplicitFeaturesEstimator,
    with_one,
)
from dsgkit.solvers.similar.quadratic import (
    FeatureMap,
    solve_dual,
    solve_dual_grid,
)

Array = NDArray[np.float64]


class SUSL(WithSigma, ExplicitFeaturesEstimator):
    """Minimiser of the similar-unlabelled risk with the squared loss.

    Minimises ``mean_U [(f^2 + 1)/4 + f/(2 (2 pi - 1))] - pi_S/(2 pi - 1) mean_S f
    + lam/2 ||f||^2``, where S are the points of the similar pairs, U the unlabelled rows and
    ``pi_S = pi^2 + (1 - pi)^2``: an unbiased estimate of the risk with the loss
    ``(y f - 1)^2/4``. Over the functions of a kernel, one Cholesky factorisation: O(n^3) time and
    8 n^2 bytes for n unlabelled rows, and pairs at O(n) each. Over linear functions with a
    bias, which is penalised too, one pass over the rows.

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit.solvers.similar.su_sl import SUSL
    >>> rng = np.random.default_rng(0)
    >>> y = np.where(rng.random(2000) < 0.8, 1, -1)
    >>> X = (rng.normal(size=(2000, 2)) + 1.5 * y[:, None]) / 6 + 0.5
    >>> same = y[:1000:2] == y[1:1000:2]
    >>> pairs = X[:1000].reshape(500, 2, 2)[same]
    >>> model = SUSL(lam=0.01, prior=0.8).fit(pairs, X[1000:])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=3, per_model=5)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: LinearOrKernel = "gaussian"
    prior: Prior = "estimate"
    max_memory: MaxMemory = None

    centers_: Array = fitted(
        "Unlabelled rows and points of pairs; of a kernel.",
        "(n_unlabeled + 2 * n_similar, n_inputs)",
    )

    coef_: Array = fitted(
        "Coefficients of the inputs and last the bias, or of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_unlabeled + 2 * n_similar,)",
    )

    @property
    def _linear(self) -> bool:
        return self.kernel == "linear"

    def _features(self) -> FeatureMap:
        return with_one

    def _width(self, n_inputs: int) -> int:
        return n_inputs + 1

    def _feature_flops(self, n_inputs: int) -> float:
        return 0.0

    def _shared(self) -> Hashable:
        return self.kernel if self._linear else (self.kernel, self._sigma)

    def _gram(self, A: Any, B: Any) -> Array:
        return kernel_named(self.kernel).gram(A, B, self._sigma)

    def _expansion(self, X: Any, centers: Array, coefficients: Array) -> Array:
        return kernel_named(self.kernel).expansion(X, centers, coefficients, self._sigma)

    def _mean_kernel(self, X: Any, S: Array) -> Array:
        """Return the mean kernel with the points of pairs, at the rows of X."""
        return self._expansion(X, S, np.full(len(S), 1 / len(S)))

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        if self._linear:
            return super()._fit(S, X_unlabeled)
        self._check_memory(self._cost_of(S, X_unlabeled, 1))
        S, U = np.asarray(S, np.float64), np.asarray(X_unlabeled[:], np.float64)
        a, b = solve_dual(self._gram(U, U), self._mean_kernel(U, S), self.lam, self.prior_)
        self.coef_ = np.append(a, np.full(len(S), b / len(S)))
        self.centers_ = np.vstack([U, S])

    def _values(self, X: Any) -> Array:
        if self._linear:
            return super()._values(X)
        return self._expansion(X, self.centers_, self.coef_)

    def _squared_norm(self) -> float:
        if self._linear:
            return super()._squared_norm()
        return float(self.coef_ @ self._values(self.centers_))

    def _fold_values(
        self, models: Sequence[Self], pairs: Array, X_unlabeled: Any, folds: PairFolds
    ) -> Iterator[tuple[Array, Array]]:
        first = models[0]
        if first._linear:
            yield from super()._fold_values(models, pairs, X_unlabeled, folds)
            return
        cost = first._cost_of(points_of(pairs), X_unlabeled, len(models) + 1)
        first._check_memory(cost)
        for held_pairs, held_rows in folds:
            S = without(pairs, held_pairs).astype(np.float64, copy=False)
            U = X_unlabeled[training_rows(held_rows, len(X_unlabeled))].astype(np.float64)
            a, b = solve_dual_grid(
                first._gram(U, U),
                first._mean_kernel(U, S),
                [model.lam for model in models],
                [model.prior_ for model in models],
            )
            similar, unlabeled = (
                (first._expansion(rows, U, a) + first._mean_kernel(rows, S)[:, None] * b).T
                for rows in (points_of(pairs[held_pairs]), X_unlabeled[held_rows])
            )
            yield similar, unlabeled

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, or a grid on folds; see `ExplicitFeaturesEstimator`."""
        if self._linear:
            counts = {"n_similar": n_similar, "n_unlabeled": n_unlabeled}
            return super().cost(n_inputs, n_models=n_models, **counts)
        n, centers, double = n_unlabeled, n_unlabeled + 2 * n_similar, 2
        building = n * (n + 4 * n_similar) * (n_inputs + FUNCTION_FLOPS / 2)
        solving = n**3 / 3 if n_models == 1 else EIGH_FLOPS * n**3 + 2 * n_models * n * n
        gram = 8 * n**2 if n_models == 1 else eigh_memory(n) + 3 * 8 * n * n_models
        rows = 8 * centers * (4 * n_inputs + 30)
        return Cost(
            flops=double * (building + solving),
            memory=max(gram + rows, expansion_memory(centers, n_inputs) + rows),
            flops_per_row=expansion_flops(centers, n_inputs),
        )
