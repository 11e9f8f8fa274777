"""Cells in child processes, which are killed at their limits, and with this process.

A thread waits for each child, so that the run sees only futures. On a Dask cluster `_run_here` does
the same on every worker: limits and crashes are handled in the same way.
"""

from __future__ import annotations

import faulthandler
import logging
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dsgkit import __version__
from dsgkit.errors import DsgError, shown
from dsgkit.experiment.cell import Job, new_record, run_job
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import LONG_FIT
from dsgkit.system.progress import listening

LOADING_SECONDS = 600.0
"""Seconds to start a process, load data and compile, on top of a cell's own time limit."""

REPEATING_SECONDS = 4 * LONG_FIT
"""Seconds to repeat a fit for its time, on top of another time limit."""

MAX_IDLE = 4
"""Idle processes that are kept for cells of other classes than the running ones."""

_CHECK_SECONDS = 0.05
"""Seconds between two checks of limits; a longer wait suffices without any."""
_POLL_SECONDS = 1.0
_PROGRESS_SECONDS = 0.1
_ANSWER_SECONDS = 15
_LOOK_SECONDS = 5.0

_COMMAND = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from dsgkit.experiment.workers import serve; serve(int(sys.argv[1]), int(sys.argv[2]))"
)
_GUARD = ["/bin/sh", "-c", "read -r _; kill -KILL 0"]
"""Waits for the end of its input, which only the parent process holds, to kill its own group."""

Result = tuple[Record, bytes]
"""A cell's record, and the file of its picture, as `run_job` returns them."""

Listener = Callable[[Job, float, int], object]
"""Called with a running job, the fraction that is done, and which repeat of its fit is timed."""


class Child:
    """A process that runs one job after the other, in a session of its own.

    It is not a `multiprocessing.Process`, which a Dask worker, being a daemon, must not start. All
    processes of its session that did not leave its group are killed with it, and if this process is
    killed: `PR_SET_PDEATHSIG` would fire when the thread that started the child ends.
    """

    def __init__(self) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the child
        given = theirs.fileno(), self._trace.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *map(str, given), *sys.path],
            stdin=subprocess.PIPE,  # for the guard: closed when this process ends, in any way
            pass_fds=given,
            start_new_session=True,
        )
        theirs.close()

    @property
    def usable(self) -> bool:
        """Whether the process can take a job."""
        return not self.pipe.closed and self.process.poll() is None

    def run(self, job: Job, listener: Listener) -> Result:
        """Run a job and return its record and picture, also if a limit or a crash ends it."""
        timeout = math.inf if job.timeout is None else job.timeout
        extra, doing, kept = LOADING_SECONDS, "loading and compiling", None
        deadline = time.monotonic() + timeout + extra
        seconds = _POLL_SECONDS if (job.timeout, job.memory) == (None, None) else _CHECK_SECONDS
        try:
            self.pipe.send(job)
            while True:
                gone = self.process.poll() is not None  # first: what it sent before counts
                if self.pipe.poll(0 if gone else seconds):
                    what, content = self.pipe.recv()
                    if what == "ended":
                        result: Result = content
                        return result
                    if what in ("progress", "repeat"):
                        listener(job, *((content, 0) if what == "progress" else (1.0, content)))
                        continue
                    extra, doing = 0.0, ""
                    if what == "kept":
                        kept, extra, doing = content, REPEATING_SECONDS, "repeating the fit"
                    deadline = time.monotonic() + timeout + extra
                elif gone:
                    raise EOFError
                elif time.monotonic() > deadline:
                    message = f"stopped after {timeout:g} s"
                    message += f" of --timeout and {extra:.0f} s for {doing}" if doing else ""
                    record = new_record(job, "timeout", message, timeout=timeout)
                    break
                elif job.memory is not None and (used := self._memory()) > job.memory:
                    of = f"{used / 2**30:.2g} GiB, limit {job.memory / 2**30:.2g} GiB"
                    met = {"limit": job.memory, "peak_memory": used}
                    record = new_record(job, "out_of_memory", f"stopped at {of}", **met)
                    break
        except Exception as error:  # of the connection, or of a message that was cut off
            record = self._crashed(job, error)
        self.kill()
        return kept or (record, b"")

    def _memory(self) -> int:
        """Return the resident bytes, with shared memory, without pages of files; 0 if gone."""
        with suppress(OSError):
            status = Path(f"/proc/{self.process.pid}/status").read_bytes()
            sizes = re.findall(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB$", status, re.MULTILINE)
            return 1024 * sum(map(int, sizes))
        return 0

    def _crashed(self, job: Job, error: Exception) -> Record:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_POLL_SECONDS)
        code = self.process.returncode
        if code is None:
            message = f"the connection to the worker process broke ({type(error).__name__})"
        elif code >= 0:
            message = f"worker process ended by itself with exit code {code}"
        else:
            message = f"worker process killed by {signal.Signals(-code).name}"
            message += " (by the system, if memory ran out)" if code == -signal.SIGKILL else ""
        self._trace.seek(0)
        trace = self._trace.read().decode(errors="replace")
        return new_record(job, "crashed", message, **({"traceback": trace} if trace else {}))

    def kill(self) -> None:
        """Kill the process and those that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.pipe.close()
        self._trace.close()
        if self.process.stdin is not None:
            self.process.stdin.close()


class Children:
    """Child processes, each for jobs of one external class, started when needed and used again."""

    def __init__(self) -> None:
        self._idle: list[tuple[str, Child]] = []
        self._busy: set[Child] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(self, job: Job, listener: Listener) -> Result:
        """Run a job in a child process."""
        child = self._take(job.external_class)
        try:
            return child.run(job, listener)
        finally:
            with self._lock:
                self._busy.discard(child)
                if child.usable:
                    self._idle.append((job.external_class, child))

    def _take(self, external_class: str) -> Child:
        with self._lock:
            if self._closed:
                raise RuntimeError("the run is being stopped")
            for place, (of, child) in reversed(list(enumerate(self._idle))):
                if of == external_class:
                    del self._idle[place]
                    if child.usable:
                        self._busy.add(child)
                        return child
                    child.kill()
            while len(self._idle) > MAX_IDLE:
                self._idle.pop(0)[1].kill()
            child = Child()
            self._busy.add(child)
            return child

    def kill(self, *, close: bool = False) -> None:
        """Kill all processes; their jobs end as crashed. If closed, no new ones start."""
        with self._lock:
            self._closed = close
            for child in [*self._busy, *(child for _, child in self._idle)]:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.process.pid, signal.SIGKILL)
            for _, child in self._idle:
                child.kill()
            self._idle.clear()


class LocalExecutor:
    """Runs jobs on this machine.

    Parameters
    ----------
    jobs : int
        Number of concurrent jobs.
    listener : callable
        Called in other threads; see `Listener`.
    """

    def __init__(
        self, jobs: int, listener: Listener = lambda _job, _fraction, _repeat: None
    ) -> None:
        self.slots = jobs
        self._listener = listener
        self._children, self._threads = Children(), ThreadPoolExecutor(jobs)

    def submit(self, job: Job) -> Future[Result]:
        """Start a job."""
        return self._threads.submit(self._children.run, job, self._listener)

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self._children.kill(close=True)  # so that the threads of running jobs end, too
        self._threads.shutdown(cancel_futures=True)


def serve(connection: int, trace: int) -> None:
    """Run the jobs that arrive through a connection until it is closed: the life of a child.

    Parameters
    ----------
    connection, trace : int
        Descriptors of a pipe, and of a file for Python's stack at a fatal signal.
    """
    subprocess.Popen(_GUARD, stderr=subprocess.DEVNULL)  # takes over the standard input
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    for descriptor in (connection, trace):
        os.set_inheritable(descriptor, False)  # not for processes that a solver starts
    faulthandler.enable(trace)
    pipe, process, following = Connection(connection), os.getpid(), 0.0

    def tell(what: str, content: Any) -> None:
        if os.getpid() != process:  # a copy that a solver forked
            os._exit(1)
        pipe.send((what, content))

    def progressed(fraction: float) -> None:
        nonlocal following
        if 0 <= fraction <= 1 and time.monotonic() >= following:
            following = time.monotonic() + _PROGRESS_SECONDS
            tell("progress", fraction)

    with suppress(EOFError, ConnectionError):
        while True:
            job = pipe.recv()
            with listening(progressed):
                result = run_job(job, tell)
            tell("ended", result)


class ClusterError(DsgError):
    """A Dask cluster that cannot be used."""


class DaskExecutor:
    """Runs jobs on the workers of a Dask scheduler; start one worker per machine, on one thread.

    If a worker dies, another one runs its job; Dask gives up on a job after some such deaths.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    ClusterError
        If there is no scheduler, or its workers do not have this version of dsgkit.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise ClusterError(
                "--scheduler needs Dask; install it with: pip install 'dsgkit[cluster]'"
            ) from None
        if not re.fullmatch(r"\w+://[^/]+:\d+", address):
            raise ClusterError(f"{shown(address)} is not an address, such as tcp://host:8786")
        for name in ["distributed", *logging.root.manager.loggerDict]:  # errors are told here
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        self._run, self._slots, self._looked = uuid.uuid4().hex, 0, -math.inf
        try:
            self._client = Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"{address}: no Dask scheduler answers there ({error}); start one with: "
                "dask scheduler"
            ) from error
        try:
            versions = self._client.run(_version_here)
            wrong = [f"worker {w} has dsgkit {v}" for w, v in versions.items() if v != __version__]
            if not versions:
                wrong = [f"it has no workers; start some: dask worker {address} --nthreads 1"]
        except Exception as error:
            wrong = [f"its workers cannot run dsgkit ({error})"]
        if wrong:
            self._client.close()
            raise ClusterError(f"{address}: {wrong[0]}; this is dsgkit {__version__}")
        self._executor: Executor = self._client.get_executor(pure=False)

    @property
    def slots(self) -> int:
        """Number of jobs that the cluster takes: one runs and one waits at each worker."""
        if time.monotonic() > self._looked + _LOOK_SECONDS:
            with suppress(Exception):  # a scheduler that is gone is told by its futures
                self._slots = 2 * len(self._client.nthreads())
            self._looked = time.monotonic()
        return max(1, self._slots)

    def submit(self, job: Job) -> Future[Result]:
        """Hand a job to the scheduler."""
        return self._executor.submit(_run_here, job, self._run)

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # the cluster may be gone
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._client.run(_stop_here, self._run)
        with suppress(Exception):
            self._client.close()


# State of a process that is a Dask worker.
_here: Children | None = None
_here_lock = threading.Lock()
_current_run = ""


def _version_here() -> str:
    return __version__


def _run_here(job: Job, run: str) -> Result:
    """Run a job in a child process of this Dask worker, one job at a time."""
    global _here, _current_run
    with _here_lock:
        if _here is None:
            _restore_environment()
            _here = Children()
        _current_run = run
        try:
            return _here.run(job, lambda _job, _fraction, _repeat: None)
        finally:
            _current_run = ""


def _restore_environment() -> None:
    """Remove the environment variables that a Dask nanny sets for Dask's own computations.

    They ask for one thread, and for a malloc that returns every block to the system: fits took four
    times as long with it.
    """
    import dask

    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ", {}).items():
        if os.environ.get(name) == str(value):
            del os.environ[name]


def _stop_here(run: str) -> None:
    """End the running job of a run on this Dask worker."""
    if _here is not None and _current_run == run:
        _here.kill()
