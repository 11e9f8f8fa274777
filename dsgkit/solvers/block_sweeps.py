"""Base of the estimators, of any family, that the engine trains block by block."""

from __future__ import annotations

from dsgkit.solvers.common import (
    FeaturesPerBlock,
    Frequencies,
    KernelName,
    NBlocks,
    NSweeps,
    RandomState,
    Sigma,
)
from dsgkit.solvers.doubly_stochastic import DoublyStochasticEstimator
from dsgkit.solvers.sigma import WithSigma
from dsgkit.trainers.blocks import BlockFunction

SINGULAR_BLOCK = "the regulariser is so small that a block is singular to rounding; enlarge lam"


class BlockSweepsEstimator(WithSigma, DoublyStochasticEstimator):
    """Base of the estimators with a kernel whose function is trained in sweeps over blocks.

    The training is that of `dsgkit.engine.preconditioned`. A subclass names this base before the
    one of its family.
    """

    sigma: Sigma
    kernel: KernelName
    batch_size: int
    n_features: FeaturesPerBlock
    n_blocks: NBlocks
    n_sweeps: NSweeps
    random_state: RandomState
    frequencies: Frequencies

    def _squared_norm(self) -> float:
        """Return the squared norm that is minimised: that of the mean of the blocks' kernels."""
        return BlockFunction(self.model_, mean_of_kernels=True).squared_norm()
