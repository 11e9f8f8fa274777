"""The one place that spells numba's options.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing_parallel` ones,
which sum over many terms, may also reorder. None may assume that values are finite: a diverging
model must show as NaN.

Idle threads sleep rather than spin: a parallel region is entered several times per iteration, and
on a machine with other work, spinning threads keep from their cores the very ones they wait for
(measured: 5 to 20 times slower). It is a default that ``OMP_WAIT_POLICY`` in the environment
overrides, and it must be set before numba starts its threads.

Compiled code is kept in a folder named by a hash of the package's sources. numba itself looks at
the file of a function only, and would go on using code whose callees in other files have changed.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit, prange

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = ["exact", "exact_parallel", "fast", "fast_parallel", "prange", "reducing_parallel"]


@functools.cache
def _cache_folder() -> str:
    """Return the folder for this version of the sources that hold compiled functions."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"_jit" in source:
            digest.update(path.name.encode() + source)
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    return str(base / "dsgkit" / "compiled" / digest.hexdigest()[:16])


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = _cache_folder()
        try:
            return njit(cache=True, error_model="numpy", **options)(function)
        except RuntimeError:  # no folder can be written: compile in every process
            return njit(error_model="numpy", **options)(function)
        finally:
            numba.config.CACHE_DIR = before

    return decorate


exact = _compiled()
exact_parallel = _compiled(parallel=True)
fast = _compiled(fastmath={"contract"})
fast_parallel = _compiled(fastmath={"contract"}, parallel=True)
reducing_parallel = _compiled(fastmath={"contract", "reassoc", "nsz"}, parallel=True)
