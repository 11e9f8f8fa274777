"""Location of data files: ``DSGKIT_DATA``, then the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.errors import did_you_mean

SUFFIXES = ("", ".xz", ".bz2", ".gz")
"""Suffixes of readable files: plain text and three compressions."""


@dataclass(frozen=True)
class FoundFile:
    """A data file on this machine, and its path."""

    file: DataFile
    path: Path

    @property
    def member(self) -> str | None:
        """Name inside the file if it is a zip archive."""
        return self.file.member if self.path.suffix == ".zip" else None

    @property
    def label(self) -> str:
        """Name of the content for messages."""
        return f"{self.path}!{self.member}" if self.member else str(self.path)

    def state(self) -> dict[str, str | int]:
        """Return metadata that changes with the file, without reading it."""
        stat = self.path.stat()
        return {
            "path": str(self.path.resolve()),
            "size": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
            "inode": stat.st_ino,
            "ctime_ns": stat.st_ctime_ns,
        }

    def sha256(self) -> str:
        """Return a hash of its bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def identity(self) -> dict[str, str | int]:
        """Return the state and the hash."""
        return self.state() | {"sha256": self.sha256()}


def cache_folder() -> Path:
    """Return the cache: ``DSGKIT_CACHE``, or the platform's folder for caches."""
    if folder := os.environ.get("DSGKIT_CACHE"):
        return Path(folder).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("dsgkit")


def download_folder(info: DatasetInfo) -> Path:
    """Return the folder of a dataset's downloaded files in the cache."""
    return cache_folder() / "downloads" / info.folder


def data_folder() -> Path | None:
    """Return the user's folder of data files, ``DSGKIT_DATA``, if set."""
    folder = os.environ.get("DSGKIT_DATA")
    return Path(folder).expanduser().absolute() if folder else None


def find(info: DatasetInfo, file: DataFile) -> FoundFile | None:
    """Return the file if it is on this machine.

    Parameters
    ----------
    info : DatasetInfo
        Its dataset.
    file : DataFile
        One of ``info.files``.
    """
    candidates = iter([Path(file.name)]) if info.local else _candidates(info, file)
    path = next((path for path in candidates if path.is_file()), None)
    return None if path is None else FoundFile(file, path)


def find_all(info: DatasetInfo) -> tuple[list[FoundFile], list[DataFile]]:
    """Return the files of a dataset that are on this machine, and the missing ones."""
    sources = [find(info, file) for file in info.files]
    lacking = [file for file, source in zip(info.files, sources, strict=True) if source is None]
    return [source for source in sources if source is not None], lacking


def _candidates(info: DatasetInfo, file: DataFile) -> Iterator[Path]:
    names = list(dict.fromkeys(_names(file)))
    data = data_folder()
    folders = [] if data is None else [data / info.folder, data / info.name]
    for folder in (*folders, download_folder(info)):
        yield from (folder / name for name in names)


def _names(file: DataFile) -> Iterator[str]:
    content = file.member or file.name
    for stem in (file.name, _uncompressed(content), *file.aliases):
        container = Path(stem).suffix in (".zip", *SUFFIXES[1:])
        yield from [stem] if container else [stem + suffix for suffix in SUFFIXES]


def _uncompressed(name: str) -> str:
    suffix = Path(name).suffix
    return name.removesuffix(suffix) if suffix in SUFFIXES[1:] else name


def no_such_file(path: Path) -> str:
    """Return a line about a missing file, with the nearest existing name."""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    folder = path.parent
    if not folder.is_dir():
        return f"no such file: {path} (there is no folder {folder})"
    try:
        names = [path.name for path in folder.iterdir() if path.is_file()]
    except OSError:
        names = []
    return f"no such file: {path}{did_you_mean(path.name, names)}"


def missing(info: DatasetInfo, *files: DataFile) -> str:
    """Return a line on which files are missing, where to get them and where to put them."""
    if info.local:
        return f"dataset {info.name}: {'; '.join(no_such_file(Path(file.name)) for file in files)}"
    names = [file.name if file.url else file.name + ".xz (or plain)" for file in files]
    contents = [file.member or name for file, name in zip(files, names, strict=True)]
    data = data_folder()
    place = (data / info.folder) if data else download_folder(info)
    if len(files) == 1:
        subject, pronoun, where = f"file {contents[0]} is", "it", f"at {place / names[0]}"
    else:
        subject, pronoun, where = f"files {', '.join(contents)} are", "them", f"in {place}"
    addresses = dict.fromkeys(file.url for file in files if file.url)
    get = [f"get {pronoun} from {', '.join(addresses)}"] if addresses else []
    get += [] if all(file.url for file in files) else [f"see {info.homepage} ({info.note})"]
    where += "" if data else ", or set DSGKIT_DATA"
    return f"dataset {info.name}: {subject} missing; {', '.join(get)} and put {pronoun} {where}"
