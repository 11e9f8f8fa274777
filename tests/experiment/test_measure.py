import time

import numpy as np
import pytest

from dsgkit.experiment.measure import _CLEAR, Clock, peak_memory, reset_peak_memory


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
    reset_peak_memory()
    before = peak_memory()
    block = np.ones(2**24)  # 128 MiB
    del block
    assert peak_memory() - before > 100 * 2**20
    if _CLEAR.exists():
        reset_peak_memory()
        assert peak_memory() - before < 50 * 2**20
