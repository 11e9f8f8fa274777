"""Time equal fits on one thread: alone, next to busy processes, and two at once.

Wall time grows with the machine's other load; the processor time of the same fit should only grow
by shared caches and memory. The busy processes multiply matrices, one on each core. The conditions
take turns, so that a slow minute affects all of them.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from ctypes import c_bool
from functools import partial
from statistics import median
from typing import Any

import click
import make_big_data
import numpy as np

from dsgkit import QSGS2AUC, RFFS2AUC, SAMULT, NystromS2AUC
from dsgkit.experiment.timing import Clock
from dsgkit.system.machine import available_threads, set_threads

N_LABELED = 200
SETTING: dict[str, Any] = {"lam": 0.125, "sigma": 1.0, "gamma": 0.5}
SOLVERS: dict[str, tuple[Any, int]] = {
    "QSG-S2AUC": (QSGS2AUC(**SETTING, n_iterations=60, random_state=0), 20_000),
    "RFF-S2AUC": (RFFS2AUC(**SETTING, n_features=500, random_state=0), 20_000),
    "Nystrom-S2AUC": (NystromS2AUC(**SETTING, n_landmarks=300, random_state=0), 20_000),
    "SAMULT": (SAMULT(**SETTING), 1500),
}
"""Numbers of unlabelled rows by solver."""

CONDITIONS = ("alone", "busy", "two")
MAX_DIFFERENCE = 0.2
"""Largest ratio of processor times of equal work."""

BUSY_SIZE = 500


def fits(names: tuple[str, ...]) -> dict[str, Callable[[], object]]:
    """Return fits by name; each has run once, to compile."""
    set_threads(1, 1)
    made: dict[str, Callable[[], object]] = {}
    for name in names:
        solver, n = SOLVERS[name]
        X, y = make_big_data.make_rows(N_LABELED + n, 18)
        labeled = slice(None, N_LABELED)
        made[name] = partial(solver.fit, X[labeled], y[labeled], X[N_LABELED:])
        made[name]()
    return made


def be_busy(ready: Any) -> None:
    """Multiply matrices on one thread forever."""
    set_threads(1, 1)
    A = np.random.default_rng(0).random((BUSY_SIZE, BUSY_SIZE))
    ready.value = True
    while True:
        A @ A


def fit_on(names: tuple[str, ...], place: Any, ready: Any) -> None:
    """Repeat the fit at an index of the names forever."""
    made = fits(names)
    ready.value = True
    while True:
        made[names[place.value]]()


class Companions:
    """Processes that run during a fit; they are paused in between.

    Parameters
    ----------
    names : tuple of str
        Names of the fits.
    busy : int
        Number of processes that multiply matrices.
    """

    def __init__(self, names: tuple[str, ...], busy: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._place = context.Value("i", 0)
        self._processes: dict[str, list[Any]] = {"alone": [], "busy": [], "two": []}
        wanted: list[tuple[str, Any, tuple[Any, ...]]] = [
            *[("busy", be_busy, ())] * busy,
            ("two", fit_on, (names, self._place)),
        ]
        for condition, target, arguments in wanted:
            ready = context.Value(c_bool, False)
            process = context.Process(target=target, args=(*arguments, ready), daemon=True)
            process.start()
            while not ready.value:
                process.join(0.1)
                if process.exitcode is not None:
                    raise click.ClickException("a process that should run during fits has ended")
            os.kill(process.pid, signal.SIGSTOP)  # type: ignore[arg-type]
            self._processes[condition].append(process)

    @contextlib.contextmanager
    def during(self, condition: str, place: int) -> Iterator[None]:
        """Run the processes of a condition; a fitting process repeats the fit at ``place``."""
        self._place.value = place
        wanted = self._processes[condition]
        for process in wanted:
            os.kill(process.pid, signal.SIGCONT)
        try:
            yield
        finally:
            for process in wanted:
                os.kill(process.pid, signal.SIGSTOP)

    def end(self) -> None:
        """End all processes."""
        for processes in self._processes.values():
            for process in processes:
                process.kill()


def measure(names: tuple[str, ...], repeats: int, busy: int) -> dict[str, Any]:
    """Return wall and processor seconds of every fit under each condition, medians of repeats."""
    made = fits(names)
    companions = Companions(names, busy)
    seconds: dict[tuple[str, str], list[tuple[float, float]]] = {}
    try:
        for _ in range(repeats):
            for place, name in enumerate(names):
                for condition in CONDITIONS:
                    clock = Clock()
                    with companions.during(condition, place), clock.phase("fit"):
                        made[name]()
                    both = clock.wall["fit"], clock.processor["fit"]
                    seconds.setdefault((name, condition), []).append(both)
    finally:
        companions.end()
    return {
        name: {
            what: {
                condition: median(both[place] for both in seconds[name, condition])
                for condition in CONDITIONS
            }
            for place, what in enumerate(("wall", "processor"))
        }
        for name in names
    }


def largest_ratio(figures: dict[str, Any], condition: str) -> float:
    """Return the largest ratio of processor times between a condition and the fit alone."""
    ratios = [
        times["processor"][condition] / times["processor"]["alone"] for times in figures.values()
    ]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def describe(figures: dict[str, Any], busy: int) -> str:
    """Return the figures as a table."""
    head = " ".join(f"{name:>9} {'ratio':>6}" for name in CONDITIONS[1:])
    lines = [f"{'':<14} {'':<10} {'alone':>9} {head}"]
    for name, times in figures.items():
        for what, of in times.items():
            first = of["alone"]
            rest = " ".join(f"{of[c]:>9.3f} {of[c] / first:>6.2f}" for c in CONDITIONS[1:])
            lines.append(f"{name:<14} {what:<10} {first:>9.3f} {rest}")
    loaded, at_once = (largest_ratio(figures, condition) for condition in CONDITIONS[1:])
    agree = "agree" if loaded <= 1 + MAX_DIFFERENCE else "do not agree"
    lines += [
        f"Seconds of one fit on one thread; busy: next to {busy} busy processes on "
        f"{available_threads()} cores; two: two equal fits at once.",
        f"Processor times next to busy processes {agree} within {MAX_DIFFERENCE:.0%}: "
        f"the largest ratio is {loaded:.2f}; that of two fits at once {at_once:.2f}.",
    ]
    return "\n".join(lines)


@click.command()
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1))
@click.option(
    "--busy", type=click.IntRange(1), help="Busy processes; as many as there are cores by default."
)
@click.option("--solver", "names", multiple=True, type=click.Choice(list(SOLVERS)))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(repeats: int, busy: int | None, names: tuple[str, ...], as_json: bool) -> None:
    """Compare wall and processor times of equal fits under load."""
    busy = busy or available_threads()
    load = os.getloadavg()[0]
    figures = measure(names or tuple(SOLVERS), repeats, busy)
    if as_json:
        click.echo(json.dumps({"busy": busy, "load": load, "repeats": repeats, "fits": figures}))
    else:
        click.echo(describe(figures, busy))


if __name__ == "__main__":
    main()
