"""Child processes that misbehave, and runs that are killed, here and on a Dask cluster."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError
from dsgkit.estimators import catalogue
from dsgkit.experiment import workers as workers_module
from dsgkit.experiment.cell import Job, run_job
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.workers import DaskExecutor, LocalExecutor
from tests.experiment import runs
from tests.experiment.misbehaving import MIB
from tests.experiment.runs import behaving, descendants, ended, start, stored, wait_until

pytestmark = pytest.mark.slow

GRID = {"lam": [0.0, 1.0]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def jobs_of(folder, solvers):
    """The first job of each solver, on two threads: of its search, or of its fit without one."""
    specs = {name: spec | {"search_at": {"unlabeled": 80}} for name, (spec, _) in solvers.items()}
    experiment = load_experiment(runs.write_config(folder, specs, sizes=(80,)))
    dataset, jobs = load_dataset(experiment.dataset), {}
    for cell in make_plan(experiment, dataset).cells:
        info = catalogue.get(experiment.solvers[cell.solver].kind)
        more = {"chosen": {} if cell.kind == "search" else cell.points[0], "threads": 2}
        more |= solvers[cell.solver][1]
        job = Job(experiment, dataset.content_hash, info.version, cell, **more)
        jobs.setdefault(cell.solver, job)
    return jobs


SLOW = "and 10 s of loading and compiling"
ENDS = {  # a solver, options of its job, and what its record has
    "share": (behaving("share", GRID), {"memory": 500 * MIB}, "out_of_memory", "stopped at .*iB"),
    "loads": (behaving("employ", GRID, above=1), {"timeout": 0.5}, "timeout", f".* 0.5 s {SLOW}"),
    "employ": (behaving("employ", GRID), {"timeout": 3}, "timeout", "stopped after 3 s"),
    "well": (behaving("well", GRID), {"processes": 3}, "ok", ""),
    "compete": (behaving("compete", {"lam": [1.0]}), {"timeout": 2}, "ok", ""),  # over 3 s wait
    "nameless": (behaving("nameless"), {}, "crashed", f"worker .* signal {signal.SIGRTMIN + 1}"),
    "abandon": (behaving("abandon", GRID), {}, "crashed", "worker process killed by SIGSEGV"),
    # a fit that is known is not lost to its repeats; limits of time start again before
    "exits": (behaving(name="Repeating", lam=1.0), {"timeout": 2.0}, "ok", ""),
    "sleeps": (behaving(name="Repeating", lam=999.0), {"timeout": 2.0}, "ok", ""),
    "refuse": (behaving("refuse"), {}, "out_of_memory", "out .* needs 1024.0 GiB, limit 1.0 GiB"),
    "memory": (behaving("memory"), {}, "out_of_memory", "MemoryError.*"),
    # threads are the share of the cores, and in a search always one of BLAS
    "fit": (behaving("count"), {"processes": 2}, "failed", "numba 2, BLAS 2"),
    "search": (behaving("count", GRID), {"processes": 1}, "failed", "numba 2, BLAS 1"),
    "shares": (behaving("count", GRID), {"processes": 2}, "failed", "numba 1, BLAS 1"),
    "also_well": (behaving("well", GRID), {}, "ok", ""),
}


def test_on_one_thread_a_search_is_timed_by_the_processor(folder):
    solvers = {f"slow_{n}": (behaving("slow", GRID), {"threads": n}) for n in (1, 2)}
    one, two = (run_job(job)[0] for job in jobs_of(folder, solvers).values())
    assert one["times"]["search"] < 0.2 <= two["times"]["search"]


def test_a_cell_ends_as_it_is_named_and_others_go_on(folder, monkeypatch):
    monkeypatch.setattr(workers_module, "LOADING_SECONDS", 10.0)
    monkeypatch.setattr(workers_module, "REPEATING_SECONDS", 2.0)
    jobs = jobs_of(folder, {name: entry[:2] for name, entry in ENDS.items()})
    with LocalExecutor(3) as executor:
        futures = {name: executor.submit(job) for name, job in jobs.items()}
        records = {name: future.result()[0] for name, future in futures.items()}
        processes = descendants(os.getpid())
    for name, (_, _, status, message) in ENDS.items():
        record = records[name]
        assert record["status"] == status and re.fullmatch(message, record["message"]), name
        assert record["key"] == jobs[name].cell.key
    assert records["also_well"]["fold_scores"] == records["well"]["fold_scores"]
    assert (records["employ"]["timeout"], records["refuse"]["needed"]) == (3, 2**40)
    assert records["share"]["limit"] == 500 * MIB < records["share"]["peak_memory"] < 2000 * MIB
    for name, lam in (("exits", 1.0), ("sleeps", 999.0)):
        assert len(records[name]["measurements"]["wall"]["fit"]) == 1
        assert (folder / f"fits-{lam}").read_text() == "..."
    runs.all_gone([*processes, *map(runs.pid_from, folder.glob("*.pid"))])


def test_processes_are_those_of_one_class_and_end_with_all_that_they_started(folder, monkeypatch):
    solvers = {"one": behaving(grid=GRID), "employ": behaving("employ", GRID)}
    solvers["two"] = behaving("share_out", GRID, "Other")
    jobs = jobs_of(folder, {name: (spec, {}) for name, spec in solvers.items()})
    with pytest.raises(KeyError), LocalExecutor(2) as executor:
        for _ in range(2):  # used again
            assert executor.submit(jobs["one"]).result()[0]["status"] == "ok"
            (first,) = [child.process.pid for child in executor._idle]
        os.kill(first, signal.SIGKILL)  # one that dies while it is idle costs nothing
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert executor.submit(jobs["one"]).result()[0]["status"] == "ok"
        second = executor._idle[-1].process.pid
        monkeypatch.setattr(workers_module, "MAX_IDLE", 0)
        future = executor.submit(jobs["two"])
        pids = [runs.pid_from(folder / f"work{number}.pid") for number in (0, 1)]
        runs.all_gone([second])
        executor.kill()
        assert future.result()[0]["message"].endswith("SIGKILL (by the system, if memory ran out)")
        runs.all_gone(pids)
        executor.submit(jobs["employ"])
        processes = {runs.pid_from(folder / "employed.pid"), *descendants(os.getpid())}
        raise KeyError
    assert len(processes) >= 3  # a child, its guard, and the program
    runs.all_gone(processes)


def test_a_process_that_cannot_start_costs_its_job(folder, monkeypatch):
    """Also where the job is too large for the pipe to hold while nobody reads it."""
    monkeypatch.setattr(workers_module, "_COMMAND", "raise SystemExit(7)")
    (job,) = jobs_of(folder, {"well": (behaving(), {"chosen": {"lam": "x" * MIB}})}).values()
    with LocalExecutor(1) as executor:
        record, picture = executor.submit(job).result()
    assert (record["message"], picture) == ("worker process ended by itself with exit code 7", b"")


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
    return runs.write_config(folder, solvers, trials=2).parent


def finish(folder):
    """Let a run go on to its end, without the waiting of the slow solver."""
    (folder / "mended").touch()
    code, _, err = runs.dsg_here(folder, *RUN)
    assert (code, err) == (0, "")
    return folder / RESULTS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results folder of a run that nothing has disturbed, without workers."""
    return finish(small(tmp_path_factory.mktemp("whole")))


def assert_as_if_undisturbed(folder, whole):
    """A run that was disturbed and has gone on has come to the same results."""
    results = finish(folder)
    for name in ("error_table.csv", "params_table.csv"):
        assert (results / "tables" / name).read_bytes() == (whole / "tables" / name).read_bytes()
    assert runs.without_measurements(stored(results)) == runs.without_measurements(stored(whole))
    assert [p.name for p in results.rglob("*") if p.name.endswith(".tmp")] == []


def kill_at_random(folder, rng, command, kill):
    """Stop a run at a random moment, at the start or right after some records; lose nothing."""
    results = folder / RESULTS
    before, process = stored(results), start(folder, *command)
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0, 3))
    else:
        wanted = len(before) + rng.randint(1, 4)
        wait_until(lambda: len(stored(results)) >= wanted or process.poll() is not None)
    processes = descendants(process.pid)
    process.kill()
    ended(process)
    runs.all_gone(processes)
    after = stored(results)
    assert after[: len(before)] == before and len({r["key"] for r in after}) == len(after)
    if kill % 3 == 1 and after:  # a crash has torn the last record
        path = results / "cells.jsonl"
        last = path.read_bytes().splitlines(keepends=True)[-1]
        os.truncate(path, path.stat().st_size - len(last) // 2)


def test_killed_again_and_again_or_on_a_full_disk_a_run_loses_nothing(tmp_path, whole):
    folder, rng = small(tmp_path), random.Random(1)
    for kill in range(int(os.environ.get("DSGKIT_KILLS", 2))):
        kill_at_random(folder, rng, RUN, kill)
    code, out, _ = runs.dsg_here(folder, "status", RESULTS)
    assert code == 0 and "the same `dsg run` resumes it" in " ".join(out.split())
    (folder / "mended").touch()
    most = (whole / "cells.jsonl").stat().st_size * 2 // 3
    limit = (resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    code, err = ended(start(folder, *RUN, preexec_fn=lambda: resource.setrlimit(*limit)))
    assert code == 1 and re.search(r"cannot write \(File too large\); earlier results are", err)
    assert 0 < len(stored(folder / RESULTS)) < 28
    assert_as_if_undisturbed(folder, whole)


def test_a_signal_stops_a_run_with_the_programs_of_its_solver_and_another_run_waits(tmp_path):
    folder = runs.write_config(tmp_path, {"employs": behaving("employ")}).parent
    process = start(folder, *RUN)
    processes = [runs.pid_from(folder / "employed.pid"), *descendants(process.pid)]
    code, _, err = runs.dsg_here(folder, *RUN)
    assert code == 1 and f"another run (process {process.pid} on " in " ".join(err.split())
    for _ in range(2):  # Ctrl-C reaches a command by several ways
        os.kill(process.pid, signal.SIGINT)
    code, err = ended(process)
    runs.all_gone(processes)
    assert code == 128 + signal.SIGINT and "Traceback" not in err
    assert "continue with: dsg run small.yaml" in err


def kill_all(process):
    """Kill a process with its children: a nanny would start a new one, and take its time to end."""
    for pid in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(runs.PATIENCE)


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler and two workers, processes of their own: its address, it, and they."""
    pytest.importorskip("distributed")
    file, local = tmp_path / "scheduler.json", tmp_path / "workers"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ("--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", file)
    own = {"scheduler": ("--port", "0"), "worker": ("--nthreads", "1", "--local-directory", local)}
    processes = [
        runs.spawn(tmp_path, f"distributed.cli.dask_{what}", *common, *own[what], **quiet)
        for what in ("scheduler", "worker", "worker")
    ]
    wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
    wait_until(lambda: len(list(local.glob("*/*"))) >= 2)
    yield json.loads(file.read_text())["address"], processes
    for process in processes:
        kill_all(process)


def test_a_cluster_comes_to_the_same_results_whatever_is_killed(tmp_path, whole, cluster):
    """The run, again and again; a worker with its cell; and in the end the scheduler."""
    address, (scheduler, victim, _) = cluster

    def is_refused():
        with pytest.raises(ConfigError, match="99, found") as refusal:
            DaskExecutor(address)
        return "found: no worker" not in str(refusal.value)  # they may not have come yet

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers_module, "__version__", "99")
        wait_until(is_refused)
    folder, rng = small(tmp_path), random.Random(2)
    command = (*RUN[:2], "--scheduler", address)
    for kill in range(int(os.environ.get("DSGKIT_KILLS", 1))):
        kill_at_random(folder, rng, command, kill)

    def started(*more):
        before, process = len(stored(folder / RESULTS)), start(folder, *command, *more)
        wait_until(lambda: len(stored(folder / RESULTS)) > before or process.poll() is not None)
        return process

    process = started()
    kill_all(victim)
    (folder / "mended").touch()
    code, err = ended(process)
    assert code == 0, err
    assert_as_if_undisturbed(folder, whole)
    (folder / RESULTS).rename(folder / "aside")
    (folder / "mended").unlink()
    process = started("--solvers", "slow")
    scheduler.kill()
    code, err = ended(process)
    assert code == 1 and "Traceback" not in err
    assert "scheduler is gone; finished cells are kept" in err and stored(folder / RESULTS)


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers_module, "_ANSWER_SECONDS", 1)
    with pytest.raises(ConfigError, match=r"^tcp://127.0.0.1:9: no scheduler answers[^\n]*\Z"):
        DaskExecutor("tcp://127.0.0.1:9")
