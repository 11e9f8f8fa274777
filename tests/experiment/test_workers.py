"""Child processes that misbehave, and runs that are killed, here and on a Dask cluster."""

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
from dataclasses import replace
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError
from dsgkit.experiment import workers as workers_module
from dsgkit.experiment.cell import Job
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.experiment.workers import DaskExecutor, LocalExecutor
from dsgkit.solvers import catalogue
from tests.experiment.misbehaving import MIB
from tests.experiment.runs import (
    BEHAVING,
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

COUNTING = BEHAVING.replace("Behaving", "Counting")
SEGFAULT = "worker process killed by SIGSEGV"
KILLED = "worker process killed by SIGKILL (by the system, if memory ran out)"
STOPPED = "stopped after 3 s"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def jobs_of(folder, solvers, kind="search", **more):
    """The jobs of a config by solver: its first searches, or its first fits."""
    experiment = load_experiment(write_config(folder, solvers, sizes=(80,)))
    dataset = load_dataset(experiment.dataset)
    return {
        cell.solver: Job(
            *(
                experiment,
                dataset.content_hash,
                catalogue.get(experiment.solvers[cell.solver].kind).version,
                cell,
            ),
            **{"chosen": {} if kind == "search" else cell.points[0], "threads": 2} | more,
        )
        for cell in make_plan(experiment, dataset).cells
        if cell.kind == kind
    }


def search(way, kind=BEHAVING, **params):
    spec = behaving(way, {"lam": [0.0, 1.0]}, **params)
    return {**spec, "search_at": {"unlabeled": 80}, "kind": kind}


def record_of(job):
    with LocalExecutor(1) as executor:
        return executor.submit(job).result()[0]


ENDS = {
    "segfault": ("crashed", SEGFAULT),
    "kill": ("crashed", KILLED),
    "nameless": ("crashed", f"worker process killed by signal {signal.SIGRTMIN + 1}"),
    "exit": ("crashed", "worker process ended by itself with exit code 3"),
    "abandon": ("crashed", SEGFAULT),
    "deaf": ("timeout", STOPPED),
    "employ": ("timeout", STOPPED),
    "refuse": ("out_of_memory", "out of memory limit: needs 1024.0 GiB, limit 1.0 GiB"),
    "well": ("ok", ""),
}


def test_a_cell_ends_as_it_is_named_and_others_go_on(folder):
    solvers = {way: search(way) for way in ENDS} | {"also_well": search("well")}
    jobs = jobs_of(folder, solvers, processes=2)
    for way, (status, _) in ENDS.items():
        if status == "timeout":
            jobs[way] = replace(jobs[way], timeout=3)
    with LocalExecutor(3) as executor:
        futures = {way: executor.submit(job) for way, job in jobs.items()}
        records = {way: future.result()[0] for way, future in futures.items()}
        processes = descendants(os.getpid())
    assert {way: (records[way]["status"], records[way]["message"]) for way in ENDS} == ENDS
    assert all(records[way]["key"] == job.cell.key for way, job in jobs.items())
    assert records["also_well"]["fold_scores"] == records["well"]["fold_scores"]
    assert (records["deaf"]["timeout"], records["refuse"]["needed"]) == (3, 2**40)
    left_behind = ("abandoned.pid", "employer.pid", "employed.pid")
    all_gone([*processes, *(pid_from(folder / name) for name in left_behind)])


def test_memory_without_end_is_stopped_and_so_is_warming_up(folder, monkeypatch):
    (job,) = jobs_of(folder, {"share": search("share")}, memory=500 * MIB, timeout=60).values()
    record = record_of(job)
    assert (record["status"], record["limit"]) == ("out_of_memory", 500 * MIB)
    assert 500 * MIB < record["peak_memory"] < 2000 * MIB
    monkeypatch.setattr(workers_module, "LOADING_SECONDS", 8.0)
    (job,) = jobs_of(folder, {"deaf": search("deaf", above=1)}, timeout=0.5).values()
    assert record_of(job)["message"] == "stopped after 0.5 s and 8 s of loading and compiling"


REPEATS = """
import os, time
from pathlib import Path
from tests.experiment.misbehaving import Behaving

class Repeating(Behaving):
    def fit(self, X, y, X_unlabeled):
        with open("fits", "a") as file:
            file.write(".")
        if Path("fits").stat().st_size > 2:  # a warm-up, a fit, a repeat
            time.sleep(self.lam) if self.lam > 1 else os._exit(3)
        return super().fit(X, y, X_unlabeled)
"""


@pytest.mark.parametrize("lam", [1.0, 1000.0])
def test_a_fit_that_is_known_is_not_lost_to_its_repeats(folder, monkeypatch, lam, own_modules):
    """Limits of time start again before it is repeated."""
    monkeypatch.setattr(workers_module, "REPEATING_SECONDS", 2.0)
    own_modules("repeats", REPEATS)
    spec = {"kind": "repeats:Repeating", "params": {"lam": lam}}
    (job,) = jobs_of(folder, {"mine": spec}, kind="fit", timeout=2.0).values()
    record = record_of(job)
    assert (record["status"], len(record["measurements"]["wall"]["fit"])) == ("ok", 1)
    assert (folder / "fits").read_text() == "..."


def test_each_class_of_ones_own_has_processes_of_its_own_that_are_used_again(folder, monkeypatch):
    monkeypatch.setattr(workers_module, "MAX_IDLE", 1)
    solvers = {"first": search("well"), "second": search("well"), "third": search("well", COUNTING)}
    jobs, pids = jobs_of(folder, solvers), {}
    with LocalExecutor(1) as executor:
        for name in ("first", "third", "second", "first"):
            assert executor.submit(jobs[name]).result()[0]["status"] == "ok"
            idle = {child.external_class: child.process.pid for child in executor._idle}
            assert idle.items() >= pids.items()
            pids = idle
        assert set(pids) == {BEHAVING, COUNTING}
        os.kill(pids[BEHAVING], signal.SIGKILL)  # one that dies while it is idle costs nothing
        os.waitid(os.P_PID, pids[BEHAVING], os.WEXITED | os.WNOWAIT)
        assert executor.submit(jobs["first"]).result()[0]["status"] == "ok"
        left = descendants(os.getpid())
    all_gone(left)


@pytest.mark.parametrize(("kind", "processes"), [("search", 2), ("search", 1), ("fit", 2)])
def test_threads_are_the_share_of_the_cores(folder, kind, processes):
    spec = {"kind": COUNTING, "search_at": {"unlabeled": 80}}
    spec |= {"grid": {"lam": [0.0, 1.0]}} if kind == "search" else {}
    (job,) = jobs_of(folder, {"mine": spec}, kind, processes=processes, once=True).values()
    assert record_of(job)["status"] == "ok"
    threads = (1, 1) if processes == 2 and kind == "search" else (2, 1 + (kind == "fit"))
    assert {*(folder / "threads.txt").read_text().splitlines()} == {
        "numba {}, BLAS {}".format(*threads)
    }


JOBLIB = """
from joblib import Parallel, delayed
from tests.experiment.misbehaving import Behaving, leave_pid, wait_for_file

def work(number):
    leave_pid(f"work{number}")
    wait_for_file("never")

class Parallel_(Behaving):
    def fit(self, X, y, X_unlabeled):
        if len(X_unlabeled) > self.above:
            Parallel(n_jobs=2)(delayed(work)(number) for number in (0, 1))
        return super().fit(X, y, X_unlabeled)
"""


def test_processes_of_a_solver_end_with_its_cell_and_with_an_exception(folder, own_modules):
    own_modules("jobs", JOBLIB)
    solvers = {"two": search("well", "jobs:Parallel_"), "employ": search("employ")}
    jobs = jobs_of(folder, solvers, processes=2)
    with pytest.raises(KeyError), LocalExecutor(2) as executor:
        future = executor.submit(jobs["two"])
        pids = [pid_from(folder / f"work{number}.pid") for number in (0, 1)]
        executor.kill()
        assert future.result()[0]["message"] == KILLED
        all_gone(pids)
        executor.submit(jobs["employ"])
        processes = {pid_from(folder / "employed.pid"), *descendants(os.getpid())}
        raise KeyError
    assert len(processes) >= 3  # a child, its guard, and the program
    all_gone(processes)


def test_a_process_that_cannot_start_costs_its_job(folder, monkeypatch):
    """Also where the job is too large for the pipe to hold while nobody reads it."""
    monkeypatch.setattr(workers_module, "_COMMAND", "raise SystemExit(7)")
    (job,) = jobs_of(folder, {"well": search("well")}, chosen={"lam": "x" * MIB}).values()
    assert record_of(job)["message"] == "worker process ended by itself with exit code 7"


def test_a_rehearsal_finds_what_ends_the_process_and_lets_slow_solvers_run(folder, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.run._REHEARSAL_SECONDS", 2.0)
    monkeypatch.setattr(workers_module, "LOADING_SECONDS", 8.0)
    solvers = {way: behaving(way, above=1) for way in ("exit", "deaf")}
    experiment = load_experiment(write_config(folder, solvers, sizes=(70,)))
    with pytest.raises(ConfigError, match=r"solvers\.exit: a fit on a few rows .*exit code 3; no"):
        run_experiment(experiment, folder / "r", Options(once=True))
    options = Options(once=True, timeout=1.0, solvers=["deaf"])
    assert [r["status"] for r in run_experiment(experiment, folder / "r", options).ended] == [
        "timeout"
    ]


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
