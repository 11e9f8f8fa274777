"""Worker processes that run cells under supervision.

Each worker has a separate connection, at which the main process never blocks: a worker that is
killed, is stopped or hangs costs only its present cell. (If workers shared a queue, one that died
while it held the lock would block the others.)

A worker leads a process group, so that processes of a solver are killed with it, and Ctrl-C in a
terminal reaches the main process only. Processes that a solver starts in another group have a mark
in their environment, which identifies them even if their parents are gone. If the main process is
killed, a guard in the group notices and kills them all.
"""

from __future__ import annotations

import faulthandler
import math
import os
import pickle
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from io import BufferedRWPair
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from dsgkit.experiment.cells import ended_record, failed_record, run_job
from dsgkit.experiment.channel import Channel, MessageError, read_message, write_message
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.records import Record
from dsgkit.experiment.timing import LONG_FIT
from dsgkit.system.progress import listening
from dsgkit.system.signals import signal_name
from dsgkit.users_code.origin import one_line

STARTING_SECONDS = 60.0
"""Seconds for starting a process and importing a solver, on top of a cell's own time limit."""

LOADING_RATE = 2**20
"""Bytes of rows per second: the slowest rate at which data may be loaded or parsed."""

COMPILING_SECONDS = 60.0
"""Seconds for compiling, which is a fit on a few rows, on top of a cell's own time limit."""

MAX_SPARE_WORKERS = 4
"""Idle processes that are kept for jobs of other classes than the running ones."""

CHECK_SECONDS = 0.05
"""Seconds between two checks of time and memory, where there is a limit."""

_POLL_SECONDS = 1.0
"""Seconds between two checks whether workers live. Usually a closed connection shows it at once,
but a process that a solver forked can keep it open."""

_END_SECONDS = 10.0
_PROGRESS_SECONDS = 0.1

_WORKER = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from dsgkit.experiment.workers import serve; serve(int(sys.argv[1]), int(sys.argv[2]))"
)
_MARK_VARIABLE = "DSGKIT_WORKER"
"""Environment variable that marks a worker and every process that it starts."""

_GUARD_SCRIPT = """
read -r _
while pids=$(grep -lsF "$1" /proc/[0-9]*/environ | cut -d / -f 3) && [ "$pids" ]; do
    kill -KILL $pids
done
kill -KILL 0
"""
"""Waits for the end of its input, which only the main process holds, to kill the processes with
the mark ``$1`` (where /proc lists them) and its own group."""

Listener = Callable[[Job, float], object]


class LocalWorkers:
    """Runs jobs in worker processes of this machine, started when needed and used again.

    A process runs only jobs of one external class (`Job.external_class`), or only other jobs.

    Parameters
    ----------
    count : int
        Maximum number of concurrent jobs. A job that is ``alone`` runs without others.
    on_progress : callable
        Called with a running job and the fraction that is done.
    """

    def __init__(self, count: int, on_progress: Listener = lambda _job, _fraction: None) -> None:
        self._count = count
        self._on_progress = on_progress
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    @property
    def busy(self) -> int:
        """Number of jobs that are running."""
        return len(self._busy)

    def accepts(self, job: Job) -> bool:
        """Return whether a job can start now."""
        if job.alone or any(worker.job.alone for worker in self._busy):
            return not self._busy
        return len(self._busy) < self._count

    def submit(self, job: Job) -> None:
        """Start a job that is accepted."""
        while worker := self._idle_worker(job.external_class):
            if not worker.is_stopped and worker.start(job):
                break
            worker.kill()  # it died, or was stopped, while it was idle
        else:
            self._make_room()
            worker = _Worker(job.external_class)
            worker.start(job)  # if it is gone already, `wait` returns its job
        self._busy.append(worker)

    def _idle_worker(self, external_class: str) -> _Worker | None:
        """Take the last idle worker for jobs of a class."""
        for worker in reversed(self._idle):
            if worker.external_class == external_class:
                self._idle.remove(worker)
                return worker
        return None

    def _make_room(self) -> None:
        """End the workers that have been idle longest, if there are too many."""
        while self._idle and len(self._idle) + len(self._busy) >= self._count + MAX_SPARE_WORKERS:
            self._idle.pop(0).kill()

    def wait(self) -> list[tuple[Job, Record]]:
        """Return the jobs that have ended, at least one, with their records."""
        ended: list[tuple[Job, Record]] = []
        while self._busy and not ended:
            limited = any(worker.limited for worker in self._busy)
            seconds = CHECK_SECONDS if limited else _POLL_SECONDS
            with selectors.DefaultSelector() as selector:
                for worker in self._busy:
                    worker.channel.register(selector)
                selector.select(seconds)
            for worker in list(self._busy):
                record = worker.outcome(self._on_progress)
                if record is not None:
                    ended.append((worker.job, record))
                    self._busy.remove(worker)
                    if worker.usable:
                        self._idle.append(worker)
        return ended

    def abort(self) -> None:
        """End all processes; `wait`, in another thread, returns the jobs that run as crashed."""
        for worker in [*self._busy, *self._idle]:
            worker.signal()

    def stop(self) -> None:
        """Kill all workers."""
        for worker in [*self._busy, *self._idle]:
            worker.kill()
        self._busy, self._idle = [], []

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Stage(NamedTuple):
    """Stage of a job, and the seconds it may take on top of the job's own time limit."""

    name: str
    seconds: float


_FITTING = _Stage("fitting", 0.0)
_REPEATING = _Stage("repeating the fit", 4 * LONG_FIT)


class _Worker:
    """One process, the connection to it, and its present job.

    Parameters
    ----------
    external_class : str
        `Job.external_class` of all its jobs.
    """

    job: Job

    def __init__(self, external_class: str) -> None:
        self.external_class = external_class
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the worker
        self._mark = uuid.uuid4().hex
        given = theirs.fileno(), self._trace.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, *map(str, given), *sys.path],
            stdin=subprocess.DEVNULL,
            env=os.environ | {_MARK_VARIABLE: self._mark},
            pass_fds=given,
            process_group=0,
        )
        theirs.close()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD_SCRIPT, "dsg-guard", f"{_MARK_VARIABLE}={self._mark}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=self._process.pid,
        )
        self.usable = True
        self._number = 0
        self._ahead: dict[str, _Stage] = {}
        self._stage, self._deadline = _FITTING, math.inf
        self._kept: Record | None = None

    def start(self, job: Job) -> bool:
        """Send a job; return whether the process is alive to take it."""
        self.job, self._kept = job, None
        self._number += 1
        self._ahead = {"loaded": _Stage("compiling", COMPILING_SECONDS), "begun": _FITTING}
        self._enter(_Stage("loading", STARTING_SECONDS + job.data_bytes / LOADING_RATE))
        try:
            self.channel.send((self._number, job))
        except OSError:
            return False
        return self._process.poll() is None

    @property
    def limited(self) -> bool:
        """Whether the job's time or memory has a limit."""
        return self.job.limits != Limits()

    def outcome(self, on_progress: Listener) -> Record | None:
        """Return the job's record if it has ended, or is ended now at a limit."""
        gone = self._process.poll() is not None  # first: messages sent before it ended count
        try:
            gone = not self.channel.exchange() and gone
        except (EOFError, OSError):
            gone = True
        try:
            for number, what, content in self.channel.messages():
                if number != self._number:
                    continue  # from an earlier job: its solver forked, or wrote to the connection
                if what == "ended":
                    return content
                if what == "reached":
                    self._reach(content)
                if what == "kept":
                    self._kept = content
                    self._enter(_REPEATING)
                if what == "progress" and 0 <= content <= 1:
                    on_progress(self.job, content)
        except (MessageError, TypeError, ValueError) as error:
            ended: Record | None = self._garbled(error)
        else:
            ended = self._died() if gone else self._stopped_at_limit()
        return ended and (self._kept or ended)

    def _reach(self, stage: str) -> None:
        """Restart the clock when the job reaches a stage for the first time."""
        if (reached := self._ahead.pop(stage, None)) is not None:
            self._enter(reached)

    def _enter(self, stage: _Stage) -> None:
        timeout = math.inf if self.job.limits.timeout is None else self.job.limits.timeout
        self._stage, self._deadline = stage, time.monotonic() + timeout + stage.seconds

    def _garbled(self, error: Exception) -> Record:
        """Return the record of a job whose process has sent an invalid message."""
        self.kill()
        message = f"worker process sent something that is not a record of a cell: {one_line(error)}"
        return ended_record(self.job, "crashed", message)

    def _died(self) -> Record:
        """Return the record of a job whose process has exited or was killed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        message = _cause(self._process.returncode)
        self._trace.seek(0)
        trace = self._trace.read().decode(errors="replace")
        self.kill()
        return ended_record(self.job, "crashed", message, **({"traceback": trace} if trace else {}))

    def _stopped_at_limit(self) -> Record | None:
        limits = self.job.limits
        if time.monotonic() > self._deadline:
            self.kill()
            return self._overdue()
        used = 0 if limits.memory is None else _private_memory(self._process.pid)
        if limits.memory is not None and used > limits.memory:
            self.kill()
            message = f"stopped at {used / 2**30:.2g} GiB, limit {limits.memory / 2**30:.2g} GiB"
            more = {"limit": limits.memory, "peak_memory": used}
            return ended_record(self.job, "out_of_memory", message, **more)
        return None

    def _overdue(self) -> Record:
        """Return the record of a job that took too long: a crash if data were still loading."""
        timeout, stage = self.job.limits.timeout, self._stage
        message = f"stopped after {timeout:g} s"
        if stage.seconds:
            message += f" of --timeout and {stage.seconds:.0f} s for {stage.name}"
        if stage.name == "loading":
            return ended_record(self.job, "crashed", message)
        return ended_record(self.job, "timeout", message, timeout=timeout)

    @property
    def is_stopped(self) -> bool:
        """Whether the process was stopped (SIGSTOP)."""
        with suppress(psutil.Error):
            return bool(psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED)
        return False

    def kill(self) -> None:
        """Kill the process and all that it has started, and wait until they are gone."""
        self.usable = False
        self.channel.close()
        self.signal()
        _kill_marked(self._mark)
        self._process.wait()
        self._guard.communicate()
        self._trace.close()

    def signal(self) -> None:
        """Kill the process group of the worker."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _kill_marked(mark: str) -> None:
    """Kill the processes with a mark in their environment, and those that they start meanwhile."""
    killed: set[psutil.Process] = set()
    while marked := {process for process in psutil.process_iter() if _has(process, mark)} - killed:
        for process in marked:
            with suppress(psutil.Error):
                process.kill()
        killed |= marked


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return bool(process.environ().get(_MARK_VARIABLE) == mark)
    except (psutil.Error, OSError):  # gone, or another user's
        return False


def _cause(exit_code: int | None) -> str:
    """Return a description of why a process is gone."""
    if exit_code is None:
        return "worker process closed its connection"
    if exit_code >= 0:
        return f"worker process ended by itself with exit code {exit_code}"
    name = signal_name(-exit_code)
    hint = " (by the system, if memory ran out)" if name == "SIGKILL" else ""
    return f"worker process killed by {name}{hint}"


def _private_memory(pid: int) -> int:
    """Return the resident bytes of a process, without pages of files but with shared memory.

    0 if it is gone.
    """
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_bytes()
        if sizes := re.findall(rb"^Rss(?:Anon|Shmem):\s*(\d+) kB$", status, re.MULTILINE):
            return 1024 * sum(map(int, sizes))
    with suppress(psutil.Error):  # on systems without this distinction
        info = psutil.Process(pid).memory_info()
        return int(info.rss - getattr(info, "shared", 0))
    return 0


def serve(connection: int, trace: int) -> None:
    """Run the jobs that arrive through a connection until it is closed: the main loop of a worker.

    Parameters
    ----------
    connection, trace : int
        Descriptors of a socket, and of a file for Python's stack at a fatal signal.
    """
    for descriptor in (connection, trace):
        os.set_inheritable(descriptor, False)  # not for processes that a solver starts
    faulthandler.enable(trace)
    stream = socket.socket(fileno=connection).makefile("rwb")
    process = os.getpid()
    with suppress(EOFError):
        while True:
            number, job = read_message(stream)
            _run(job, _Sender(stream, number, process))


def _run(job: Job, send: _Sender) -> None:
    with listening(_ProgressSender(send)):
        record = run_job(
            job,
            reached=lambda stage: send("reached", stage),
            keep=lambda record: send("kept", record),
        )
    try:
        send("ended", record)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        send("ended", failed_record(job, error))


class _Sender:
    """Sends messages about a job. Exits if called in a forked copy: the job has one record."""

    def __init__(self, stream: BufferedRWPair, number: int, process: int) -> None:
        self._stream = stream
        self._number = number
        self._process = process

    def __call__(self, what: str, content: Any) -> None:
        if os.getpid() != self._process:
            os._exit(1)
        try:
            write_message(self._stream, (self._number, what, content))
        except ConnectionError:  # the main process was killed: no one is left to report to
            os._exit(1)


class _ProgressSender:
    """Sends progress at most once per `_PROGRESS_SECONDS`."""

    def __init__(self, send: _Sender) -> None:
        self._send = send
        self._next = 0.0

    def __call__(self, fraction: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PROGRESS_SECONDS
            self._send("progress", fraction)
