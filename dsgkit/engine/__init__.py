"""The doubly stochastic gradient engine."""

from dsgkit.engine.model import DSGModel, load_model
from dsgkit.engine.steps import DecreasingStep, StepRule
from dsgkit.engine.training import Problem, Source, TrainResult, train

__all__ = [
    "DSGModel",
    "DecreasingStep",
    "Problem",
    "Source",
    "StepRule",
    "TrainResult",
    "load_model",
    "train",
]
