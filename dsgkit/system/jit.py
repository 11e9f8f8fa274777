"""Compilation by numba: all its options, and a cache of compiled code.

`exact` functions must give the same bits on every machine (the random streams): no reassociation
and no contraction to fused multiply-adds. `fast` ones may contract, and `reducing` ones, which sum
over many terms, may also reorder. None may assume that values are finite: a diverging model must
show as NaN.

Idle threads sleep instead of spinning (``OMP_WAIT_POLICY``): on a busy machine spinning threads
take cores from the threads that they wait for (measured: 5 to 20 times slower).

Compiled code is cached in a folder named by a hash of the sources: numba itself looks only at the
file of a function, and would use code whose callees or constants in other files have changed. One
process at a time compiles a function and the others wait for it: two concurrent writers can store
code under another function's name (numba #10128).
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar

import numba
from filelock import FileLock
from numba import njit
from numba import prange as prange
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

from dsgkit.system.files import WITHOUT_RESULTS, source_hash

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before numba starts its threads

_RUNNER = ("config", "data", "experiment", "tasks", "text", "user_code.py")
"""Rooms that compiled code of other files does not depend on: their edits need no compilation."""


@functools.cache
def cache_folder() -> Path:
    """Return the folder of code that is compiled from the present sources."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "dsgkit" / "compiled"
    return folder / f"{numba.__version__}-{source_hash((*WITHOUT_RESULTS, *_RUNNER))}"


class _Locator(_CacheLocator):
    """Tells numba where a function's code is: nowhere else, wherever the package lies."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._folder, self._file = cache_folder() / function.__module__, Path(file)
        self._line = function.__code__.co_firstlineno
        self.ensure_cache_path()

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return hashlib.sha256(self._file.read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Stored(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Stored


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles with some of numba's options."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(error_model="numpy", **options)(function)
        with suppress(OSError):  # the folder cannot be written: each process compiles
            if not numba.config.DISABLE_JIT:
                dispatcher._cache = _Cache(function)
                lock = f"{function.__module__}/{function.__code__.co_firstlineno}.lock"
                dispatcher.compile = _in_turn(dispatcher.compile, cache_folder() / lock)
        return dispatcher

    return decorate


def _in_turn(compile_: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """Return a dispatcher's ``compile``, which loads or stores code, for one process at a time.

    numba's own lock is taken first: numba holds it while it compiles callees, and two threads that
    took the locks in different orders would deadlock.
    """
    file_lock = FileLock(lock, thread_local=False)

    def compiled(signature: Any) -> Any:
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError, NotImplementedError):  # a file system without locks
                held.enter_context(file_lock)
            return compile_(signature)

    return compiled


exact = _compiled()
exact_parallel = _compiled(parallel=True)
fast = _compiled(fastmath={"contract"})
fast_parallel = _compiled(fastmath={"contract"}, parallel=True)
reducing = _compiled(fastmath={"contract", "reassoc", "nsz"})
reducing_parallel = _compiled(fastmath={"contract", "reassoc", "nsz"}, parallel=True)
