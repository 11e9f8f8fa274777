"""SVOREX and SVORIM: ordinal support vector machines."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.solvers.common import (
    GaussianOrLinear,
    HingeWeight,
    MaxMemory,
    Sigma,
    Tolerance,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import ORDERED_LABELED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.labeled import LabeledRanker
from dsgkit.solvers.parameters import COUNT, NOT_NEGATIVE
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.ordinal_svm import OrdinalSVM
from dsgkit.trainers.training import Array


class OrdinalMachine(LabeledRanker, WithSigma):
    """Base of the ordinal support vector machines; named before `OrdinalEstimator`.

    A subclass sets ``_explicit``: whether a threshold is pushed by its two adjacent classes alone.
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2, per_model=3)
    _weight: ClassVar[str] = "C"
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
            "program of Chu and Keerthi adds 0.001."
        ),
    ] = 0.0
    tol: Tolerance = 0.001
    max_iter: Annotated[int, COUNT, Doc("Most steps; beyond them the fit fails.")] = 10**7
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
        "Support vectors: rows whose coefficient is not 0.",
        "(n_support, n_inputs)",
    )
    coef_: Array = fitted("Their coefficients.", "(n_support,)")
    n_iter_: int = fitted("Steps.")

    def _trainer(self) -> OrdinalSVM:
        return OrdinalSVM(
            self.kernel,
            self._sigma,
            self._explicit,
            self.ridge,
            self.tol,
            self.max_iter,
            self._memory_limit(),
        )


@with_example(ORDERED_LABELED)
class SVOREX(OrdinalMachine, OrdinalEstimator):
    """Ordinal support vector machine with explicit constraints on the thresholds.

    Over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, and thresholds b it
    minimises ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i = j} H(b_j - f(x_i)) + sum_{y_i = j+1} H(f(x_i) - b_j) ]

    with the hinge ``H(r) = max(0, 1 - r)``, subject to ``b_1 <= b_2 <= ..``: the loss of a row
    depends only on the two thresholds of its class. Unlabelled rows are not used. With two classes
    it is the support vector machine with the decision function ``f - b_1``.

    The dual is solved by sequential minimal optimisation, with exact steps in all free variables
    in between (`dsgkit.trainers.svor_smo`, ``svor_subspace``). A fit takes O(n^2 n_inputs)
    for the kernel matrix of the n labelled rows, and O(n n_classes) per step, of which there are
    usually 2 n to 10 n. The matrix, or as many of its columns as memory allows, is kept in single
    precision (4 n^2 bytes): the result is the same.

    References
    ----------
    .. [1] Chu & Keerthi, "Support vector ordinal regression", Neural Computation 19, 2007.
    """

    _explicit: ClassVar[bool] = True

    C: Annotated[
        HingeWeight,
        Doc(
            "Weight of the sum of the losses. A row is in two of them, whatever the number of "
            "classes, so that with many classes a C that suits `SVORIM` leaves most thresholds "
            "equal."
        ),
    ] = 10.0

    own_thresholds_: Array = fitted(
        "Thresholds of the objective, for every rule. If an interval of thresholds is "
        "optimal, its middle.",
        "(n_classes - 1,)",
    )


@with_example(ORDERED_LABELED)
class SVORIM(OrdinalMachine, OrdinalEstimator):
    """Ordinal support vector machine whose thresholds are ordered without constraints.

    As `SVOREX`, but every threshold has losses of all classes, which keeps them in order ::

        1/2 ||f||^2 + C sum_j [ sum_{y_i <= j} H(b_j - f(x_i)) + sum_{y_i > j} H(f(x_i) - b_j) ]

    The loss of a row bounds the number of classes that it is off by. Attributes, method and
    reference are those of `SVOREX`.
    """

    _explicit: ClassVar[bool] = False
