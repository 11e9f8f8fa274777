"""TSGS3VM-P: semi-supervised SVM by block-preconditioned steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from typing_extensions import Doc

from dsgkit.engine import (
    BlockProblem,
    DSGModel,
    RowGroup,
    block_training_cost,
    train_blocks_in_passes,
)
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Cost, Pace
from dsgkit.objectives.majorised_s3vm import MajorisedS3VMObjective
from dsgkit.objectives.s3vm import Values
from dsgkit.solvers.base import Folds, Points
from dsgkit.solvers.block_functions import TogetherModels, finite_models
from dsgkit.solvers.block_sweeps import BlockSweepsEstimator
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    FeaturesPerBlock,
    Frequencies,
    HingeWeight,
    KernelName,
    MaxMemory,
    NBlocks,
    NSweeps,
    RandomState,
    Sigma,
    SweepBatch,
    UnlabeledLabel,
)
from dsgkit.solvers.parameters import PER_MODEL
from dsgkit.solvers.s3vm.base import S3VM
from dsgkit.text.errors import FitError


class TSGS3VMP(BlockSweepsEstimator, S3VM):
    """Semi-supervised SVM by block-preconditioned steps.

    Minimises the objective of `TSGS3VM` with the symmetric hinge,

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled hinge(|f(x)|)``

    over functions of the same kind: blocks of random frequencies from a seed. Where a step of
    `TSGS3VM` is a number, here it is the inverse of the Hessian of a quadratic that bounds the
    batch's loss from above and touches it at the present values: an unlabelled row counts as
    labelled by the sign of its value, and every row by how near it is to its margin
    (`dsgkit.objectives.majorised_s3vm`). There is no step to choose, and a few blocks and sweeps
    serve at large ``C`` too. The hinge is rounded within 1/4 of its kink. With all unlabelled rows
    in a batch and C* fixed, no step raises the objective; with C* = 0, sweeps converge to the SVM
    on the ``n_blocks n_features`` frequencies.

    Time is O(S T (b m^2 + m^3)) for every model; memory O(m^2 + S T b), whatever the number of
    rows.

    See Also
    --------
    TSGS3VM : The same objective, and others, by steps of the paper's kind.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.
    .. [2] Groenen, Nalbantov & Bioch, "SVM-Maj: a majorization approach to linear support vector
       machines with different hinge errors", Advances in Data Analysis and Classification 2, 2008.
    .. [3] Tu, Roelofs, Venkataraman & Recht, "Large scale kernel learning using block coordinate
       descent", arXiv 1602.05310, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import TSGS3VMP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + np.repeat([[0], [2]], 20, axis=0)
    >>> y = np.repeat([-1, 1], 20)
    >>> X_unlabeled = rng.normal(size=(5000, 2)) + rng.integers(0, 2, (5000, 1)) * 2
    >>> model = TSGS3VMP(sigma=0.5, C_star_ratio=1.0).fit(X, y, X_unlabeled)
    >>> model.score(X, y) > 0.8
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2.3, per_model=5)

    C: HingeWeight = 100.0
    sigma: Sigma = "scale"
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

    def fit_points(  # type: ignore[override]  # of its arrays by name
        self, points: Points, *, folds: Folds | None = None, X: Any, y: Any, X_unlabeled: Any = None
    ) -> Any:
        """Train a model for each of many settings, all in one pass over the features.

        As in the base class; the points of one pass must agree in all parameters but C, C_star,
        C_star_ratio and anneal. A model without a solution has values of NaN.
        """
        if folds is not None:
            return super().fit_points(points, folds=folds, X=X, y=y, X_unlabeled=X_unlabeled)
        settings = self._settings(self._with_sigma(points, X, X_unlabeled))
        checked = clone(self)
        return TogetherModels(checked, _trained(settings, *checked._inputs(X, y, X_unlabeled)))

    def _fit(self, X: Any, positive: NDArray[np.bool_], X_unlabeled: Any) -> None:
        (model,) = _trained([self], X, positive, X_unlabeled)
        if not finite_models(model).all():
            raise FitError(f"with C={self.C:g} a block is singular to rounding: lower C")
        self.model_ = model

    def _loss(self, values: list[Values], C: float, C_star: float) -> float:
        """Return the losses as they are minimised: with the rounded hinge."""
        objective = MajorisedS3VMObjective(np.array([C]), np.array([C_star]), np.zeros(1))
        return float(objective.batch_loss([f[:, None] for f in values])[0])

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the engine takes for one or several models; see the base class."""
        result: Literal["model", "models"] = "model" if n_models == 1 else "models"
        return block_training_cost(
            self._features(),
            n_inputs,
            n_labeled,
            n_unlabeled,
            n_sources=2,
            batch_size=int(self.batch_size),
            n_blocks=int(self.n_blocks),
            n_sweeps=int(self.n_sweeps),
            n_models=n_models,
            majorised=True,
            result=result,
        )


def _trained(
    settings: Sequence[TSGS3VMP], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> list[DSGModel]:
    """Return the models of all settings, in order; rows and memory are checked."""
    shared = settings[0]
    check_projections(X, shared._sigma, shared.kernel)
    counts = {"n_labeled": len(X), "n_unlabeled": len(X_unlabeled)}
    shared._check_memory(shared.cost(X.shape[1], n_models=len(settings), **counts))
    models = train_blocks_in_passes(_problem(settings, X, positive, X_unlabeled))
    if not any(finite_models(model).any() for model in models):
        check_projections(X_unlabeled, shared._sigma, shared.kernel)
    return models


def _problem(
    settings: Sequence[TSGS3VMP], X: Any, positive: NDArray[np.bool_], X_unlabeled: Any
) -> BlockProblem:
    """Return the problem of training a model for every setting."""
    shared, n_labeled, n_unlabeled = settings[0], len(X), len(X_unlabeled)
    n_blocks, n_sweeps = int(shared.n_blocks), int(shared.n_sweeps)
    columns = [(s.C, s._unlabeled_weight(n_labeled, n_unlabeled)) for s in settings]
    C, C_star = np.array(columns, np.float64).T
    half = n_blocks * n_sweeps / 2
    return BlockProblem(
        X=X,
        X_unlabeled=X_unlabeled,
        groups=[RowGroup([np.flatnonzero(positive), np.flatnonzero(~positive)])],
        group=np.zeros(len(settings), np.int64),
        objective=MajorisedS3VMObjective(
            C, C_star, full_from=np.array([half if s.anneal else 0.0 for s in settings])
        ),
        lam=np.ones(len(settings)),
        features=shared._features(),
        n_blocks=n_blocks,
        n_sweeps=n_sweeps,
        batch_size=int(shared.batch_size),
    )
