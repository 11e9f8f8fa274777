"""Messages between a non-blocking parent process and a blocking worker.

A message is its length, then its pickle. A worker may stop or hang in the middle of a message; the
main process then keeps what it has received. Solvers run in the worker, so its messages are not
trusted: they are unpickled to plain values and arrays only.
"""

from __future__ import annotations

import io
import pickle
import selectors
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedRWPair
from typing import Any

_LENGTH = struct.Struct("!Q")
_CHUNK_BYTES = 2**20
"""Bytes received at a time: an endless sender cannot block the receiver."""

_MAX_MESSAGE_BYTES = 2**28
"""Bytes of a message from a worker; the arrays of a figure are far smaller."""

_ARRAY_PARTS = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{name}", function)
        for core in ("core", "_core")  # before and since numpy 2
        for name, function in (
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
            ("numeric", "_frombuffer"),
        )
    ),
}
"""Functions and classes in pickled arrays and numbers of numpy."""


class MessageError(Exception):
    """The bytes are not a message, or hold something other than plain values and arrays."""


class _Plain(pickle.Unpickler):
    """Unpickles plain values and arrays only: other classes could run code of their own."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAY_PARTS:
            return super().find_class(module, name)
        raise MessageError(f"{module}.{name} is not a number, text or array")


def write_message(stream: BufferedRWPair, message: Any) -> None:
    """Send a message; blocks until it is written."""
    stream.write(_framed(message))
    stream.flush()


def read_message(stream: BufferedRWPair) -> Any:
    """Wait for a message and return it.

    Raises
    ------
    EOFError
        If the other end is closed, even in the middle of a message.
    """
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return pickle.loads(_read_exactly(stream, length))


def _read_exactly(stream: BufferedRWPair, size: int) -> bytes:
    try:
        content = stream.read(size)
    except ConnectionError:  # the other process was killed with messages unread
        raise EOFError from None
    if len(content) < size:
        raise EOFError
    return content


def _framed(message: Any) -> bytes:
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


class Channel:
    """Non-blocking end of a connection.

    Parameters
    ----------
    end : socket.socket
        The other end uses `write_message` and `read_message`.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._to_send = bytearray()
        self._received = bytearray()

    def register(self, selector: selectors.BaseSelector) -> None:
        """Register this end for the events that `exchange` handles."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._to_send else 0)
        selector.register(self._end, events)

    def send(self, message: Any) -> None:
        """Send as much of a message as the buffer takes; `exchange` sends the rest.

        Raises
        ------
        OSError
            If the other end is closed.
        """
        self._to_send += _framed(message)
        self._flush()

    def _flush(self) -> None:
        with suppress(BlockingIOError):
            while self._to_send:
                del self._to_send[: self._end.send(self._to_send)]

    def exchange(self) -> bool:
        """Send and receive without waiting; return whether anything was received.

        Raises
        ------
        EOFError, OSError
            If the other end is closed.
        """
        self._flush()
        try:
            piece = self._end.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not piece:
            raise EOFError
        self._received += piece
        return True

    def messages(self) -> Iterator[Any]:
        """Yield the messages that have been received completely.

        Raises
        ------
        MessageError
            If the bytes are not a message.
        """
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            if length > _MAX_MESSAGE_BYTES:
                raise MessageError(f"a message of {length:,} bytes")
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            content = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            yield _unpickled(content)

    def close(self) -> None:
        """Close this end."""
        self._end.close()


def _unpickled(content: bytes) -> Any:
    try:
        return _Plain(io.BytesIO(content)).load()
    except MessageError:
        raise
    except Exception as error:  # untrusted bytes can raise anything
        raise MessageError(f"{type(error).__name__}: {error}") from error
