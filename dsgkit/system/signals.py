"""Orderly stop of a command on signals."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAME_SECONDS = 2.0
"""Signals within this time are one request to stop."""

_request: Interrupted | None = None


class Interrupted(BaseException):
    """Raised when the user or the system asks to stop; ``exit_code`` is as shells expect.

    Not a `KeyboardInterrupt`: libraries handle those themselves.
    """

    def __init__(self, number: int) -> None:
        self.exit_code, self.at = 128 + number, time.monotonic()
        by = signal.Signals(number).name
        super().__init__("interrupted" if number == signal.SIGINT else f"stopped by {by}")


def stop_if_asked() -> None:
    """Raise a signal's exception again: Python drops exceptions raised in a ``__del__``."""
    if _request is not None:
        raise _request


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `Interrupted` on Ctrl-C, when the terminal is closed, and on SIGTERM.

    After a block has been stopped, the process is about to end and ignores these signals.
    """
    global _request
    before = {
        number: signal.signal(number, _stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # set by nohup
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if _request is None else signal.SIG_IGN)
        _request = None


def _stop(number: int, _frame: FrameType | None) -> None:
    """Stop once: a second signal would break the orderly end."""
    global _request
    if _request is None or time.monotonic() - _request.at > SAME_SECONDS:
        _request = Interrupted(number)
        raise _request
