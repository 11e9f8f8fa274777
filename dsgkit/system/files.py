"""Files: atomic writes, arrays, names of folders; which code is running, and where it is compiled.

Outside a checkout the commit is read from the file ``COMMIT``. ``git archive`` fills it in
(``.gitattributes``), and so does ``hatch_build.py`` in a wheel or an sdist, which loads this module
without the package's requirements.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, BinaryIO

COMMIT_FILE = "COMMIT"
CHANGED_SUFFIX = "+changes"  # of a commit whose checkout had other changes
PACKAGE = Path(__file__).resolve().parent.parent
WITHOUT_RESULTS = ("cli", "papers", "published", "report")  # they only show results
# compiled code of other files does not depend on these: their edits need no compilation
_RUNNER = ("config", "data", "experiment", "tasks", "text.py", "user_code.py")


def folder_name(name: str) -> str:
    """Return a name with characters that a folder's name must not contain replaced by ``_``."""
    return re.sub(r"^\W|[/\\\x00-\x1f]", "_", name)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Create or replace a file, which is on disk when this returns; an error leaves the old one."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no regular file", str(path))
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk: files created or renamed in it survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):  # some file systems (FUSE, SMB) cannot do this to folders
        os.fsync(descriptor)
    os.close(descriptor)


def read_arrays(source: Path | BinaryIO) -> dict[str, Any]:
    """Return the arrays of an ``.npz`` file by name; a one-line `ValueError` if it is none."""
    import numpy as np

    try:
        opened = source.open("rb") if isinstance(source, Path) else source
        with opened as file, np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile and NumPy raise a dozen kinds for invalid bytes
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error


@functools.cache
def source_hash(without: tuple[str, ...] = WITHOUT_RESULTS) -> str:
    """Return a hash of the package's Python files at the start, but for some of its folders."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in without:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def commit_of(package: Path = PACKAGE) -> str | None:
    """Return the commit of the package in a folder, marked if it was changed; None if unknown."""
    git = ["git", "-c", f"safe.directory={package.parent}", "-C", str(package.parent)]
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", f"--dirty={CHANGED_SUFFIX}"]
    try:
        text = (package / COMMIT_FILE).read_text().strip()
        if not text.startswith("$"):
            return text[:12] + (CHANGED_SUFFIX if text.endswith(CHANGED_SUFFIX) else "")
        if not (package.parent / ".git").exists():  # at its root: else it may be the user's
            return None
        tracked = ["ls-files", "--error-unmatch", str(package / "__init__.py")]
        subprocess.run([*git, *tracked], capture_output=True, check=True)
        return subprocess.check_output(
            [*git, *describe], stderr=subprocess.DEVNULL, text=True
        ).strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def compiled_folder() -> Path:
    """Return the folder of code that is compiled from the sources as they are."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    sources = source_hash((*WITHOUT_RESULTS, *_RUNNER))
    return Path(home or Path.home() / ".cache") / f"dsgkit/compiled/{version('numba')}-{sources}"


def is_first_use() -> bool:
    """Return whether nobody has asked this of the folder before."""
    with suppress(OSError):  # the mark is there, or the folder cannot be written
        folder = compiled_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "used").open("x").close()
        return True
    return False


def say_first_use() -> None:
    """Say once, on standard error, why a first fit takes long; worker processes say nothing."""
    if is_first_use() and sys.stderr and parent_process() is None:
        text = "dsgkit compiles its numerical code, once: some ten seconds for the first fit"
        print(text, file=sys.stderr)
