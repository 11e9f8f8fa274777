"""Kernels: exact values, expansions and columns, and the laws of their random features."""

from dsgkit.kernels.base import Kernel
from dsgkit.kernels.gaussian import GAUSSIAN

__all__ = ["KERNELS", "Kernel"]

KERNELS = {kernel.name: kernel for kernel in (GAUSSIAN,)}
"""The kernels, by name."""
