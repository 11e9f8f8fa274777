"""A solver that behaves as its parameter says; workers import it like any solver of one's own."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np

from dsgkit.errors import MemoryLimitError
from dsgkit.solvers.base import PairwiseAUCEstimator

WARM_UP = 64
"""Rows of the fit that no clock sees; what misbehaves only later is above this size."""

FOREVER = 1000
MIB = 2**20


def leave_pid(name):
    """Tell the test which process this is; the file appears whole."""
    Path(f"{name}.tmp").write_text(str(os.getpid()))
    Path(f"{name}.tmp").replace(f"{name}.pid")


def die(number):
    os.kill(os.getpid(), number)


def fork_a_sleeper(name):
    """Start a process that holds all files of this one open."""
    if os.fork() == 0:
        leave_pid(name)
        time.sleep(FOREVER)
        os._exit(0)


def abandon():
    fork_a_sleeper("abandoned")
    wait_for_file("abandoned.pid")
    die(signal.SIGSEGV)


def employ():
    """Have another program work for this one, and wait for it in vain."""
    leave_pid("employer")
    script = "import os, sys, time; open(sys.argv[1], 'x').close(); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", script, "employed"]) as program:
        Path("employed.tmp").write_text(str(program.pid))
        Path("employed.tmp").replace("employed.pid")
        program.wait()


def flee():
    """Leave behind a process in a session of its own, whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        fork_a_sleeper("fled")
        os._exit(0)
    os.wait()
    wait_for_file("fled.pid")


def stop_while_sending():
    """Fail with a message larger than the connection holds, and stop in the middle of it."""
    connection = int(sys.argv[1])  # a worker is started with it

    def stop():
        on_its_way = bytearray(4)
        while int.from_bytes(on_its_way, sys.byteorder) < 10_000:
            fcntl.ioctl(connection, termios.TIOCOUTQ, on_its_way)
        die(signal.SIGSTOP)

    threading.Thread(target=stop, daemon=True).start()
    raise RuntimeError("x" * 4 * MIB)


def wait_for_file(name):
    deadline = time.monotonic() + 100
    while not Path(name).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def grow():
    held = []
    while len(held) < 40:  # 1.3 GB, then wait to be stopped
        held.append(np.ones(4 * MIB))
        time.sleep(0.005)
    time.sleep(FOREVER)


def be_deaf():
    """Refuse to end, whoever asks."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            time.sleep(FOREVER)
        except BaseException:
            continue


def close_everything():
    os.closerange(3, 1000)
    time.sleep(FOREVER)


def announce(name):
    """Wait at a place that the test can see until it lets this process go on, or mends it."""
    leave_pid(name)
    wait_for_file("go")


def refuse():
    """Say with numpy's numbers what is needed."""
    raise MemoryLimitError(np.int64(2**40), np.int64(2**30))


WAYS = {
    "well": lambda: None,
    "segfault": lambda: die(signal.SIGSEGV),
    "kill": lambda: die(signal.SIGKILL),
    "stop": lambda: die(signal.SIGSTOP),
    "exit": lambda: os._exit(3),
    "sleep": lambda: time.sleep(FOREVER),
    "backtrack": lambda: re.match(r"(a+)+$", "a" * 64 + "b"),  # in C, without giving up the GIL
    "deaf": be_deaf,
    "grow": grow,
    "abandon": abandon,
    "employ": employ,
    "flee": flee,
    "flee_and_sleep": lambda: (flee(), time.sleep(FOREVER)),
    "flee_and_crash": lambda: (flee(), die(signal.SIGSEGV)),
    "stop_while_sending": stop_while_sending,
    "close": close_everything,
    "announce": lambda: announce("announced"),
    "refuse": refuse,
    "slow": lambda: time.sleep(0.2),
}


class Behaving(PairwiseAUCEstimator):
    """The difference of the labelled classes' means, and a way to behave during a fit.

    A file ``mended`` in the current folder makes all of them behave well.
    """

    version = 1

    def __init__(self, lam=1.0, way="well", above=WARM_UP, at=None):
        self.lam = lam
        self.way = way
        self.above = above
        self.at = at

    def fit(self, X, y, X_unlabeled):
        here = len(X_unlabeled) > self.above and self.at in (None, len(X_unlabeled))
        if here and not Path("mended").exists():
            WAYS[self.way]()
        direction = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
        self.coef_ = direction + self.lam * X_unlabeled[:].mean(axis=0) * np.arange(X.shape[1])
        return self

    def decision_function(self, X):
        return X[:] @ self.coef_


class Counting(Behaving):
    """Tells with how many threads it was fitted."""

    def fit(self, X, y, X_unlabeled):
        from dsgkit.threads import thread_counts

        with Path("threads.txt").open("a") as file:
            file.write("numba {}, BLAS {}\n".format(*thread_counts()))
        return super().fit(X, y, X_unlabeled)
