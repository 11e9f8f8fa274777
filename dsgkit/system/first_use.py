"""The folder of compiled code, and a line on its first use; numba is not imported here."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path

from dsgkit.system.files import WITHOUT_RESULTS, source_hash

# compiled code of other files does not depend on these: their edits need no compilation
_RUNNER = ("config", "data", "experiment", "tasks", "text.py", "user_code.py")


def cache_folder() -> Path:
    """Return the folder of code that is compiled from the sources as they are."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    sources = source_hash((*WITHOUT_RESULTS, *_RUNNER))
    return Path(home or Path.home() / ".cache") / f"dsgkit/compiled/{version('numba')}-{sources}"


def is_first_use() -> bool:
    """Return whether nobody has asked this of the folder before."""
    with suppress(OSError):  # the mark is there, or the folder cannot be written
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "used").open("x").close()
        return True
    return False


def say_first_use() -> None:
    """Say once, on standard error, why a first fit takes long; worker processes say nothing."""
    if is_first_use() and sys.stderr and parent_process() is None:
        text = "dsgkit compiles its numerical code, once: some ten seconds for the first fit"
        print(text, file=sys.stderr)
