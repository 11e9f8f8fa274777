"""What tests of whole runs share: a small experiment, the command line, and its processes."""

import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
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
ORDERLY = "tests.experiment.misbehaving:Orderly"
BEHAVING = "tests.experiment.misbehaving:Behaving"
PATIENCE = 200
"""Seconds within which things happen that take a fraction of one on a quiet machine."""

MEASURED = ("times", "timing", "measurements", "peak_memory", "started")
MEASURED += ("environment", "source", "check")


class InProcess:
    """An executor without workers: a job runs when it is submitted."""

    slots = 1

    def submit(self, job):
        future = Future()
        future.set_result(cell.run_job(job))
        return future

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def key_of(name):
    """A cell's key, of the form that plans give them."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def plan_text(entries):
    """A plan as a run writes it."""
    return "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n"


def keep_artefact(folder, record):
    """Write the arrays of a record, if any, as a run does; returns the record of their file."""
    if "artefact" not in record:
        return record
    name = f"artefacts/{record['key']}.npz"
    (folder / "artefacts").mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / name, **record["artefact"])
    return {**record, "artefact": name}


def behaving(way="well", grid=None, **params):
    """A config's entry of a solver with a way to behave."""
    return {"kind": BEHAVING, "params": {"way": way, **params}, "grid": grid or {}}


def write_config(folder, solvers, sizes=(70, 80), trials=1):
    """Write a dataset of 330 rows and a config; returns its path."""
    rng = np.random.default_rng(0)
    X = rng.random((330, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=330) > 0.5, 1, -1)
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",", fmt="%.5f")
    config = {
        "dataset": {"path": "rows.csv", "loader": "delimited"},
        "protocol": {"kind": ORDERLY, "labeled": 30, "trials": trials, "folds": 3},
        "sweep": {"unlabeled": list(sizes)},
        "solvers": {name: {"label": name, **spec} for name, spec in solvers.items()},
        "outputs": ["error_table"],
    }
    (folder / "small.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return folder / "small.yaml"


def environment(folder):
    own = {"PYTHONPATH": str(ROOT), "DSGKIT_CACHE": str(folder / "cache"), "DSGKIT_OFFLINE": "1"}
    return {**os.environ, **own}


def start(folder, *arguments, **options):
    """Start ``dsg`` in a folder, in a session of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "dsgkit", *map(str, arguments)]
    more = {"cwd": folder, "env": environment(folder), "start_new_session": True}
    return subprocess.Popen(command, **pipes, **more, **options)


def dsg(folder, *arguments, **options):
    """Run ``dsg`` in a folder; returns its exit code, output and errors."""
    process = start(folder, *arguments, **options)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def dsg_here(folder, *arguments):
    """The same in this process, which computes the cells too: its exit code, output and errors."""
    with pytest.MonkeyPatch.context() as patch, conftest.cells_in_this_process():
        patch.chdir(folder)
        patch.setenv("DSGKIT_CACHE", str(folder / "cache"))
        done = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def stored(folder):
    """The records of a results folder that can be read, in their order."""
    path = folder / "cells.jsonl"
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def without_measurements(records):
    """Records by key, without what differs between two runs of the same."""
    return {
        record["key"]: {k: v for k, v in record.items() if k not in MEASURED} for record in records
    }


def tables(folder):
    """The tables of scores and parameters, byte for byte."""
    wanted = ("error_table", "params_table")
    return {p.name: p.read_bytes() for p in (folder / "tables").iterdir() if p.stem in wanted}


def wait_until(condition):
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def pid_from(path):
    """The process that has left its number in a file."""
    wait_until(path.exists)
    return int(path.read_text())


def descendants(pid):
    """The processes that a process has started, and those that they have."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def all_gone(pids):
    """Wait until none of some processes is left, but for those that wait to be reaped."""

    def alive(pid):
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    wait_until(lambda: not any(map(alive, pids)))
