"""The one place that spells numba's options.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing` ones, which sum
over many terms, may also reorder. `exact_nogil` is for loops that Python's own threads share,
beside readers and writers, and without starting numba's. None may assume that values are finite: a
diverging model must show as NaN.

Idle threads sleep rather than spin: a parallel region is entered several times per iteration, and
on a machine with other work, spinning threads keep from their cores the very ones they wait for
(measured: 5 to 20 times slower). It is a default that ``OMP_WAIT_POLICY`` in the environment
overrides, and it must be set before numba starts its threads.

Compiled code is kept in a folder named by a hash of the sources that it can depend on: its module
and all that this imports from the package. numba itself looks at the file of a function only, and
would go on using code whose callees or constants in other files have changed. Within a folder
processes take turns: numba writes an index and the code that it refers to one after the other, and
two that do so at once can leave code under another's name.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba import njit, prange
from numba.core.caching import FunctionCache

from dsgkit.sources import cache_folder, imported, module_named

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__all__ = [
    "exact",
    "exact_nogil",
    "exact_parallel",
    "fast",
    "fast_parallel",
    "prange",
    "reducing",
    "reducing_parallel",
]

_PACKAGE = Path(__file__).parent


@functools.cache
def sources_of(module: str) -> tuple[Path, ...]:
    """Return the files of the package that a module's compiled code can depend on.

    Parameters
    ----------
    module : str
        Its full name. It depends on its own file, and on those of all modules that it imports, and
        that these import.
    """
    start = module_named(module, _PACKAGE.parent)
    return tuple(one.path for one in imported([start])) if start else ()


@functools.cache
def _cache_folder(module: str) -> str:
    """Return the folder of what is compiled of a module, for this version of its sources."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sources_of(module):
        digest.update(path.read_bytes())
    return str(cache_folder() / "compiled" / digest.hexdigest()[:16])


class _SharedCache(FunctionCache):
    """numba's cache, used by one process at a time. What cannot be read or written is compiled."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None."""
        with suppress(OSError), self._turn():
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # a torn file can raise anything
                self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code."""
        with suppress(OSError), self._turn():
            super().save_overload(sig, data)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._impl.locator.ensure_cache_path()
        with (Path(self.cache_path) / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _cache_of(function: Callable[..., Any]) -> FunctionCache | None:
    """Return the cache of a function; None if its folder cannot be written."""
    folder = _cache_folder(function.__module__)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        cache = _SharedCache(function)
    except RuntimeError:
        return None
    finally:
        numba.config.CACHE_DIR = before
    # numba falls back to folders that do not depend on other files' sources
    return cache if cache.cache_path.startswith(folder) else None


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(error_model="numpy", **options)(function)
        dispatcher._cache = _cache_of(function) or dispatcher._cache
        return dispatcher

    return decorate


exact = _compiled()
exact_nogil = _compiled(nogil=True)
exact_parallel = _compiled(parallel=True)
fast = _compiled(fastmath={"contract"})
fast_parallel = _compiled(fastmath={"contract"}, parallel=True)
reducing = _compiled(fastmath={"contract", "reassoc", "nsz"})
reducing_parallel = _compiled(fastmath={"contract", "reassoc", "nsz"}, parallel=True)
