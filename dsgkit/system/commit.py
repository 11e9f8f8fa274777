"""Which code is running: its commit, and a hash of its sources.

Outside a checkout the commit is read from the file ``COMMIT``. ``git archive`` fills it in
(``.gitattributes``), and so does ``hatch_build.py`` in a wheel or an sdist, which loads this module
without the package's requirements.
"""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
from pathlib import Path

FILE = "COMMIT"

CHANGED_SUFFIX = "+changes"
"""Suffix of a commit whose checkout had other changes."""

PACKAGE = Path(__file__).resolve().parent.parent

WITHOUT_RESULTS = ("cli", "papers", "published", "report")
"""Rooms that only show results: an edit there changes none."""


@functools.cache
def source_hash(without: tuple[str, ...] = WITHOUT_RESULTS) -> str:
    """Return a hash of the bytes of the package's Python files, but for some of its folders.

    It is computed once per process: the code that runs is that which was there at the start.
    """
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in without:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def commit_of(package: Path = PACKAGE) -> str | None:
    """Return the commit of the package in a folder, marked if it was changed; None if unknown.

    A repository counts only if the package is tracked at its root: an installed copy may lie in a
    repository of the user.
    """
    git = ["git", "-c", f"safe.directory={package.parent}", "-C", str(package.parent)]
    try:
        text = (package / FILE).read_text().strip()
        if match := re.fullmatch(rf"([0-9a-f]{{12}})[0-9a-f]*({re.escape(CHANGED_SUFFIX)})?", text):
            return match[1] + (match[2] or "")
        if not (package.parent / ".git").exists():
            return None
        _output([*git, "ls-files", "--error-unmatch", str(package / "__init__.py")])
        described = ["describe", "--always", "--exclude=*", "--abbrev=12"]
        return _output([*git, *described, f"--dirty={CHANGED_SUFFIX}"])
    except (OSError, subprocess.CalledProcessError):
        return None


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
