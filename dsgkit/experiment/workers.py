"""Cells in child processes, which are killed at their limits, and with this process.

A thread waits for each child, so that the run sees only futures. On a Dask cluster `_run_here` does
the same on every worker: limits and crashes are handled in the same way.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dsgkit import __version__
from dsgkit.errors import ConfigError
from dsgkit.experiment.cell import Job, new_record, run_job
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import LONG_FIT
from dsgkit.system.files import is_first_use
from dsgkit.system.progress import listening

LOADING_SECONDS = 600.0  # to start, load and compile, on top of a cell's own time limit
REPEATING_SECONDS = 4 * LONG_FIT  # to repeat a fit for its time, on top of another time limit
MAX_IDLE = 4  # idle processes that are kept for cells of other classes
_CHECK_SECONDS, _PROGRESS_SECONDS, _ANSWER_SECONDS = 0.05, 0.1, 15

_COMMAND = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from dsgkit.experiment.workers import serve; serve(int(sys.argv[1]))"
)
# waits for the end of its input, which only the parent process holds, to kill its own group
_GUARD = ["/bin/sh", "-c", "read -r _; kill -KILL 0"]

Result = tuple[Record, bytes]  # as of `run_job`
Listener = Callable[[Job, float, int], object]  # of the fraction done, and the repeat of the fit


class Child:
    """A process that runs one job after the other, in a session of its own.

    It is not a `multiprocessing.Process`, which a Dask worker, being a daemon, must not start. All
    processes of its session that did not leave its group are killed with it, and if this process is
    killed: `PR_SET_PDEATHSIG` would fire when the thread that started the child ends.
    """

    def __init__(self, external_class: str) -> None:
        self.external_class = external_class
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, str(theirs.fileno()), *sys.path],
            stdin=subprocess.PIPE,  # for the guard: closed when this process ends, in any way
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def run(self, job: Job, listener: Listener) -> Result:
        """Run a job and return its record and picture, also if a limit or a crash ends it."""
        timeout = math.inf if job.timeout is None else job.timeout
        deadline = self._clock() + timeout + LOADING_SECONDS
        loading, kept = f" and {LOADING_SECONDS:g} s of loading and compiling", None
        try:
            self.pipe.send(job)
            while True:
                gone = self.process.poll() is not None  # first: what it sent before counts
                if self.pipe.poll(0 if gone else _CHECK_SECONDS):
                    what, content = self.pipe.recv()
                    if what == "ended":
                        return content
                    if what == "progress":
                        listener(job, *content)
                    elif what == "begun":
                        deadline, loading = self._clock() + timeout, ""
                    else:
                        kept, deadline = content, self._clock() + timeout + REPEATING_SECONDS
                elif gone:
                    raise EOFError
                elif self._clock() > deadline:
                    message = f"stopped after {timeout:g} s{loading}"
                    record = new_record(job, "timeout", message, timeout=timeout)
                    break
                elif job.memory is not None and (used := self._memory()) > job.memory:
                    of = f"{used / 2**30:.2g} GiB, limit {job.memory / 2**30:.2g} GiB"
                    met = {"limit": job.memory, "peak_memory": used}
                    record = new_record(job, "out_of_memory", f"stopped at {of}", **met)
                    break
        except Exception:  # of the connection, or of a message that was cut off
            record = new_record(job, "crashed", self._how_it_ended())
        self.kill()
        return kept or (record, b"")

    def _clock(self) -> float:
        """Return seconds, without those that the process waited for a processor."""
        waited = 0
        with suppress(OSError):  # only Linux has this file: processor time, then waiting, in ns
            waited = int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1])
        return time.monotonic() - waited / 1e9

    def _memory(self) -> int:
        """Return the resident bytes, with shared memory, without pages of files; 0 if gone."""
        with suppress(OSError):
            status = Path(f"/proc/{self.process.pid}/status").read_bytes()
            sizes = re.findall(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB$", status, re.MULTILINE)
            return 1024 * sum(map(int, sizes))
        return 0

    def _how_it_ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.returncode
        if code is None:
            return "the connection to the worker process broke"
        if code >= 0:
            return f"worker process ended by itself with exit code {code}"
        hint = " (by the system, if memory ran out)" if code == -signal.SIGKILL else ""
        names = {number.value: number.name for number in signal.Signals}  # some have none
        return f"worker process killed by {names.get(-code, f'signal {-code}')}{hint}"

    def kill(self) -> None:
        """Kill the process and those that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.pipe.close()
        if self.process.stdin is not None:
            self.process.stdin.close()


class LocalExecutor(AbstractContextManager["LocalExecutor"]):
    """Runs jobs on this machine, in a child process for each external class, used again."""

    def __init__(self, jobs: int, listener: Listener = lambda _job, _done, _repeat: None) -> None:
        self.slots, self._listener = jobs, listener
        self._threads = ThreadPoolExecutor(jobs)
        self._idle: list[Child] = []
        self._busy: list[Child] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> Future[Result]:
        return self._threads.submit(self.run, job)

    def run(self, job: Job) -> Result:
        of = job.experiment.solvers[job.cell.solver].external_class
        with self._lock:
            if self._closed:
                raise RuntimeError("the run is being stopped")
            fitting = [child for child in self._idle if child.external_class == of]
            alive = [child for child in fitting if child.process.poll() is None]
            child = alive[-1] if alive else Child(of)
            self._idle = [other for other in self._idle if other is not child]
            self._busy.append(child)
            while len(self._idle) > MAX_IDLE:
                self._idle.pop(0).kill()
        try:
            return child.run(job, self._listener)
        finally:
            with self._lock:
                self._busy.remove(child)
                if not child.pipe.closed:
                    self._idle.append(child)

    def kill(self, *, close: bool = False) -> None:
        """Kill all processes; their jobs end as crashed. If closed, no new ones start."""
        with self._lock:
            self._closed = close
            for child in self._busy:  # its thread cleans up
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.process.pid, signal.SIGKILL)
            while self._idle:
                self._idle.pop().kill()

    def __exit__(self, *_: object) -> None:
        self.kill(close=True)  # so that the threads of running jobs end, too
        self._threads.shutdown(cancel_futures=True)


def serve(connection: int) -> None:
    """Run the jobs that arrive through a pipe until it is closed: the life of a child."""
    subprocess.Popen(_GUARD, stderr=subprocess.DEVNULL)  # takes over the standard input
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    os.set_inheritable(connection, False)  # not for processes that a solver starts
    pipe, process, following = Connection(connection), os.getpid(), 0.0
    is_first_use()  # the process that runs the experiment tells the user

    def tell(what: str, content: Any) -> None:
        if os.getpid() != process:  # a copy that a solver forked
            os._exit(1)
        pipe.send((what, content))

    def progressed(fraction: float) -> None:
        nonlocal following
        if time.monotonic() >= following:
            following = time.monotonic() + _PROGRESS_SECONDS
            tell("progress", (fraction, 0))

    with suppress(EOFError, ConnectionError):
        while True:
            job = pipe.recv()
            with listening(progressed):
                result = run_job(job, tell)
            tell("ended", result)


class DaskExecutor(AbstractContextManager["DaskExecutor"]):
    """Runs jobs on the workers of a Dask scheduler; start one worker per machine, on one thread.

    If a worker dies, another one runs its job; Dask gives up on a job after some such deaths. If
    there is no scheduler, or its workers have another version of dsgkit, `ConfigError` is raised.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise ConfigError(
                "--scheduler needs Dask; install it with: pip install 'dsgkit[cluster]'"
            ) from None
        if not re.fullmatch(r"\w+://[^/]+:\d+", address):
            raise ConfigError(f"{address!r} is not an address, such as tcp://host:8786")
        for name in ["distributed", *logging.root.manager.loggerDict]:  # errors are told here
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(
                f"{address}: no scheduler answers there ({error}); start one by `dask scheduler`"
            ) from error
        try:
            versions = set(self._client.run(_version_here).values())
        except Exception as error:
            versions = {str(error)}
        if versions != {__version__}:
            self._client.close()
            found = ", ".join(sorted(versions)) or "no worker"
            raise ConfigError(
                f"{address}: its workers must have dsgkit {__version__}, found: {found}; start "
                f"them by `dask worker {address} --nthreads 1`"
            )
        self._executor: Executor = self._client.get_executor(pure=False)
        self._run = uuid.uuid4().hex
        self.slots = 2 * len(self._client.nthreads())  # one runs and one waits at each worker

    def submit(self, job: Job) -> Future[Result]:
        return self._executor.submit(_run_here, job, self._run)

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # the cluster may be gone
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._client.run(_stop_here, self._run)
        with suppress(Exception):
            self._client.close()


# State of a process that is a Dask worker, which runs one job at a time.
_here, _here_lock, _current_run = LocalExecutor(1), threading.Lock(), ""


def _version_here() -> str:
    return __version__


def _run_here(job: Job, run: str) -> Result:
    """Run a job in a child process of this Dask worker.

    Variables that a Dask nanny sets are removed: they ask for one thread, and for a malloc that
    returns every block to the system, with which fits took four times as long.
    """
    global _current_run
    import dask

    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ", {}).items():
        if os.environ.get(name) == str(value):
            del os.environ[name]
    with _here_lock:
        _current_run = run
        return _here.run(job)


def _stop_here(run: str) -> None:
    if _current_run == run:
        _here.kill()
