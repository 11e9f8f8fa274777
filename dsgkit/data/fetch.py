"""Downloading: with retries, checked before it counts, and nothing kept of a failure."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.find import FoundFile, download_folder, missing
from dsgkit.data.lines import check_sha256, checksum
from dsgkit.errors import DataError, MissingDataError
from dsgkit.files import remove_abandoned
from dsgkit.progress import Bar

RETRIES = 3
"""Further attempts after a failed one, after 1, 2 and 3 seconds."""


def offline() -> bool:
    """Tell whether ``DSGKIT_OFFLINE`` forbids the network."""
    return os.environ.get("DSGKIT_OFFLINE", "") not in ("", "0")


def download(info: DatasetInfo, file: DataFile) -> FoundFile:
    """Download a file into the cache and check it.

    Parameters
    ----------
    info : DatasetInfo
        Its dataset.
    file : DataFile
        One of ``info.files``.

    Returns
    -------
    FoundFile

    Raises
    ------
    MissingDataError
        When it has no address or cannot be reached; the text says where to put it by hand.
    DataError
        When its checksum is wrong, or the cache cannot be written.
    """
    if info.local or file.url is None or offline():
        raise MissingDataError(missing(info, file))
    folder = download_folder(info)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder, ".incoming-*")
        incoming = Path(tempfile.mkdtemp(prefix=".incoming-", dir=folder))
        try:
            return _checked(_retrieve(info, file, incoming), file, folder)
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}; free or change the folder, or "
            "set DSGKIT_CACHE to another"
        ) from error


def _retrieve(info: DatasetInfo, file: DataFile, incoming: Path) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    manager = pooch.create(
        path=incoming,
        base_url="",
        registry={file.name: None},
        urls={file.name: file.url},
        retry_if_failed=RETRIES,
    )
    try:
        with Bar(file.name) as bar:
            get = pooch.HTTPDownloader(progressbar=bar, chunk_size=2**20)
            return Path(manager.fetch(file.name, downloader=get))
    except requests.exceptions.RequestException as error:
        answer = getattr(error.response, "status_code", None)
        reason = f"the server answers {answer}" if answer else type(error).__name__
        raise MissingDataError(f"{missing(info, file)} (download failed: {reason})") from error


def _checked(path: Path, file: DataFile, folder: Path) -> FoundFile:
    """Move a file into the cache if it can be read to its end and its checksum is right."""
    source = FoundFile(file, path)
    try:
        check_sha256(source, checksum(source))
    except DataError as error:
        raise DataError(f"download of {file.url} failed: {error}") from error
    return FoundFile(file, path.replace(folder / file.name))
