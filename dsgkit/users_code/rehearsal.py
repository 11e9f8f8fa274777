"""Run user code so that it cannot kill or hang the main process.

Planning imports user-defined classes, makes instances of them and calls their methods. Exceptions
that they raise are reported like any other mistake in a config. What no handler catches
(``os._exit``, a crash in compiled code, an endless loop) happens in a rehearsal first: a fork of
this process does the same, and only if the fork finishes, this process does it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import NoReturn, TypeVar

from dsgkit.system.settings import kept_settings
from dsgkit.system.signals import is_request
from dsgkit.text.errors import ConfigError, DsgError
from dsgkit.users_code.origin import one_line, text_of

_Answer = TypeVar("_Answer")
_Kinds = type[BaseException] | tuple[type[BaseException], ...]

STARTING_SECONDS = 30.0
"""Seconds for importing user code, or planning with it, on top of a cell's time limit.

Without a limit a rehearsal is abandoned after this time: code may hang only because it runs in a
fork, where the threads of libraries are missing."""

_POLL_SECONDS = 0.2
"""Seconds between two checks whether the fork lives: its own forks may hold the pipe open."""

_DONE = b"done"
_PR_SET_PDEATHSIG = 1

_EXIT_SECONDS = 5.0
"""Seconds for exit handlers."""

_on = False
_timeout: float | None = None
_asked = False


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


def asked(
    doing: str,
    question: Callable[[], _Answer],
    passing: _Kinds = DsgError,
    *,
    rehearsed: bool = True,
) -> _Answer:
    """Rehearse a question that runs user code, ask it, and return the answer.

    Parameters
    ----------
    doing, passing
        As in `users_code`.
    question : callable
        Called twice: by a fork of this process, and by this one.
    rehearsed : bool
        Whether the fork calls it first; libraries need no rehearsal.

    Raises
    ------
    ConfigError
        If the code ends the process, holds it, or raises something.
    """
    global _asked
    _asked = True
    if rehearsed:
        rehearse(doing, question)
    with users_code(doing, passing):
        return question()


def asked_users_code() -> bool:
    """Return whether user code has run in this process."""
    return _asked


def leave(code: int) -> NoReturn:
    """End the process with an exit code; a fork of it runs the exit handlers.

    User code may have registered anything with `atexit`, such as another exit.
    """
    child = _fork()
    if child == 0:
        sys.exit(code)
    deadline = time.monotonic() + _EXIT_SECONDS
    while time.monotonic() < deadline and not _has_ended(child):
        time.sleep(0.01)
    _end(child)
    os._exit(code)


@contextmanager
def users_code(doing: str, passing: _Kinds = DsgError) -> Iterator[None]:
    """Turn any exception of user code in the block, even `SystemExit`, into a `ConfigError`.

    A fork that the code makes of this process ends with the block. The settings of the process are
    restored.

    Parameters
    ----------
    doing : str
        What is done in the block, for the message.
    passing : type of exception, or several
        Exceptions that pass unchanged, if their text can be read.
    """
    here = os.getpid()
    try:
        # a worker has its class's settings, as it runs no other's cells
        with kept_settings() if _on else nullcontext():
            yield
    except BaseException as error:
        # user code also decides what an exception's class and text are
        can_be_told = text_of(error) is not None
        if asks_to_stop(error) or (can_be_told and issubclass(type(error), passing)):
            raise
        # showing a cause reads its text
        told = ConfigError(f"{doing} raises {one_line(error)}")
        raise told from (error if can_be_told else None)
    finally:
        if os.getpid() != here:
            os._exit(1)


def asks_to_stop(error: BaseException) -> bool:
    """Return whether an exception is a user's request to stop, not one raised by user code.

    In commands a signal raises it; elsewhere, Python raises `KeyboardInterrupt` at Ctrl-C.
    """
    return is_request(error) or (type(error) is KeyboardInterrupt and not _on)


def rehearse(doing: str, action: Callable[[], object]) -> None:
    """Check in a fork of this process that an action finishes without killing the process.

    The fork prints nothing. It passes over exceptions, which the action then raises here, and only
    tries to read their texts.

    Raises
    ------
    ConfigError
        If the fork has ended before the action had, or had to be stopped at a time limit.
    """
    if not _on:
        return
    ours, theirs = os.pipe()
    child = _fork()
    if child == 0:
        _perform(action, theirs)
    os.close(theirs)
    try:
        problem = _problem(child, ours)
    finally:
        os.close(ours)
        _end(child)
    if problem:
        raise ConfigError(f"{doing} {problem}")


def _fork() -> int:
    with warnings.catch_warnings():
        # of Python 3.12 and later, as the libraries of linear algebra have threads
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _perform(action: Callable[[], object], pipe: int) -> None:
    """Perform the action, report that, and exit: the fork does not run the rest of the program."""
    here = os.getpid()
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
            os.write(pipe, _DONE)
    finally:
        os._exit(0)


def _end_with_parent() -> None:
    """Have Linux kill this process when its parent has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _problem(child: int, pipe: int) -> str:
    """Wait for a rehearsal, and return its problem; empty if there is none."""
    deadline = time.monotonic() + (_timeout or 0) + STARTING_SECONDS
    while time.monotonic() < deadline:
        end = _has_ended(child)
        if select.select([pipe], [], [], 0 if end else _POLL_SECONDS)[0]:
            if os.read(pipe, len(_DONE)) == _DONE:
                return ""
            if not end:
                time.sleep(_POLL_SECONDS)  # select returns at once when the other end is closed
        if end:
            how = _exit_code if end.si_code == os.CLD_EXITED else _signal
            return f"{how(end.si_status)}; code of your own has to return, or to raise an error"
    if _timeout is None:
        return ""
    return (
        f"does not end: stopped after {_timeout:g} s of --timeout and {STARTING_SECONDS:g} s more"
    )


def _has_ended(child: int) -> os.waitid_result | None:
    """Return how a fork has ended, None while it runs; the fork is not reaped."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def _exit_code(code: int) -> str:
    return f"ends the process, with exit code {code}"


def _signal(number: int) -> str:
    return f"ends the process, by {signal.Signals(number).name}"


def _end(child: int) -> None:
    """Kill a fork with its process group, and wait for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # it may not lead a group yet
    os.waitpid(child, 0)
