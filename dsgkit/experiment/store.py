"""The results store: one append-only file of records, written by one process, never rewritten."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO, Any

from dsgkit.errors import ResultsError
from dsgkit.files import write_atomically
from dsgkit.memory import memory_limit

CELLS = "cells.jsonl"
LOCK = ".lock"
REQUIRED = {"key", "kind", "solver", "trial", "n_unlabeled", "status"}
"""What every record holds."""

Record = dict[str, Any]


class Store:
    """Records of finished cells under their keys, in a results folder.

    Attributes
    ----------
    records : dict
        The last record of every key.
    environment : str or None
        Where records come from; part of every record appended.

    Every record is one line of ``cells.jsonl``, on disk before `append` returns. A line that was
    cut off by a crash is removed when the store is opened.

    Parameters
    ----------
    folder : Path
        Made if missing.
    fresh : bool
        Set earlier records aside (the file is renamed, not deleted) and start with none.

    Raises
    ------
    ResultsError
        If the folder cannot be written, or another run is writing to it.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.environment: str | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = self._acquire_lock()
            self._file, self.records = self._open(folder / CELLS, fresh)
        except OSError as error:
            raise ResultsError(
                f"{folder}: cannot write results there ({error.strerror}); use another --out"
            ) from None

    def _open(self, path: Path, fresh: bool) -> tuple[IO[bytes], dict[str, Record]]:
        """Return the file, ready to append to, and the records that it holds."""
        try:
            if fresh and path.exists():
                path.rename(self.folder / f"cells-{time.time_ns()}.jsonl")
            _cut_torn_line(path)
            records = read_records(path)
            return path.open("ab"), records
        except BaseException:
            self._lock.close()
            raise

    def _acquire_lock(self) -> IO[bytes]:
        lock = (self.folder / LOCK).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise ResultsError(
                f"{self.folder}: another run is writing there; wait for it or use --out"
            ) from None
        return lock

    def finished(self, key: str) -> bool:
        """Whether a cell has a result.

        A failure is recorded, but is none. Nor is a refusal for lack of memory, once there is
        enough.
        """
        record = self.records.get(key)
        if record is None or record["status"] == "failed":
            return False
        return record["status"] != "out_of_memory" or record.get("needed", 0) > memory_limit()

    def append(self, record: Record) -> None:
        """Write a record; it survives a crash from here on."""
        record = {**record, "environment": self.environment}
        line = json.dumps(record, allow_nan=False) + "\n"
        try:
            self._file.write(line.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ResultsError(
                f"{self.folder / CELLS}: cannot write ({error.strerror}); earlier results are safe"
            ) from None
        self.records[record["key"]] = record

    def close(self) -> None:
        """Close the file and let other runs in."""
        self._file.close()
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_file(path: Path, text: str) -> None:
    """Write a small text file, all of it or nothing."""
    try:
        write_atomically(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise ResultsError(f"{path}: cannot write ({error.strerror})") from None


def check_writable(folder: Path) -> None:
    """Raise `ResultsError` if a results folder could not be made or written; makes nothing."""
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ResultsError(f"{folder}: cannot write results there; use another --out")


def read_records(path: Path) -> dict[str, Record]:
    """Return the last record of each key, in the order in which keys first appear.

    A last line that was cut off is what a killed run leaves behind; it is left out.

    Raises
    ------
    ResultsError
        If the file cannot be read, or a line in its middle is no record.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from error
    records = {}
    for number, line in enumerate(lines, start=1):
        record = _parse(line)
        if record is not None:
            records[record["key"]] = record
        elif number < len(lines):
            raise ResultsError(f"{path}:{number}: not a record; remove that line and run again")
    return records


def _parse(line: bytes) -> Record | None:
    """Return the record that a line holds, None if it holds none."""
    try:
        record = json.loads(line)
        return record if record.keys() >= REQUIRED else None
    except (ValueError, AttributeError):
        return None


def _cut_torn_line(path: Path) -> None:
    """Remove a last line that a crash cut off."""
    if not path.exists():
        return
    data = path.read_bytes()
    last = data[data.rfind(b"\n", 0, -1) + 1 :]
    if not last.endswith(b"\n") or _parse(last) is None:
        os.truncate(path, len(data) - len(last))
