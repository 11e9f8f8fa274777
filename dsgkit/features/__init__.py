"""Random features: the counter-based stream, the kernels' laws and the compiled tile kernels."""

from dsgkit.features.fourier import KERNELS, FourierFeatures

__all__ = ["KERNELS", "FourierFeatures"]
