"""Messages between the process in charge, which must wait for nobody, and one that may.

A message is pickled and follows its length. A worker may be stopped, or hang, in the middle of
one; the process in charge then keeps what has come of it.
"""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedRWPair
from typing import Any

_LENGTH = struct.Struct("!Q")
_PIECE = 2**20
"""Bytes that are taken at a time; one who never stops sending cannot keep the receiver."""


def write_message(stream: BufferedRWPair, message: Any) -> None:
    """Send a message, and wait until it is on its way."""
    stream.write(_framed(message))
    stream.flush()


def read_message(stream: BufferedRWPair) -> Any:
    """Wait for a message, and return it.

    Raises
    ------
    EOFError
        If the other end is closed.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(*_LENGTH.unpack(head)))


def _framed(message: Any) -> bytes:
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


class Channel:
    """An end of a connection where nothing waits for the other end.

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
            piece = self._end.recv(_PIECE)
        except BlockingIOError:
            return False
        if not piece:
            raise EOFError
        self._received += piece
        return True

    def messages(self) -> Iterator[Any]:
        """Yield the messages that have come as a whole."""
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            content = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            yield pickle.loads(content)

    def close(self) -> None:
        """Close this end."""
        self._end.close()
