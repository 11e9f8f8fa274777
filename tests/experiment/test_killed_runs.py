"""Runs that are killed, damaged or starved, and go on: nothing that was finished is lost."""

import fcntl
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
from matplotlib.text import Text

from dsgkit.experiment.results import load_results
from dsgkit.report.curves import curve
from dsgkit.report.summary import summarise
from dsgkit.tasks.measures import TIME
from tests.experiment.runs import (
    PATIENCE,
    all_gone,
    behaving,
    descendants,
    dsg,
    dsg_here,
    environment,
    pid_from,
    start,
    stored,
    tables,
    wait_until,
    without_measurements,
    workers_of,
    write_config,
)

pytestmark = pytest.mark.slow

RUN = ("run", "small.yaml", "--jobs", "2")
RESULTS = Path("results/small")
LAM = {"lam": [0.0, 0.5, 1.0, 2.0]}


def small(folder):
    """An experiment of 28 cells: 16 searches and 12 fits, some of them slow enough to be met."""
    solvers = {
        "slow": {**behaving("slow", LAM), "search_at": {"unlabeled": 70}},
        "well": {**behaving("well", LAM), "search_at": {"unlabeled": 70}},
        "fixed": behaving("well", lam=0.25),
    }
    write_config(folder, solvers, trials=2)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results folder of a run that nothing has disturbed, without workers."""
    folder = small(tmp_path_factory.mktemp("whole"))
    finish(folder)
    return folder / RESULTS


def finish(folder):
    """Let a run go on to its end, without the waiting of the slow solver."""
    (folder / "mended").touch()
    code, _, err = dsg_here(folder, *RUN)
    assert (code, err) == (0, "")


def assert_as_if_undisturbed(folder, whole):
    """A run that was disturbed and has gone on has come to the same results."""
    finish(folder)
    results = folder / RESULTS
    assert tables(results) == tables(whole)
    assert without_measurements(stored(results)) == without_measurements(stored(whole))


def finished(results):
    """The keys of the cells that have a result, as often as they have one."""
    return [record["key"] for record in stored(results) if record["status"] == "ok"]


def tear(results):
    """Cut off the file in its last record, as a crash of the machine does."""
    path = results / "cells.jsonl"
    last = path.read_bytes().splitlines(keepends=True)[-1]
    os.truncate(path, path.stat().st_size - len(last) // 2)


def wait_for_records(results, count, process):
    wait_until(lambda: len(stored(results)) >= count or process.poll() is not None)


def test_killed_again_and_again_a_run_loses_nothing(tmp_path, whole):
    """At random moments, right after a record, at a search, at a fit, with a record half-written.

    A finished cell never runs again.
    """
    folder = small(tmp_path)
    results = folder / RESULTS
    rng = random.Random(1)
    for kill in range(3):
        process = start(folder, *RUN)
        before = finished(results)
        if kill == 0:
            time.sleep(rng.uniform(0, 2))
        else:
            wait_for_records(results, len(stored(results)) + rng.randint(1, 4), process)
        processes = descendants(process.pid)
        process.kill()
        process.communicate(timeout=PATIENCE)
        all_gone(processes)
        after = finished(results)
        assert after[: len(before)] == before
        assert len(set(after)) == len(after)
        if kill == 1:
            tear(results)
    code, out, _ = dsg_here(folder, "status", results)
    assert code == 0
    told = " ".join(out.split())
    assert "not running, " in told and "; the same `dsg run` resumes it" in told
    assert_as_if_undisturbed(folder, whole)
    leftovers = [p.name for p in results.rglob("*") if p.name.endswith(".tmp")]
    assert leftovers == []


def test_a_full_disk_costs_no_result(tmp_path, whole):
    """Nor does it hide one: what had room is there, and a run with more room goes on from it."""
    out, most = tmp_path / "out", 8_000
    folder = small(tmp_path)
    (folder / "mended").touch()
    code, _, err = dsg(
        folder,
        *(*RUN, "--out", "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert code == 1
    assert re.fullmatch(r"Error: .*(No space left on device|File too large).*\n", err), err
    before = finished(out / "small")
    assert 0 < len(before) < len(finished(whole))
    shutil.copytree(out, folder / "results")
    assert_as_if_undisturbed(folder, whole)
    assert finished(folder / RESULTS)[: len(before)] == before


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_a_signal_stops_a_run_in_order_and_another_run_waits(tmp_path, number, times):
    """As Ctrl-C in a terminal does, it goes to the whole group of processes."""
    grid = LAM if number == signal.SIGINT else None  # at a search, or at a fit
    solvers = {"well": behaving("well"), "announce": behaving("announce", grid)}
    write_config(tmp_path, solvers, sizes=(70,))
    process = start(tmp_path, *RUN)
    pid_from(tmp_path / "announced.pid")
    code, _, err = dsg_here(tmp_path, *RUN)
    writing = rf"another run \(process {process.pid} on \S+\) is writing there; "
    assert code == 1
    assert re.fullmatch(rf"Error: results/small: {writing}wait for it or use another --out\n", err)
    assert f"; running (process {process.pid} on " in dsg_here(tmp_path, "status", RESULTS)[1]
    processes = descendants(process.pid)
    for _ in range(times):
        os.killpg(process.pid, number)
        time.sleep(0.05)
    _, err = process.communicate(timeout=PATIENCE)
    word = "interrupted" if number == signal.SIGINT else "stopped by SIGTERM"
    there = "finished cells are in results/small, and `dsg table results/small` shows them"
    assert err == f"{word}; {there}; continue with: dsg {' '.join(RUN)}\n"
    assert process.returncode == 128 + number
    all_gone(processes)
    assert len(finished(tmp_path / RESULTS)) == 1  # the one without a search is first


def test_a_run_whose_terminal_goes_away_ends_in_order(tmp_path, whole):
    """The system sends SIGHUP, and nothing can be written to the terminal from then on."""
    folder = small(tmp_path)
    results = folder / RESULTS
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dsgkit.cli", *RUN],
        cwd=folder,
        env=environment(folder),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    wait_for_records(results, 3, process)
    processes = descendants(process.pid)
    os.close(ours)
    assert process.wait(PATIENCE) == 128 + signal.SIGHUP
    all_gone(processes)
    assert len(finished(results)) >= 3
    assert_as_if_undisturbed(folder, whole)


def test_a_run_that_is_stopped_for_a_while_goes_on(tmp_path, whole):
    """First all of it, then its workers while the process in charge is there, then that alone."""
    folder = small(tmp_path)
    results = folder / RESULTS
    process = start(folder, *RUN)
    wait_for_records(results, 2, process)
    workers = workers_of(process.pid)
    for stopped in ([process.pid, *workers], workers, [process.pid]):
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        before = len(stored(results))
        time.sleep(0.3)
        assert len(stored(results)) <= before + len(workers)  # what had been sent before
        for pid in stopped:
            with suppress(ProcessLookupError):  # an idle worker that is stopped is replaced
                os.kill(pid, signal.SIGCONT)
        workers = workers_of(process.pid)
    (folder / "mended").touch()
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert_as_if_undisturbed(folder, whole)


def test_a_signal_before_there_is_anything_to_keep(tmp_path):
    write_config(tmp_path, {"well": behaving("well")})
    process = start(tmp_path, *RUN)
    wait_until(lambda: "pydantic" in Path(f"/proc/{process.pid}/maps").read_text())
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_the_programs_of_a_solver_end_with_a_run_that_is_killed(tmp_path):
    """One that its worker waits for, and one in a session of its own whose parent is gone."""
    write_config(tmp_path, {"flee": behaving("flee_and_employ")}, sizes=(70,))
    process = start(tmp_path, *RUN)
    left = {pid_from(tmp_path / f"{name}.pid") for name in ("fled", "employed")}
    processes = left | set(descendants(process.pid))
    process.kill()
    process.communicate(timeout=PATIENCE)
    all_gone(processes)


LIMITS = ("--timeout", "10", "--memory-limit", "700MB")
"""Memory is taken in less than a second on a quiet machine, and in several on a busy one."""


def unwrapped(text):
    """The lines before they were wrapped at the terminal's width, the rest indented further."""
    return re.sub(r"\n    +", " ", text).splitlines()


def test_three_cells_end_badly_among_twenty(tmp_path):
    """One crashes, one hangs, one takes memory without end: each is told, the others are there."""
    bad = {way: behaving(way, at=90) for way in ("segfault", "sleep", "grow")}
    good = {
        "well": behaving("well"),
        "fewer": {**behaving("well", lam=2.0), "at_most": {"unlabeled": 80}},
    }
    outputs = ("error_table", "time_curve")
    write_config(tmp_path, {**good, **bad}, sizes=(70, 75, 80, 85, 90), outputs=outputs)
    results = tmp_path / RESULTS

    code, out, err = dsg(tmp_path, *RUN, *LIMITS)
    assert code == 1
    assert len(finished(results)) == 20
    endings = {r["label"]: r["status"] for r in stored(results) if r["status"] != "ok"}
    assert endings == {"segfault": "crashed", "sleep": "timeout", "grow": "out_of_memory"}
    head, crash, middle, *others = unwrapped(err)
    assert (head, middle) == ("1 cell failed:", "2 cells ended at a limit or without a solution:")
    assert crash == (
        "  segfault fit, trial 1, 90 unlabelled: crashed: worker process killed by SIGSEGV"
    )
    assert others[0] == "  sleep fit, trial 1, 90 unlabelled: timeout: stopped after 10 s"
    assert others[1].startswith("  grow fit, trial 1, 90 unlabelled: out of memory: stopped at ")
    assert len(others) == 2
    assert "23 cells computed, 0 reused" in out
    assert (results / "figures" / "time_curve.pdf").stat().st_size > 1000
    texts = curve(summarise([load_results(results)]), TIME).findobj(Text)
    told = {line for text in texts for line in text.get_text().splitlines()}
    assert {"crashed", "timeout", "memory"} <= told
    table = (results / "tables" / "error_table.md").read_text()
    assert all(word in table for word in ("crashed", "timeout", "out of memory"))
