"""The parameter ``kernel`` of estimators: which function of two rows ``sigma`` belongs to."""

from __future__ import annotations

from typing import Annotated

from dsgkit.kernels import kernel_named
from dsgkit.solvers.parameters import Text, Unsaid


def _fourier_kernel(name: str) -> None:
    if kernel_named(name).spectrum is None:
        raise ValueError("it has no random frequencies")


def _linear_or_kernel(name: str) -> None:
    if name != "linear":
        kernel_named(name)


KernelName = Annotated[str, Text(kernel_named, "the name of a kernel"), Unsaid("gaussian")]
"""A kernel, as `kernel_named` takes it. Results from before there was a choice are Gaussian."""

FourierKernelName = Annotated[
    str,
    Text(_fourier_kernel, "the name of a kernel of differences of rows"),
    Unsaid("gaussian"),
]
"""A kernel that has random Fourier features."""

LinearOrKernel = Annotated[str, Text(_linear_or_kernel, "linear or the name of a kernel")]
"""A kernel, or functions that are linear in the inputs."""
