"""Worker processes that misbehave, and that are killed, at whatever moment."""

import json
import os
import random
import signal
import threading
from dataclasses import replace

import psutil
import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.experiment import workers as workers_module
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import make_plan, solver_info
from dsgkit.experiment.workers import LocalWorkers
from tests.experiment.misbehaving import MIB
from tests.experiment.runs import (
    BEHAVING,
    alive,
    all_gone,
    behaving,
    descendants,
    pid_from,
    wait_until,
    workers_of,
    write_config,
)

pytestmark = pytest.mark.slow

GRID = {"lam": [0.0, 1.0]}

SEGFAULT = "worker process killed by SIGSEGV"
KILLED = "worker process killed by SIGKILL (by the system, if memory ran out)"
STOPPED = "stopped after 3 s"

ENDS = {
    "segfault": ("crashed", SEGFAULT),
    "kill": ("crashed", KILLED),
    "realtime": ("crashed", f"worker process killed by signal {signal.SIGRTMIN + 1}"),
    "exit": ("crashed", "worker process ended by itself with exit code 3"),
    "abandon": ("crashed", SEGFAULT),
    "sleep": ("timeout", STOPPED),
    "backtrack": ("timeout", STOPPED),
    "stop": ("timeout", STOPPED),
    "employ": ("timeout", STOPPED),
    "refuse": ("out_of_memory", "out of memory limit: needs 1024.0 GiB, limit 1.0 GiB"),
    "well": ("ok", ""),
}
"""How a search in a worker ends, where those that hang are stopped after three seconds."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def jobs_of(folder, solvers, *, processes=1, kind="search", **config):
    """The jobs of a config by solver: its searches, or its fits."""
    experiment = load_experiment(write_config(folder, solvers, **config))
    dataset = load_dataset(experiment.dataset)
    return {
        cell.solver: Job(
            experiment,
            dataset.content_hash,
            solver_info(experiment, cell.solver).version,
            cell,
            {} if kind == "search" else cell.points[0],
            Limits(),
            threads=2,
            processes=processes,
            alone=kind == "fit",
        )
        for cell in make_plan(experiment, dataset)
        if cell.kind == kind
    }


def limited(job, **limits):
    return replace(job, limits=Limits(**limits))


def search(way, **params):
    return {**behaving(way, GRID, **params), "search_at": {"unlabeled": 80}}


def run_all(workers, jobs):
    """Run jobs as the runner does; returns their records by solver."""
    left, records = list(jobs), {}
    while left or workers.busy:
        while left and workers.accepts(left[0]):
            workers.submit(left.pop(0))
        for job, record in workers.wait():
            records[job.cell.solver] = record
    return records


def run_one(workers, job):
    return run_all(workers, [job])[job.cell.solver]


def test_a_cell_ends_as_it_is_named_and_others_go_on(folder):
    solvers = {way: search(way) for way in ENDS} | {"also_well": search("well")}
    jobs = jobs_of(folder, solvers, processes=2)
    for way, (status, _) in ENDS.items():
        if status == "timeout":
            jobs[way] = limited(jobs[way], timeout=3)
    with LocalWorkers(3) as workers:
        records = run_all(workers, jobs.values())
        processes = descendants(os.getpid())
    assert {way: (records[way]["status"], records[way]["message"]) for way in ENDS} == ENDS
    assert {way: record["key"] for way, record in records.items()} == {
        way: job.cell.key for way, job in jobs.items()
    }
    assert records["also_well"]["fold_scores"] == records["well"]["fold_scores"]
    assert "in die" in records["segfault"]["traceback"]  # Python's stack at the signal
    assert "traceback" not in records["kill"]
    assert records["sleep"]["timeout"] == 3
    assert json.loads(json.dumps(records["refuse"]))["needed"] == 2**40
    left_behind = ("abandoned.pid", "employer.pid", "employed.pid")
    all_gone([*processes, *(pid_from(folder / name) for name in left_behind)])


def test_memory_without_end_is_stopped(folder):
    (job,) = jobs_of(folder, {"share": search("share")}).values()
    with LocalWorkers(1) as workers:
        record = run_one(workers, limited(job, memory=500 * MIB, timeout=60))
    assert record["status"] == "out_of_memory"
    assert record["limit"] == 500 * MIB
    assert 500 * MIB < record["peak_memory"] < 2000 * MIB
    assert record["message"].endswith("limit 0.49 GiB")


def test_warming_up_may_take_longer_than_the_limit_but_not_forever(folder, monkeypatch):
    jobs = jobs_of(folder, {way: search(way, above=1) for way in ("sleep", "segfault")})
    with LocalWorkers(2) as workers:
        workers.submit(jobs["segfault"])
        monkeypatch.setattr(workers_module, "COMPILING_SECONDS", 2.0)
        workers.submit(limited(jobs["sleep"], timeout=0.5))
        records = run_all(workers, [])
    assert {way: (r["status"], r["message"]) for way, r in records.items()} == {
        "sleep": ("timeout", "stopped after 0.5 s of --timeout and 2 s for compiling"),
        "segfault": ("crashed", SEGFAULT),
    }


def test_loading_may_take_as_long_as_the_data_are_large(folder, monkeypatch):
    """What stops before its solver has begun is a failure, not a result of the solver."""
    (job,) = jobs_of(folder, {"well": search("well")}).values()
    monkeypatch.setattr(workers_module, "STARTING_SECONDS", 0.5)
    with LocalWorkers(1) as workers:
        for data_bytes, seconds in ((0, "0"), (2**20, "2")):
            workers.submit(limited(replace(job, data_bytes=data_bytes), timeout=0.1))
            (pid,) = workers_of(os.getpid())
            os.kill(pid, signal.SIGSTOP)
            ((_, record),) = workers.wait()
            assert record["status"] == "crashed"
            expected = f"stopped after 0.1 s of --timeout and {seconds} s for loading"
            assert record["message"] == expected
            assert "timeout" not in record


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_worker_that_is_stopped_or_killed_while_idle_costs_nothing(folder, number):
    (job,) = jobs_of(folder, {"well": search("well")}).values()
    with LocalWorkers(1) as workers:
        expected = run_one(workers, job)["fold_scores"]
        (pid,) = workers_of(os.getpid())
        os.kill(pid, number)
        # all of it, not merely its first thread, which is what psutil looks at
        ended = os.WSTOPPED if number == signal.SIGSTOP else os.WEXITED
        wait_until(lambda: os.waitid(os.P_PID, pid, ended | os.WNOWAIT | os.WNOHANG))
        again = run_one(workers, limited(job, timeout=60))
        assert (again["status"], again.get("fold_scores")) == ("ok", expected)
        assert not alive(pid)


COUNTING = BEHAVING.replace("Behaving", "Counting")


def test_each_class_of_ones_own_has_workers_of_its_own(folder):
    solvers = {name: search("well") for name in ("first", "second")}
    solvers |= {name: {**search("well"), "kind": COUNTING} for name in ("third", "fourth")}
    jobs = jobs_of(folder, solvers)
    processes = {}
    with LocalWorkers(1) as workers:
        for name in ("first", "third", "second", "fourth", "first"):
            before = set(workers_of(os.getpid()))
            assert run_one(workers, jobs[name])["status"] == "ok"
            new = set(workers_of(os.getpid())) - before
            assert len(new) == (jobs[name].external_class not in processes)
            processes.setdefault(jobs[name].external_class, new)
    assert set(processes) == {BEHAVING, COUNTING}


def test_workers_that_have_nothing_to_do_make_room(folder, monkeypatch):
    monkeypatch.setattr(workers_module, "MAX_SPARE_WORKERS", 1)
    solvers = {name: search("slow") for name in ("first", "second")}
    solvers |= {name: {**search("slow"), "kind": COUNTING} for name in ("third", "fourth")}
    jobs = jobs_of(folder, solvers, processes=2)
    with LocalWorkers(2) as workers:
        run_all(workers, [jobs["first"], jobs["second"]])
        assert len(workers_of(os.getpid())) == 2
        run_all(workers, [jobs["third"], jobs["fourth"]])
        assert len(workers_of(os.getpid())) == 3


def test_a_worker_that_closes_its_pipe_is_given_up(folder, monkeypatch):
    monkeypatch.setattr(workers_module, "_END_SECONDS", 0.1)
    (job,) = jobs_of(folder, {"close": search("close")}).values()
    with LocalWorkers(1) as workers:
        assert run_one(workers, job)["message"] == "worker process closed its connection"


def test_workers_killed_at_random_moments_cost_the_cells_they_are_at(folder):
    """While starting, computing, sending, or idle: each job ends, as itself or as killed."""
    jobs = jobs_of(
        folder, {f"s{k}": search("slow" if k % 4 == 0 else "well") for k in range(10)}, processes=2
    )
    rng = random.Random(0)
    over = threading.Event()
    killed = []

    def kill_now_and_then():
        while not over.wait(rng.uniform(0, 0.6)):
            for pid in workers_of(os.getpid()):
                if rng.random() < 0.5:
                    killed.append(pid)
                    os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill_now_and_then)
    thread.start()
    try:
        with LocalWorkers(2) as workers:
            records = run_all(workers, jobs.values())
            over.set()
            thread.join()
            left = descendants(os.getpid())
    finally:
        over.set()
        thread.join()
    assert len(records) == 10
    assert len(killed) > 1
    crashed = [r for r in records.values() if r["status"] != "ok"]
    assert {r["message"] for r in crashed} <= {KILLED}
    assert len(crashed) <= len(killed)
    all_gone(left)


def test_threads_are_the_share_of_the_cores(folder):
    counting = {"kind": BEHAVING.replace("Behaving", "Counting"), "search_at": {"unlabeled": 80}}
    parts = {"search": {**counting, "grid": GRID}, "fit": counting}
    with LocalWorkers(1) as workers:
        for kind, processes, expected in (
            ("search", 2, "numba 1, BLAS 1"),
            ("search", 1, "numba 2, BLAS 1"),
            ("fit", 2, "numba 2, BLAS 2"),
        ):
            (job,) = jobs_of(
                folder, {kind: parts[kind]}, kind=kind, processes=processes, sizes=(80,)
            ).values()
            assert run_one(workers, job)["status"] == "ok"
            told = set((folder / "threads.txt").read_text().splitlines())
            (folder / "threads.txt").unlink()
            assert told == {expected}


def test_no_process_is_left_after_an_exception(folder):
    jobs = jobs_of(folder, {"employ": search("employ"), "deaf": search("deaf")}, processes=2)
    with pytest.raises(KeyError), LocalWorkers(2) as workers:
        for job in jobs.values():
            workers.submit(job)
        employed = pid_from(folder / "employed.pid")
        processes = {employed, *descendants(os.getpid())}
        raise KeyError
    assert len(processes) >= 5  # two workers, their guards, and the program
    all_gone(processes)


def test_no_process_of_a_session_of_its_own_is_left(folder):
    """Neither after the run, nor where its worker was killed, or died and left it to the system."""
    ends = {"flee_and_sleep": "timeout", "flee_and_crash": "crashed", "flee": "ok"}
    jobs = jobs_of(folder, {way: search(way) for way in ends})
    with LocalWorkers(1) as workers:
        for way, status in ends.items():
            record = run_one(workers, limited(jobs[way], timeout=3))
            assert record["status"] == status
            fled = pid_from(folder / "fled.pid")
            if way == "flee":
                assert alive(fled)
            else:
                all_gone([fled])
            (folder / "fled.pid").unlink()
    all_gone([fled])


@pytest.mark.parametrize("limits", [{"timeout": 2}, {}])
def test_a_worker_that_stops_while_it_sends_holds_up_nobody(folder, limits):
    """It is stopped at its time limit; without one, others end, and all do if the run does."""
    jobs = jobs_of(folder, {way: search(way) for way in ("stop_while_sending", "well")})
    with LocalWorkers(2) as workers:
        workers.submit(limited(jobs["stop_while_sending"], **limits))
        (pid,) = workers_of(os.getpid())
        wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
        workers.submit(jobs["well"])
        ended = [record for _ in range(1 + len(limits)) for _, record in workers.wait()]
    assert sorted(record["status"] for record in ended) == ["ok", "timeout"][: len(ended)]
    all_gone([pid])


def test_a_worker_that_cannot_start_costs_its_job_once(folder, monkeypatch):
    """Also where the job is too large for the pipe to hold while nobody reads it."""
    monkeypatch.setattr(workers_module, "_WORKER", "raise SystemExit(7)")
    (job,) = jobs_of(folder, {"well": search("well")}).values()
    with LocalWorkers(1) as workers:
        for each in (replace(job, chosen={"lam": "x" * MIB}), job):
            record = run_one(workers, each)
            assert record["message"] == "worker process ended by itself with exit code 7"
