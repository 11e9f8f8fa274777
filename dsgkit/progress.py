"""How far a long computation is, told to whoever listens.

Computations call `report`; without a listener it does nothing. So solvers need not know of
progress bars, and callers need not pass them through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(fraction: float) -> None:
    """Tell the listener, if there is one, which fraction of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(fraction)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a function called with every fraction reported inside the ``with`` block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """Make what is reported inside the block a part of the whole, from ``low`` to ``high``."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda fraction: outer(low + fraction * (high - low))):
        yield
    report(high)
