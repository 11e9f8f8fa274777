"""Cells on the machines of a Dask cluster; their records come back to the main process.

A Dask worker runs a cell in a separate process (`workers`), so limits and crashes are handled as on
one machine. While a worker times a fit, the other workers of its machine wait.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from filelock import ReadWriteLock

from dsgkit import __version__
from dsgkit.errors import DsgError, in_a_line, shown
from dsgkit.experiment.cells import ended_record
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.records import Record
from dsgkit.experiment.workers import LocalWorkers

_ANSWER_SECONDS = 15
_LOOK_SECONDS = 5.0
_TLS_FILES = ("ca_file", "client_cert", "client_key")
_JOBS_PER_WORKER = 2
"""One that runs, and one in the queue so that the worker never waits."""


class ClusterError(DsgError):
    """A Dask cluster that cannot be used."""


class Cluster:
    """Runs jobs on the workers of a Dask scheduler.

    If a Dask worker dies, another one runs its job; Dask gives up on a job after four such deaths.

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
        except ModuleNotFoundError as error:
            raise ClusterError(
                "--scheduler needs Dask; install it with: pip install 'dsgkit[cluster]'"
            ) from error
        _check_address(address)
        _silence()
        self._address = address
        self._run = uuid.uuid4().hex
        self._running: dict[str, tuple[Job, Any]] = {}
        self._done: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._capacity, self._looked = 0, -_LOOK_SECONDS
        try:
            self._client = Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"{address}: no Dask scheduler answers there ({error}); start one with: "
                "dask scheduler"
            ) from error
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise

    def _check_workers(self) -> None:
        try:
            versions = self._client.run(_version_here)
        except Exception as error:
            raise ClusterError(
                f"{self._address}: its workers cannot run dsgkit ({error}); install "
                f"dsgkit {__version__} on their machines"
            ) from error
        if not versions:
            raise ClusterError(
                f"{self._address}: the scheduler has no workers; start some with: "
                f"dask worker {self._address} --nthreads 1"
            )
        for worker, version in versions.items():
            if version != __version__:
                raise ClusterError(
                    f"{self._address}: worker {worker} has dsgkit {version}, this is {__version__}"
                )

    @property
    def busy(self) -> int:
        """Number of jobs that are on the cluster."""
        return len(self._running)

    def accepts(self, job: Job) -> bool:
        """Return whether the cluster's queue is short enough for one more job."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            with self._asking():
                workers = len(self._client.nthreads())
            self._capacity, self._looked = _JOBS_PER_WORKER * max(1, workers), now
        return len(self._running) < self._capacity

    def submit(self, job: Job) -> None:
        """Hand a job to the scheduler."""
        key = f"{job.cell.key}-{uuid.uuid4().hex}"
        with self._asking():
            future = self._client.submit(run_here, job, self._run, key=key, pure=False)
        self._running[key] = job, future
        future.add_done_callback(lambda done: self._done.put(done.key))

    def wait(self) -> list[tuple[Job, Record]]:
        """Return a job that has ended, with its record.

        Raises
        ------
        ClusterError
            If the scheduler is gone.
        """
        while True:
            try:
                job, future = self._running.pop(self._done.get(timeout=_LOOK_SECONDS))
            except queue.Empty:
                if not self._connected:
                    raise self._lost() from None
                continue
            if future.status in ("cancelled", "lost"):
                raise self._lost()
            with self._asking():
                return [(job, self._record(job, future))]

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise `ClusterError` if the scheduler does not answer: it may end at any moment."""
        try:
            yield
        except Exception as error:
            if self._connected and not isinstance(error, OSError | CancelledError):
                raise
            raise self._lost() from error

    @property
    def _connected(self) -> bool:
        return self._client.status in ("running", "connecting")

    def _record(self, job: Job, future: Any) -> Record:
        error = future.exception()
        if error is None:
            record: Record = future.result()
            return record
        return ended_record(job, "crashed", f"{type(error).__name__}: {error}")

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"{self._address}: the scheduler is gone; finished cells are kept, "
            "run again to continue"
        )

    def stop(self) -> None:
        """Cancel waiting jobs, end running ones, and disconnect."""
        with contextlib.suppress(Exception):  # whatever it is, the cluster may be gone
            if self._running:
                self._client.cancel([future for _, future in self._running.values()], force=True)
                self._client.run(stop_here, self._run)
        self._running.clear()
        with contextlib.suppress(Exception):
            self._client.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def check_scheduler(address: str) -> None:
    """Raise `ClusterError` if a scheduler, or its workers, cannot be used (see `Cluster`)."""
    Cluster(address).stop()


def _check_address(address: str) -> None:
    """Raise `ClusterError` for an invalid address, for which Dask would retry for a minute."""
    from distributed.security import Security

    protocol = address.partition("://")[0]
    if not re.fullmatch(r"\w+://[^/]+:\d+", address) or not _is_known(protocol):
        raise ClusterError(f"{shown(address)} is not an address, such as tcp://host:8786")
    if why := _why_no_tls(Security(), needed=protocol == "tls"):
        raise ClusterError(
            f"{address}: {why}; name your certificates in Dask's configuration, under "
            "distributed.comm.tls"
        )


def _is_known(protocol: str) -> bool:
    """Return whether Dask knows a protocol; other packages can register some."""
    from distributed.comm.registry import get_backend

    try:
        get_backend(protocol)
    except ValueError:
        return False
    return True


def _why_no_tls(security: Any, *, needed: bool) -> str:
    """Return why Dask's TLS configuration cannot be used; empty if it can.

    Its certificates may be unusable, or missing although ``needed``.
    """
    try:
        context = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:  # does not name the file
        files = [getattr(security, f"tls_{name}") for name in _TLS_FILES]
        there = ", ".join(in_a_line(str(file)) for file in files if file)
        return f"TLS cannot be set up from {there} ({type(error).__name__}: {error})"
    return "" if context or not needed else "no certificates for TLS"


def _silence() -> None:
    """Silence all loggers of Dask: dsgkit reports errors itself."""
    for name in ["distributed", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


# State of a process that is a Dask worker.
_workers: LocalWorkers | None = None
_job_lock = threading.Lock()
_current_run: str | None = None
_stopped_runs: set[str] = set()


def _version_here() -> str:
    return __version__


def run_here(job: Job, run: str) -> Record:
    """Run a job in a child process of this Dask worker, one job at a time.

    Parameters
    ----------
    job : Job
    run : str
        Identifier of its run, for `stop_here`.
    """
    global _workers, _current_run
    with _job_lock, _machine(alone=job.alone):
        _current_run = run
        try:
            if run in _stopped_runs:
                return ended_record(job, "crashed", "withdrawn")
            if _workers is None:
                _restore_environment()
                _workers = LocalWorkers(1)
            _workers.submit(job)
            ((_, record),) = _workers.wait()
            return record
        finally:
            _current_run = None


def _restore_environment() -> None:
    """Remove the environment variables that a Dask nanny sets for Dask's own computations.

    They ask for one thread, and for a malloc that returns every block to the system: fits took four
    times as long with it.
    """
    import dask

    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ", {}).items():
        if os.environ.get(name) == str(value):
            del os.environ[name]


def stop_here(run: str) -> None:
    """Stop a run on this Dask worker: end its running job, refuse its later ones."""
    _stopped_runs.add(run)
    if _current_run == run and _workers is not None:
        _workers.abort()


@contextlib.contextmanager
def _machine(*, alone: bool) -> Iterator[None]:
    """Reserve the machine for a timed fit, or share it with other searches."""
    path = Path(tempfile.gettempdir()) / f"dsgkit-{os.getuid()}.lock"
    lock = ReadWriteLock(path, is_singleton=False)
    try:
        with lock.write_lock() if alone else lock.read_lock():
            yield
    finally:
        lock.close()
