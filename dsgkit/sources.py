"""The package's own source files, as something that results and caches depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

PACKAGE = Path(__file__).parent


def sources_hash(root: Path = PACKAGE, without: Collection[str] = ()) -> str:
    """Return a hash of the source files of a package.

    Parameters
    ----------
    root : Path
        Its folder.
    without : collection of str
        Files and folders at the top of the package that do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in without:
            digest.update(str(name).encode() + path.read_bytes())
    return digest.hexdigest()
