"""What tests of whole runs share: a small experiment, the command line, and its processes."""

import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
import yaml
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.experiment import cell
from tests import conftest

ROOT = Path(__file__).parents[2]
MISBEHAVING = "tests.experiment.misbehaving"
BEHAVING = f"{MISBEHAVING}:Behaving"
PATIENCE = 100  # seconds within which things happen that take a fraction of one on a quiet machine
MEASURED = ("times", "timing", "measurements", "peak_memory", "started")
MEASURED += ("environment", "source", "check")


class InProcess(nullcontext):
    """An executor without workers: a job runs when it is submitted."""

    slots = 1

    def __enter__(self):
        return self

    def submit(self, job):
        future = Future()
        future.set_result(cell.run_job(job))
        return future


def key_of(name):
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def plan_text(entries):
    return "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n"


def keep_artefact(folder, record):
    """Write the arrays of a record, if any, as a run does; returns the record of their file."""
    if "artefact" not in record:
        return record
    name = f"artefacts/{record['key']}.npz"
    (folder / "artefacts").mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / name, **record["artefact"])
    return {**record, "artefact": name}


def behaving(way="well", grid=None, kind=BEHAVING, **params):
    return {"kind": kind, "params": {"way": way, **params}, "grid": grid or {}}


def write_config(folder, solvers, sizes=(70, 80), trials=1):
    """Write a dataset of 330 rows and a config; returns its path."""
    rng = np.random.default_rng(0)
    X = rng.random((330, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=330) > 0.5, 1, -1)
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",", fmt="%.5f")
    kind = f"{MISBEHAVING}:Orderly"
    config = {
        "dataset": {"path": "rows.csv", "loader": "delimited"},
        "protocol": {"kind": kind, "labeled": 30, "trials": trials, "folds": 3},
        "sweep": {"unlabeled": list(sizes)},
        "solvers": {name: {"label": name, **spec} for name, spec in solvers.items()},
        "outputs": ["error_table"],
    }
    (folder / "small.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return folder / "small.yaml"


def spawn(folder, *arguments, **options):
    """Start a module of Python in a folder, in a session of its own."""
    own = {"PYTHONPATH": str(ROOT), "DSGKIT_CACHE": str(folder / "cache"), "DSGKIT_OFFLINE": "1"}
    more = {"cwd": folder, "env": {**os.environ, **own}, "start_new_session": True}
    return subprocess.Popen([sys.executable, "-m", *map(str, arguments)], **more, **options)


def start(folder, *arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return spawn(folder, "dsgkit", *arguments, **pipes, **options)


def ended(process):
    """Wait for a process; returns its exit code, and its errors with single spaces."""
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, " ".join(err.split())


def dsg_here(folder, *arguments):
    """Run ``dsg`` in this process, which computes the cells too: exit code, output and errors."""
    with pytest.MonkeyPatch.context() as patch, conftest.cells_in_this_process():
        patch.chdir(folder)
        patch.setenv("DSGKIT_CACHE", str(folder / "cache"))
        done = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def stored(folder):
    """The records of a results folder that can be read, in their order."""
    path = folder / "cells.jsonl"
    lines, found = path.read_bytes().splitlines() if path.exists() else [], []
    for line in lines:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def without_measurements(records):
    """Records by key, without what differs between two runs of the same."""
    return {r["key"]: {k: v for k, v in r.items() if k not in MEASURED} for r in records}


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def pid_from(path):
    wait_until(path.exists)
    return int(path.read_text())


def descendants(pid):
    with suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def all_gone(pids):
    """Wait until none of some processes is left, but for those that wait to be reaped."""

    def alive(pid):
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE

    wait_until(lambda: not any(map(alive, pids)))
