"""BLS3VM: the semi-supervised SVM by the concave-convex procedure."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.objectives.margin import MarginRisk
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    GaussianOrLinear,
    MaxMemory,
    RampS,
    Tolerance,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.trainers.concave_convex import ConcaveConvex


class BLS3VM(S3VM):
    """Semi-supervised support vector machine on the ramp loss, by a concave-convex procedure.

    Over the functions f = h + b, h of a kernel, by default ``exp(-sigma ||x - x'||^2)``, it
    descends on ::

        1/2 ||h||^2 + C/n_l sum_l H_1(y f(x)) + C_star/n_u sum_u [R(f(x)) + R(-f(x))]

    with the hinge ``H_a(r) = max(0, a - r)`` and the ramp ``R = H_1 - H_s``. With s = 0 the
    unlabelled loss is the symmetric hinge ``max(0, 1 - |r|)``, plus 1. With ``balance`` the mean of
    f over the unlabelled rows is held at the mean of the labels; without it there is neither this
    constraint nor an offset b, which is the objective of TSGS3VM.

    The first f is the supervised solution. Each loop replaces the concave part, ``-H_s``, by its
    tangent at the current f and solves the remaining convex problem for the next f, which lowers
    the objective. It ends when no tangent changes, or when the objective no longer falls within the
    accuracy ``tol``. A convex problem is solved by sequential minimal optimisation in its dual,
    starting at the previous solution, with one variable for the two copies (one of each label) of
    an unlabelled row.

    A fit on n labelled and unlabelled rows takes O(n^2 n_inputs) for the kernel matrix and O(n) per
    step, of which there are usually about n. The matrix is kept in single precision, 4 n^2 bytes;
    with less memory, as many columns as fit are kept and others computed again: the result is the
    same.

    References
    ----------
    .. [1] Collobert, Sinz, Weston & Bottou, "Large scale transductive SVMs", JMLR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import BLS3VM
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([-1, 1], 100)
    >>> rows = rng.normal(size=(200, 2)) + 3 * truth[:, None]
    >>> BLS3VM(sigma=0.1).fit(rows[98:102], truth[98:102], rows).score(rows, truth)
    1.0
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=20, per_model=15)

    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: Annotated[
        CStar,
        Doc(
            "Weight of the mean loss of the unlabelled rows (``C* / n_u`` in UniverSVM's "
            "notation); None is the paper's ``C n_l / n_u``."
        ),
    ] = None
    C_star_ratio: CStarRatio = None
    ramp_s: Annotated[
        RampS,
        Doc(
            "End s of the ramp of the unlabelled loss: rows with ``|f| < -s`` have no gradient. "
            "With -1 the loss would be constant."
        ),
    ] = 0.0
    balance: Annotated[bool, Doc("Whether to use an offset and the constraint on the mean.")] = True
    max_iter: Annotated[int, COUNT, Doc("Convex problems after the supervised one, at most.")] = 20
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted(
        "Support vectors: rows whose coefficient is not 0.",
        "(n_centers, n_inputs)",
    )
    coef_: Array = fitted("Their coefficients.", "(n_centers,)")
    intercept_: float = fitted("The offset b.")
    n_iter_: int = fitted(
        "Convex problems after the supervised one, each of which lowered the objective."
    )
    converged_: bool = fitted("False if the fit ended at ``max_iter``.")
    objectives_: Array = fitted(
        "Decreasing objective: of the supervised solution, and after each convex problem.",
        "(n_iter_ + 1,)",
    )

    def _risk(self, n_labeled: int, n_unlabeled: int) -> MarginRisk:
        C_star = self._unlabeled_weight(n_labeled, n_unlabeled)
        return MarginRisk(self.C, C_star, loss="ramp", ramp_s=self.ramp_s)

    def _trainer(self, n_labeled: int, n_unlabeled: int) -> ConcaveConvex:
        return ConcaveConvex(
            self.kernel,
            self._sigma,
            self.balance,
            self.tol,
            int(self.max_iter),
            self._memory_limit(),
        )
