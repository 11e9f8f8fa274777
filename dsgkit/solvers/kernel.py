"""The parameter ``kernel`` of estimators: which function of two rows ``sigma`` belongs to."""

from __future__ import annotations

from typing import Annotated, Literal

from dsgkit.kernels import kernel_named
from dsgkit.solvers.parameters import Text, Unsaid


def _fourier_kernel(name: str) -> None:
    if kernel_named(name).spectrum is None:
        raise ValueError("it has no random frequencies")


def _kernel_with_features(name: str) -> None:
    if not kernel_named(name).has_random_features:
        raise ValueError("it has no random features; dot_product(1) with sigma = 1 has")


KernelName = Annotated[str, Text(_kernel_with_features, "the name of a kernel"), Unsaid("gaussian")]
"""A kernel that has random features. Results from before there was a choice are Gaussian."""

GramKernelName = Annotated[str, Text(kernel_named, "the name of a kernel"), Unsaid("gaussian")]
"""A kernel of a solver that computes its exact values, and so also "linear"."""

GaussianOrLinear = Annotated[Literal["gaussian", "linear"], Unsaid("gaussian")]
"""The kernels of the support vector machines."""

FourierKernelName = Annotated[
    str,
    Text(_fourier_kernel, "the name of a kernel of differences of rows"),
    Unsaid("gaussian"),
]
"""A kernel that has random Fourier features."""

LinearOrKernel = Annotated[str, Text(kernel_named, "linear or the name of a kernel")]
"""A kernel, or functions that are linear in the inputs."""
