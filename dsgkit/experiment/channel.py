"""Messages between a non-blocking parent process and a blocking worker.

A message is pickled and follows its length. A worker may be stopped, or hang, in the middle of
one; the main process then keeps what it has received. Messages are not trusted: solvers run
where it comes from. Only plain values and arrays are made of it.
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
"""Bytes of a message from a worker; the arrays of a picture are far below."""

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
    """Unpickles no objects of classes: that would run their code in the main process."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAY_PARTS:
            return super().find_class(module, name)
        raise MessageError(f"{module}.{name} is not a number, text or array")


def write_message(stream: BufferedRWPair, message: Any) -> None:
    """Send a message, and wait until it is on its way."""
    stream.write(_framed(message))
    stream.flush()


def read_message(stream: BufferedRWPair) -> Any:
    """Wait for a message, and return it.

    Raises
    ------
    EOFError
        If the other end is closed, be it in the middle of a message.
    """
    return pickle.loads(_whole(stream, *_LENGTH.unpack(_whole(stream, _LENGTH.size))))


def _whole(stream: BufferedRWPair, size: int) -> bytes:
    try:
        content = stream.read(size)
    except ConnectionError:  # it was killed with messages unread
        raise EOFError from None
    if len(content) < size:
        raise EOFError
    return content


def _framed(message: Any) -> bytes:
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


class Channel:
    """A non-blocking end of a connection.

    Parameters
    ----------
    end : socket.socket
        Of a connection whose other end uses `write_message` and `read_message`.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end
        self._to_send = bytearray()
        self._received = bytearray()

    def register(self, selector: selectors.BaseSelector) -> None:
        """Have a selector tell when `exchange` has something to do."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._to_send else 0)
        selector.register(self._end, events)

    def send(self, message: Any) -> None:
        """Send a message as far as there is room; `exchange` sends the rest.

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
        """Receive and send what goes at once; return whether anything has come.

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
        """Yield the messages that have come as a whole.

        Raises
        ------
        MessageError
            If what has come is none.
        """
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            if length > _MAX_MESSAGE_BYTES:
                raise MessageError(f"{length:,} bytes at once")
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            content = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            yield _plain(content)

    def close(self) -> None:
        """Close this end."""
        self._end.close()


def _plain(content: bytes) -> Any:
    try:
        return _Plain(io.BytesIO(content)).load()
    except MessageError:
        raise
    except Exception as error:  # pickled or not, these bytes are somebody else's
        raise MessageError(f"{type(error).__name__}: {error}") from error
