"""Lazy rows, and what is read of a large memory map."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dsgkit.data.rows import Rows
from dsgkit.numerics import rows as rows_module

matrices = arrays(np.float32, (7, 3), elements=st.floats(-1e3, 1e3, width=32))
vectors = arrays(np.float32, 3, elements=st.floats(-9, 9, width=32))


@given(matrices, vectors, vectors, st.lists(st.integers(0, 6), min_size=1, max_size=9), st.data())
def test_values_equal_the_loop(base, offset, factor, index, data):
    rows = Rows(base, np.array(index), offset, factor)
    expected = np.array([(base[i] - offset) * factor for i in index], np.float32)
    key = data.draw(st.slices(len(index)))
    positions = np.array(data.draw(st.lists(st.integers(0, len(index) - 1))), int)
    assert rows.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(rows), expected)
    np.testing.assert_array_equal(rows[key], expected[key])
    np.testing.assert_array_equal(rows[positions], expected[positions])
    np.testing.assert_array_equal(rows[key, ::-2], expected[key][:, ::-2])
    np.testing.assert_array_equal(rows.take(positions)[:], expected[positions])
    np.testing.assert_array_equal(rows.take(key).take(slice(2))[:], expected[key][:2])
    assert rows.take(key).base is base


def test_reading_gives_a_new_contiguous_float32_array():
    base = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    for key in (slice(None), np.array([2, 0])):
        values = Rows(base)[key]
        assert values.dtype == np.float32 and values.flags.c_contiguous
        values[:] = 0
    assert base[2, 2] == 8 and np.asarray(Rows(base), np.float64).dtype == np.float64


INDICES = {
    "slice": slice(3, 700),
    "all": slice(None),
    "steps": slice(900, 10, -7),
    "empty": slice(5, 5),
    "positions": np.array([5, 999, 5, 0, 17] * 9),
    "from the end": np.array([-1, 3, -5]),
}


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file whose map counts as large."""
    monkeypatch.setattr(rows_module, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(rows_module, "_BLOCK_BYTES", 20_000)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((20_000, 5), dtype=np.float32))
    return tmp_path / "X.npy"


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("kind", ["map", "part of a map", "copy on write"])
def test_rows_of_a_large_map_are_those_of_plain_indexing(large, index, kind):
    table = np.load(large, mmap_mode="c" if kind == "copy on write" else "r")
    if kind == "copy on write":
        table[7] = 5
    table = table[1000:] if kind == "part of a map" else table
    read = rows_module.read_rows(table, index)
    np.testing.assert_array_equal(read, np.array(table[index]))
    assert type(read) is np.ndarray and read.flags.c_contiguous and read.flags.owndata
    assert kind != "copy on write" or (table[7] == 5).all()


def resident(path):
    """Bytes of a file's mapping that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines if line.startswith("Rss:")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux only")
@pytest.mark.parametrize("index", [slice(None), np.arange(19_999, -1, -3)])
def test_a_read_leaves_nothing_of_a_map_in_memory(large, index):
    table = np.load(large, mmap_mode="r")
    rows_module.read_rows(table[:], index)
    assert resident(large) == 0
    table[index].sum()
    assert resident(large) > 100_000
