"""The results store: one file of records, appended to by one process."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dsgkit.errors import ResultsError
from dsgkit.files import sync_folder, write_atomically

CELLS = "cells.jsonl"
LOCK = ".lock"
_IDENTITY = {"key": str, "kind": str, "solver": str, "trial": int, "at": dict}

Record = dict[str, Any]

_CHECK = re.compile(rb', "check": "([0-9a-f]{12})"}\n?$')
_ENDING = ("status", "needed", "limit", "timeout")


class _Place(NamedTuple):
    """Where a record lies in the file, and how its cell ended."""

    offset: int
    length: int
    ending: Record


class Store:
    """Records of cells under their keys, in a results folder.

    Every record is one line of ``cells.jsonl`` with a checksum, on disk before `append` returns.
    When the store is opened, a last line that a crash cut off is removed, and lines that are no
    records any more are moved to a file of their own: their cells have no result then. Only where
    records lie is held in memory.

    Parameters
    ----------
    folder : Path
        Made if missing.
    fresh : bool
        Set earlier records aside (the file is renamed, not deleted) and start with none.

    Attributes
    ----------
    set_aside : Path or None
        The file that unreadable lines were moved to.

    Raises
    ------
    ResultsError
        If the folder cannot be written, or another run is writing to it.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.path = folder / CELLS
        self.set_aside: Path | None = None
        self._places: dict[str, _Place] = {}
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
        """Return the descriptor of the repaired file."""
        if fresh and self.path.exists():
            self.path.rename(self.folder / f"cells-{time.time_ns()}.jsonl")
        if bad := self._scan():
            self._repair(bad)
            self._scan()
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        sync_folder(self.folder)
        return descriptor

    def _scan(self) -> list[bytes]:
        """Note where records lie, and return the lines that are none."""
        bad = []
        self._places, self._size = {}, 0
        if self.path.exists():
            for line, record in _lines(self.path):
                if record is None:
                    bad.append(line)
                else:
                    self._note(record, len(line))
        return bad

    def _repair(self, bad: list[bytes]) -> None:
        """Cut off a torn last line, and move other unreadable lines to a file beside this one."""
        if not bad[-1].endswith(b"\n"):
            os.truncate(self.path, self.path.stat().st_size - len(bad.pop()))
        if bad:
            self.set_aside = self.folder / f"unreadable-{time.time_ns()}.jsonl"
            write_atomically(self.set_aside, lambda file: file.writelines(bad))
            good = (line for line, record in _lines(self.path) if record is not None)
            write_atomically(self.path, lambda file: file.writelines(good))

    def _note(self, record: Record, length: int) -> None:
        ending = {name: record[name] for name in _ENDING if name in record}
        self._places[record["key"]] = _Place(self._size, length, ending)
        self._size += length

    def __contains__(self, key: str) -> bool:
        """Whether there is a record of a cell, whatever its status."""
        return key in self._places

    def __len__(self) -> int:
        """Return the number of cells with a record."""
        return len(self._places)

    def ending(self, key: str) -> Record | None:
        """Return how a cell ended: its ``status`` and the limit that it met; None if it did not."""
        place = self._places.get(key)
        return None if place is None else place.ending

    def record(self, key: str) -> Record:
        """Return the last record of a cell.

        Raises
        ------
        KeyError
            If there is none.
        """
        place = self._places[key]
        record = _parse(os.pread(self._file, place.length, place.offset))
        if record is None:
            raise ResultsError(f"{self.path}: changed by something else during the run")
        return record

    def append(self, record: Record) -> None:
        """Write a record; it survives a crash from here on.

        Raises
        ------
        ResultsError
            If it cannot be written. The file is then as it was.
        """
        line = _sealed(record)
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise ResultsError(
                f"{self.path}: cannot write ({error.strerror}); earlier results are safe"
            ) from None
        self._note(record, len(line))

    def close(self) -> None:
        """Close the file and let other runs in."""
        os.close(self._file)
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _acquire_lock(folder: Path) -> BinaryIO:
    """Return the open lock file, with who holds it written inside."""
    lock = (folder / LOCK).open("a+b")
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
    return lock.read(200).decode(errors="replace") or "unknown"


def running(folder: Path) -> str | None:
    """Return which process is writing to a results folder; None if none is."""
    try:
        with (folder / LOCK).open("rb") as lock:
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


def _sealed(record: Record) -> bytes:
    """Return a record as a line that ends in a checksum of all before it."""
    body = json.dumps(record, allow_nan=False).encode()
    check = hashlib.sha256(body).hexdigest()[:12]
    return body[:-1] + f', "check": "{check}"}}\n'.encode()


def _parse(line: bytes) -> Record | None:
    """Return the record that a line holds, None if it holds none or has been changed.

    A line without a checksum may be one that a person wrote.
    """
    seal = _CHECK.search(line)
    if seal:
        line = line[: seal.start()] + b"}"
        if hashlib.sha256(line).hexdigest()[:12] != seal[1].decode():
            return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if names_cell(record) and holds(record, {"status": str}) else None


def names_cell(value: Any) -> bool:
    """Whether something read from JSON says which cell it is of, as records and plans do."""
    return holds(value, _IDENTITY) and holds(value["at"], dict.fromkeys(value["at"], int))


def holds(value: Any, types: Mapping[str, Any]) -> bool:
    """Whether something read from JSON is an object with entries of these names and types."""
    return isinstance(value, dict) and all(
        isinstance(value.get(name), kind) for name, kind in types.items()
    )


def _lines(path: Path) -> Iterator[tuple[bytes, Record | None]]:
    """Yield every line of a file of records with what it holds."""
    with path.open("rb") as file:
        for line in file:
            # a line without an end may be one that is being written
            yield line, _parse(line) if line.endswith(b"\n") else None


def read_records(path: Path) -> tuple[dict[str, Record], int]:
    """Return the last record of each key, in the order in which keys first appear.

    A run may be writing at the same time: a last line without an end is passed over.

    Returns
    -------
    records : dict
    unreadable : int
        Lines that are no records any more; their cells run again with the next `Store`.

    Raises
    ------
    ResultsError
        If the file cannot be read.
    """
    records: dict[str, Record] = {}
    unreadable = 0
    try:
        for line, record in _lines(path):
            if record is not None:
                records[record["key"]] = record
            elif line.endswith(b"\n"):
                unreadable += 1
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from error
    return records, unreadable


def find_records(path: Path, keys: set[str]) -> dict[str, Record]:
    """Return the last records of some keys only, without parsing the others."""
    found: dict[str, Record] = {}
    with suppress(OSError), path.open("rb") as file:
        for line in file:
            key = line[9:41].decode(errors="replace")  # the line starts with {"key": "
            if key in keys and (record := _parse(line)) is not None:
                found[record["key"]] = record
    return found


def write_file(path: Path, text: str) -> None:
    """Write a small text file, all of it or nothing; its folder is made if needed."""
    try:
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise ResultsError(f"{path}: cannot write ({error.strerror})") from None


def check_writable(folder: Path) -> None:
    """Raise `ResultsError` if a results folder could not be made or written; makes nothing."""
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ResultsError(f"{folder}: cannot write results there; use another --out")
