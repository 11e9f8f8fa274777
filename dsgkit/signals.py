"""Signals that stop a run in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The user, or the system, asks to stop.

    Parameters
    ----------
    number : int
        The signal.

    Attributes
    ----------
    exit_code : int
        128 and the signal's number, as shells expect: 130 for Ctrl-C.
    """

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        by_user = number == signal.SIGINT
        super().__init__("interrupted" if by_user else f"stopped by {signal.Signals(number).name}")


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `Interrupted` on Ctrl-C, on a terminal that is closed and on a request to terminate."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup asks
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
