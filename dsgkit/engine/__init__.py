"""The doubly stochastic gradient engine."""

from dsgkit.engine.costs import TableSize, training_cost
from dsgkit.engine.model import DSGModel, load_model
from dsgkit.engine.problem import Problem, Source
from dsgkit.engine.steps import ConstantStep, DecreasingStep, LinearStep, StepRule
from dsgkit.engine.training import train, train_in_passes, train_values

__all__ = [
    "ConstantStep",
    "DSGModel",
    "DecreasingStep",
    "LinearStep",
    "Problem",
    "Source",
    "StepRule",
    "TableSize",
    "load_model",
    "train",
    "train_in_passes",
    "train_values",
    "training_cost",
]
