"""SVOREX and SVORIM: ordinal support vector machines."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.kernels.columns import (
    MIN_COLUMNS,
    KernelColumns,
    columns_memory,
    columns_within,
    kernel_columns,
)
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import ENTRY_FLOPS, Cost, Pace
from dsgkit.numerics.rows import training_rows
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.common import (
    GaussianOrLinear,
    HingeWeight,
    MaxMemory,
    Sigma,
    Tolerance,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.ordinal.base import Codes, OrdinalEstimator
from dsgkit.solvers.ordinal.svor_smo import OrdinalProgram, program_memory
from dsgkit.solvers.parameters import COUNT, NOT_NEGATIVE
from dsgkit.solvers.sigma import WithSigma
from dsgkit.system.progress import report
from dsgkit.text.errors import FitError

Array = NDArray[np.float64]

_STEP_FLOPS = 500.0
"""Operations of a step for each row and each cut that has it on a side, including its share of the
moves of all free variables."""

_STEPS_PER_ROW = 5.0
"""Steps of a fit; 1 for a small C, 10 for a large one."""


class OrdinalSVM(WithSigma, OrdinalEstimator):
    """Base of the ordinal support vector machines; a subclass says which rows a cut's sides are.

    Points of a grid that differ in C alone share a kernel matrix for each fold, and each starts
    from the solution of the next smaller C.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2, per_model=3)
    _solution: ClassVar[str] = "coef_"
    _labeled_only: ClassVar[bool] = True
    _explicit: ClassVar[bool]

    C: Annotated[HingeWeight, Doc("Weight of the sum of the losses.")] = 1.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    ridge: Annotated[
        float,
        NOT_NEGATIVE,
        Doc(
            "Added to the diagonal of the kernel matrix of the training rows; the "
            "program of [1]_ adds 0.001."
        ),
    ] = 0.0
    tol: Tolerance = 0.001
    max_iter: Annotated[int, COUNT, Doc("Steps before it is given up.")] = 10**7
    thresholds: Annotated[
        Literal["own", "logistic", "absolute", "share", "hinge"],
        Doc(
            "The thresholds of the objective, or a rule that places others after "
            "training (`dsgkit.solvers.ordinal.thresholds`)."
        ),
    ] = "own"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted(
        "The rows that the function is expanded on: those whose coefficient is not 0.",
        "(n_support, n_inputs)",
    )
    coef_: Array = fitted("Their coefficients.", "(n_support,)")
    n_iter_: int = fitted("Steps.")

    def _fit(  # type: ignore[override]  # codes of all classes
        self, X: Any, codes: Codes, X_unlabeled: Any
    ) -> None:
        self._solve(*self._problem(X, codes))

    def _fold_values(
        self,
        points: Points,
        folds: Folds,
        X: Any,
        codes: Codes,
        X_unlabeled: Any,
        classes: NDArray[Any],
    ) -> Array:
        models = [clone(self).set_params(**point) for point in points]
        groups: dict[Hashable, list[int]] = {}
        for number in np.argsort([model.C for model in models], kind="stable"):
            models[number].classes_ = classes
            others = {**models[number].get_params(), "C": None}
            groups.setdefault(tuple(others.items()), []).append(int(number))
        values = np.full((len(points), len(codes)), np.nan)
        passes = list(itertools.product(folds, groups.values()))
        for done, (held_out, members) in enumerate(passes):
            report(done / len(passes))
            train = training_rows(held_out, len(codes))
            problem = models[members[0]]._problem(X[train], codes[train])
            for g in members:
                with suppress(FitError):
                    values[g, held_out] = models[g]._solve(*problem)._values(X[held_out])
        return values

    def _problem(self, X: Any, codes: Codes) -> tuple[KernelColumns, OrdinalProgram, Codes]:
        """Return the kernel, the dual problem and the classes that have rows."""
        order = np.argsort(codes, kind="stable")
        present, consecutive = np.unique(codes[order], return_inverse=True)
        columns = self._columns(X, order, len(present) - 1)
        program = OrdinalProgram(columns, consecutive, explicit=self._explicit, ridge=self.ridge)
        return columns, program, present

    def _columns(self, X: Any, order: NDArray[np.int64], n_cuts: int) -> KernelColumns:
        """Return the kernel of the rows in some order, as many columns kept as memory allows."""
        n, n_inputs = X.shape
        self._check_memory(Cost(memory=_memory(n, n_inputs, MIN_COLUMNS, n_cuts)))
        points = np.array(X[:].T[:, order], np.float64, order="C")
        room = self._memory_limit() - program_memory(n, n_cuts) - points.nbytes
        capacity = columns_within(n, n_inputs, room)
        return kernel_columns(points, self.kernel, self._sigma, capacity)

    def _solve(self, columns: KernelColumns, program: OrdinalProgram, present: Codes) -> Self:
        """Compute the fitted attributes, from where the problem was left."""
        program.solve(self.C, self.tol, self.max_iter)
        beta = program.beta
        used = beta != 0
        self.centers_, self.coef_ = columns.points.T[used], beta[used]
        self.n_iter_ = program.n_steps
        # a cut between the same present classes as another one has its threshold
        n_below = np.searchsorted(present, np.arange(len(self.classes_) - 1), side="right")
        self.own_thresholds_ = np.concatenate([[-np.inf], program.thresholds(), [np.inf]])[n_below]
        return self

    def _values(self, X: Any) -> Array:
        return kernel_named(self.kernel).expansion(X, self.centers_, self.coef_, self._sigma)

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int, n_cuts: int = 1
    ) -> Cost:
        """Return what a fit of the function takes, as far as it can be foreseen.

        Where the kernel matrix does not fit, the memory is the limit, as long as some columns do.
        """
        n = n_labeled
        fewest, all_columns = (_memory(n, n_inputs, kept, n_cuts) for kept in (MIN_COLUMNS, n))
        cuts_per_row = min(2, n_cuts) if self._explicit else n_cuts
        step = _STEP_FLOPS * n * cuts_per_row
        entries = n**2 * (ENTRY_FLOPS + 6.0 * n_inputs)
        return Cost(
            flops=n_models * (entries + _STEPS_PER_ROW * n * step),
            memory=max(fewest, min(all_columns, self._memory_limit())),
            flops_per_row=expansion_flops(n, n_inputs),
        )


class SVOREX(OrdinalSVM):
    """Ordinal support vector machine with explicit constraints on the thresholds.

    Over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, and thresholds b it
    minimises ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i = j} H(b_j - f(x_i)) + sum_{y_i = j+1} H(f(x_i) - b_j) ]

    with the hinge ``H(r) = max(0, 1 - r)``, subject to ``b_1 <= b_2 <= ..``: each class pushes its
    two thresholds alone. Unlabelled rows are not used. With two classes it is the support vector
    machine, ``f - b_1`` its decision function.

    The dual is solved by sequential minimal optimisation, with exact steps in all free variables
    in between (`dsgkit.solvers.ordinal.svor_smo`, ``svor_subspace``). A fit takes O(n^2 n_inputs)
    for the kernel matrix of the n labelled rows, and O(n n_classes) for each of usually some 2 n to
    10 n steps. It keeps the matrix in single precision, 4 n^2 bytes, or as many of its columns as
    memory allows: the result is the same.

    Parameters
    ----------
    C : float
        Weight of the sum of the losses, > 0.
    sigma : float or "scale"
        Parameter of the kernel, > 0. "scale" fits it to the labelled rows
        (`dsgkit.solvers.sigma.scale_of`).
    kernel : {"gaussian", "linear"}
        The linear one has no sigma.
    ridge : float
        Added to the diagonal of the kernel matrix of the training rows, >= 0; the program of [1]_
        adds 0.001.
    tol : float
        Violation of the optimality conditions, in units of f, at which the problem is solved.
    max_iter : int
        Steps before it is given up.
    thresholds : {"own", "logistic", "absolute", "share", "hinge"}
        The thresholds of the objective, or a rule that places others after training
        (`dsgkit.solvers.ordinal.thresholds`).
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    References
    ----------
    .. [1] Chu & Keerthi, "Support vector ordinal regression", Neural Computation 19, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.svor import SVOREX
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = SVOREX().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    _explicit: ClassVar[bool] = True

    own_thresholds_: Array = fitted(
        "The thresholds of the objective, whatever the rule. Where the solution leaves "
        "an interval for one, its middle.",
        "(n_classes - 1,)",
    )


class SVORIM(OrdinalSVM):
    """Ordinal support vector machine with thresholds in order by the objective alone.

    As `SVOREX`, but all classes push every threshold, and nothing else keeps their order ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i <= j} H(b_j - f(x_i)) + sum_{y_i > j} H(f(x_i) - b_j) ]

    The loss of a row bounds the number of classes that it is off by. Attributes, method and
    reference are those of `SVOREX`.

    Parameters
    ----------
    C : float
        Weight of the sum of the losses, > 0.
    sigma : float or "scale"
        Parameter of the kernel, > 0. "scale" fits it to the labelled rows
        (`dsgkit.solvers.sigma.scale_of`).
    kernel : {"gaussian", "linear"}
        The linear one has no sigma.
    ridge : float
        Added to the diagonal of the kernel matrix of the training rows, >= 0.
    tol : float
        Violation of the optimality conditions, in units of f, at which the problem is solved.
    max_iter : int
        Steps before it is given up.
    thresholds : {"own", "logistic", "absolute", "share", "hinge"}
        The thresholds of the objective, or a rule that places others after training
        (`dsgkit.solvers.ordinal.thresholds`).
    max_memory : float or None
        Limit in GiB; None is 80% of the memory that is available.
    unlabeled_label : int, float or str
        What ``y`` says of unlabelled rows where they come with the labelled ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from dsgkit.solvers.ordinal.svor import SVORIM
    >>> X, target = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
    >>> model = SVORIM().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.75
    True
    """

    _explicit: ClassVar[bool] = False


def _memory(n: int, n_inputs: int, capacity: int, n_cuts: int) -> int:
    """Return the bytes of a fit on ``n`` rows with some columns kept, or of predicting after it."""
    fit = columns_memory(n, n_inputs, capacity) + program_memory(n, n_cuts) + 8 * n * n_inputs
    return max(fit, 8 * n * (n_inputs + 1) + expansion_memory(n, n_inputs))
