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

from dsgkit.system.files import WITHOUT_RESULTS, source_hash

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before numba starts its threads

# compiled code of other files does not depend on these: their edits need no compilation
_RUNNER = ("config", "data", "experiment", "tasks", "text.py", "user_code.py")

_CACHE_HOME = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
_SOURCES = source_hash((*WITHOUT_RESULTS, *_RUNNER))
CACHE_FOLDER = (
    Path(_CACHE_HOME or Path.home() / ".cache") / f"dsgkit/compiled/{numba.__version__}-{_SOURCES}"
)


class _Locator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Tells numba where a function's code is: nowhere else, wherever the package lies."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._folder = str(CACHE_FOLDER / function.__module__)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()


class _Stored(CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Stored


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return a function that is compiled, or loaded, for one process at a time.

    numba's own lock is taken first: numba holds it while it compiles callees, and two threads that
    took the locks in different orders would deadlock.
    """
    dispatcher = njit(error_model="numpy", **options)(function)
    if numba.config.DISABLE_JIT:
        return dispatcher
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:  # the folder cannot be written: each process compiles
        return dispatcher
    compile_, line = dispatcher.compile, function.__code__.co_firstlineno
    lock = FileLock(CACHE_FOLDER / function.__module__ / f"{line}.lock", thread_local=False)

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError, NotImplementedError):  # a file system without locks
                held.enter_context(lock)
            return compile_(signature)

    dispatcher.compile = compile_in_turn
    return dispatcher


exact = _compiled
exact_parallel = partial(_compiled, parallel=True)
fast = partial(_compiled, fastmath={"contract"})
fast_parallel = partial(_compiled, fastmath={"contract"}, parallel=True)
reducing = partial(_compiled, fastmath={"contract", "reassoc", "nsz"})
reducing_parallel = partial(_compiled, fastmath={"contract", "reassoc", "nsz"}, parallel=True)
