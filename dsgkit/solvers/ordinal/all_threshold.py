"""All-threshold logistic regression with a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special
from typing_extensions import Doc

from dsgkit.numerics.costs import Pace
from dsgkit.solvers.common import GramKernelName, Lam, MaxMemory, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.ordinal.base import Codes
from dsgkit.solvers.ordinal.labeled_kernel import KernelFeatures, LabeledKernelEstimator
from dsgkit.solvers.ordinal.thresholds import above_cuts
from dsgkit.system.threads import single_blas_thread

Array = NDArray[np.float64]

USUAL_STEPS = 60
"""About how many evaluations of the loss a minimisation takes."""


class AllThresholdLogistic(LabeledKernelEstimator):
    """All-threshold logistic regression over the functions of a kernel.

    Minimises ``mean_i sum_j log(1 + exp(-z_ij (f(x_i) - b_j))) + lam/2 ||f||^2`` over f and the
    thresholds b, where z_ij is 1 for rows above cut j and -1 for the others [1]_. The means are
    over the labelled rows; unlabelled ones are not used for the function. With the linear kernel it
    is what ``LogisticAT`` of the package mord computes, which is no longer maintained and refuses
    classes without rows; here such a class is never predicted. It is not the model of proportional
    odds.

    There are few labelled rows, so that f is sought in all functions of the kernel, by L-BFGS in
    the eigenvectors of its matrix, rather than in random features: exact, without a seed, and with
    500 rows a quarter of the width of 1,000 frequencies. O(n_labeled^3) time.

    References
    ----------
    .. [1] Rennie & Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI workshop on advances in preference handling, 2005.
    .. [2] Pedregosa, Bach & Gramfort, "On the consistency of ordinal regression methods", JMLR 18,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.all_threshold import AllThresholdLogistic
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = AllThresholdLogistic().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=8, per_model=2)

    lam: Lam = 0.01
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Annotated[
        Literal["own", "logistic", "absolute", "share", "hinge"],
        Doc(
            "``own`` are those that were fitted with the function; the other rules are "
            "those of `dsgkit.solvers.ordinal.thresholds`."
        ),
    ] = "own"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    own_thresholds_: Array = fitted("Those that minimise the objective.", "(n_classes - 1,)")

    def _solve(self, features: KernelFeatures, codes: Codes, lams: Sequence[float]) -> list[Any]:
        above = above_cuts(codes, len(self.classes_))
        share = above.mean(axis=0)
        open_cuts = (share > 0) & (share < 1)
        weights = np.zeros(len(features.spectrum))
        cuts = -special.logit(share[open_cuts])
        solutions: list[Any] = [None] * len(lams)
        sides = above[:, open_cuts]
        with single_blas_thread():  # a second one gains nothing at so few rows
            # the smoothest first: every solution is the start of the next one
            for number in np.argsort(lams)[::-1]:
                weights, cuts = _minimise(features, sides, lams[number], weights, cuts)
                thresholds = np.where(share > 0.5, -np.inf, np.inf)
                thresholds[open_cuts] = cuts
                solutions[number] = (weights, 0.0, thresholds)
        return solutions

    def _solve_flops(self, n_labeled: int, n_cuts: int) -> float:
        return USUAL_STEPS * n_labeled * (4 * n_labeled + 2 * n_cuts * 20)


def _minimise(
    features: KernelFeatures, above: NDArray[np.bool_], lam: float, weights: Array, cuts: Array
) -> tuple[Array, Array]:
    """Return the weights of the features and the thresholds that minimise the objective."""
    Phi, n = features.rows, len(above)
    sign = np.where(above, 1.0, -1.0)
    # the loss curves by at most 1/4 a cut: about that, in orthogonal features, is the Hessian
    scale = 1 / np.sqrt(features.spectrum / n * sign.shape[1] / 4 + lam)

    def loss(x: Array) -> tuple[float, Array]:
        w, b = x[: len(scale)] * scale, x[len(scale) :]
        margin = sign * ((Phi @ w)[:, None] - b)
        pull = sign * special.expit(-margin) / n
        value = np.logaddexp(0, -margin).sum() / n + lam / 2 * w @ w
        slope = lam * w - Phi.T @ pull.sum(axis=1)
        return value, np.append(slope * scale, pull.sum(axis=0))

    x = optimize.minimize(
        loss,
        np.append(weights / scale, cuts),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-7, "ftol": 1e-15, "maxiter": 5000, "maxfun": 10000, "maxcor": 20},
    ).x
    return x[: len(scale)] * scale, np.maximum.accumulate(x[len(scale) :])
