"""QSG-S2AUC-P: semi-supervised AUC by block-preconditioned steps."""

from __future__ import annotations

from dataclasses import KW_ONLY

from dsgkit.solvers.auc.base import SemiSupervisedAUCMinimiser
from dsgkit.solvers.base import PairwiseAUCEstimator
from dsgkit.solvers.block_functions import SweepsEstimator
from dsgkit.solvers.common import (
    FeaturesPerBlock,
    Frequencies,
    Gamma,
    KernelName,
    NBlocks,
    NSweeps,
    RandomState,
    SweepBatch,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import RANKING, with_example
from dsgkit.solvers.quadratic import QuadraticRiskEstimator


@with_example(RANKING)
class QSGS2AUCP(
    SemiSupervisedAUCMinimiser, SweepsEstimator, QuadraticRiskEstimator, PairwiseAUCEstimator
):
    """Semi-supervised AUC maximisation by block-preconditioned steps.

    Minimises the objective of `QSGS2AUC`, ``gamma R_PN + (1 - gamma) (R_PU + R_NU - 1/2) +
    lam/2 ||f||^2`` with the squared pairwise loss, over the same functions: blocks of random
    frequencies from a seed. While a step of `QSGS2AUC` is a number, here it is the inverse of the
    block's Hessian, computed on all pairs of a batch of all labelled and some unlabelled rows: a
    few blocks and sweeps come close to the minimiser even with a small ``lam``. With all unlabelled
    rows in a batch, sweeps converge to the minimiser over the ``n_blocks n_features`` frequencies.

    See Also
    --------
    QSGS2AUC : The same objective by the steps of the paper.
    RFFS2AUC : The minimiser on fixed random features, in closed form.

    References
    ----------
    .. [1] Dai, Xie, He, Liang, Raj, Balcan & Song, "Scalable kernel methods via doubly stochastic
       gradients", NIPS 2014, and its program.
    .. [2] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.
    """

    gamma: Gamma = 0.5
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    batch_size: SweepBatch = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1
