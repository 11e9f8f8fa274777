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

    The risk of a cut need not have a minimum: for ``eta > 0`` it is sure to have one where the
    prior is at most 1/2, for ``eta < 0`` where it is at least 1/2. Elsewhere a fit may end in
    `IndefiniteError`, so that one eta for all cuts leaves little choice other than 0; give
    each cut its own.

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
        Doc("In -1..1, for all cuts or for each; 0 is the supervised risk."),
    ] = 0.0
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[
        float | tuple[float, ...] | None,
        Range(0, 1, open_low=True, open_high=True),
        OnePer("n_cuts"),
        Doc(
            "Share of rows above the cut among the unlabelled ones, for all cuts or for "
            "each; None takes the shares of the labelled rows (in a search those of "
            "all, whatever the fold)."
        ),
    ] = None
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc("Random rows that serve as centres; None takes every labelled and unlabelled row."),
    ] = None
    thresholds: Thresholds = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1
