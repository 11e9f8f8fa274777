"""Experiments described in YAML: strict reading, inheritance, ranges and validation."""

from dsgkit.config.listing import ConfigSummary, list_configs
from dsgkit.config.load import load_experiment
from dsgkit.config.schema import Experiment, SweepSpec
from dsgkit.config.solvers import SolverSpec, Stage

__all__ = [
    "ConfigSummary",
    "Experiment",
    "SolverSpec",
    "Stage",
    "SweepSpec",
    "list_configs",
    "load_experiment",
]
