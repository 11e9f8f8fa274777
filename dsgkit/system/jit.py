"""Compilation by numba: all its options, and a cache of compiled code.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing` ones, which sum
over many terms, may also reorder. `exact_nogil` is for loops in several Python threads, next to
readers and writers, without numba's threads. None may assume that values are finite: a diverging
model must show as NaN.

Idle threads sleep instead of spinning: a parallel region is entered several times per iteration,
and on a busy machine spinning threads take cores from the threads that they wait for (measured: 5
to 20 times slower). This default must be set before numba starts its threads; the environment's
``OMP_WAIT_POLICY`` overrides it.

Compiled code is cached in a folder named by a hash of the sources that it can depend on: its module
and all that this imports from the package. numba's own cache checks only the path and the file of a
function: it would use code whose callees or constants in other files have changed, and compile
again for every copy of the package. One process at a time compiles a function and the others wait
for it: workers start with the same functions, and numba writes an index and then the code that it
refers to, so that two concurrent writers can store code under another function's name.
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
        Full name. Its code can depend on its own file and on those of all direct and indirect
        imports.
    """
    start = module_named(module, _PACKAGE.parent)
    return tuple(source.path for source in imported([start])) if start else ()


@functools.cache
def _cache_folder(module: str) -> Path | None:
    """Return the cache folder for a module of the package with its present sources."""
    digest = hashlib.sha256(f"{numba.__version__} {module}".encode())
    sources = sources_of(module)
    for path in sources:
        digest.update(path.read_bytes())
    return cache_folder() / "compiled" / digest.hexdigest()[:16] if sources else None


class _Locator(_CacheLocator):
    """Locates the cache folder of a function."""

    def __init__(self, folder: Path, line: int) -> None:
        self._folder = folder
        self._line = line

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        """Return the locator of a function; None if it cannot be cached."""
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
        """Return an empty text: other sources have another folder."""
        return ""

    def get_disambiguator(self) -> str:
        """Return the line of the function: a module may have several of the same name."""
        return str(self._line)


class _Stored(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _SharedCache(FunctionCache):
    """numba's cache of one function; if it cannot be read, the function is compiled."""

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
        """Store compiled code, if the folder can be written."""
        with suppress(OSError):
            super().save_overload(sig, data)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other process loads, compiles or stores the function.

        numba's own lock is taken first: numba holds it while it compiles callees, and two threads
        that took the locks in different orders would deadlock.
        """
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError, NotImplementedError):  # not writable, or no locks supported
                self._impl.locator.ensure_cache_path()
                held.enter_context(FileLock(self._cache_file._index_path + ".lock"))
            yield


def _cache_of(function: Callable[..., Any]) -> _SharedCache | None:
    """Return the cache of a function; None if it cannot be cached."""
    try:
        return _SharedCache(function)
    except RuntimeError:
        return None


def _in_turn(compile_: Callable[[Any], Any], cache: _SharedCache) -> Callable[[Any], Any]:
    """Return a dispatcher's ``compile`` that only one process runs at a time."""

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
