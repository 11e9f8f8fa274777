"""Code of a user's own in the process in charge: it can neither end it unnoticed nor hold it.

To plan, classes of a user's own are imported, made and asked. What they raise is told like any
other mistake in a config. What no handler sees (``os._exit``, a crash in compiled code, a loop
without end) happens in a rehearsal first: a fork of this process does the same, and only once that
has come to its end this process does it.
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

from dsgkit.errors import ConfigError, DsgError
from dsgkit.origin import one_line, text_of
from dsgkit.settings import kept_settings
from dsgkit.signals import is_request

_Answer = TypeVar("_Answer")
_Kinds = type[BaseException] | tuple[type[BaseException], ...]

STARTING = 30.0
"""Seconds for a user's own code to be imported, or planned with, on top of a cell's time limit.

Without a limit a rehearsal is given up then: code may wait for ever only because it runs in a fork,
where the threads of libraries are missing."""

_LIFE_SECONDS = 0.2
"""How often it is looked at whether the fork lives: what it forked may hold the pipe open."""

_DONE = b"done"
_PR_SET_PDEATHSIG = 1

_LEAVING = 5.0
"""Seconds for what is to be done when the process ends."""

_on = False
_timeout: float | None = None
_asked = False


@contextmanager
def rehearsing(timeout: float | None) -> Iterator[None]:
    """Have `rehearse` do something in the block.

    Parameters
    ----------
    timeout : float or None
        A cell's limit in seconds, which with `STARTING` is that of a rehearsal, too; with None,
        what takes longer than `STARTING` is done without having come to its end before.
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
    """Return the answer to a question that has code of a user's own run, having rehearsed it.

    Parameters
    ----------
    doing, passing
        As in `users_code`.
    question : callable
        Is called twice: by a fork of this process, and by this one.
    rehearsed : bool
        Whether by the fork, which libraries need not be.

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
    """End the process with an exit code, having a fork of it do what is to be done at exit.

    User code may have registered anything with `atexit`, such as another exit.
    """
    child = _fork()
    if child == 0:
        sys.exit(code)
    deadline = time.monotonic() + _LEAVING
    while time.monotonic() < deadline and not _has_ended(child):
        time.sleep(0.01)
    _end(child)
    os._exit(code)


@contextmanager
def users_code(doing: str, passing: _Kinds = DsgError) -> Iterator[None]:
    """Raise what a user's own code raises as a `ConfigError`, were it `SystemExit`.

    A copy of this process that it makes ends with the block: there is one process in charge, whose
    settings are restored.

    Parameters
    ----------
    doing : str
        What is done in the block, for the message.
    passing : type of exception, or several
        What is left as it is, if it can be told.
    """
    here = os.getpid()
    try:
        # a worker has its class's settings, as it runs no other's cells
        with kept_settings() if _on else nullcontext():
            yield
    except BaseException as error:
        # what an exception says of its class, and of its text, is up to a user's own code, too
        can_be_told = text_of(error) is not None
        if asks_to_stop(error) or (can_be_told and issubclass(type(error), passing)):
            raise
        # who shows a cause asks for its text
        told = ConfigError(f"{doing} raises {one_line(error)}")
        raise told from (error if can_be_told else None)
    finally:
        if os.getpid() != here:
            os._exit(1)


def asks_to_stop(error: BaseException) -> bool:
    """Tell whether an exception is a user's request to stop, and none that a user's code raises.

    In commands a signal raises it; elsewhere, Python raises `KeyboardInterrupt` at Ctrl-C.
    """
    return is_request(error) or (type(error) is KeyboardInterrupt and not _on)


def rehearse(doing: str, action: Callable[[], object]) -> None:
    """Try in a fork of this process whether it survives an action, and whether that ends.

    What the action raises, or prints, is left for the action itself to raise and print; here, it
    is only tried whether what it raises can be told.

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
    """Do it, say so, and be gone: the rest of the program is not for this process."""
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
    """Have the system kill this process when the one that forked it is gone, if it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _problem(child: int, pipe: int) -> str:
    """Wait for a rehearsal, and return what is wrong with it; empty if nothing is."""
    deadline = time.monotonic() + (_timeout or 0) + STARTING
    while time.monotonic() < deadline:
        end = _has_ended(child)
        if select.select([pipe], [], [], 0 if end else _LIFE_SECONDS)[0]:
            if os.read(pipe, len(_DONE)) == _DONE:
                return ""
            if not end:
                time.sleep(_LIFE_SECONDS)  # it has closed its end, which select tells at once
        if end:
            how = _exit_code if end.si_code == os.CLD_EXITED else _signal
            return f"{how(end.si_status)}; code of your own has to return, or to raise an error"
    if _timeout is None:
        return ""
    return f"does not end: stopped after {_timeout:g} s of --timeout and {STARTING:g} s more"


def _has_ended(child: int) -> os.waitid_result | None:
    """Return how a fork has ended, once it has; it is still to be waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def _exit_code(code: int) -> str:
    return f"ends the process, with exit code {code}"


def _signal(number: int) -> str:
    return f"ends the process, by {signal.Signals(number).name}"


def _end(child: int) -> None:
    """Kill a fork, with what it has started, and wait for it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # it may not have had the time to lead a group
    os.waitpid(child, 0)
