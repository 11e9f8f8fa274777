"""TSGSU-P: similar-unlabelled learning by block-preconditioned steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.engine import (
    BlockProblem,
    DSGModel,
    RowGroup,
    block_training_cost,
    train_blocks,
    train_blocks_in_passes,
    train_blocks_values,
)
from dsgkit.kernels.lengths import check_projections
from dsgkit.numerics.costs import Cost, Pace
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective
from dsgkit.solvers.block_functions import finite_models
from dsgkit.solvers.block_sweeps import SINGULAR_BLOCK, BlockSweepsEstimator
from dsgkit.solvers.common import (
    Delta,
    FeaturesPerBlock,
    Frequencies,
    KernelName,
    Lam,
    Leak,
    MaxMemory,
    NBlocks,
    NSweeps,
    Prior,
    RandomState,
    Sigma,
)
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.similar.pools import Pools
from dsgkit.solvers.similar.together import TogetherSUEstimator, Values
from dsgkit.text.errors import FitError

Array = NDArray[np.float64]


class TSGSUP(BlockSweepsEstimator, TogetherSUEstimator):
    """Similar-unlabelled learning by block-preconditioned steps.

    Minimises the objective of `TSGSU`, ``delta(r1) + delta(r2) + lam/2 ||f||^2``, over functions of
    the same kind: blocks of random frequencies from a seed. Where a step of `TSGSU` is a number,
    here it is the inverse of the block's Hessian of the risk without correction, on a batch of the
    points of all pairs and some unlabelled rows; the gradient is the corrected one. Without
    correction and with all unlabelled rows in a batch, sweeps converge to the minimiser over the
    ``n_blocks n_features`` frequencies (`RFFSUSL`).

    See Also
    --------
    TSGSU : The same objective by steps of the paper's kind.
    SUSL : The minimiser without correction, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import TSGSUP
    >>> rng = np.random.default_rng(0)
    >>> y = np.where(rng.random(2000) < 0.8, 1, -1)
    >>> X = (rng.normal(size=(2000, 2)) + 1.5 * y[:, None]) / 6 + 0.5
    >>> same = y[:1000:2] == y[1:1000:2]
    >>> pairs = X[:1000].reshape(500, 2, 2)[same]
    >>> model = TSGSUP(prior=0.8, n_features=64, n_blocks=4).fit(pairs, X[1000:])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    version: ClassVar[int] = 1
    pace: ClassVar[Pace] = Pace(training=2.5, per_model=5)

    lam: Lam = 0.1
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: KernelName = "gaussian"
    prior: Prior = "estimate"
    delta: Annotated[
        Delta,
        Doc(
            "Correction function: the absolute value (the paper's), ``max(0, r)``, a "
            "line of slope ``leak`` below 0, or no correction, the default: full steps "
            "on corrected gradients can end far from the minimiser."
        ),
    ] = "none"
    leak: Leak = -0.5
    batch_size: Annotated[
        int, COUNT, Doc("Unlabelled rows per step; the points of all pairs are in every batch.")
    ] = 1024
    n_features: FeaturesPerBlock = 256
    frequencies: Frequencies = "independent"
    n_blocks: NBlocks = 16
    n_sweeps: NSweeps = 2
    max_memory: MaxMemory = None
    random_state: RandomState = 0

    def _fit(self, S: Array, X_unlabeled: Any) -> None:
        self._check_memory(self._cost(len(S), len(X_unlabeled), S.shape[1], 1, "model"))
        check_projections(S, self._sigma, self.kernel)
        problem = _problem([self], S, X_unlabeled)
        model = train_blocks(problem)
        if not finite_models(model).all():
            check_projections(X_unlabeled, self._sigma, self.kernel)
            raise FitError(SINGULAR_BLOCK)
        objective: Any = problem.objective
        self.model_ = model
        self.corrected_ = float(objective.negative[0] / (self.n_blocks * self.n_sweeps))

    def _train_models(self, models: Sequence[Self], S: Array, X_unlabeled: Any) -> list[DSGModel]:
        return train_blocks_in_passes(_problem(models, S, X_unlabeled))

    def _train_values(
        self, models: Sequence[Self], S: Array, X_unlabeled: Any, pools: Sequence[Pools]
    ) -> Values:
        return train_blocks_values(_problem(models, S, X_unlabeled, pools))

    def _cost(
        self,
        n_points: int,
        n_unlabeled: int,
        n_inputs: int,
        n_models: int,
        result: Literal["model", "models", "values"],
    ) -> Cost:
        return block_training_cost(
            self._features(),
            n_inputs,
            n_points,
            n_unlabeled,
            n_sources=1,
            batch_size=int(self.batch_size),
            n_blocks=int(self.n_blocks),
            n_sweeps=int(self.n_sweeps),
            n_models=n_models,
            pooled=result == "values",
            result=result,
        )


def _problem(
    models: Sequence[TSGSUP], S: Array, X_unlabeled: Any, pools: Sequence[Pools] | None = None
) -> BlockProblem:
    """Return the problem of training every model on all rows, or on the rows of every pool.

    Parameters
    ----------
    models : sequence of TSGSUP
        With a prior; they agree in what is not per model.
    S : ndarray of shape (n_points, n_inputs)
    X_unlabeled : rows
    pools : sequence of (int array, int array), optional
        Positions of points and of unlabelled rows; a model for each of ``models``, pool by pool.
    """
    shared = models[0]
    if pools is None:
        groups = [RowGroup([np.arange(len(S))])]
    else:
        groups = [RowGroup([of_points], of_rows) for of_points, of_rows in pools]
    everywhere = [model for _ in groups for model in models]
    lam, prior, leak = np.array([(m.lam, m.prior_, m.leak) for m in everywhere], np.float64).T
    return BlockProblem(
        X=S,
        X_unlabeled=X_unlabeled,
        groups=groups,
        group=np.repeat(np.arange(len(groups)), len(models)),
        objective=SimilarUnlabeledObjective(prior, [m.delta for m in everywhere], leak),
        lam=lam,
        features=shared._features(),
        n_blocks=int(shared.n_blocks),
        n_sweeps=int(shared.n_sweeps),
        batch_size=int(shared.batch_size),
    )
