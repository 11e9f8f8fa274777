"""Streaming of files: decompression, checksums, and text in chunks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.find import FoundFile
from dsgkit.data.numbers import LineError
from dsgkit.errors import DataError

CHUNK_BYTES = 4 * 2**20
"""Uncompressed bytes read at a time."""

LONGEST_LINE = 32 * 2**20
"""Bytes of a line; a file without line ends must not fill the memory."""

MIN_COMPILED_BYTES = 2**17
"""Bytes of lines above which compiled code reads them; loading it takes a second."""

_OPENERS: dict[str, Callable[..., Any]] = {
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".gz": gzip.open,
}
ROW_LINE, BLANK_LINE, CAREFUL_LINE = 0, 1, 2
"""Kinds of lines: read, blank, and left to the careful parser."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# RuntimeError: an encrypted archive, and, as NotImplementedError, an unknown compression
_DAMAGED = (
    *(OSError, EOFError, RuntimeError, MemoryError),
    *(lzma.LZMAError, zlib.error, zipfile.BadZipFile),
)


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a file, and the number of the first one, from 1."""

    data: bytes
    first_line: int


@dataclass(frozen=True)
class Lines:
    """Lines within some bytes.

    Attributes
    ----------
    data : bytes
        The bytes, ending in a line feed.
    starts, ends : ndarray of int64, shape (n_lines,)
        Start and end of each line, without its line feed.
    first_line : int
        Number of the first line, from 1.
    """

    data: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_line: int

    @classmethod
    def of(cls, chunk: Chunk) -> Lines:
        """Find the lines of a chunk."""
        data = chunk.data if chunk.data.endswith(b"\n") else chunk.data + b"\n"
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        starts = np.concatenate([[0], ends[:-1] + 1])
        return cls(data, starts, ends, chunk.first_line)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[bytes]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> bytes:
        return self.data[self.starts[i] : self.ends[i]]

    @property
    def is_large(self) -> bool:
        """Whether their chunk is large enough for compiled code."""
        return len(self.data) >= MIN_COMPILED_BYTES

    def halves(self) -> tuple[Lines, ...]:
        """Return both halves, or nothing if the lines are too few for compiled code."""
        half = len(self) // 2
        if not half or self.ends[-1] - self.starts[0] < MIN_COMPILED_BYTES:
            return ()
        return self.part(0, half), self.part(half, len(self))

    @property
    def text(self) -> bytes:
        """All lines, with their line feeds."""
        return self.data[self.starts[0] : self.ends[-1] + 1]

    def part(self, start: int, stop: int) -> Lines:
        """Return some of the lines."""
        part = slice(start, stop)
        return Lines(self.data, self.starts[part], self.ends[part], self.first_line + start)

    def parts(self, n_lines: int) -> Iterator[Lines]:
        """Yield the lines in parts of at most ``n_lines``."""
        return (self.part(i, i + n_lines) for i in range(0, len(self), n_lines))


class LineReader:
    """Iterates over a text file in chunks of lines; a thread reads ahead.

    A byte order mark of UTF-8 is removed.

    Parameters
    ----------
    source : FoundFile
        The file, plain or compressed.
    """

    def __init__(self, source: FoundFile) -> None:
        self.source = source
        self._sha256 = hashlib.sha256() if source.file.sha256 else None

    def __iter__(self) -> Generator[Chunk]:
        # in this order, so that the thread ends before the file is closed
        with closing(self._chunks()) as chunks, ThreadPoolExecutor(1) as thread:
            chunk = next(chunks, None)
            while chunk is not None:
                following = thread.submit(next, chunks, None)
                yield chunk
                chunk = following.result()

    def check_sha256(self) -> None:
        """Compare the checksum of the read content with the registered one, if there is one.

        Raises
        ------
        DataError
            If they differ.
        """
        if self._sha256 is not None:
            check_sha256(self.source, self._sha256.hexdigest())

    def _chunks(self) -> Generator[Chunk]:
        rest, line = b"", 1
        for block in read_content(self.source):
            if self._sha256 is not None:
                self._sha256.update(block)
            end = block.rfind(b"\n") + 1
            if end:
                chunk = Chunk(b"".join((rest, memoryview(block)[:end])), line)
                rest = block[end:]
                yield self._as_text(chunk)
                # twice as fast as `bytes.count`
                line += int(np.count_nonzero(np.frombuffer(chunk.data, np.uint8) == ord("\n")))
            else:
                rest += block
            if len(rest) > LONGEST_LINE:
                raise DataError(
                    f"{self.source.label}:{line}: a line of more than {LONGEST_LINE:,} bytes; "
                    "lines have to end in line feeds"
                )
        if rest:
            yield self._as_text(Chunk(rest, line))

    def _as_text(self, chunk: Chunk) -> Chunk:
        if chunk.first_line > 1:
            return chunk
        if chunk.data.startswith(_UTF_16):
            raise DataError(f"{self.source.label}:1: UTF-16 text; convert the file to UTF-8")
        return Chunk(chunk.data.removeprefix(_BYTE_ORDER_MARK), 1)


def decoded(line: bytes) -> str:
    """Return the text of a line, without carriage returns at its end.

    Raises
    ------
    LineError
        If it is not text.
    """
    content = checked(line)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise LineError(f"not UTF-8 ({error.reason}); convert the file") from error


def checked(line: bytes) -> bytes:
    """Return a line without carriage returns at its end; raise `LineError` if it is not text."""
    content = line.rstrip(b"\r")
    if b"\r" in content:
        raise LineError("a carriage return within the line; lines have to end in line feeds")
    if b"\0" in content:
        raise LineError("a NUL byte: this is not text, or not UTF-8")
    return content


def read_content(source: FoundFile) -> Iterator[bytes]:
    """Yield the uncompressed content of a file in blocks; errors as those of `open_content`."""
    with open_content(source) as stream:
        while block := stream.read(CHUNK_BYTES):
            yield block


@contextmanager
def open_content(source: FoundFile) -> Iterator[IO[bytes]]:
    """Open the uncompressed content of a file for reading.

    Raises
    ------
    DataError
        If it cannot be read or is damaged, at any time until it is closed.
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
    sha256 = hashlib.sha256()
    for block in read_content(source):
        sha256.update(block)
    return sha256.hexdigest()


def check_sha256(source: FoundFile, actual: str) -> None:
    """Compare a checksum with the registered one.

    Raises
    ------
    DataError
        If they differ.
    """
    expected = source.file.sha256
    if expected and actual != expected:
        raise DataError(
            f"{source.label}: the sha256 of the uncompressed content is {actual}, but {expected} "
            "is registered; replace the file (for a file of your own, set `path` and another "
            "`name`)"
        )


def holds_no(what: str, source: FoundFile) -> DataError:
    """Return the error for a file without rows or features."""
    why = f"holds no {what}" if source.path.stat().st_size else "is empty"
    return DataError(f"{source.label}: the file {why}")


def check_rows(source: FoundFile, n_rows: int) -> None:
    """Compare a number of rows with the registered one.

    Raises
    ------
    DataError
        If they differ, or there are no rows.
    """
    expected = source.file.n_rows
    if n_rows == 0:
        raise holds_no("rows", source)
    if expected is not None and n_rows != expected:
        raise DataError(f"{source.label}: {n_rows:,} rows, but {expected:,} are expected")
