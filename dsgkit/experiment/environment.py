"""Environment of a run: versions, processor, threads, commit."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from dsgkit.experiment.store import own_folder, write_file
from dsgkit.system.commit import commit_of

ENVIRONMENT = "environment.json"
ENVIRONMENTS = "environments"
"""In a results folder: the file of the last run's environment, and the folder of all of them."""

_LIBRARIES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "pandas",
    "matplotlib",
    "pydantic",
)


def describe_environment(threads: int | None = None) -> dict[str, Any]:
    """Return versions, processor, memory, threads and the commit, ready for JSON.

    Parameters
    ----------
    threads : int, optional
        Threads of a timed fit; by default as many as the process can run at once.
    """
    import psutil

    from dsgkit import __version__
    from dsgkit.system.threads import available_threads

    return {
        "dsgkit": __version__,
        "commit": commit_of(),
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "logical_cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "threads": threads or available_threads(),
    }


class Environments:
    """The environments of a results folder, each in a file under a short name.

    Parameters
    ----------
    folder : Path
        The results folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}

    def start(self, threads: int | None) -> None:
        """Store the environment of this process as that of the run."""
        environment = describe_environment(threads)
        self.name(environment)
        write_file(self._folder / ENVIRONMENT, _text(environment))

    def name(self, environment: dict[str, Any] | None) -> str | None:
        """Return an environment's name in records, having written its file."""
        if environment is None:
            return None
        text = _text(environment)
        if text not in self._names:
            name = environment_name(text.encode())
            write_file(own_folder(self._folder, ENVIRONMENTS) / f"{name}.json", text)
            self._names[text] = name
        return self._names[text]


def environment_name(content: bytes) -> str:
    """Return the name of an environment: a hash of its file's content."""
    return hashlib.sha256(content).hexdigest()[:12]


def _text(environment: dict[str, Any]) -> str:
    return json.dumps(environment, indent=2) + "\n"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(s.split(":", 1)[1].strip() for s in lines if s.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
