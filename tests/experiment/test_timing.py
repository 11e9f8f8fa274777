"""Clocks, and repeated times of a fit: how many, what is reported, what disturbs."""

import threading
import time
from types import SimpleNamespace

import pytest

from dsgkit.experiment import timing as timing_module
from dsgkit.experiment.timing import Clock, is_disturbed, repeated, timing_record


def test_a_clock_adds_up_phases_and_knows_the_busiest_thread():
    """Two threads that compute, in turn under Python's lock, beside this one, which waits."""
    clock, gate, ready = Clock(), threading.Event(), threading.Semaphore(0)

    def compute(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        ready.release()
        gate.wait()

    with clock.phase("fit"):
        for seconds in (0.06, 0.03):
            threading.Thread(target=compute, args=(seconds,)).start()
        for _ in range(2):
            ready.acquire()
    gate.set()
    assert 0.06 <= clock.busiest["fit"] < 0.09 <= clock.processor["fit"]
    before = clock.wall["fit"]
    with pytest.raises(ValueError, match="x"), clock.phase("fit"):
        time.sleep(0.01)
        raise ValueError("x")
    assert list(clock.wall) == ["fit"] and clock.wall["fit"] > before + 0.009


def test_peak_memory_sees_what_was_freed():
    timing_module.reset_peak_memory()
    before = timing_module.peak_memory()
    del bytearray(2**27)[:]
    assert timing_module.peak_memory() >= before > 2**20


@pytest.fixture
def timed(monkeypatch):
    """Return the record of fits that take some seconds by their clocks, and some around them."""
    now = [0.0]
    monkeypatch.setattr(timing_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def record(wall, busiest=None, around=0.0, threads=2):
        walls = iter(wall)

        def fit(clock):
            clock.wall["fit"] += (took := next(walls))
            clock.busiest["fit"] += (busy := took if busiest is None else busiest)
            clock.processor["fit"] += busy
            now[0] += took + around

        fit(first := Clock())
        return timing_record(repeated(fit, first), threads)

    return record


def test_the_median_is_reported_of_processor_times_on_one_thread_and_else_of_wall_times(timed):
    record = timed([3.0, 1.0, 2.0])
    assert record["times"] == {"fit": 2.0} and record["timing"]["range"] == {"fit": [1.0, 3.0]}
    record = timed([3.0, 3.0, 3.0], busiest=1.0, threads=1)
    assert record["times"] == {"fit": 1.0} and record["timing"]["slowdown"] == 3
    assert record["measurements"]["wall"] == {"fit": [3.0, 3.0, 3.0]}
    assert record["timing"]["disturbed"] and not is_disturbed(record["timing"])
    assert not is_disturbed({})


@pytest.mark.parametrize(
    ("wall", "around", "number"),
    [
        (0.125, 0, 8),  # for a second in all
        (10.5, 0, 1),  # a long fit once
        (9.5, 0, 3),
        (0.1, 10, 2),  # a long preparation counts, too
        (1 / 128, 0, 20),  # several in a row
    ],
)
def test_short_fits_are_repeated_for_a_second_and_long_ones_not(timed, wall, around, number):
    record = timed([wall] * 1000, around=around)
    assert record["measurements"]["wall"]["fit"] == [round(wall, 6)] * number


@pytest.mark.parametrize(
    ("wall", "busiest", "disturbed"),
    [
        ([1.0, 1.0, 1.0], 0.7, False),
        ([1.0, 1.0, 1.0], 0.6, True),
        ([1.0, 8.0, 1.0], 1.0, False),  # one of three was: the median is not one of its
        ([2e-5] * 100, 1e-5, False),  # waiting for less than a tick of the clock is noise
    ],
)
def test_a_fit_is_disturbed_if_it_waits_longer_than_half_of_what_it_computes(
    timed, wall, busiest, disturbed
):
    record = timed(wall, busiest, around=0.06)  # so that no fits are averaged
    assert record["timing"]["disturbed"] is is_disturbed(record["timing"]) is disturbed


def test_a_repeat_that_fails_leaves_what_was_measured():
    first, told = Clock(), []
    assert repeated(lambda clock: exit(1), first, told.append) == [(first, 1)] and told == [1]
