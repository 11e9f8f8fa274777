"""Whether a cell that met a limit would meet it again."""

import pytest

from dsgkit.experiment import limits as limits_module
from dsgkit.experiment.limits import Limits

GIB = 2**30


@pytest.fixture(autouse=True)
def eight_gib(monkeypatch):
    monkeypatch.setattr(limits_module, "memory_limit", lambda: 8 * GIB)


@pytest.mark.parametrize(
    ("ended", "limits", "settled"),
    [
        ({"status": "ok"}, Limits(), True),
        ({"status": "ok"}, Limits(timeout=1e-9, memory=1), True),
        ({"status": "indefinite"}, Limits(timeout=9, memory=GIB), True),
        ({"status": "diverged"}, Limits(), True),
        # a time limit: the same or a shorter one ends it again, a longer one or none might not
        ({"status": "timeout", "timeout": 5}, Limits(timeout=5), True),
        ({"status": "timeout", "timeout": 5}, Limits(timeout=4.9), True),
        ({"status": "timeout", "timeout": 5}, Limits(timeout=5.1), False),
        ({"status": "timeout", "timeout": 5}, Limits(), False),
        # stopped while it grew: nobody knows how much it needs, only that it is more
        ({"status": "out_of_memory", "limit": GIB}, Limits(memory=GIB), True),
        ({"status": "out_of_memory", "limit": GIB}, Limits(memory=GIB - 1), True),
        ({"status": "out_of_memory", "limit": GIB}, Limits(memory=GIB + 1), False),
        ({"status": "out_of_memory", "limit": GIB}, Limits(), False),
        # refused by its solver, which knows what it needs: the machine's limit counts, too
        ({"status": "out_of_memory", "needed": 9 * GIB, "limit": GIB}, Limits(), True),
        ({"status": "out_of_memory", "needed": 7 * GIB, "limit": GIB}, Limits(), False),
        ({"status": "out_of_memory", "needed": 7 * GIB}, Limits(memory=6 * GIB), True),
        ({"status": "out_of_memory", "needed": 7 * GIB}, Limits(memory=7 * GIB), False),
        # an exception of the allocator tells nothing
        ({"status": "out_of_memory"}, Limits(memory=GIB), False),
    ],
)
def test_a_cell_runs_again_only_if_it_could_go_further(ended, limits, settled):
    assert limits.settle(ended) is settled
