"""The doubly stochastic gradient engine."""

from dsgkit.engine.block_problem import (
    BlockProblem,
    MajorisedObjective,
    QuadraticObjective,
    RowGroup,
)
from dsgkit.engine.costs import TableSize, block_training_cost, training_cost
from dsgkit.engine.model import DSGModel, load_model
from dsgkit.engine.preconditioned import (
    train_blocks,
    train_blocks_in_passes,
    train_blocks_values,
)
from dsgkit.engine.problem import Problem, Source
from dsgkit.engine.steps import ConstantStep, DecreasingStep, EitherStep, LinearStep, StepRule
from dsgkit.engine.training import train, train_in_passes, train_values

__all__ = [
    "BlockProblem",
    "ConstantStep",
    "DSGModel",
    "DecreasingStep",
    "EitherStep",
    "LinearStep",
    "MajorisedObjective",
    "Problem",
    "QuadraticObjective",
    "RowGroup",
    "Source",
    "StepRule",
    "TableSize",
    "block_training_cost",
    "load_model",
    "train",
    "train_blocks",
    "train_blocks_in_passes",
    "train_blocks_values",
    "train_in_passes",
    "train_values",
    "training_cost",
]
