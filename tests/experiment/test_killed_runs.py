"""Runs that are killed or stopped, here and on a Dask cluster, go on and lose nothing."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dsgkit.errors import ConfigError
from dsgkit.experiment.workers import DaskExecutor
from tests.experiment.runs import (
    PATIENCE,
    all_gone,
    behaving,
    descendants,
    dsg,
    dsg_here,
    environment,
    pid_from,
    start,
    stored,
    tables,
    wait_until,
    without_measurements,
    write_config,
)

pytestmark = pytest.mark.slow

RUN = ("run", "small.yaml", "--jobs", "2")
RESULTS = Path("results/small")
LAM = {"lam": [0.0, 0.5, 1.0, 2.0]}


def small(folder):
    """An experiment of 28 cells: 16 searches and 12 fits, some of them slow enough to be met."""
    solvers = {
        "slow": {**behaving("slow", LAM), "search_at": {"unlabeled": 70}},
        "well": {**behaving("well", LAM), "search_at": {"unlabeled": 70}},
        "fixed": behaving("well", lam=0.25),
    }
    return write_config(folder, solvers, trials=2).parent


def finish(folder):
    """Let a run go on to its end, without the waiting of the slow solver."""
    (folder / "mended").touch()
    code, _, err = dsg_here(folder, *RUN)
    assert (code, err) == (0, "")
    return folder / RESULTS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results folder of a run that nothing has disturbed, without workers."""
    return finish(small(tmp_path_factory.mktemp("whole")))


def assert_as_if_undisturbed(folder, whole):
    """A run that was disturbed and has gone on has come to the same results."""
    results = finish(folder)
    assert tables(results) == tables(whole)
    assert without_measurements(stored(results)) == without_measurements(stored(whole))
    assert [p.name for p in results.rglob("*") if p.name.endswith(".tmp")] == []


def kill_at_random(folder, rng, command, tear):
    """Kill a run at a random moment, at the start or right after some records; lose nothing."""
    results = folder / RESULTS
    before, process = stored(results), start(folder, *command)
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0, 3))
    else:
        wanted = len(stored(results)) + rng.randint(1, 4)
        wait_until(lambda: len(stored(results)) >= wanted or process.poll() is not None)
    processes = descendants(process.pid)
    process.kill()
    process.communicate(timeout=PATIENCE)
    all_gone(processes)
    after = stored(results)
    assert after[: len(before)] == before and len({r["key"] for r in after}) == len(after)
    if tear and after:
        path = results / "cells.jsonl"
        last = path.read_bytes().splitlines(keepends=True)[-1]
        os.truncate(path, path.stat().st_size - len(last) // 2)


def test_killed_again_and_again_or_on_a_full_disk_a_run_loses_nothing(tmp_path, whole):
    folder, rng = small(tmp_path), random.Random(1)
    for kill in range(int(os.environ.get("DSGKIT_KILLS", 3))):
        kill_at_random(folder, rng, RUN, tear=kill % 3 == 1)
    code, out, _ = dsg_here(folder, "status", RESULTS)
    assert code == 0 and "the same `dsg run` resumes it" in " ".join(out.split())
    (folder / "mended").touch()
    most = (whole / "cells.jsonl").stat().st_size * 2 // 3
    limit = (resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    code, _, err = dsg(folder, *RUN, preexec_fn=lambda: resource.setrlimit(*limit))
    assert code == 1 and re.search(r"cannot write \(File too large\); earlier results are", err)
    assert 0 < len(stored(folder / RESULTS)) < 28
    assert_as_if_undisturbed(folder, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_stops_a_run_with_the_programs_of_its_solver_and_another_run_waits(
    tmp_path, number
):
    folder = write_config(tmp_path, {"employs": behaving("employ")}).parent
    process = start(folder, *RUN)
    processes = [pid_from(folder / "employed.pid"), *descendants(process.pid)]
    if number == signal.SIGINT:
        code, _, err = dsg(folder, *RUN)
        assert code == 1 and f"another run (process {process.pid} on " in err
        os.kill(process.pid, number)  # twice: Ctrl-C reaches a command by several ways
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE)
    all_gone(processes)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number and "Traceback" not in err
        assert "continue with: dsg run small.yaml" in " ".join(err.split())


def kill_all(process):
    """Kill a process with its children: a nanny would start a new one, and take its time to end."""
    for pid in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(PATIENCE)


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler and two workers, processes of their own: its address, it, and they."""
    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    options = ["--no-dashboard", "--host", "127.0.0.1"]
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def started(what, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, *options]
        return subprocess.Popen(command, env=environment(tmp_path), **quiet)

    processes = [started("scheduler", "--port", "0", "--scheduler-file", file)]
    wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
    address = json.loads(file.read_text())["address"]
    folder = tmp_path / "workers"
    local = ("--nthreads", "1", "--local-directory", folder)
    processes += [started("worker", address, *local) for _ in range(2)]
    wait_until(lambda: len(list(folder.glob("*/*"))) >= 2)
    yield address, processes
    for process in processes:
        kill_all(process)


def test_a_cluster_comes_to_the_same_results_whatever_is_killed(
    tmp_path, whole, cluster, monkeypatch
):
    """The run, again and again; a worker with its cell; and in the end the scheduler."""
    address, (scheduler, victim, _) = cluster
    with monkeypatch.context() as patch, pytest.raises(ConfigError, match=r"dsgkit 99, found: \d"):
        patch.setattr("dsgkit.experiment.workers.__version__", "99")
        DaskExecutor(address)
    folder, rng = small(tmp_path), random.Random(2)
    command = (*RUN[:2], "--scheduler", address)
    for kill in range(int(os.environ.get("DSGKIT_KILLS", 2))):
        kill_at_random(folder, rng, command, tear=kill % 3 == 1)

    def started(more):
        before, process = len(stored(folder / RESULTS)), start(folder, *command)
        wait_until(lambda: len(stored(folder / RESULTS)) > before + more or process.poll())
        return process

    process = started(0)
    kill_all(victim)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert_as_if_undisturbed(folder, whole)
    (folder / RESULTS).rename(folder / "aside")
    (folder / "mended").unlink()
    process = started(2)
    scheduler.kill()
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "Traceback" not in err
    assert "scheduler is gone; finished cells are kept" in " ".join(err.split())
    assert_as_if_undisturbed(folder, whole)


@pytest.mark.parametrize("wrong", ["nonsense", "tcp://127.0.0.1:9"])
def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch, wrong):
    pytest.importorskip("distributed")
    monkeypatch.setattr("dsgkit.experiment.workers._ANSWER_SECONDS", 1)
    with pytest.raises(ConfigError, match=re.escape(wrong)) as error:
        DaskExecutor(wrong)
    assert "\n" not in str(error.value)
