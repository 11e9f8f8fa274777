"""Where the files of datasets and their prepared forms are, and how they are opened."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.errors import DataError, MissingDataError, did_you_mean

VERSION = 6
"""Version of the prepared form; other versions are prepared again."""

_MAX_HASHED_BYTES = 2**26
_ANSWER_SECONDS = 30  # without any data, after which a download has failed
_OPENERS: dict[str, Any] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}
# RuntimeError: an encrypted archive, and, as NotImplementedError, an unknown compression
_DAMAGED = (OSError, EOFError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


def cache_folder() -> Path:
    """Return the cache: ``DSGKIT_CACHE``, or the platform's folder for caches."""
    if folder := os.environ.get("DSGKIT_CACHE"):
        return Path(folder).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("dsgkit")


def find(info: DatasetInfo) -> list[Path | None]:
    """Return the path of each file on this machine: in ``DSGKIT_DATA``, or else in the cache."""
    folders = [cache_folder() / "downloads" / info.folder]
    if data := os.environ.get("DSGKIT_DATA"):
        below = Path(data).expanduser().absolute()
        folders = [below / info.folder, below / info.name, *folders]
    found = []
    for file in info.files:
        content = Path(file.member or file.name)
        plain = content.stem if content.suffix in _OPENERS else content.name
        candidates = [
            folder / f"{name}{end}"
            for folder in folders
            for name in (file.name, plain, *file.aliases)
            for end in ("", *_OPENERS)
        ]
        if info.local:
            candidates = [Path(file.name)]
        found.append(next((path for path in candidates if path.is_file()), None))
    return found


def obtain(info: DatasetInfo, *, download: bool = True) -> list[Path]:
    """Return the paths of the files; missing ones are downloaded, or are a `MissingDataError`."""
    if info.local or os.environ.get("DSGKIT_OFFLINE", "") not in ("", "0"):
        download = False
    paths = find(info)
    lacking = [file for file, path in zip(info.files, paths, strict=True) if path is None]
    if manual := [file for file in lacking if not download or file.url is None]:
        raise MissingDataError(missing(info, *manual))
    for number, file in enumerate(info.files):
        if paths[number] is None:
            _download(info, file)
            paths = find(info)  # an archive may contain several
    return [path for path in paths if path]


def prepared_folder(info: DatasetInfo, paths: list[Path]) -> Path:
    """Return the folder of a dataset's prepared form, named by settings and the files' state."""
    # not by the target, as labels are stored as they are in the file
    keys = "loader n_features delimiter decimal header label_columns text_labels unlabeled"
    keys += " categorical ignored by_share dates fill values components function arguments rows"
    parts = [(file.part, file.member, file.n_rows, file.sha256) for file in info.files]
    reading = {"files": parts} | {key: getattr(info, key) for key in keys.split()}
    places, states = [str(path.resolve()) for path in paths], []
    for path, place in zip(paths, places, strict=True):
        if path.is_file():
            stat, digest = path.stat(), ""
            if stat.st_size <= _MAX_HASHED_BYTES:  # finds edits that keep size and time
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            states.append([place, stat.st_size, stat.st_mtime_ns, digest])
    texts = (json.dumps(value).encode() for value in ([VERSION, reading, places], states))
    settings, state = (hashlib.sha256(text).hexdigest()[:12] for text in texts)
    plain = re.sub(r"[^\w.-]", "_", info.name)[:64]
    return cache_folder() / "prepared" / f"{plain}-{settings}-{state}"


def _download(info: DatasetInfo, file: DataFile) -> None:
    """Download a file into the cache; a failure leaves nothing behind."""
    import http.client
    import urllib.request

    from rich.console import Console
    from rich.progress import Progress

    folder, screen = cache_folder() / "downloads" / info.folder, Console(stderr=True)
    bar = Progress(console=screen, transient=True, disable=not screen.is_terminal)
    with writing_to(folder), TemporaryDirectory(prefix=".incoming-", dir=folder) as incoming, bar:
        path = Path(incoming) / file.name
        try:
            with urllib.request.urlopen(str(file.url), timeout=_ANSWER_SECONDS) as answer:
                size = int(answer.headers.get("Content-Length") or 0)
                content = bar.wrap_file(answer, size or None, description=file.name)
                with path.open("wb") as copy:
                    shutil.copyfileobj(content, copy)
            if size > path.stat().st_size:
                raise OSError("the connection ended early")
            check_sha256(file, path)
        except (OSError, http.client.HTTPException, DataError) as error:
            raise MissingDataError(f"{missing(info, file)} (download failed: {error})") from error
        path.replace(folder / file.name)


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
    """Open the uncompressed content of a file or zip member; `DataError` if it is damaged."""
    try:
        suffix = path.suffix.lower()
        if suffix != ".zip":
            with _OPENERS.get(suffix, open)(path, "rb") as stream:
                yield stream
            return
        with zipfile.ZipFile(path) as archive:
            hidden = re.compile(r"__MACOSX|(?:^|/)\.[^/]*$|/$")  # of macOS; folders
            names = [name for name in archive.namelist() if not hidden.search(name)]
            found = [name for name in names if member in (None, name.rpartition("/")[2])]
            if len(found) != 1:
                which = f"no file {member}" if member else f"{len(names)} files"
                raise DataError(f"{path}: the archive holds {which}; unpack it")
            with archive.open(found[0]) as packed:
                yield io.BufferedReader(packed)  # type: ignore[type-var]
    except _DAMAGED as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def no_such_file(path: Path) -> str:
    """Return a line about a missing file, with the nearest existing name."""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    if path.exists():
        return f"{path} is a pipe or a device, which cannot be read twice: write it into a file"
    if not path.parent.is_dir():
        return f"no such file: {path} (there is no folder {path.parent})"
    names = [other.name for other in path.parent.iterdir() if other.is_file()]
    return f"no such file: {path}{did_you_mean(path.name, names)}"


def missing(info: DatasetInfo, *files: DataFile) -> str:
    """Return a line on which files are missing, where to get them and where to put them."""
    if info.local:
        return f"dataset {info.name}: {'; '.join(no_such_file(Path(file.name)) for file in files)}"
    names = ", ".join(dict.fromkeys(file.name for file in files))
    sources = dict.fromkeys(file.url or f"{info.homepage} ({info.note})" for file in files)
    place = cache_folder() / "downloads" / info.folder
    hint = ", or set DSGKIT_DATA"
    if data := os.environ.get("DSGKIT_DATA"):
        place, hint = Path(data).expanduser().absolute() / info.folder, ""
    there = [path for path in place.iterdir() if path.is_file()] if place.is_dir() else []
    known = find(info)
    others = sorted(path.name for path in there if path not in known and path.name[0] != ".")[:3]
    if others:  # scaling rounds: results from scaled rows would have other keys than the kept ones
        hint += f" ({', '.join(others)} there: scaled or other rows, which `dataset.path` reads)"
    said = f"missing {names}: get from {', '.join(sources)} and put into {place}{hint}"
    return f"dataset {info.name}: {said}"
