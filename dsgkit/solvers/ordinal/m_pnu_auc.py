"""M-PNU-AUC: one semi-supervised AUC maximiser per cut, with class priors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.solvers.auc.pnu_auc import PNUAUC
from dsgkit.solvers.common import (
    GramKernelName,
    Lam,
    MaxMemory,
    RandomState,
    Sigma,
    Thresholds,
    UnlabeledLabel,
)
from dsgkit.solvers.examples import ORDERED, with_example
from dsgkit.solvers.ordinal.base import OrdinalEstimator
from dsgkit.solvers.ordinal.one_per_cut import OnePerCutEstimator
from dsgkit.solvers.parameters import COUNT, PER_MODEL, OnePer, Range


@with_example(ORDERED, "eta=(-0.5, -0.5, 0.5, 0.5)")
class MPNUAUC(OnePerCutEstimator, OrdinalEstimator):
    """A PNU-AUC model for each cut between ordered classes.

    The function of cut j is a combination of kernel functions at given centres that minimises
    the PNU risk with the classes up to the j-th as negatives and the others as positives, plus
    ``lam ||w||^2`` (`PNUAUC`): `decision_function` returns a column per cut, of which column j
    ranks the rows for cut j alone. With every row as a centre a fit costs O(n_cuts n^3) time and
    8 n^2 bytes.

    The risk of a cut has a minimum for ``eta > 0`` if the prior is at most 1/2, and for ``eta < 0``
    if it is at least 1/2. Otherwise it may have none, and the fit ends in `IndefiniteError`. One
    eta for all cuts therefore leaves little choice but 0: give each cut its own.

    References
    ----------
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.
    .. [2] Shi, Li, Gu, Li & Huang, "Quadruply stochastic gradients for large scale nonlinear
       semi-supervised ordinal regression AUC optimization", AAAI 2020: the extension to cuts.
    """

    version: ClassVar[int] = 1
    _binary: ClassVar[type[PNUAUC]] = PNUAUC

    lam: Annotated[
        Lam, Doc("Weight of the regulariser, which is the squared norm of the coefficients.")
    ] = 0.125
    sigma: Sigma = "scale"
    eta: Annotated[
        float | tuple[float, ...],
        Range(-1, 1),
        PER_MODEL,
        OnePer("n_cuts"),
        Doc("Weight eta, for all cuts or one per cut; 0 is the supervised risk."),
    ] = 0.0
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[
        float | tuple[float, ...] | None,
        Range(0, 1, open_low=True, open_high=True),
        OnePer("n_cuts"),
        Doc(
            "Share of the unlabelled rows above the cut, for all cuts or one per cut; "
            "None takes the shares of the labelled rows (in a search, of those of all "
            "folds)."
        ),
    ] = None
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc("Random rows used as centres; None uses every labelled and unlabelled row."),
    ] = None
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1
