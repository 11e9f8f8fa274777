"""Files of any size, uncompressed and hashed on the way; text in pieces of whole lines."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from dsgkit.data.find import FoundFile
from dsgkit.errors import DataError

CHUNK_BYTES = 32 * 2**20
"""Uncompressed bytes read at a time."""

_OPENERS: dict[str, Callable[..., Any]] = {
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".gz": gzip.open,
}
_LARGEST = float(np.finfo(np.float32).max)
_DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a file.

    Attributes
    ----------
    data : bytes
        The lines.
    first_line : int
        Number of the first one, from 1.
    """

    data: bytes
    first_line: int


class LineReader:
    """Iterates over a file in chunks of lines.

    Parameters
    ----------
    source : FoundFile
        The file, plain or compressed.

    Attributes
    ----------
    sha256
        Digest of all bytes read so far; of the whole uncompressed file after the last chunk.
    """

    def __init__(self, source: FoundFile) -> None:
        self.source = source
        self.sha256 = hashlib.sha256()

    def __iter__(self) -> Iterator[Chunk]:
        rest, line = b"", 1
        for block in self._blocks():
            self.sha256.update(block)
            end = block.rfind(b"\n") + 1
            if not end:
                rest += block
                continue
            chunk = Chunk(rest + block[:end], line)
            rest = block[end:]
            line += chunk.data.count(b"\n")
            yield chunk
        if rest:
            yield Chunk(rest, line)

    def _blocks(self) -> Iterator[bytes]:
        with open_content(self.source) as stream:
            while block := stream.read(CHUNK_BYTES):
                yield block


@contextmanager
def open_content(source: FoundFile) -> Iterator[IO[bytes]]:
    """Open the uncompressed content of a file for reading.

    Raises
    ------
    DataError
        When it cannot be read, or is damaged: also while it is being read.
    """
    try:
        with _open(source) as stream:
            yield stream
    except _DAMAGED as error:
        raise DataError(f"{source.label}: cannot be read ({error})") from error


@contextmanager
def _open(source: FoundFile) -> Iterator[IO[bytes]]:
    if source.member is None:
        opener = _OPENERS.get(source.path.suffix, open)
        with opener(source.path, "rb") as stream:
            yield stream
    else:
        with (
            zipfile.ZipFile(source.path) as archive,
            archive.open(_member(archive, source)) as file,
        ):
            yield file


def _member(archive: zipfile.ZipFile, source: FoundFile) -> str:
    """Return the full name of the member, which may lie in folders of the archive."""
    for name in archive.namelist():
        if name.rpartition("/")[2] == source.member and "__MACOSX" not in name:
            return name
    raise DataError(f"{source.path}: the archive holds no file {source.member}")


def checksum(source: FoundFile) -> str:
    """Return the SHA-256 of the uncompressed content."""
    reader = LineReader(source)
    for _ in reader:
        pass
    return reader.sha256.hexdigest()


def check_sha256(source: FoundFile, actual: str) -> None:
    """Compare a checksum with the registered one.

    Raises
    ------
    DataError
        When they differ; it names both.
    """
    expected = source.file.sha256
    if expected and actual != expected:
        raise DataError(
            f"{source.label}: the sha256 of the uncompressed content is {actual}, but {expected} "
            "is registered; replace the file (one of your own goes in by `path:` under its own "
            "name)"
        )


def check_rows(source: FoundFile, n_rows: int) -> None:
    """Compare a number of rows with the registered one.

    Raises
    ------
    DataError
        When they differ, and when there are none.
    """
    expected = source.file.n_rows
    if n_rows == 0:
        raise DataError(f"{source.label}: the file holds no rows")
    if expected is not None and n_rows != expected:
        raise DataError(f"{source.label}: {n_rows:,} rows, but {expected:,} are expected")


def number_problem(text: str) -> str | None:
    """Return what keeps a field from being a finite float32, None if nothing does."""
    if not text:
        return "empty field"
    try:
        value = float(text)
    except ValueError:
        return f"{text!r} is not a number"
    if not math.isfinite(value):
        return f"{text!r} is not finite"
    return f"{text!r} is too large for float32" if abs(value) > _LARGEST else None
