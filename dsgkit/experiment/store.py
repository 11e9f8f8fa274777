"""The results store: a file of records that one process appends to."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dsgkit.errors import ResultsError, printable
from dsgkit.experiment.records import (
    MAX_LINE_BYTES,
    Record,
    Records,
    UnreadableError,
    parse,
    read_lines,
    sealed,
)
from dsgkit.system.files import (
    make_own_folder,
    open_regular,
    packed,
    sync_folder,
    write_atomically,
)

CELLS = "cells.jsonl"
LOCK = ".lock"
RESCUED = "rescued"
"""Prefix of files and folders with the records of a run whose file was replaced or removed."""

_CHUNK_BYTES = 2**20


class RefusedError(ResultsError):
    """A record that violates the schema and was not written."""


class Store:
    """Records of cells by key, in a results folder.

    Every record is one line of ``cells.jsonl`` with a checksum, on disk before `append` returns.
    When the store is opened, a last line that a crash cut off is removed, and other unreadable
    lines are moved to a separate file: their cells have no result then.

    Parameters
    ----------
    folder : Path
        Made if missing.
    fresh : bool
        Set earlier records aside (the file is renamed, not deleted) and start empty.

    Attributes
    ----------
    records : Records
        The records, with the entries that runs and reports need.
    set_aside : Path or None
        The file that unreadable lines were moved to, if any.

    Raises
    ------
    ResultsError
        If the folder cannot be written, or another run is writing to it.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.path = folder / CELLS
        self.set_aside: Path | None = None
        self.records = Records()
        self._rescued = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _acquire_lock(folder)
            try:
                self._file = self._open(fresh)
            except BaseException:
                self._lock.close()
                raise
        except OSError as error:
            raise ResultsError(
                f"{folder}: cannot write results there ({error.strerror}); use another --out"
            ) from None

    def _open(self, fresh: bool) -> int:
        """Repair the file, read it, and return its descriptor."""
        archive = packed(self.path)
        if archive.exists() and not self.path.exists():
            raise ResultsError(
                f"{archive}: kept results; run into another --out, or `unxz` it to continue them"
            )
        if fresh and self.path.exists():
            self.path.rename(self.folder / f"cells-{time.time_ns()}.jsonl")
        descriptor = _open_own(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if self._scan():
                self._repair()
                os.close(descriptor)
                descriptor = _open_own(self.path, os.O_RDWR | os.O_APPEND)
                self._scan()
            sync_folder(self.folder)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _scan(self) -> bool:
        """Read the records, and return whether there are unreadable lines."""
        self.records, self._size = Records(), 0
        other = False
        for line, whole in _lines(self.path):
            record = _record_of(line) if whole else None
            if record is None:
                other = True
            else:
                self.records.keep(record)
                self._size += len(line)
        return other

    def _repair(self) -> None:
        """Remove a truncated last line, and move other unreadable lines to a file next to it."""
        if next(_unreadable(self.path), None) is not None:
            self.set_aside = self.folder / f"unreadable-{time.time_ns()}.jsonl"
            write_atomically(self.set_aside, lambda file: file.writelines(_unreadable(self.path)))
        write_atomically(self.path, lambda file: file.writelines(_readable(self.path)))

    def append(self, record: Record) -> None:
        """Write a record; it survives a crash from here on.

        Raises
        ------
        ResultsError
            If it is not a record (`RefusedError`) or cannot be written, with the file unchanged;
            or as in `check_in_place`, with the record rescued like the others.
        """
        try:
            line = sealed(record)
        except UnreadableError as error:
            raise RefusedError(f"{self.path}: a record was refused ({error})") from None
        try:
            self._write(line)
        except OSError as error:
            raise ResultsError(
                f"{self.path}: cannot write ({error.strerror}); earlier results are safe"
            ) from None
        self.records.keep(parse(line))
        self.check_in_place()

    def _write(self, line: bytes) -> None:
        """Write a line completely or not at all, whenever a signal arrives."""
        before = self._size
        try:
            self._size = before + len(line)
            _write_all(self._file, line)
            os.fsync(self._file)
        except BaseException as error:
            with suppress(OSError):
                if isinstance(error, OSError) or os.fstat(self._file).st_size != self._size:
                    os.ftruncate(self._file, before)
                    self._size = before
            raise

    def check_in_place(self) -> None:
        """Check that the open file is still the one at the store's path.

        Raises
        ------
        ResultsError
            If the file was replaced (as editors do), changed or removed. The remaining records of
            this run are then rescued in a separate file, which the next run reads.
        """
        if problem := self._displaced():
            self._rescued = True
            raise ResultsError(f"{self.path}: {problem} during the run; {self._rescue()}")

    def _displaced(self) -> str:
        """Return what has happened to the file, for a message; empty if it is unchanged."""
        mine = os.fstat(self._file)
        try:
            there = self.path.lstat()
        except OSError:
            return "removed" if self.folder.is_dir() else "removed with its folder"
        if not os.path.samestat(mine, there):
            return "replaced by another file"
        return "" if mine.st_size == self._size else "changed by something else"

    def _rescue(self) -> str:
        """Copy the content of the open file to another file, and return a message with its path."""
        name = f"{RESCUED}-{time.time_ns()}"
        path = self.folder / f"{name}.jsonl"
        if not self.folder.is_dir():
            path = self.folder.with_name(f"{self.folder.name}-{name}") / CELLS
        whole = os.fstat(self._file).st_size == self._size
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda file: file.writelines(self._pieces()))
        except OSError as error:
            return f"its results could not be kept in {path} ({error.strerror})"
        results = "its results are" if whole else "what is left of its results is"
        return f"{results} in {path}, and the same `dsg run` continues from there"

    def _pieces(self) -> Iterator[bytes]:
        offset = 0
        while piece := os.pread(self._file, _CHUNK_BYTES, offset):
            yield piece
            offset += len(piece)

    def close(self) -> None:
        """Close the file and release the lock."""
        os.close(self._file)
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if not self._rescued:
                self.check_in_place()
        except ResultsError as displaced:
            if isinstance(error, ResultsError):  # report both
                raise ResultsError(f"{error}; {displaced}") from None
            raise
        finally:
            self.close()


def _open_own(path: Path, flags: int) -> int:
    """Open a file for writing and return its descriptor; links, which may lead anywhere, fail."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} is a link; put the file itself in its place")
    # O_NONBLOCK: does not wait if it is a pipe
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, f"{path.name} is not a regular file")


def _acquire_lock(folder: Path) -> BinaryIO:
    """Lock a results folder and return the open lock file, which names this process.

    It uses ``fcntl`` because of `running`, which opens the file for reading (the folder may be
    read-only, or another user's) and takes a shared lock, so that two callers do not mistake each
    other for a run. filelock's `FileLock` is exclusive and opens the file for writing; its releases
    up to 3.24 truncate the file before they have the lock, so that a second run would erase the
    name of the holder.
    """
    lock = os.fdopen(_open_own(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(lock)
        lock.close()
        raise ResultsError(
            f"{folder}: another run ({holder}) is writing there; wait for it or use another --out"
        ) from None
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    lock.flush()
    return lock


def _holder(lock: BinaryIO) -> str:
    lock.seek(0)
    text = lock.read(200).decode(errors="replace")
    return printable(text) or "unknown"


def running(folder: Path) -> str | None:
    """Return which process is writing to a results folder, if any."""
    try:
        with open_regular(folder / LOCK) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _holder(lock)
    except OSError:
        pass
    return None


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    with open_regular(path, follow=False) as file:
        yield from read_lines(file)


def _readable(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that are records."""
    for line, whole in _lines(path):
        if whole and _record_of(line) is not None:
            yield line


def _unreadable(path: Path) -> Iterator[bytes]:
    """Yield the other lines, except a last one without an end, which a crash has cut off."""
    pending = b""
    for line, whole in _lines(path):
        if pending:
            yield pending
        pending = b""
        if not line.endswith(b"\n"):
            pending = line
        elif not whole or _record_of(line) is None:
            yield line


def find_records(path: Path, keys: set[str]) -> Iterator[Record]:
    """Yield the records of some keys, for each key the last first, without parsing the others.

    Parameters
    ----------
    path : Path
    keys : set of str
        The caller may remove keys meanwhile: they are then skipped.
    """
    places: dict[str, list[int]] = {}
    start = 0
    with suppress(OSError), open_regular(path, follow=False) as file:
        for line, whole in _lines(path):
            key = line[9:41].decode(errors="replace")  # the line starts with {"key": "
            if whole and key in keys:
                places.setdefault(key, []).append(start)
            start += len(line)
        for key, starts in places.items():
            for start in reversed(starts):
                file.seek(start)
                record = (
                    _record_of(file.readline(MAX_LINE_BYTES), full=True) if key in keys else None
                )
                if record and record["key"] == key:  # a repeated "key" further on would win
                    yield record


def _record_of(line: bytes, *, full: bool = False) -> Record | None:
    """Return the record in a line, ``full`` for a copy; None if the line is not a record."""
    try:
        return parse(line, whole=full)
    except UnreadableError:
        return None


def write_file(path: Path, text: str) -> None:
    """Write a small text file atomically."""
    write_whole(path, lambda file: file.write(text.encode()))


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Call `write_atomically`, and raise `ResultsError` if the file cannot be written."""
    try:
        write_atomically(path, write)
    except OSError as error:
        raise ResultsError(f"{path}: cannot write ({error.strerror})") from None


def own_folder(folder: Path, name: str) -> Path:
    """Return a folder inside a results folder, made if missing; a link is an error."""
    path = folder / name
    try:
        make_own_folder(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot write there ({error.strerror})") from None
    return path


def check_writable(folder: Path, what: str = "results", option: str = "--out") -> None:
    """Raise `ResultsError` if a folder cannot be made or written to; nothing is created.

    Parameters
    ----------
    folder : Path
    what, option : str
        What will be written there, and the option for another folder, for the error.
    """
    problem, advice = f"{folder}: cannot write {what} there", f"use another {option}"
    try:
        nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    except OSError as error:
        raise ResultsError(f"{problem} ({error.strerror}); {advice}") from None
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ResultsError(f"{problem}; {advice}")
