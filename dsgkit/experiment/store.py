"""The results store: a sealed JSON line per cell, on disk before the next cell starts."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dsgkit.errors import ResultsError, in_a_line
from dsgkit.system.files import sync_folder, write_atomically

Record = dict[str, Any]  # of a cell that has ended; `cell.new_record` lists the names
CELLS, LOCK = "cells.jsonl", ".lock"
KEPT_FITS = "fits.csv.xz"  # stands for the records in kept results


def seal(record: Record) -> bytes:
    """Return a record as a line that ends in a checksum of the rest."""
    text = json.dumps(record, allow_nan=False, ensure_ascii=False)
    body = text.encode(errors="replace")  # a file's name may have lone surrogates
    return body[:-1] + b', "check": "' + _checksum(body) + b'"}\n'


def unseal(line: bytes) -> Record | None:
    """Return the record in a line; None if the line was cut off or changed."""
    body, _, check = line.rpartition(b', "check": "')
    body += b"}"
    return json.loads(body) if check == _checksum(body) + b'"}\n' else None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:12].encode()


def read_records(folder: Path) -> tuple[dict[str, Record], list[int]]:
    """Return the last record of each key in a folder, and the numbers of unreadable lines."""
    path = folder / CELLS
    try:
        with path.open("rb") as file:
            return _parsed(file)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error}); run the experiment again") from None


def _parsed(lines: Iterable[bytes]) -> tuple[dict[str, Record], list[int]]:
    records: dict[str, Record] = {}
    bad = []
    for number, line in enumerate(lines, start=1):
        if (record := unseal(line)) is not None:
            records[record["key"]] = record
        elif line.endswith(b"\n"):  # else a run may be writing it
            bad.append(number)
    return records, bad


def finished_elsewhere(folder: Path, keys: Collection[str]) -> Iterator[tuple[Path, Record]]:
    """Yield the records of finished cells in the folders next to a folder, with theirs."""
    # a key is of all that determines a result: it does not matter which run computed it
    wanted = {key.encode() for key in keys}
    here = folder.absolute()
    others = {*here.parent.glob(f"*/{CELLS}")} - {here / CELLS}
    for path in sorted(others) if wanted else ():
        with suppress(OSError), path.open("rb") as file:
            for line in file:
                key = line[9:41]  # the line starts with {"key": "
                record = unseal(line) if key in wanted else None
                if record is not None and record["status"] == "ok":
                    wanted.remove(key)
                    yield path.parent, record


class Store(AbstractContextManager["Store"]):
    """Records of cells by key (``records``), appended by one process at a time.

    A last line that a crash cut off is removed; other unreadable lines stay, and ``bad`` has their
    numbers. With ``fresh``, earlier records are set aside in a renamed file. `ResultsError` is
    raised if the folder cannot be written, or another run is writing to it.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder, path = folder, folder / CELLS
        with ExitStack() as files, _writing(folder, "use another --out"):
            folder.mkdir(parents=True, exist_ok=True)
            lock = files.enter_context((folder / LOCK).open("a+"))  # held as long as it is open
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ResultsError(
                    f"{folder}: another run ({running(folder)}) is writing there; wait for it or "
                    "use another --out"
                ) from None
            lock.truncate(0)
            print(f"process {os.getpid()} on {socket.gethostname()}", file=lock, flush=True)
            if (folder / KEPT_FITS).exists() and not path.exists():
                raise ResultsError(
                    f"{folder}: kept results; run into another --out, or go on with them in a copy "
                    "by scripts/keep_results.py --unpack"
                )
            if fresh and path.exists():
                path.rename(folder / f"cells-{time.time_ns()}.jsonl")
            self._file = files.enter_context(path.open("ab", buffering=0))
            stored = path.read_bytes()
            self._file.truncate(stored.rfind(b"\n") + 1)
            self.records, self.bad = _parsed(io.BytesIO(stored))
            sync_folder(folder)
            self._files = files.pop_all()

    def append(self, record: Record) -> None:
        """Write a record completely or not at all; it survives a crash from here on."""
        line, before = seal(record), os.fstat(self._file.fileno()).st_size
        with _writing(self.folder / CELLS):
            try:
                while line:  # a full disk takes a part of it before it fails
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except BaseException:
                self._file.truncate(before)
                raise
        self.records[record["key"]] = record

    def __exit__(self, *_: object) -> None:
        self._files.close()


def running(folder: Path) -> str | None:
    """Return which process is writing to a results folder, if any."""
    with suppress(OSError), (folder / LOCK).open(errors="replace") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return in_a_line(lock.read(200).strip(), 200) or "another process"
    return None


@contextmanager
def _writing(path: Path, advice: str = "earlier results are safe") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResultsError(f"{path}: cannot write ({error.strerror}); {advice}") from None


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file of a results folder: a crash leaves the old content or the new one."""
    data = content.encode() if isinstance(content, str) else content
    with _writing(path):
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, lambda file: file.write(data))


def check_writable(folder: Path, option: str = "--out") -> None:
    """Raise `ResultsError` if a folder cannot be made or written to; nothing is created."""
    nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise ResultsError(f"{folder}: cannot write there; use another {option}")
