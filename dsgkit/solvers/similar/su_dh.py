"""SU-DH: the similar-unlabelled risk with the double hinge loss, as a quadratic program."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from dsgkit.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.kernels import kernel_named
from dsgkit.objectives.similar_unlabeled import similar_share
from dsgkit.qp import solve_qp
from dsgkit.random.draws import draw_in_passes
from dsgkit.random.seeds import derive_seed
from dsgkit.solvers.kernel import LinearOrKernel
from dsgkit.solvers.parameters import COUNT, POSITIVE, SEED
from dsgkit.solvers.sigma import Sigma, WithSigma
from dsgkit.solvers.similar.explicit_features import PenalisedSUEstimator, with_one
from dsgkit.solvers.similar.quadratic import FeatureMap, evaluate, mean_features

Array = NDArray[np.float64]

ITERATIONS = 25
"""Usual iterations of the interior-point method."""

BYTES_PER_ENTRY = 200
"""What the program takes for every feature of an unlabelled row, as measured."""

BYTES_PER_ROW = 5000
"""What it takes for a row beside."""


class SUDH(WithSigma, PenalisedSUEstimator):
    """Minimiser of the similar-unlabelled risk with the double hinge loss.

    The loss is ``max(-t z, max(0, (1 - t z)/2))``, and the problem ``min lam/2 ||w||^2
    - pi_S/(2 pi - 1) mean_S z + (1 - pi)/(2 pi - 1) mean_U z + mean_U max(0, (1 + z)/2, z)``,
    where ``z = phi(x)'w``, S are the points of the similar pairs and U the unlabelled rows. It is
    convex and bounded below for every prior; the program that the authors published [1]_ is not
    bounded, because it takes a multiple of the loss for the last term. By an interior-point method:
    about 25 iterations of O(n_unlabeled n_features^2).

    Parameters
    ----------
    lam : float
        Weight of the regulariser.
    sigma : float or "scale"
        Parameter of the kernel; not used by the linear one. "scale" fits it to the rows
        (`dsgkit.solvers.sigma.scale_of`).
    kernel : str
        "linear" (with a bias, which is penalised too), or a kernel such as "gaussian" or
        "dot_product(3)": its functions at ``n_centers`` unlabelled rows, their regulariser being
        the norm of the kernel's space.
    n_centers : int or None
        At most as many as rows are used; None takes every unlabelled row, as [1]_ does.
    prior : float or "estimate"
        The share pi of the class 1 among unlabelled rows, not 1/2; ``estimate`` takes it for the
        larger class and estimates pi (`dsgkit.priors.similar_prior`).
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    max_seconds : float or None
        Limit of the program's time; beyond, the fit ends in `TimeLimitError`.
    random_state : int
        Seed of the choice of centres.

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    coef_ : ndarray of shape (n_inputs + 1,) or (n_centers,)
        Coefficients of the inputs and last the bias, or of the kernel at ``centers_``.
    centers_ : ndarray of shape (n_centers, n_inputs)
        Of a kernel.
    objective_ : float
        The minimum.
    prior_ : float
        The prior, given or estimated.
    classes_ : ndarray of shape (2,)
        -1 and 1.

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=3, per_model=80)

    sigma: Sigma
    kernel: LinearOrKernel
    n_centers: Annotated[int | None, COUNT]
    max_seconds: Annotated[float | None, POSITIVE]
    random_state: Annotated[int, SEED]

    coef_: Array
    centers_: Array
    objective_: float

    def __init__(
        self,
        lam: float = 0.1,
        sigma: float | Literal["scale"] = "scale",
        *,
        kernel: str = "gaussian",
        n_centers: int | None = 200,
        prior: float | Literal["estimate"] = "estimate",
        max_memory: float | None = None,
        max_seconds: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.kernel = kernel
        self.n_centers = n_centers
        self.prior = prior
        self.max_memory = max_memory
        self.max_seconds = max_seconds
        self.random_state = random_state

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
            flops=n_models * double * n_unlabeled * (features + ITERATIONS * (p**2 + 100 * p)),
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
