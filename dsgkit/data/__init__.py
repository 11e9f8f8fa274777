"""Datasets: catalogue, download, parsing, memory maps and targets."""

from dsgkit.data.dataset import Dataset, load_dataset

__all__ = ["Dataset", "load_dataset"]
