"""The commit of this code, even without a repository.

Outside a repository it is read from the file ``COMMIT``. ``git archive`` fills it in
(``.gitattributes``), and so does ``hatch_build.py`` in a wheel or an sdist, which loads this module
without the package's requirements.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

FILE = "COMMIT"

CHANGED_SUFFIX = "+changes"
"""Suffix of a commit whose checkout had other changes."""

_PACKAGE = Path(__file__).resolve().parent.parent


def commit_of(package: Path = _PACKAGE) -> str | None:
    """Return the commit of the package in a folder, marked if it was changed; None if unknown."""
    return _of_checkout(package.parent) or _from_file(package / FILE)


def _of_checkout(checkout: Path) -> str | None:
    """Return the commit of a git checkout; None if the folder is not the root of one."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-c", f"safe.directory={checkout}", "-C", str(checkout), "describe"]
    command += ["--always", "--exclude=*", "--abbrev=12", f"--dirty={CHANGED_SUFFIX}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return _of_head(checkout / ".git")


def _of_head(folder: Path) -> str | None:
    """Return the commit from a repository's files, without git: changes are not detected."""
    try:
        head = (folder / "HEAD").read_text().strip()
        if head.startswith("ref: "):
            head = _of_reference(folder, head.removeprefix("ref: "))
    except OSError:
        return None
    return _shortened(head)


def _of_reference(folder: Path, name: str) -> str:
    """Return the commit of a branch; empty if there is none."""
    if (folder / name).is_file():
        return (folder / name).read_text().strip()
    lines = (folder / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")


def _from_file(file: Path) -> str | None:
    """Return the commit in a ``COMMIT`` file; None if it was never filled in."""
    try:
        return _shortened(file.read_text().strip())
    except OSError:
        return None


def _shortened(text: str) -> str | None:
    match = re.fullmatch(rf"([0-9a-f]{{12}})[0-9a-f]*({re.escape(CHANGED_SUFFIX)})?", text)
    return match[1] + (match[2] or "") if match else None
