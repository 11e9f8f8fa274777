"""A solver that behaves as its parameter says; without scikit-learn, which takes 2 s to import."""

import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from dsgkit.costs import Cost
from dsgkit.errors import FitError, MemoryLimitError
from dsgkit.tasks.metrics import error_rate
from dsgkit.tasks.semi_supervised import UNLABELED, SemiSupervised
from dsgkit.tasks.svm import ERROR

WARM_UP, FOREVER, MIB = 64, 1000, 2**20  # rows of the fit that no clock sees, seconds, bytes


def leave_pid(name, pid=None):
    """Tell the test which process this is, or another; the file appears whole."""
    Path(f"{name}.tmp").write_text(str(pid or os.getpid()))
    Path(f"{name}.tmp").replace(f"{name}.pid")


def abandon():
    """Leave a process behind that holds all files of this one open."""
    if os.fork() == 0:
        leave_pid("abandoned")
        time.sleep(FOREVER)
        os._exit(0)
    while not Path("abandoned.pid").exists():
        time.sleep(0.01)
    signal.raise_signal(signal.SIGSEGV)


def employ():
    """Have another program work for this one, and refuse to end, whoever asks."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    leave_pid("employed", program.pid)
    while True:
        try:
            program.wait()
        except BaseException:
            continue


def share():
    """Take memory that other processes could use, too."""
    held = mmap.mmap(-1, 40 * 32 * MIB)
    for _ in range(40):
        held.write(bytes(32 * MIB))
    time.sleep(FOREVER)


def work(number):
    leave_pid(f"work{number}")
    time.sleep(FOREVER)


def share_out():
    from joblib import Parallel, delayed

    Parallel(n_jobs=2)(delayed(work)(number) for number in (0, 1))


def refuse():
    raise MemoryLimitError(np.int64(2**40), np.int64(2**30))  # with numpy's numbers


def count():
    import numba
    from threadpoolctl import threadpool_info

    blas = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    raise FitError(f"numba {numba.get_num_threads()}, BLAS {blas}")


def compete():
    """Compute for 0.3 s on a core that three other programs use."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    for other in others:
        other.kill()
        other.wait()
    os.sched_setaffinity(0, cores)


WAYS = {
    "well": lambda: None,
    "nameless": lambda: signal.raise_signal(signal.SIGRTMIN + 1),
    "memory": lambda: bytearray(2**62),
    "share": share,
    "abandon": abandon,
    "employ": employ,
    "refuse": refuse,
    "share_out": share_out,
    "count": count,
    "compete": compete,
    "slow": lambda: time.sleep(0.2),
}


class Orderly(SemiSupervised):
    """Rows of two classes; a model is searched by cross-validation and judged by its error."""

    kind = f"{__name__}:Orderly"
    version = 1
    axes = (UNLABELED,)
    measures = (ERROR,)
    chooses = ERROR.name
    words = gives = extra = ()
    grows: ClassVar = {}
    fold_score = staticmethod(error_rate)

    def search_work(self, estimator, at, n_points):
        return self.fit_work(estimator, at)

    def score(self, y, values):
        return {ERROR.name: error_rate(y, values)}


class Behaving:
    """The difference of the labelled classes' means, and a way to behave during a fit.

    A file ``mended`` in the current folder makes all of them behave well.
    """

    tasks = (Orderly.kind,)
    version = 1

    def __init__(self, lam=1.0, way="well", above=WARM_UP):
        self.lam, self.way, self.above = lam, way, above

    def get_params(self):
        return {name: getattr(self, name) for name in ("lam", "way", "above")}

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


class Repeating(Behaving):
    """Ends its process, or sleeps for that many seconds, once a fit is repeated."""

    def fit(self, X, y, X_unlabeled):
        with Path(f"fits-{self.lam}").open("a") as file:
            file.write(".")
        if Path(f"fits-{self.lam}").stat().st_size > 2:  # a warm-up, a fit, a repeat
            time.sleep(self.lam) if self.lam > 1 else os._exit(3)
        return super().fit(X, y, X_unlabeled)


class Other(Behaving):
    """The same as another class."""
