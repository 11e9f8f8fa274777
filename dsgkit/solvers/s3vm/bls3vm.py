"""BLS3VM: the semi-supervised SVM by the concave-convex procedure."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.kernels.columns import (
    MIN_COLUMNS,
    KernelColumns,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import ENTRY_FLOPS, Cost, Pace
from dsgkit.objectives.s3vm import Values
from dsgkit.solvers.base import Folds, PointModels, Points
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    GaussianOrLinear,
    HingeWeight,
    MaxMemory,
    RampS,
    Sigma,
    Tolerance,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import (
    COUNT,
)
from dsgkit.solvers.s3vm.base import weighted_loss
from dsgkit.solvers.s3vm.concave_convex import RampObjective, minimise
from dsgkit.solvers.s3vm.kernel_expansion import Array, KernelS3VM
from dsgkit.text.errors import FitError

WORKING_ARRAYS = 30
"""Numbers per row that a fit holds in addition to points and columns."""

_STEP_FLOPS = 350.0
"""Operations that a step counts as for each row: its time goes into memory, not arithmetic."""

_STEPS_PER_ROW = 1.5
"""Steps of all convex problems together; 0.5 to 1 for a small C, 10 for a large ``C_star``."""


class BLS3VM(KernelS3VM):
    """Semi-supervised support vector machine on the ramp loss, by a concave-convex procedure.

    Over the functions f = h + b, h of a kernel, by default ``exp(-sigma ||x - x'||^2)``, it
    descends on ::

        1/2 ||h||^2 + C/n_l sum_l H_1(y f(x)) + C_star/n_u sum_u [R(f(x)) + R(-f(x))]

    with the hinge ``H_a(r) = max(0, a - r)`` and the ramp ``R = H_1 - H_s``. With s = 0 the
    unlabelled loss is the symmetric hinge ``max(0, 1 - |r|)``, plus 1. With ``balance`` the mean of
    f over the unlabelled rows is held at the mean of the labels; without it there is neither this
    constraint nor an offset b, which is the objective of TSGS3VM.

    The concave part, ``-H_s``, is replaced by its tangent at the current f, and the convex problem
    that this leaves is solved for the next f: first the supervised one, then until no tangent
    changes, or the objective falls no further for the tolerance ``tol``; each loop lowers it. A
    convex problem is solved by sequential minimal optimisation in its dual, from the solution of
    the one before, with one variable for the two copies (one of each label) of an unlabelled row.

    A fit on n labelled and unlabelled rows takes O(n^2 n_inputs) for the kernel matrix and O(n) for
    each of usually some n steps. It keeps the matrix in single precision, 4 n^2 bytes; with less
    memory as many columns as it may, and computes others again when they are needed: the result is
    the same.

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

    C: HingeWeight = 100.0
    sigma: Sigma = "scale"
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
            "Where the ramp of the unlabelled loss ends, s: rows with ``|f| < -s`` are not pushed "
            "to a side. At -1 the loss would be constant."
        ),
    ] = 0.0
    balance: Annotated[bool, Doc("Whether there are an offset and the constraint on the mean.")] = (
        True
    )
    max_iter: Annotated[int, COUNT, Doc("Convex problems after the supervised one, at most.")] = 20
    tol: Tolerance = 0.001
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted(
        "The rows that the function is expanded on: those whose coefficient is not 0.",
        "(n_centers, n_inputs)",
    )
    coef_: Array = fitted("Their coefficients.", "(n_centers,)")
    intercept_: float = fitted("The offset b.")
    n_iter_: int = fitted(
        "Convex problems after the supervised one, each of which lowered the objective."
    )
    converged_: bool = fitted("Whether the procedure ended by itself, rather than by ``max_iter``.")
    objectives_: Array = fitted(
        "The objective of the supervised solution and after each convex problem, falling.",
        "(n_iter_ + 1,)",
    )

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Fit a model for each of many parameter settings; see the base class.

        Those with the same kernel, ``sigma`` and ``balance`` share the kernel matrix.
        """
        if folds is not None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        points = self._with_sigma(points, X, X_unlabeled)
        checked = clone(self)
        X, positive, X_unlabeled = checked._inputs(X, y, X_unlabeled)
        models = [copy(checked).set_params(**point) for point in points]
        groups: dict[Hashable, list[int]] = {}
        for number, model in enumerate(models):
            model._check_params()
            groups.setdefault((model.kernel, model._sigma, model.balance), []).append(number)
        solved: list[BLS3VM | None] = [None] * len(models)
        for members in groups.values():
            columns = models[members[0]]._columns(X, X_unlabeled, len(points))
            for number in members:
                with suppress(FitError):
                    solved[number] = models[number]._fit_columns(columns, positive)
            del columns  # before the next ones are made
        return PointModels(solved)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what a fit takes, as far as it can be foreseen; see the base class.

        Where the kernel matrix does not fit, the memory is the limit, as long as some columns do.
        """
        n = n_labeled + n_unlabeled
        fewest, all_columns = (
            _memory(n, n_inputs, columns, n_models) for columns in (MIN_COLUMNS, n)
        )
        steps = n_models * _STEPS_PER_ROW * _STEP_FLOPS
        return Cost(
            flops=n**2 * (ENTRY_FLOPS + 6.0 * n_inputs + steps),
            memory=max(fewest, min(all_columns, self._memory_limit())),
            flops_per_row=expansion_flops(n, n_inputs),
        )

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        # not the base's: how many columns are kept depends on the memory that there is just now
        self._fit_columns(self._columns(X, X_unlabeled), positive)

    def _loss(self, values: list[Values], C: float, C_star: float) -> float:
        return weighted_loss(values, C, C_star, "ramp", self.ramp_s)

    def _columns(self, X: Any, X_unlabeled: Any, n_models: int = 1) -> KernelColumns:
        """Return the kernel of all rows, with as many columns kept as memory for models allows."""
        n_labeled, n_inputs = X.shape
        n = n_labeled + len(X_unlabeled)
        self._check_memory(Cost(memory=_memory(n, n_inputs, MIN_COLUMNS, n_models)))
        room = self._memory_limit() - _beside_columns(n, n_inputs, n_models)
        points = np.empty((n_inputs, n))
        points[:, :n_labeled] = X[:].T
        points[:, n_labeled:] = X_unlabeled[:].T
        mean_from = n_labeled if self.balance else None
        capacity = columns_within(n, n_inputs, room)
        return kernel_columns(points, self.kernel, self._sigma, capacity, mean_from)

    def _fit_columns(self, columns: KernelColumns, positive: NDArray[np.bool_]) -> Self:
        """Compute the fitted attributes."""
        labels: Array = np.where(positive, 1.0, -1.0)
        n_labeled, n = len(labels), columns.anchor
        n_unlabeled = n - n_labeled
        C_star = self._unlabeled_weight(n_labeled, n_unlabeled)
        objective = RampObjective(
            labels,
            weight=self.C / n_labeled,
            weight_unlabeled=C_star / n_unlabeled,
            ramp_s=self.ramp_s,
            mean=labels.mean() if self.balance else 0.0,
        )
        solution = minimise(objective, columns, self.tol, self.max_iter)
        coef = solution.coef[:n].copy()
        if self.balance:
            coef[n_labeled:] += solution.coef[n] / n_unlabeled
        used = coef != 0
        self.centers_, self.coef_ = columns.points.T[used], coef[used]
        self.intercept_ = float(solution.offset)
        self.objectives_, self.converged_ = solution.objectives, solution.converged
        self.n_iter_ = len(solution.objectives) - 1
        return self


def _memory(n: int, n_inputs: int, capacity: int, n_models: int = 1) -> int:
    """Return the bytes of a fit on ``n`` rows with some columns kept, or of predicting after it."""
    fit = columns_memory(n, n_inputs, capacity) + _beside_columns(n, n_inputs, n_models)
    return max(fit, n_models * _model_memory(n, n_inputs) + expansion_memory(n, n_inputs))


def _beside_columns(n: int, n_inputs: int, n_models: int = 1) -> int:
    return 8 * n * WORKING_ARRAYS + n_models * _model_memory(n, n_inputs)


def _model_memory(n: int, n_inputs: int) -> int:
    """Return the bytes of centres and coefficients."""
    return 8 * n * (n_inputs + 1)
