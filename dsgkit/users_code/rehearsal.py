"""Run user code so that it cannot kill or hang the main process.

Planning imports user-defined classes, makes instances of them and calls their methods. Exceptions
that they raise are reported like any other mistake in a config. What no handler catches
(``os._exit``, a crash in compiled code, an endless loop) is detected in a rehearsal: a fork of this
process does the same first, and this process follows only if the fork finishes. A plan made by the
fork would not suffice: this process pickles every job with the protocol of its task.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import NoReturn

from dsgkit.errors import ConfigError, DsgError
from dsgkit.system.settings import kept_settings
from dsgkit.system.signals import is_request, signal_name
from dsgkit.users_code.origin import one_line, text_of

_Kinds = type[BaseException] | tuple[type[BaseException], ...]

STARTING_SECONDS = 30.0
"""Seconds for importing user code, or planning with it, on top of a cell's time limit.

Without a limit a rehearsal is abandoned after this time: code may hang only because it runs in a
fork, where the threads of libraries are missing."""

_EXIT_SECONDS = 5.0
"""Seconds for exit handlers."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two checks of a fork; each pause is twice as long as the one before."""

_PR_SET_PDEATHSIG = 1

_NOTE_BYTES = 1024
"""Bytes of a rehearsal's note; longer notes are truncated."""

_on = False
_timeout: float | None = None
_asked = False
"""Whether user code may have run in this process."""
_note: mmap.mmap | None = None
"""Note on what this process is doing, if it is a rehearsal; its parent reads it."""


@contextmanager
def rehearsing(timeout: float | None) -> Iterator[None]:
    """Switch `rehearse` on in the block.

    Parameters
    ----------
    timeout : float or None
        A cell's limit in seconds; a rehearsal may take `STARTING_SECONDS` more. With None, an
        action that takes longer than `STARTING_SECONDS` is performed although its rehearsal did not
        finish.
    """
    global _on, _timeout
    before = _on, _timeout
    _on, _timeout = True, timeout
    try:
        yield
    finally:
        _on, _timeout = before


def leave(code: int) -> NoReturn:
    """End the process with an exit code; user code cannot change that of a failure.

    User code may have registered anything with `atexit`, such as another exit, so that a fork runs
    the handlers.
    """
    if code and _asked:
        _in_fork(lambda: sys.exit(code), _EXIT_SECONDS)
        os._exit(code)
    sys.exit(code)


@contextmanager
def users_code(doing: str, passing: _Kinds = DsgError, advice: str = "") -> Iterator[None]:
    """Turn any exception of user code in the block, even `SystemExit`, into a `ConfigError`.

    A fork that the code makes of this process ends with the block. The settings of the process are
    restored. A rehearsal that ends in the block names what is done there.

    Parameters
    ----------
    doing : str
        What is done in the block, for the message.
    passing : type of exception, or several
        Exceptions that pass unchanged, if their text can be read.
    advice : str
        What to do about the others, for the message.
    """
    here, before = os.getpid(), _noted(_padded(doing))
    try:
        # a worker keeps the settings: it runs cells of one class only
        with kept_settings() if _on else nullcontext():
            yield
    except BaseException as error:
        # user code also decides what an exception's class and text are
        is_readable = text_of(error) is not None
        if _asks_to_stop(error) or (is_readable and issubclass(type(error), passing)):
            raise
        # to show a cause reads its text
        message = f"{doing} raises {one_line(error)}" + (f"; {advice}" if advice else "")
        raise ConfigError(message) from (error if is_readable else None)
    finally:
        if os.getpid() != here:
            os._exit(1)
        _noted(before)


def _noted(doing: bytes) -> bytes:
    """If this is a rehearsal, write a note on what it is doing; return the previous note."""
    if _note is None:
        return b""
    before = _note[:]
    _note[:] = doing
    return before


def _asks_to_stop(error: BaseException) -> bool:
    """Return whether an exception is a user's request to stop, not one raised by user code.

    In commands a signal raises it; elsewhere, Python raises `KeyboardInterrupt` at Ctrl-C.
    """
    return is_request(error) or (type(error) is KeyboardInterrupt and not _on)


def rehearse(doing: str, action: Callable[[], object]) -> None:
    """Check in a fork of this process that an action finishes without killing the process.

    The fork prints nothing. It ignores exceptions, which the action then raises again in this
    process, except that it reads their texts.

    Parameters
    ----------
    doing : str
        What the action does, for the message; blocks of `users_code` make it more specific.
    action : callable

    Raises
    ------
    ConfigError
        If the fork ended before the action, or was stopped at a time limit.
    """
    global _asked
    _asked = True
    if not _on:
        return
    with mmap.mmap(-1, _NOTE_BYTES) as note:  # forks share it
        note[:] = _padded(doing)
        seconds = (_timeout or 0) + STARTING_SECONDS
        end = _in_fork(lambda: _perform(action, note), seconds)
        doing = note[:].rstrip(b"\0").decode(errors="replace")
    if not doing:  # it has finished
        return
    if end is not None:
        exited, status = end.si_code == os.CLD_EXITED, end.si_status
        how = f"with exit code {status}" if exited else f"by {signal_name(status)}"
        advice = "your code has to return, or to raise an error"
        raise ConfigError(f"{doing} ends the process, {how}; {advice}")
    if _timeout is not None:
        limits = f"{_timeout:g} s of --timeout and {STARTING_SECONDS:g} s more"
        raise ConfigError(f"{doing} does not end: stopped after {limits}")


def _in_fork(action: Callable[[], NoReturn], seconds: float) -> os.waitid_result | None:
    """Fork, let the fork perform an action that ends it, and return how it ended.

    After ``seconds`` it is killed with its process group, and None is returned.
    """
    with warnings.catch_warnings():
        # since Python 3.12 a fork warns if there are threads, here of linear algebra libraries
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        action()
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    try:
        # not reaped yet, so that its process id cannot be reused before it is killed
        look = os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT
        while (end := os.waitid(*look)) is None and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return end
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it may not lead a group
        os.waitpid(child, 0)


def _perform(action: Callable[[], object], note: mmap.mmap) -> NoReturn:
    """Perform the action, clear the note, and exit without any clean-up."""
    global _note
    here, _note = os.getpid(), note
    try:
        os.setpgid(0, 0)
        _end_with_parent()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        try:
            action()
        except BaseException as error:
            with suppress(BaseException):
                one_line(error)
        if os.getpid() == here:
            note[:] = _padded("")
    finally:
        os._exit(0)


def _padded(text: str) -> bytes:
    return text.encode(errors="replace")[:_NOTE_BYTES].ljust(_NOTE_BYTES, b"\0")


def _end_with_parent() -> None:
    """Make Linux kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
