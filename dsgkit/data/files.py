"""Where a dataset's files are: the user's folder, the cache, or their official address."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import io
import lzma
import os
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from rich.console import Console
from rich.progress import Progress

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.errors import DataError, MissingDataError, did_you_mean

RETRIES = 3
"""Further attempts of a download after a failed one, after 1, 2 and 3 seconds."""

_TIMEOUT_SECONDS = 30
_MAX_HASHED_BYTES = 2**26
_OPENERS: dict[str, Any] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}
# RuntimeError: an encrypted archive, and, as NotImplementedError, an unknown compression
_DAMAGED = (OSError, EOFError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


def cache_folder() -> Path:
    """Return the cache: ``DSGKIT_CACHE``, or the platform's folder for caches."""
    if folder := os.environ.get("DSGKIT_CACHE"):
        return Path(folder).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("dsgkit")


def download_folder(info: DatasetInfo) -> Path:
    """Return the folder of a dataset's downloaded files in the cache."""
    return cache_folder() / "downloads" / info.folder


def _data_folder() -> Path | None:
    folder = os.environ.get("DSGKIT_DATA")
    return Path(folder).expanduser().absolute() if folder else None


def find(info: DatasetInfo, file: DataFile) -> Path | None:
    """Return the path of a file on this machine: in ``DSGKIT_DATA``, then in the cache."""
    if info.local:
        return Path(file.name) if Path(file.name).is_file() else None
    data, ends = _data_folder(), ("", *_OPENERS)
    folders = [data / info.folder, data / info.name] if data else []
    content = file.member or file.name
    plain = content.removesuffix(Path(content).suffix if Path(content).suffix in _OPENERS else "")
    names = [
        name
        for stem in (file.name, plain, *file.aliases)
        for name in (
            [stem] if Path(stem).suffix in (".zip", *_OPENERS) else [stem + e for e in ends]
        )
    ]
    candidates = (folder / name for folder in (*folders, download_folder(info)) for name in names)
    return next((path for path in candidates if path.is_file()), None)


def lacking(info: DatasetInfo) -> list[DataFile]:
    """Return the files of a dataset that are not on this machine."""
    return [file for file in info.files if find(info, file) is None]


def obtain(info: DatasetInfo) -> list[Path]:
    """Return the paths of a dataset's files; missing ones are downloaded.

    Raises
    ------
    MissingDataError
        If one cannot be downloaded; the text says where to get it and where to put it.
    DataError
        If a checksum is wrong, or the cache cannot be written.
    """
    forbidden = info.local or os.environ.get("DSGKIT_OFFLINE", "") not in ("", "0")
    if manual := [file for file in lacking(info) if forbidden or file.url is None]:
        raise MissingDataError(missing(info, *manual))
    for file in info.files:
        if find(info, file) is None:  # an archive downloaded before may contain it
            _download(info, file)
    return [path for file in info.files if (path := find(info, file))]


def _download(info: DatasetInfo, file: DataFile) -> None:
    """Download a file into the cache; a failure leaves nothing behind."""
    folder = download_folder(info)
    with writing_to(folder), TemporaryDirectory(prefix=".incoming-", dir=folder) as incoming:
        path, why = Path(incoming) / file.name, ""
        for attempt in range(RETRIES + 1):
            time.sleep(attempt)
            if not (why := _transfer(str(file.url), path)):
                break
        else:
            raise MissingDataError(f"{missing(info, file)} (download failed: {why})")
        try:
            check_sha256(file, path)
        except DataError as error:
            raise DataError(f"download of {file.url} failed: {error}") from error
        path.replace(folder / file.name)


def _transfer(url: str, path: Path) -> str:
    """Download to a path; return why the server did not send the whole file, or nothing."""
    try:
        response = urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        return f"the server answers {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
    bar = Progress(console=Console(stderr=True), transient=True)
    with response, path.open("wb") as file, bar:
        length, block = response.length, b"x"
        task = bar.add_task(path.name, total=length)
        while block:
            try:
                block = response.read(2**20)
            except (OSError, http.client.HTTPException) as error:
                return str(error) or type(error).__name__
            file.write(block)
            bar.advance(task, len(block))
        short = length is not None and file.tell() != length
        return f"{file.tell():,} of {length:,} bytes received" if short else ""


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Make a folder of the cache; an error is a `DataError` that says what to do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}; free or change the folder, or "
            "set DSGKIT_CACHE to another"
        ) from error


def state(path: Path) -> list[Any]:
    """Return what changes with a file: path, size, time and, if it is small, a hash of its bytes.

    The hash finds edits that keep size and time; larger files take too long to read each time.
    """
    stat, digest = path.stat(), ""
    if stat.st_size <= _MAX_HASHED_BYTES:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return [str(path.resolve()), stat.st_size, stat.st_mtime_ns, digest]


def check_sha256(file: DataFile, path: Path) -> str:
    """Return the hash of the uncompressed content; `DataError` if another is registered."""
    with open_content(path, file.member) as content:
        actual = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
    if file.sha256 not in (None, actual):
        raise DataError(
            f"{path}: the sha256 of the uncompressed content is {actual}, but {file.sha256} is "
            "registered; replace the file (for a file of your own, set `path` and another `name`)"
        )
    return actual


@contextmanager
def open_content(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """Open the uncompressed content of a file, or of a member of a zip archive.

    Raises
    ------
    DataError
        If it cannot be read or is damaged, at any time until it is closed.
    """
    try:
        if path.suffix == ".zip":
            with (
                zipfile.ZipFile(path) as archive,
                archive.open(_member(path, archive, member)) as f,
            ):
                yield io.BufferedReader(f)  # type: ignore[type-var]
        else:
            with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
                yield stream
    except _DAMAGED as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _member(path: Path, archive: zipfile.ZipFile, member: str | None) -> str:
    """Return the full name of a member, which may be in folders of the archive."""
    names = [name for name in archive.namelist() if "__MACOSX" not in name and name[-1:] != "/"]
    found = [name for name in names if member in (None, name.rpartition("/")[2])]
    if len(found) == 1 or (member and found):
        return found[0]
    if member is not None:
        raise DataError(f"{path}: the archive holds no file {member}")
    raise DataError(f"{path}: a zip archive of {len(names)} files; unpack it")


def no_such_file(path: Path) -> str:
    """Return a line about a missing file, with the nearest existing name."""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    if not path.parent.is_dir():
        return f"no such file: {path} (there is no folder {path.parent})"
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        names = []
    return f"no such file: {path}{did_you_mean(path.name, names)}"


def missing(info: DatasetInfo, *files: DataFile) -> str:
    """Return a line on which files are missing, where to get them and where to put them."""
    if info.local:
        return f"dataset {info.name}: {'; '.join(no_such_file(Path(file.name)) for file in files)}"
    names = [file.name if file.url else file.name + ".xz (or plain)" for file in files]
    contents = [file.member or name for file, name in zip(files, names, strict=True)]
    data = _data_folder()
    place = (data / info.folder) if data else download_folder(info)
    if len(files) == 1:
        subject, pronoun, where = f"file {contents[0]} is", "it", f"at {place / names[0]}"
    else:
        subject, pronoun, where = f"files {', '.join(contents)} are", "them", f"in {place}"
    addresses = dict.fromkeys(file.url for file in files if file.url)
    get = [f"get {pronoun} from {', '.join(addresses)}"] if addresses else []
    get += [] if all(file.url for file in files) else [f"see {info.homepage} ({info.note})"]
    where += "" if data else ", or set DSGKIT_DATA"
    known = [path.name for file in info.files if (path := find(info, file))]
    there = sorted(p.name for p in place.iterdir() if p.is_file()) if place.is_dir() else []
    if others := [name for name in there if name not in known and not name.startswith(".")]:
        found = ", ".join(others[:3])
        # scaling rounds: results from scaled rows would have other keys than the kept ones
        is_scaled = any("scale" in name for name in others[:3])
        why = (
            "scaled rows differ in their last digits; `dataset.path` reads them"
            if is_scaled
            else ""
        )
        where += f" ({found} there: {why or 'not these rows'})"
    return f"dataset {info.name}: {subject} missing; {', '.join(get)} and put {pronoun} {where}"
