"""Ordinal regression with a function for each cut between the classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np

from dsgkit.costs import Cost, Pace
from dsgkit.engine.model import Columns
from dsgkit.engine.problem import Problem, Sizes
from dsgkit.errors import FitError, IndefiniteError
from dsgkit.estimators.auc import at_centres, at_centres_cost
from dsgkit.estimators.ordinal import OrdinalEstimator
from dsgkit.estimators.parameters import (
    COUNT,
    PER_MODEL,
    GammaPerCut,
    GramKernelName,
    Lam,
    MaxMemory,
    OnePer,
    RandomState,
    Range,
    Sigma,
    ThresholdRule,
)
from dsgkit.exact.quadratic import INDEFINITE, SINGULAR, Dual, dual_cost, minimise
from dsgkit.risks.pairwise import OnCuts, PriorAUC, SemiSupervisedAUC, above_cuts, for_cuts


class OnePerCut(OrdinalEstimator):
    """Base of the estimators that rank the two sides of every cut by a function of its own.

    The functions of all cuts, settings and folds are models of one problem, and share its
    factorisation. A cut without training rows on one side uses the function of the nearest cut.
    Shi, Li, Gu, Li & Huang, "Quadruply stochastic gradients for large scale nonlinear
    semi-supervised ordinal regression AUC optimization", AAAI 2020, extend methods so.
    """

    per_cut = True
    has_intercept = False
    pace = Pace(training=1.1, per_model=12)

    def learn(self, problem: Problem) -> Any:
        n_cuts = problem.data.n_sources - 1
        cuts = replace(
            problem,
            pool=np.repeat(problem.pool, n_cuts),
            settings=[model for model in problem.settings for _ in range(n_cuts)],
        )
        return Columns(self._learn_cuts(cuts), n_cuts)

    def _learn_cuts(self, problem: Problem) -> Any:
        """Return a function for each model and cut."""
        raise NotImplementedError


class MSAMULT(OnePerCut):
    """A SAMULT model for each cut between ordered classes.

    The function of cut j minimises ``gamma R_PN + (1 - gamma)(R_PU + R_NU) + lam/2 ||f||^2`` with
    the classes up to the j-th as negatives and the others as positives (`SAMULT`):
    `score_samples` returns a column per cut, of which column j ranks the rows for cut j alone.
    A fit costs O(n_cuts n^3) time and 8 n^2 bytes for n labelled and unlabelled rows, or less if
    all cuts have the same gamma.

    Parameters
    ----------
    lam, sigma, gamma, thresholds, unlabeled_label, classes
        As in `QS3ORAO`.
    kernel, max_memory
        As in `ExactS2OR`.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_inputs)
        Rows of the kernel expansions.
    coef_ : ndarray of shape (n_centers, n_cuts)
        Coefficients of the rows.
    function_ : Columns

    References
    ----------
    .. [1] Xie & Li, "Semi-supervised AUC optimization without guessing labels of unlabeled data",
       AAAI 2018.
    """

    failure = FitError(SINGULAR)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    gamma: GammaPerCut = 0.5
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    thresholds: ThresholdRule = "logistic"
    max_memory: MaxMemory = None

    def risk(self, data: Any) -> OnCuts:
        gammas = for_cuts("gamma", self.gamma, data.n_sources - 1)
        return OnCuts([SemiSupervisedAUC(gamma) for gamma in gammas])

    def _learn_cuts(self, problem: Problem) -> Any:
        return minimise(problem, Dual(self.kernel, self.sigma_), problem.each("lam") / 2)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        n_rows = n.labeled + bool(np.min(self.gamma) < 1) * n.unlabeled
        return of_all_cuts(dual_cost(n, n_rows, n_models), n)


class MPNUAUC(OnePerCut):
    """A PNU-AUC model for each cut between ordered classes.

    The function of cut j is a combination of kernel functions at given centres that minimises the
    PNU risk with the classes up to the j-th as negatives and the others as positives, plus
    ``lam ||w||^2`` (`PNUAUC`): `score_samples` returns a column per cut, of which column j
    ranks the rows for cut j alone. With every row as a centre a fit costs O(n_cuts n^3) time and
    8 n^2 bytes.

    The risk of a cut has a minimum for ``eta > 0`` if the prior is at most 1/2, and for ``eta < 0``
    if it is at least 1/2. Otherwise it may have none, and the fit ends in `IndefiniteError`. One
    eta for all cuts therefore leaves little choice but 0: give each cut its own.

    Parameters
    ----------
    lam : float > 0, default 0.125
        Weight of the squared norm of the coefficients, not of that of the function: one ``lam``
        penalises less, the more centres there are (`PNUAUC`).
    sigma, thresholds, unlabeled_label, classes
        As in `QS3ORAO`.
    eta : float between -1 and 1, or a tuple of these, default 0.0
        Weight eta, for all cuts or one per cut; 0 is the supervised risk.
    kernel, max_memory
        As in `ExactS2OR`.
    prior : float strictly between 0 and 1, or a tuple of these, optional
        Share of the unlabelled rows above the cut, for all cuts or one per cut; None takes the
        shares of the labelled rows (in a search, of those of all folds).
    n_centers : int >= 1, optional
        Random rows used as centres; None uses every labelled and unlabelled row.
    random_state : int between 0 and 2^64 - 1, default 0
        Seed of the centres.

    Attributes
    ----------
    centers_, coef_, function_
        As in `MSAMULT`.

    References
    ----------
    .. [1] Sakai, Niu & Sugiyama, "Semi-supervised AUC optimization based on positive-unlabeled
       learning", Machine Learning 107, 2018.
    """

    failure = IndefiniteError(INDEFINITE)

    lam: Lam = 0.125
    sigma: Sigma = "scale"
    eta: Annotated[float | tuple[float, ...], Range(-1, 1), PER_MODEL, OnePer("n_cuts")] = 0.0
    _: KW_ONLY
    kernel: GramKernelName = "gaussian"
    prior: Annotated[
        float | tuple[float, ...] | None,
        Range(0, 1, open_low=True, open_high=True),
        OnePer("n_cuts"),
    ] = None
    n_centers: Annotated[int | None, COUNT] = None
    thresholds: ThresholdRule = "logistic"
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    @property
    def _penalty(self) -> float:
        return self.lam

    def risk(self, data: Any) -> OnCuts:
        n_cuts, priors = data.n_sources - 1, self.prior
        if priors is None:
            priors = above_cuts(data.whole.codes, n_cuts + 1).mean(axis=0)
        both = for_cuts("eta", self.eta, n_cuts), for_cuts("prior", priors, n_cuts)
        return OnCuts([PriorAUC(eta, prior) for eta, prior in zip(*both, strict=True)])

    def _learn_cuts(self, problem: Problem) -> Any:
        return at_centres(self, problem)

    def cost(self, n: Sizes, n_models: int = 1) -> Cost:
        return of_all_cuts(at_centres_cost(self, n, n_models), n)


def of_all_cuts(cost: Cost, n: Sizes) -> Cost:
    """Return the cost of a function per cut; they share their centres."""
    n_cuts = n.sources - 1
    memory = cost.memory + 8 * (n.labeled + n.unlabeled) * (n.inputs + n_cuts)
    row = cost.flops_per_row + 4 * (n.labeled + n.unlabeled) * (n_cuts - 1)
    return Cost(n_cuts * cost.flops, memory, row)
