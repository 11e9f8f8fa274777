import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dsgkit.experiment.measure import Clock


def test_phases_add_up_and_survive_errors():
    clock = Clock()
    with clock.phase("fit"):
        time.sleep(0.01)
    with pytest.raises(ValueError, match="x"), clock.phase("fit"):
        time.sleep(0.01)
        raise ValueError("x")
    assert list(clock.wall) == ["fit"]
    assert clock.wall["fit"] >= 0.02


def compute(seconds):
    """Occupy a thread for some seconds of its own processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_busiest_thread_has_the_time_of_one_and_the_process_that_of_all():
    """Two threads that compute, in turn under Python's lock, beside this one, which waits."""
    clock = Clock()
    gate = threading.Event()
    work = threading.Thread(target=lambda: (compute(0.06), gate.wait()))
    more = threading.Thread(target=lambda: (compute(0.03), gate.wait()))
    with clock.phase("fit"):
        for thread in (work, more):
            thread.start()
        while time.process_time() and clock_of(work) < 0.06:
            time.sleep(0.01)
        compute(0.01)
    gate.set()
    for thread in (work, more):
        thread.join()
    assert 0.06 <= clock.busiest["fit"] < 0.08
    assert clock.processor["fit"] > clock.busiest["fit"]


def clock_of(thread):
    line = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
    return int(line.split()[0]) / 1e9


def test_peak_memory_sees_what_was_freed_and_can_be_reset():
    """In a process of its own: where the peak cannot be reset, it is that of all tests before."""
    script = """
import numpy as np
from dsgkit.experiment.measure import peak_memory, reset_peak_memory
for _ in range(2):
    reset_peak_memory()
    before = peak_memory()
    block = np.ones(2**24)  # 128 MiB
    del block
    print(before, peak_memory())
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    (before, peak), (again, _) = np.array(told.split(), int).reshape(2, 2)
    assert peak - before > 100 * 2**20
    if can_be_reset():
        assert again - before < 50 * 2**20


def can_be_reset():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True
