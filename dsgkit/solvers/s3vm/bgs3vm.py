"""BGS3VM: kernel stochastic gradient descent with a budget of support vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.solvers.common import (
    GaussianOrLinear,
    OwnCStar,
    OwnCStarRatio,
    OwnHingeWeight,
    RandomState,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import FEW_LABELS, with_example
from dsgkit.solvers.parameters import COUNT, POSITIVE, SHARE, Range
from dsgkit.solvers.s3vm.base import S3VM, step_of
from dsgkit.trainers.budgeted_descent import BudgetedDescent
from dsgkit.trainers.training import Step


@with_example(FEW_LABELS, "sigma=0.5")
class BGS3VM(S3VM):
    """Budgeted kernel stochastic gradient descent on the objective of `TSGS3VM`.

    Descends on ``1/2 ||f||^2 + C mean_l max(0, 1 - y_l f(x_l)) + C* mean_u max(0, 1 - |f(x_u)|)``
    over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, in one pass: step t
    draws the next labelled and the next unlabelled row, each in a new random order every pass, and

    ``f <- (1 - e_t) f + e_t (C y_l [y_l f(x_l) < 1] k(x_l, .)
    + C* s(f(x_u)) [|f(x_u)| < 1] k(x_u, .))``,

    where s is the sign. There are ``max(n_labeled, n_unlabeled)`` steps. If more labelled rows than
    their budget have a coefficient, the smallest coefficient is set to 0, of equal ones the oldest;
    the same for the unlabelled rows. (With decreasing steps all unlabelled rows that are drawn once
    have coefficients of the same size, so that the oldest is always dropped.)

    O(n B d) time and O(B d) memory for n rows and a total budget of B rows. The kernel values of
    several coming steps are computed as one matrix product, which changes only rounding.

    The budgets and the single pass are those of Geng et al. [2]_. The objective above is theirs
    too; that of Le et al. [1]_ penalises edges of a graph. Neither paper gives the step size: it is
    that of `TSGS3VM`, which has the same objective. Neither has an intercept or a balance of the
    classes.

    References
    ----------
    .. [1] Le et al., "Budgeted semi-supervised support vector machine", UAI 2016.
    .. [2] Geng et al., "Scalable semi-supervised SVM via triply stochastic gradients", IJCAI 2019.
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=9, per_model=8)

    C: OwnHingeWeight = 100.0
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: OwnCStar = None
    C_star_ratio: OwnCStarRatio = None
    step: Annotated[
        float | Literal["decreasing"],
        Range(0, 1, open_low=True),
        Doc("The decreasing step ``e_t = 1 / (t + C / first_move)``, or a constant one."),
    ] = "decreasing"
    first_move: Annotated[
        float, POSITIVE, Doc("Length of the first decreasing step, in margins.")
    ] = 10.0
    sign_at_zero: Annotated[
        int,
        Range(0, 1),
        Doc(
            "Value of s(0). 1 is the paper's: unlabelled rows with f = 0, as at the start "
            "and far from all support vectors, count as positive."
        ),
    ] = 0
    labeled_budget: Annotated[int, COUNT, Doc("Most labelled support vectors.")] = 100
    unlabeled_budget: Annotated[
        float,
        SHARE,
        Doc("Most unlabelled support vectors, as a share of the unlabelled rows, rounded up."),
    ] = 0.2
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The support vectors, labelled ones first.", "(n_support, n_inputs)")
    coef_: Array = fitted()
    intercept_: float = fitted("Always 0.")
    n_support_: Array = fitted("Labelled and unlabelled support vectors.", "(2,)")
    n_iter_: int = fitted("Steps.")

    def _step(self) -> Step:
        return step_of(self.C, self.step, self.first_move)

    def _trainer(self, n_labeled: int, n_unlabeled: int) -> BudgetedDescent:
        return BudgetedDescent(
            self.kernel,
            self._sigma,
            int(self.labeled_budget),
            self.unlabeled_budget,
            int(self.sign_at_zero),
            int(self.random_state),
        )
