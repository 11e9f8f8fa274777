"""TSGS3VM-P: semi-supervised SVM by block-preconditioned steps."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.objectives.margin import RoundedMarginRisk
from dsgkit.solvers.block_functions import SweepsEstimator
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    FeaturesPerBlock,
    Frequencies,
    KernelName,
    MaxMemory,
    NBlocks,
    NSweeps,
    RandomState,
    SweepBatch,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import FEW_LABELS, with_example
from dsgkit.solvers.parameters import PER_MODEL
from dsgkit.solvers.s3vm.base import S3VM


@with_example(FEW_LABELS, "sigma=0.5, C_star_ratio=1.0")
class TSGS3VMP(SweepsEstimator, S3VM):
    """Semi-supervised SVM by block-preconditioned steps.

    Minimises the objective of `TSGS3VM` with the symmetric hinge,

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled hinge(|f(x)|)``

    over the same functions: blocks of random frequencies from a seed. While a step of `TSGS3VM` is
    a number, here it is the inverse of the Hessian of a quadratic that bounds the batch's loss from
    above and touches it at the current values: an unlabelled row counts as labelled with the sign
    of its value, and the weight of a row depends on its distance from its margin
    (`dsgkit.objectives.majorised_s3vm`). There is no step size to choose, and a few blocks and
    sweeps suffice even with a large ``C``. The hinge is rounded within 1/4 of its kink. With all
    unlabelled rows in a batch and a fixed C*, no step raises the objective; with C* = 0, sweeps
    converge to the SVM on the ``n_blocks n_features`` frequencies.

    Time is O(S T (b m^2 + m^3)) per model; memory O(m^2 + S T b), whatever the number of rows.

    See Also
    --------
    TSGS3VM : The same objective, and others, by the steps of the paper.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    .. [2] Groenen, Nalbantov & Bioch, "SVM-Maj: a majorization approach to linear support vector
       machines with different hinge errors", Advances in Data Analysis and Classification 2, 2008.
    .. [3] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.
    """

    pace: ClassVar[Pace] = Pace(training=2.3, per_model=5)

    _: KW_ONLY
    C_star: CStar = None
    C_star_ratio: CStarRatio = None
    kernel: KernelName = "gaussian"
    anneal: Annotated[
        bool,
        PER_MODEL,
        Doc(
            "Whether C* grows from 0 to full in the first half of the steps, as ``(2 t "
            "/ (S T))^3``."
        ),
    ] = True
    batch_size: SweepBatch = 1024
    n_features: FeaturesPerBlock = 128
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 8
    n_sweeps: NSweeps = 4
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    def _risk(self, n_labeled: int, n_unlabeled: int) -> RoundedMarginRisk:
        n_steps = int(self.n_blocks) * int(self.n_sweeps)
        C_star = self._unlabeled_weight(n_labeled, n_unlabeled)
        return RoundedMarginRisk(self.C, C_star, n_steps / 2 if self.anneal else 0.0)
