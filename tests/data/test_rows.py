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


def reference(base, index, offset, factor):
    rows = [(base[i].astype(np.float32) - offset) * factor for i in index]
    return np.array(rows, np.float32).reshape(-1, base.shape[1])


@given(matrices, st.lists(st.integers(0, 6), max_size=9), st.data())
def test_values_equal_the_loop(base, index, data):
    offset, factor = (
        data.draw(arrays(np.float32, 3, elements=st.floats(-9, 9, width=32))) for _ in "ab"
    )
    rows = Rows(base, np.array(index, int), offset, factor)
    expected = reference(base, index, offset, factor)
    key = data.draw(st.slices(len(index)))
    assert rows.shape == expected.shape
    np.testing.assert_array_equal(rows[key], expected[key])
    positions = np.array(data.draw(st.lists(st.integers(0, max(len(index) - 1, 0)))), int)
    if index:
        np.testing.assert_array_equal(rows[positions], expected[positions])
        np.testing.assert_array_equal(rows.take(positions)[:], expected[positions])
        np.testing.assert_array_equal(rows.take(key).take(slice(2))[:], expected[key][:2])


def test_reading_gives_a_new_contiguous_float32_array():
    base = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    for key in (slice(None), np.array([2, 0])):
        values = Rows(base)[key]
        assert values.dtype == np.float32 and values.flags.c_contiguous
        values[:] = 0
    assert base[2, 2] == 8


def test_taking_reads_nothing_and_keeps_the_base():
    base = np.zeros((5, 2), np.float32)
    view = Rows(base).take(slice(1, 4)).take(np.array([2, 0]))
    assert view.base is base
    assert view.index.tolist() == [3, 1]


def test_converts_to_an_array():
    rows = Rows(np.eye(3, dtype=np.float32), [2, 0])
    np.testing.assert_array_equal(np.asarray(rows), np.eye(3)[[2, 0]])
    assert np.asarray(rows, np.float64).dtype == np.float64


def test_columns_are_taken_from_a_slice_of_rows():
    rows = Rows(np.arange(12.0).reshape(4, 3), [3, 0, 2], factor=[1, 2, 3])
    for key in [(slice(None), 1), (slice(2), [0, 2]), (slice(1, None), slice(None, None, -1))]:
        np.testing.assert_array_equal(rows[key], rows[:][key])


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
    """A file whose map counts as large, and its rows."""
    monkeypatch.setattr(rows_module, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(rows_module, "_BLOCK_BYTES", 20_000)
    rows = np.random.default_rng(0).random((20_000, 5), dtype=np.float32)
    np.save(tmp_path / "X.npy", rows)
    return tmp_path / "X.npy", rows


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("kind", ["float64", "map", "part of a map", "copy on write"])
def test_rows_of_a_large_map_are_those_of_plain_indexing(large, index, kind):
    path, rows = large
    table = np.load(path, mmap_mode="c" if kind == "copy on write" else "r")
    if kind == "copy on write":
        table[7] = 5
    table = {"float64": rows.astype(float), "part of a map": table[1000:]}.get(kind, table)
    read = rows_module.read_rows(table, index)
    np.testing.assert_array_equal(read, np.array(table[index], np.float32))
    assert type(read) is np.ndarray and read.dtype == np.float32
    assert read.flags.c_contiguous and read.flags.owndata
    assert kind != "copy on write" or (table[7] == 5).all()


def resident(path):
    """Bytes of a file's mapping that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines if line.startswith("Rss:")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux only")
@pytest.mark.parametrize("index", [slice(None), np.arange(19_999, -1, -3)])
def test_a_read_leaves_nothing_of_a_map_in_memory(large, index):
    path, _ = large
    table = np.load(path, mmap_mode="r")
    rows_module.read_rows(table[:], index)
    assert resident(path) == 0
    table[index].sum()
    assert resident(path) > 100_000
