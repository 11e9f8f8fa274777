"""Cells on a real Dask cluster: a scheduler and two worker processes on loopback."""

import contextlib
import json
import operator
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.cluster import Cluster, ClusterError, _machine
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from tests.conftest import cells_in_this_process
from tests.experiment.runs import ORDERLY, PATIENCE, ROOT, alive, start, stored, workers_of

pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

SOLVERS = """
import os, signal, time
from tests.experiment.misbehaving import Behaving

class Slow(Behaving):
    '''The first fit at each size takes long; it leaves a file that says where it runs.'''

    def fit(self, X, y, X_unlabeled):
        n = len(X_unlabeled)
        if n > 64 and not os.path.exists(f"fit-{n}"):
            with open(f"fit-{n}.part", "w") as file:
                file.write(str(os.getppid()))
            os.rename(f"fit-{n}.part", f"fit-{n}")
            time.sleep(600)
        return super().fit(X, y, X_unlabeled)


class Telling(Behaving):
    def fit(self, X, y, X_unlabeled):
        names = ("MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        self.set_ = sum(name in os.environ for name in names)
        return super().fit(X, y, X_unlabeled)


class Fatal(Behaving):
    def fit(self, X, y, X_unlabeled):
        if len(X_unlabeled) > 64:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().fit(X, y, X_unlabeled)


class Endless(Behaving):
    def fit(self, X, y, X_unlabeled):
        if len(X_unlabeled) > 64:
            time.sleep(600)
        return super().fit(X, y, X_unlabeled)
"""


def started(arguments, folder, pattern, log):
    """Start a process and return it with what a pattern finds in its log."""
    with (folder / log).open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    until(lambda: re.search(pattern, (folder / log).read_text()), process)
    return process, re.search(pattern, (folder / log).read_text())


def until(condition, process=None):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        assert process is None or process.poll() is None, "the process has ended"
        time.sleep(0.05)


def end(processes):
    """Kill processes with their children: told to end, a nanny of a busy machine takes minutes."""
    family = [
        member
        for process in processes
        for member in [*psutil.Process(process.pid).children(recursive=True), process]
    ]
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    for process in processes:
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def cluster_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


@contextlib.contextmanager
def cluster(folder, names):
    """Start a scheduler and workers, each with a nanny that replaces a dead process.

    Yields the scheduler's process and its address.
    """
    (folder / "cluster_solvers.py").write_text(SOLVERS)
    options = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler, found = started(
        ["distributed.cli.dask_scheduler", *options, "--port", "0"],
        folder,
        r"Scheduler at:\s+(tcp://[\d.:]+)",
        "scheduler.log",
    )
    workers = []
    try:
        for name in names:
            worker, _ = started(
                ["distributed.cli.dask_worker", found[1], "--nthreads", "1", *options],
                folder,
                r"Starting established connection",
                f"worker-{name}.log",
            )
            workers.append(worker)
        yield scheduler, found[1]
    finally:
        end([*workers, scheduler])


@pytest.fixture(scope="module")
def address(cluster_folder):
    with cluster(cluster_folder, "ab") as (_, found):
        yield found


@pytest.fixture
def experiment(toy, cluster_folder, monkeypatch):
    """Return the toy config's experiment, with solvers of the folder that the workers run in."""

    def load(*overrides):
        return load_experiment(toy, overrides=overrides)

    monkeypatch.chdir(cluster_folder)
    for path in cluster_folder.glob("fit-*"):
        path.unlink()
    return load


def only(solver):
    others = [f"solvers.{name}=null" for name in ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")]
    mine = f'solvers.mine={{kind: "cluster_solvers:{solver}", params: {{lam: 1}}}}'
    return [*others, mine, f"protocol.kind={ORDERLY}", "outputs=[]"]


def tables(folder):
    columns = ["solver", "trial", "size", "auc", "params", "status"]
    results = load_results(folder)
    return results.cells[columns].to_dict("records"), results.search["fold_scores"].tolist()


def test_the_same_results_as_on_this_machine(experiment, address, tmp_path):
    toy = experiment("protocol.trials=1", "solvers.qsg_s2auc=null", "solvers.rff_s2auc=null")
    there = run_experiment(
        toy, tmp_path / "two" / "there", Options(once=True, threads=2, scheduler=address)
    )
    with cells_in_this_process():
        here = run_experiment(toy, tmp_path / "one" / "here", Options(once=True, threads=2))
    assert here.failures == there.failures == []
    assert there.computed == here.computed
    assert tables(tmp_path / "two" / "there") == tables(tmp_path / "one" / "here")


def test_a_dask_worker_that_is_killed_costs_nothing(experiment, address, tmp_path, cluster_folder):
    folder = tmp_path / "killed"
    script = (
        "import sys; from pathlib import Path\n"
        "from dsgkit.config.schema import load_experiment\n"
        "from dsgkit.experiment.runner import Options, run_experiment\n"
        "if __name__ == '__main__':\n"
        "    config, folder, address = sys.argv[1:]\n"
        "    options = Options(once=True, scheduler=address)\n"
        "    run_experiment(load_experiment(config), Path(folder), options)\n"
    )
    (cluster_folder / "run.py").write_text(script)
    config = tmp_path / "slow.yaml"
    config.write_text(experiment(*only("Slow"), "protocol.trials=1").to_yaml())
    arguments = [sys.executable, "run.py", config, folder, address]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(arguments, cwd=cluster_folder, env=environment) as run:
        mark = cluster_folder / "fit-120"
        until(mark.exists, run)
        os.kill(int(mark.read_text()), signal.SIGKILL)  # the Dask worker, the cell's parent
        assert run.wait(PATIENCE) == 0
    lines = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["ok", "ok"]


def test_a_scheduler_that_is_killed_ends_its_runs_in_one_line(experiment, tmp_path, monkeypatch):
    """What was finished stays, and a run on this machine goes on; one waits for a record."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dsgkit.experiment.cluster.run_here", operator.is_)
    gone = "the scheduler is gone"
    with cluster(tmp_path, "c") as (scheduler, address), Cluster(address) as there:
        there.submit(SimpleNamespace(cell=SimpleNamespace(key="a")))
        until(lambda: not there._done.empty())
        slow = experiment(*only("Slow"), "protocol.trials=1")
        (tmp_path / "slow.yaml").write_text(slow.to_yaml())
        run = start(tmp_path, "run", "slow.yaml", "--scheduler", address)
        until((tmp_path / "fit-120").exists, run)
        os.kill(scheduler.pid, signal.SIGSTOP)
        threading.Timer(1, scheduler.kill).start()
        with pytest.raises(ClusterError, match=gone):
            there.wait()
        _, err = run.communicate(timeout=PATIENCE)
    told = f"Error: {address}: {gone}; finished cells are kept, run again to continue\n"
    assert (run.returncode, err) == (1, told)
    (folder,) = (tmp_path / "results").iterdir()
    kept = len(stored(folder))
    with cells_in_this_process():
        done = run_experiment(slow, folder, Options(once=True))
    assert (done.computed, done.reused, done.failures) == (2 - kept, kept, [])


def test_cells_have_the_environment_of_a_run_on_one_machine(experiment, address, tmp_path):
    """A nanny's settings for Dask's own computations made fits four times slower."""
    telling = experiment(*only("Telling"), "protocol.trials=1", "sweep.unlabeled=[all]")
    run_experiment(telling, tmp_path / "telling", Options(once=True, scheduler=address))
    record = json.loads((tmp_path / "telling" / "cells.jsonl").read_text())
    here = ("MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    assert record["estimator"]["set_"] == sum(name in os.environ for name in here)


def test_limits_and_crashes_are_handled_there(experiment, address, tmp_path):
    crashed = run_experiment(
        experiment(*only("Fatal")), tmp_path / "fatal", Options(once=True, scheduler=address)
    )
    assert {r["status"] for r in crashed.ended} == {"crashed"}
    assert all("SIGSEGV" in r["message"] for r in crashed.ended)
    assert len(crashed.ended) == 2
    slow = experiment(*only("Endless"), "protocol.trials=1", "sweep.unlabeled=[all]")
    limits = Limits(timeout=0.5)
    stopped = run_experiment(
        slow, tmp_path / "slow", Options(once=True, scheduler=address, limits=limits)
    )
    assert [r["status"] for r in stopped.ended] == ["timeout"]
    assert stopped.failures == []


def test_an_interrupted_run_leaves_nothing_running(
    experiment, address, tmp_path, cluster_folder, monkeypatch
):
    mark = cluster_folder / "fit-120"
    original = Cluster.wait

    def interrupted(self):
        ended = original(self) if self.busy > 1 else []
        if not ended:
            until(mark.exists)
            raise KeyboardInterrupt
        return ended

    monkeypatch.setattr(Cluster, "wait", interrupted)
    slow = experiment(*only("Slow"), "protocol.trials=1", "sweep.unlabeled=[all]")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(slow, tmp_path / "interrupted", Options(once=True, scheduler=address))
    worker = int(mark.read_text())
    until(lambda: not any(map(alive, workers_of(worker))))


def test_a_scheduler_that_is_not_there_is_one_line(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.cluster._ANSWER_SECONDS", 1)
    for wrong in ("nonsense", "none://127.0.0.1:9", "tls://127.0.0.1:9", "tcp://127.0.0.1:9"):
        with pytest.raises(ClusterError, match=re.escape(wrong)) as error:
            run_experiment(experiment(), tmp_path / "r", Options(once=True, scheduler=wrong))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_wrong_certificates_are_one_line_with_their_places(tmp_path, protocol):
    import dask

    broken = tmp_path / "key.pem"
    broken.write_text("no key")
    for file in (broken, tmp_path / "nothere.pem"):
        tls = ("ca-file", "client.cert", "client.key")
        names = {f"distributed.comm.tls.{name}": str(file) for name in tls}
        with (
            dask.config.set(names),
            pytest.raises(ClusterError, match=r"TLS cannot be set up from .*Error: ") as error,
        ):
            Cluster(f"{protocol}://127.0.0.1:9")
        assert "\n" not in str(error.value)


def test_a_worker_of_another_version_is_refused(address, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.cluster.__version__", "99")
    with pytest.raises(ClusterError, match=r"has dsgkit .*, this is 99"):
        Cluster(address)


def test_timing_is_alone_on_a_machine_of_several_workers(monkeypatch, tmp_path):
    """By the system's lock, which is of whoever opened the file: a fit waits for searches."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alone = threading.Event()

    def fit():
        with _machine(alone=True):
            alone.set()

    waiting = threading.Thread(target=fit)
    with _machine(alone=False), _machine(alone=False):  # both at once
        waiting.start()
        assert not alone.wait(0.3)
    waiting.join(PATIENCE)
    assert alone.is_set()
