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

GNU OpenMP ends a forked process at its first parallel loop, if its parent has run one. There,
`exact_parallel` and the others are compiled for one thread instead.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numba
from filelock import FileLock
from numba import njit
from numba import prange as prange
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.np.ufunc import parallel as _numba_threads

from dsgkit.system.files import compiled_folder, say_first_use

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before numba starts its threads

CACHE_FOLDER = compiled_folder()

_parallel: list[Any] = []  # functions with parallel loops
_forked = False


class _Locator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Tells numba where to cache compiled code: in our folder, wherever the package is."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._folder = str(CACHE_FOLDER / ("forked" if _forked else "") / function.__module__)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()


class _Stored(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Stored

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        stored = super().load_overload(sig, target_context)
        if stored is None:
            say_first_use()
        return stored


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return a function that is compiled, or loaded, for one process at a time.

    numba's own lock is taken first: numba holds it while it compiles callees, and two threads that
    took the locks in different orders would deadlock.
    """
    dispatcher = njit(error_model="numpy", **options)(function)
    if numba.config.DISABLE_JIT:
        return dispatcher
    if "parallel" in options:
        _parallel.append(dispatcher)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:  # the folder cannot be written: each process compiles
        return dispatcher
    compile_, line = dispatcher.compile, function.__code__.co_firstlineno

    def compile_in_turn(signature: Any) -> Any:
        lock = FileLock(Path(dispatcher._cache.cache_path) / f"{line}.lock")
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError, NotImplementedError):  # a file system without locks
                held.enter_context(lock)
            return compile_(signature)

    dispatcher.compile = compile_in_turn
    return dispatcher


def _compile_serially() -> None:
    """Have a forked process compile its parallel functions again, for one thread."""
    global _forked
    _forked = _numba_threads._is_initialized
    for dispatcher in _parallel if _forked else ():
        dispatcher.targetoptions["parallel"] = False
        dispatcher._reset_overloads()
        with suppress(RuntimeError):
            dispatcher._cache = _Cache(dispatcher.py_func)


os.register_at_fork(after_in_child=_compile_serially)

exact = _compiled
exact_parallel = partial(_compiled, parallel=True)
fast = partial(_compiled, fastmath={"contract"})
fast_parallel = partial(_compiled, fastmath={"contract"}, parallel=True)
reducing = partial(_compiled, fastmath={"contract", "reassoc", "nsz"})
reducing_parallel = partial(_compiled, fastmath={"contract", "reassoc", "nsz"}, parallel=True)
