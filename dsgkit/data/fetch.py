"""Downloads: with retries and checksums; a failure leaves no file behind."""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.find import FoundFile, download_folder, find, missing
from dsgkit.data.lines import check_sha256, checksum
from dsgkit.errors import DataError, DsgError, MissingDataError
from dsgkit.system.files import temporary_folder
from dsgkit.system.progress import Bar

RETRIES = 3
"""Further attempts after a failed one, after 1, 2 and 3 seconds."""

TIMEOUT_SECONDS = 30
"""Seconds that a server may be silent."""

_BLOCK_BYTES = 2**20


class _TransferError(DsgError):
    """A server did not send a file; the text says why."""


def offline() -> bool:
    """Return whether ``DSGKIT_OFFLINE`` forbids the network."""
    return os.environ.get("DSGKIT_OFFLINE", "") not in ("", "0")


def download(info: DatasetInfo, files: Sequence[DataFile]) -> None:
    """Download files into the cache and check them.

    Parameters
    ----------
    info : DatasetInfo
        Their dataset.
    files : sequence of DataFile
        The missing ones of ``info.files``.

    Raises
    ------
    MissingDataError
        If one has no address or cannot be downloaded; the text says where to put it manually.
    DataError
        If a checksum is wrong, or the cache cannot be written.
    """
    forbidden = info.local or offline()
    if manual := [file for file in files if forbidden or file.url is None]:
        raise MissingDataError(missing(info, *manual))
    for file in files:
        if find(info, file) is None:  # an archive downloaded before may contain it
            _download(info, file)


def _download(info: DatasetInfo, file: DataFile) -> None:
    folder = download_folder(info)
    try:
        with temporary_folder(folder, ".incoming-") as incoming:
            _keep(_retrieve(info, file, incoming), file, folder)
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}; free or change the folder, or "
            "set DSGKIT_CACHE to another"
        ) from error


def _retrieve(info: DatasetInfo, file: DataFile, incoming: Path) -> Path:
    """Download a file into a folder, with retries."""
    assert file.url is not None
    path = incoming / file.name
    for attempt in range(RETRIES + 1):
        time.sleep(attempt)
        try:
            _transfer(file.url, path)
            return path
        except _TransferError as error:
            failure = error
    raise MissingDataError(f"{missing(info, file)} (download failed: {failure})") from failure


def _transfer(url: str, path: Path) -> None:
    # errors of writing are not the server's, and are not retried
    with path.open("wb") as file, _answer(url) as response:
        length = response.length
        with Bar(path.name, length) as bar:
            while block := _block(response):
                file.write(block)
                bar.update(len(block))
        if length is not None and file.tell() != length:
            raise _TransferError(f"{file.tell():,} of {length:,} bytes received")


@contextmanager
def _answer(url: str) -> Iterator[http.client.HTTPResponse]:
    with _transfer_errors():
        response = urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS)
    with response:
        yield response


def _block(response: http.client.HTTPResponse) -> bytes:
    with _transfer_errors():
        return response.read(_BLOCK_BYTES)


@contextmanager
def _transfer_errors() -> Iterator[None]:
    """Convert errors of the network and the server to `_TransferError`."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise _TransferError(f"the server answers {error.code}") from error
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", error)  # `URLError` wraps the cause
        raise _TransferError(
            getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        ) from error


def _keep(path: Path, file: DataFile, folder: Path) -> None:
    """Move a file into the cache if it is readable and its checksum is right."""
    source = FoundFile(file, path)
    try:
        check_sha256(source, checksum(source))
    except DataError as error:
        raise DataError(f"download of {file.url} failed: {error}") from error
    path.replace(folder / file.name)
