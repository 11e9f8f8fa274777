import subprocess
import sys
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
    assert list(clock.seconds) == ["fit"]
    assert clock.seconds["fit"] >= 0.02


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
