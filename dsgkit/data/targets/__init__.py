"""Targets: how a learning task uses the labels of a dataset, decided when it is opened.

numpy is imported in functions, as validation of configs needs targets but no arrays.
"""

from dsgkit.data.targets.base import Kind, Target, check_kind
from dsgkit.data.targets.binary import Binary
from dsgkit.data.targets.bins import Bins
from dsgkit.data.targets.classes import MOST_CLASSES
from dsgkit.data.targets.labels import Label, are_numbers, label_text
from dsgkit.data.targets.nominal import Nominal
from dsgkit.data.targets.numeric import Numeric
from dsgkit.data.targets.ordered import Ordered
from dsgkit.data.targets.settings import target_of

__all__ = [
    "MOST_CLASSES",
    "Binary",
    "Bins",
    "Kind",
    "Label",
    "Nominal",
    "Numeric",
    "Ordered",
    "Target",
    "are_numbers",
    "check_kind",
    "label_text",
    "target_of",
]
