"""SU-DH: the similar-unlabelled risk with the double hinge loss, as a quadratic program."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.numerics.qp import solve_qp
from dsgkit.objectives.similar_unlabeled import similar_share
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers.common import Lam, LinearOrKernel, MaxMemory, Prior, RandomState, Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, POSITIVE
from dsgkit.solvers.sigma import WithSigma
from dsgkit.solvers.similar.explicit_features import PenalisedSUEstimator, with_one
from dsgkit.solvers.similar.quadratic import FeatureMap, evaluate, mean_features

Array = NDArray[np.float64]

USUAL_ITERATIONS = 25
"""Usual iterations of the interior-point method."""

BYTES_PER_ENTRY = 200
"""Bytes of the program for every feature of an unlabelled row, as measured."""

BYTES_PER_ROW = 5000
"""Further bytes of the program for every row."""


class SUDH(WithSigma, PenalisedSUEstimator):
    """Minimiser of the similar-unlabelled risk with the double hinge loss.

    The loss is ``max(-t z, max(0, (1 - t z)/2))``, and the problem ``min lam/2 ||w||^2
    - pi_S/(2 pi - 1) mean_S z + (1 - pi)/(2 pi - 1) mean_U z + mean_U max(0, (1 + z)/2, z)``,
    where ``z = phi(x)'w``, S are the points of the similar pairs and U the unlabelled rows. It is
    convex and bounded below for every prior; the program that the authors published [1]_ is not
    bounded, because it takes a multiple of the loss for the last term. By an interior-point method:
    about 25 iterations of O(n_unlabeled n_features^2).

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=3, per_model=80)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: Annotated[
        LinearOrKernel,
        Doc(
            '"linear" (with a bias, which is penalised too), or a kernel such as '
            '"gaussian" or "dot_product(3)": its functions at ``n_centers`` '
            "unlabelled rows, their regulariser being the norm of the kernel's space."
        ),
    ] = "gaussian"
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc("At most as many as rows are used; None takes every unlabelled row, as [1]_ does."),
    ] = 200
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    max_seconds: Annotated[
        float | None,
        POSITIVE,
        Doc("Limit of the program's time; beyond, the fit ends in `TimeLimitError`."),
    ] = None
    random_state: RandomState = 0

    coef_: Array = fitted(
        "Coefficients of the inputs and last the bias, or of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_centers,)",
    )
    centers_: Array = fitted("Of a kernel.", "(n_centers, n_inputs)")
    objective_: float = fitted("The minimum.")

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        counts = {"n_similar": len(S) // 2, "n_unlabeled": len(X_unlabeled)}
        self._check_memory(self.cost(S.shape[1], **counts))
        if self.kernel == "linear":
            self.coef_ = self._minimise(with_one, S, X_unlabeled)
            return
        self.centers_ = self._centers(X_unlabeled)
        whitening = _whitening(
            kernel_named(self.kernel).gram(self.centers_, self.centers_, self._sigma)
        )

        def features(rows: Any) -> Array:
            whitened: Array = self._kernel_values(rows) @ whitening
            return whitened

        self.coef_ = whitening @ self._minimise(features, S, X_unlabeled)

    def _minimise(self, features: FeatureMap, S: Array, X_unlabeled: Any) -> Array:
        """Return the minimiser w, and keep the minimum."""
        Phi = features(X_unlabeled[:]).astype(np.float64, copy=False)
        scale = 2 * self.prior_ - 1
        slope = (1 - self.prior_) / scale * Phi.mean(axis=0)
        slope -= similar_share(self.prior_) / scale * mean_features(features, S)
        w = double_hinge_program(Phi, slope, self.lam, max_seconds=self.max_seconds)
        z = Phi @ w
        hinge = np.maximum(0, np.maximum((1 + z) / 2, z)).mean()
        self.objective_ = float(self.lam / 2 * w @ w + slope @ w + hinge)
        return w

    def diagnostics(self, X_similar: Any, X_unlabeled: Any) -> dict[str, float]:
        """Return the objective at the fitted function, as the fit has found it."""
        return {"objective": self.objective_}

    def _values(self, X: Any) -> Array:
        return evaluate(with_one if self.kernel == "linear" else self._kernel_values, X, self.coef_)

    def _kernel_values(self, rows: Any) -> Array:
        return kernel_named(self.kernel).gram(rows, self.centers_, self._sigma)

    def _centers(self, X_unlabeled: Any) -> Array:
        n = len(X_unlabeled)
        seed = derive_seed(self.random_state, "su_dh", "centers")
        rows = draw_in_passes(seed, 0, 0, 1, self._n_centers(n), n)[0]
        return np.asarray(X_unlabeled[np.sort(rows)], np.float64)

    def _n_centers(self, n_unlabeled: int) -> int:
        return n_unlabeled if self.n_centers is None else min(self.n_centers, n_unlabeled)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_similar: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes; `n_similar` counts pairs, `n_unlabeled` rows."""
        linear, double = self.kernel == "linear", 2
        p = n_inputs + 1 if linear else self._n_centers(n_unlabeled)
        features = 0.0 if linear else p * (n_inputs + FUNCTION_FLOPS / 2 + p)
        return Cost(
            flops=n_models
            * double
            * n_unlabeled
            * (features + USUAL_ITERATIONS * (p**2 + 100 * p)),
            memory=n_unlabeled * (BYTES_PER_ENTRY * p + BYTES_PER_ROW) + 4 * 8 * p**2,
            flops_per_row=double * p * (1 if linear else n_inputs + FUNCTION_FLOPS),
        )


def double_hinge_program(
    Phi: Array, slope: Array, lam: float, *, max_seconds: float | None = None
) -> Array:
    """Return the w that minimises ``lam/2 ||w||^2 + slope'w + mean_i max(0, (1 + z_i)/2, z_i)``.

    ``z = Phi w`` are variables of the program, so that its dense rows are there once; and bounds
    xi of the maximum are.

    Raises
    ------
    TimeLimitError, FitError
        If there is no solution in time, or none that can be computed.
    """
    n, p = Phi.shape
    one, none = sparse.eye(n), sparse.csc_matrix((n, n))
    quadratic = sparse.block_diag([lam * sparse.eye(p), sparse.csc_matrix((2 * n, 2 * n))])
    linear = np.concatenate([slope, np.zeros(n), np.full(n, 1 / n)])
    equal = sparse.hstack([sparse.csc_matrix(Phi), -one, none])
    below = sparse.vstack(  # (1 + z)/2 <= xi, z <= xi, 0 <= xi
        [sparse.hstack([factor * one, -one]) for factor in (0.5, 1.0, 0.0)]
    )
    at_most = sparse.hstack([sparse.csc_matrix((3 * n, p)), below])
    bounds = np.repeat([-0.5, 0.0, 0.0], n)
    solution = solve_qp(
        quadratic,
        linear,
        (equal, np.zeros(n)),
        (at_most, bounds),
        max_seconds=max_seconds,
        dense=True,  # Phi is: by blocks it takes a thirteenth of the time at n = p = 1,000
    )
    return solution[:p]


def _whitening(gram: Array) -> Array:
    """Return W with ``W'gram W = I`` on the eigenvectors that are not rounding."""
    spectrum, vectors = linalg.eigh(gram, check_finite=False)
    kept = spectrum > 1e-10 * spectrum[-1]
    whitening: Array = vectors[:, kept] / np.sqrt(spectrum[kept])
    return whitening
