import numpy as np
import psutil
import pytest

from dsgkit import SAMULT
from dsgkit.errors import MemoryLimitError
from dsgkit.system import memory


@pytest.fixture(autouse=True)
def alone():
    yield
    memory.constrain_memory(1, None)


def test_the_limit_is_a_share_of_what_is_available(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    available = psutil.virtual_memory().available
    assert 0.7 * available < memory.memory_limit() < 0.9 * available
    memory.constrain_memory(4, None)
    assert 1000 < memory.memory_limit() < 0.25 * available
    memory.constrain_memory(4, 1000)
    assert memory.memory_limit() == 1000


@pytest.mark.parametrize(("limit", "expected"), [("1000", 480), ("max", None), ("300", 0)])
def test_a_container_counts_what_it_has_left(monkeypatch, tmp_path, limit, expected):
    (tmp_path / "memory.max").write_text(limit + "\n")
    (tmp_path / "memory.current").write_text("400\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    if expected is None:
        assert memory.memory_limit() > 2**20
    else:
        assert memory.memory_limit() == expected


def test_estimators_keep_to_it(monkeypatch):
    monkeypatch.setattr("dsgkit.solvers.base.memory_limit", lambda: 1000)
    X = np.random.default_rng(0).random((40, 2))
    with pytest.raises(MemoryLimitError):
        SAMULT().fit(X[:20], np.arange(20) % 2, X[20:])
