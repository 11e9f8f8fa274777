"""FRS3VM: the semi-supervised SVM by stochastic gradients on fixed random features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.engine import DSGModel
from dsgkit.solvers.common import (
    FourierKernelName,
    Frequencies,
    MaxMemory,
    RandomState,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.examples import FEW_LABELS, with_example
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.solvers.s3vm.stochastic import StochasticS3VM
from dsgkit.trainers.fixed_features import FixedFeatures


@with_example(FEW_LABELS, "sigma=0.5, n_features=64")
class FRS3VM(StochasticS3VM, S3VM):
    """Semi-supervised SVM by stochastic gradient descent on one fixed set of random features.

    It has the objective, batches and steps of `TSGS3VM`, with the kernel replaced by fixed features
    ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]`` (the baseline of
    [1]_). It minimises

    ``1/2 ||v||^2 + C/n_l sum_labelled hinge(y v.phi(x)) + C*/n_u sum_unlabelled u(v.phi(x))``

    with both sums as means: the weight of a single row is ``C/n_l`` or ``C*/n_u``.

    Features are computed again in every pass, batch by batch: time is O(b m d T) for T iterations,
    memory O(m (b + n_l)), as only the features of the labelled rows are kept. The error of the
    kernel falls like ``1 / sqrt(m)``, which limits the gain from more rows.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    """

    pace: ClassVar[Pace] = Pace(training=3.5, per_model=4)

    _: KW_ONLY
    kernel: FourierKernelName = "gaussian"
    n_features: Annotated[
        int | None,
        COUNT,
        Doc(
            "Random frequencies m (each is a cosine and a sine). None is the paper's "
            "``ceil(sqrt(n))`` for n labelled and unlabelled rows, too few for some "
            "hundred rows."
        ),
    ] = 500
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[
        int | Literal["one_pass"] | None,
        COUNT,
        Doc(
            "Iterations T. None makes ``n_passes`` passes, but at least 500 iterations; "
            '"one_pass" makes just these passes, and warns about fewer than 200 iterations.'
        ),
    ] = 500
    n_passes: Annotated[
        int,
        COUNT,
        Doc(
            "Passes over the unlabelled rows, 10 in the paper; not used if "
            "``n_iterations`` is a number."
        ),
    ] = 10
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    model_: DSGModel = fitted("Seed and coefficients of its one block.")

    def _trainer(self, n_labeled: int, n_unlabeled: int) -> FixedFeatures:
        return FixedFeatures(*self._steps_on(n_labeled, n_unlabeled))
