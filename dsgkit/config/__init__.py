"""Experiments described in YAML: strict reading, inheritance, ranges and validation."""

from dsgkit.config.listing import ConfigSummary, list_configs
from dsgkit.config.load import load_experiment
from dsgkit.config.schema import (
    OUTPUTS,
    DatasetSpec,
    Experiment,
    ProtocolSpec,
    SolverSpec,
    SweepSpec,
)

__all__ = [
    "OUTPUTS",
    "ConfigSummary",
    "DatasetSpec",
    "Experiment",
    "ProtocolSpec",
    "SolverSpec",
    "SweepSpec",
    "list_configs",
    "load_experiment",
]
