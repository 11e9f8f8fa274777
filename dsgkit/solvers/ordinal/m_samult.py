"""M-SAMULT: one semi-supervised AUC maximiser per cut, without class priors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.common import (
    GammaPerCut,
    GramKernelName,
    Lam,
    MaxMemory,
    Sigma,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.one_per_cut import OnePerCutEstimator


@with_example(ORDERED, "lam=0.01")
class MSAMULT(OnePerCutEstimator, OrdinalEstimator):
    """A SAMULT model for each cut between ordered classes.

    The function of cut j minimises ``gamma R_PN + (1 - gamma)(R_PU + R_NU) + lam/2 ||f||^2`` with
    the classes up to the j-th as negatives and the others as positives (`SAMULT`):
    `decision_function` returns a column per cut, of which column j ranks the rows for cut j alone.
    A fit costs O(n_cuts n^3) time and 8 n^2 bytes for n labelled and unlabelled rows.

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.
    .. [2] Shi, Li, Gu, Li & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020: the extension to cuts.
    """

    version: ClassVar[int] = 1
    _binary: ClassVar[type[SAMULT]] = SAMULT

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1
