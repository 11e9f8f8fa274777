"""What a result depends on besides the config: versions, processor, threads, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

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


def describe_environment() -> dict[str, Any]:
    """Return versions, processor, memory, thread counts and the commit, ready for JSON."""
    import numba
    import psutil

    from dsgkit import __version__
    from dsgkit.threads import blas_threads

    return {
        "dsgkit": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "logical_cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "numba_threads": numba.get_num_threads(),
        "blas_threads": blas_threads(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(s.split(":", 1)[1].strip() for s in lines if s.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit of the checkout the package runs from, marked if it was changed."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
