"""A solver that behaves as its parameter says; workers import it like any solver of one's own.

It and its task do without scikit-learn, which a process takes two seconds to import.
"""

import inspect
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from dsgkit.errors import MemoryLimitError
from dsgkit.numerics.costs import Cost
from dsgkit.tasks.metrics import error_rate
from dsgkit.tasks.semi_supervised import UNLABELED, SemiSupervised
from dsgkit.tasks.svm import ERROR

WARM_UP = 64
"""Rows of the fit that no clock sees; what misbehaves only later is above this size."""

FOREVER = 1000
MIB = 2**20


def leave_pid(name, pid=None):
    """Tell the test which process this is, or another; the file appears whole."""
    Path(f"{name}.tmp").write_text(str(pid or os.getpid()))
    Path(f"{name}.tmp").replace(f"{name}.pid")


def wait_for_file(name):
    deadline = time.monotonic() + 100
    while not Path(name).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def die(number):
    os.kill(os.getpid(), number)


def abandon():
    """Leave a process behind that holds all files of this one open."""
    if os.fork() == 0:
        leave_pid("abandoned")
        time.sleep(FOREVER)
        os._exit(0)
    wait_for_file("abandoned.pid")
    die(signal.SIGSEGV)


def employ():
    """Have another program work for this one, and wait for it in vain."""
    leave_pid("employer")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as program:
        leave_pid("employed", program.pid)
        program.wait()


def share():
    """Take memory that other processes could use, too."""
    held = []
    while len(held) < 40:
        held.append(mmap.mmap(-1, 32 * MIB))
        held[-1].write(bytes(32 * MIB))
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


def refuse():
    """Say with numpy's numbers what is needed."""
    raise MemoryLimitError(np.int64(2**40), np.int64(2**30))


WAYS = {
    "well": lambda: None,
    "segfault": lambda: die(signal.SIGSEGV),
    "kill": lambda: die(signal.SIGKILL),
    "nameless": lambda: die(signal.SIGRTMIN + 1),
    "exit": lambda: os._exit(3),
    "deaf": be_deaf,
    "share": share,
    "abandon": abandon,
    "employ": employ,
    "refuse": refuse,
    "slow": lambda: time.sleep(0.2),
}


class Orderly(SemiSupervised):
    """Rows of two classes; a model is searched by cross-validation and judged by its error."""

    kind = f"{__name__}:Orderly"
    version = 1
    axes = (UNLABELED,)
    measures = (ERROR,)
    chooses = ERROR.name
    words = calls = gives = extra = ()
    grows: ClassVar = {}

    def search_work(self, estimator, at, n_points):
        return self.fit_work(estimator, at)

    def fold_score(self, y, values):
        return error_rate(y, values)

    def score(self, y, values):
        return {ERROR.name: error_rate(y, values)}


class Behaving:
    """The difference of the labelled classes' means, and a way to behave during a fit.

    A file ``mended`` in the current folder makes all of them behave well.
    """

    tasks = (Orderly.kind,)
    version = 1

    def __init__(self, lam=1.0, way="well", above=WARM_UP):
        self.lam = lam
        self.way = way
        self.above = above

    def get_params(self):
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def cost(self, n_inputs, **counts):
        return Cost()

    def fit(self, X, y, X_unlabeled):
        if len(X_unlabeled) > self.above and not Path("mended").exists():
            WAYS[self.way]()
        means = X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)
        tilt = self.lam * X_unlabeled[:].mean(axis=0) * np.arange(X.shape[1])
        self.coef_ = means[0] - means[1] + tilt
        self.cut_ = self.coef_ @ (means[0] + means[1]) / 2
        return self

    def fit_points(self, points, *, folds, X, y, X_unlabeled):
        values = np.empty((len(points), len(y)))
        for row, point in zip(values, points, strict=True):
            model = type(self)(**{**self.get_params(), **point})
            for fold in folds:
                rows = np.setdiff1d(np.arange(len(y)), fold)
                row[fold] = model.fit(X[rows], y[rows], X_unlabeled).decision_function(X[fold])
        return values

    def decision_function(self, X):
        return X[:] @ self.coef_ - self.cut_


class Counting(Behaving):
    """Tells with how many threads it was fitted."""

    def fit(self, X, y, X_unlabeled):
        import numba
        from threadpoolctl import threadpool_info

        blas = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        with Path("threads.txt").open("a") as file:
            file.write(f"numba {numba.get_num_threads()}, BLAS {blas}\n")
        return super().fit(X, y, X_unlabeled)
