"""Datasets: the registry, looking up and downloading, parsing, memory maps and protocols."""

from dsgkit.data.datasets import Dataset, load_dataset
from dsgkit.data.registry import DATASETS, DatasetInfo
from dsgkit.data.rows import Rows
from dsgkit.tasks.splits import SemiSupervisedSplit, semi_supervised_split

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetInfo",
    "Rows",
    "SemiSupervisedSplit",
    "load_dataset",
    "semi_supervised_split",
]
