"""The kernels by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from dsgkit.errors import DataError, shown
from dsgkit.kernels.base import Kernel
from dsgkit.kernels.dot_product import dot_product
from dsgkit.kernels.gaussian import GAUSSIAN
from dsgkit.kernels.laplacian import LAPLACIAN
from dsgkit.kernels.linear import LINEAR
from dsgkit.kernels.matern import matern


@dataclass(frozen=True)
class Family:
    """Kernels that differ in a parameter in their names.

    ``pattern`` shows their names. ``make`` returns the kernel for the text in parentheses, or
    raises `ValueError`; it is None for a single kernel.
    """

    pattern: str
    example: Kernel
    make: Callable[[str], Kernel] | None = None


FAMILIES = {
    "gaussian": Family("gaussian", GAUSSIAN),
    "laplacian": Family("laplacian", LAPLACIAN),
    "matern": Family("matern(nu)", matern(1.5), lambda text: matern(float(text))),
    "dot_product": Family("dot_product(p)", dot_product(3), lambda text: dot_product(int(text))),
    "linear": Family("linear", LINEAR),
}

_NAME = re.compile(r"(\w+)(?:\((.+)\))?")


@functools.cache
def kernel_named(name: str) -> Kernel:
    """Return a kernel by its name, such as ``laplacian``, ``matern(1.5)`` or ``dot_product(3)``.

    Raises
    ------
    DataError
        If no kernel has that name.
    """
    match = _NAME.fullmatch(name)
    family = FAMILIES.get(match[1]) if match else None
    if match and family and (match[2] is None) == (family.make is None):
        try:
            return family.make(match[2]) if family.make else family.example
        except ValueError as error:
            raise DataError(f"kernel {shown(name)}: {error}") from None
    known = ", ".join(family.pattern for family in FAMILIES.values())
    raise DataError(f"unknown kernel {shown(name)}; known: {known}")
