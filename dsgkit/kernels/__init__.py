"""Kernels: exact values, expansions and columns, and distributions of random frequencies."""

from dsgkit.kernels.base import Kernel
from dsgkit.kernels.catalogue import FAMILIES, kernel_named

__all__ = ["FAMILIES", "Kernel", "kernel_named"]
