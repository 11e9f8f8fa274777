"""Random features of kernels, block by block."""

from __future__ import annotations

from dsgkit.errors import DataError
from dsgkit.features.fourier import Blocks, FourierFeatures
from dsgkit.features.sketch import SketchFeatures
from dsgkit.features.structured import StructuredFeatures
from dsgkit.kernels import kernel_named

__all__ = [
    "Blocks",
    "FourierFeatures",
    "SketchFeatures",
    "StructuredFeatures",
    "random_features",
]

LARGEST_LENGTH = 2.0**100
"""Upper bound of `Kernel.farthest`, whose lower bound is the inverse: rows of that norm and their
frequencies then fit single precision."""


def random_features(
    kernel: str, sigma: float, n_features: int, seed: int, frequencies: str = "independent"
) -> Blocks:
    """Return blocks of random features of a kernel.

    ``n_features`` is the number of random frequencies of a block, each with a cosine and a sine;
    for a dot product the size of the sketch. Frequencies are "independent" or "structured".
    """
    known = kernel_named(kernel)
    if not known.has_random_features:
        raise DataError(f"the {kernel} kernel has no random features")
    if not (sigma > 0 and 1 / LARGEST_LENGTH <= known.farthest(sigma) <= LARGEST_LENGTH):
        raise DataError(
            f"sigma={sigma:g} is too {'small' if sigma < 1 else 'large'} for random features in "
            "single precision: scale the rows, and sigma with them"
        )
    if frequencies == "structured":
        if kernel != StructuredFeatures.kernel:
            raise DataError(
                f"structured frequencies exist for the gaussian kernel only, not for {kernel}"
            )
        return StructuredFeatures(sigma, n_features, seed)
    if known.shift_invariant:
        return FourierFeatures(kernel, sigma, n_features, seed)
    return SketchFeatures(kernel, sigma, n_features, seed)
