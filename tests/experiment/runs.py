"""What tests of whole runs share: a small experiment, the command line, and its processes."""

import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from contextlib import chdir, suppress
from pathlib import Path

import numpy as np
import psutil
import yaml
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.experiment import cell
from tests import conftest

ROOT = Path(__file__).parents[2]
MISBEHAVING = "tests.experiment.misbehaving"
PATIENCE = 100  # seconds within which things happen that take a fraction of one on a quiet machine
MEASURED = ("times", "timing", "measurements", "peak_memory", "started")
MEASURED += ("environment", "source", "check")


class InProcess(Executor):
    """An executor without workers: a job runs when it is submitted."""

    slots = 1

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


def behaving(way="well", grid=None, name="Behaving", **params):
    return {"kind": f"{MISBEHAVING}:{name}", "params": {"way": way, **params}, "grid": grid or {}}


def write_config(folder, solvers, sizes=(70, 80), trials=1):
    """Write a dataset of 330 rows and a config; returns its path."""
    rng = np.random.default_rng(0)
    X = rng.random((330, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=330) > 0.5, 1, -1)
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",", fmt="%.5f")
    config = {
        "dataset": {"path": "rows.csv", "loader": "delimited"},
        "protocol": {"kind": f"{MISBEHAVING}:Orderly", "labeled": 30, "trials": trials, "folds": 3},
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
    runner = CliRunner(env={"DSGKIT_CACHE": str(folder / "cache")})
    with chdir(folder), conftest.cells_in_this_process():
        done = runner.invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def stored(folder):
    """The records of a results folder that can be read, in their order."""
    found, path = [], folder / "cells.jsonl"
    for line in path.read_bytes().splitlines() if path.exists() else []:
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
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            left = psutil.Process(pid)
            wait_until(lambda left=left: left.status() == psutil.STATUS_ZOMBIE)
