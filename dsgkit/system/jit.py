"""The one place that spells numba's options.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing` ones, which sum
over many terms, may also reorder. `exact_nogil` is for loops that Python's own threads share,
next to readers and writers, and without starting numba's. None may assume that values are finite: a
diverging model must show as NaN.

Idle threads sleep rather than spin: a parallel region is entered several times per iteration, and
on a machine with other work, spinning threads keep from their cores the very ones they wait for
(measured: 5 to 20 times slower). It is a default that ``OMP_WAIT_POLICY`` in the environment
overrides, and it must be set before numba starts its threads.

Compiled code is kept in a folder named by a hash of the sources that it can depend on: its module
and all that this imports from the package, wherever the package lies. numba itself looks at the
path and the file of a function only: it would go on using code whose callees or constants in other
files have changed, and compile the same again for every copy of the package. One process at a time
compiles a function, and others wait for what it keeps: several workers begin with the same, and
numba writes an index and the code that it refers to one after the other, so that two that do so at
once can leave code under another's name.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numba
from filelock import FileLock
from numba import njit, prange
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

from dsgkit.system.sources import cache_folder, imported, module_named

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

_PACKAGE = Path(__file__).parent.parent


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
def _cache_folder(module: str) -> Path | None:
    """Return the folder of what is compiled of a module of the package, as its sources are now."""
    digest = hashlib.sha256(f"{numba.__version__} {module}".encode())
    sources = sources_of(module)
    for path in sources:
        digest.update(path.read_bytes())
    return cache_folder() / "compiled" / digest.hexdigest()[:16] if sources else None


class _Locator(_CacheLocator):
    """Names the folder for what is compiled of a function."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder = folder
        self._line = line

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        """Return the locator of a function; None if nothing can be kept of it."""
        folder = _cache_folder(py_func.__module__)
        if folder is None:
            return None
        locator = cls(folder, py_func.__code__.co_firstlineno)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return nothing: other sources have another folder."""
        return ""

    def get_disambiguator(self) -> str:
        """Return what distinguishes functions of one name in a module."""
        return str(self._line)


class _Stored(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _SharedCache(FunctionCache):
    """numba's cache of one function. What cannot be read or written is compiled."""

    _impl_class = _Stored

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a torn file can raise anything
            with suppress(OSError):
                self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code."""
        with suppress(OSError):
            super().save_overload(sig, data)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other process loads, compiles or keeps the function.

        numba's own lock is taken first: it holds it while it compiles what the function calls, and
        two threads that took the two in different orders would wait for each other.
        """
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError, NotImplementedError):  # it cannot be written, or has no locks
                self._impl.locator.ensure_cache_path()
                held.enter_context(FileLock(self._cache_file._index_path + ".lock"))
            yield


def _cache_of(function: Callable[..., Any]) -> _SharedCache | None:
    """Return the cache of a function; None if nothing can be kept of it."""
    try:
        return _SharedCache(function)
    except RuntimeError:
        return None


def _in_turn(compile_: Callable[[Any], Any], cache: _SharedCache) -> Callable[[Any], Any]:
    """Return a function's way to be compiled, by one process at a time."""

    def compiled(sig: Any) -> Any:
        with cache.turn():
            return compile_(sig)

    return compiled


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(error_model="numpy", **options)(function)
        if cache := _cache_of(function):
            dispatcher._cache = cache
            dispatcher.compile = _in_turn(dispatcher.compile, cache)
        return dispatcher

    return decorate


exact = _compiled()
exact_nogil = _compiled(nogil=True)
exact_parallel = _compiled(parallel=True)
fast = _compiled(fastmath={"contract"})
fast_parallel = _compiled(fastmath={"contract"}, parallel=True)
reducing = _compiled(fastmath={"contract", "reassoc", "nsz"})
reducing_parallel = _compiled(fastmath={"contract", "reassoc", "nsz"}, parallel=True)
