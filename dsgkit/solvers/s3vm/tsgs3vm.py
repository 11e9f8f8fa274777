"""TSGS3VM: triply stochastic gradients for the semi-supervised SVM (Geng et al., IJCAI 2019)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.solvers.common import (
    Frequencies,
    MaxMemory,
    RandomState,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import FEW_LABELS, with_example
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.solvers.s3vm.stochastic import StochasticS3VM
from dsgkit.trainers.blocks import Streaming


@with_example(FEW_LABELS, "sigma=0.5")
class TSGS3VM(StochasticS3VM, S3VM):
    """Semi-supervised SVM by triply stochastic functional gradients.

    Follows the gradients of (Eq. 1 of [1]_)

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled u(f(x))``

    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Both sums are means, so
    that C and C* do not depend on the numbers of rows; the weight of a single row is ``C/n_l`` or
    ``C*/n_u``, which are the C and C* of programs such as UniverSVM and SVMlight.

    Each iteration draws one batch of positive, one of negative and one of unlabelled rows and a new
    block of m random frequencies, and makes a step, in which all earlier blocks shrink by
    ``1 - step`` (Algorithm 1 of [1]_, whose step is constant). Labelled rows are drawn by class and
    weighted by the share of their class, which has the same mean as drawing among all, and less
    variance. Blocks that have shrunk below the resolution of the sum are dropped, after about
    ``21 / step`` iterations of a constant step.

    Time is O(b m d T^2 / 2), or O(21 b m d T / step) if that is less; memory is O(m T) or
    O(21 m / step), whatever the number of rows.

    See Also
    --------
    FRS3VM : The same gradients on one fixed set of features.

    Notes
    -----
    The text of [1]_ calls Figure 2 test errors; its axis and caption are running times. Table 3
    gives Dota2 16 features; it has 116.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    """

    pace: ClassVar[Pace] = Pace(training=5, scoring=0.7, per_model=3)

    _: KW_ONLY
    n_features: Annotated[
        int | None,
        COUNT,
        Doc(
            "Random frequencies m per iteration (each is a cosine and a sine); default "
            "``ceil(sqrt(n))`` for n labelled and unlabelled rows."
        ),
    ] = None
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[
        int | Literal["one_pass"] | None,
        COUNT,
        Doc(
            "Iterations T; with a constant step, a few times ``1 / step`` suffice to forget "
            "the start at 0. None makes one pass over the unlabelled rows, but at least 500 "
            'iterations; "one_pass" makes just one pass, as in the paper, and warns about '
            "fewer than 200 iterations."
        ),
    ] = 500
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    def _trainer(self, n_labeled: int, n_unlabeled: int) -> Streaming:
        return Streaming(*self._steps_on(n_labeled, n_unlabeled))
