"""Lazy rows, and what is read of a large memory map."""

from pathlib import Path

import numpy as np
import pytest

from dsgkit.data.dataset import Rows
from dsgkit.numerics import rows as rows_module


def test_values_equal_the_loop():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(7, 3)).astype(np.float32)
    offset, factor = rng.normal(size=(2, 3)).astype(np.float32)
    index = np.array([5, 0, 3, 3, 6, 1])
    expected = np.array([(base[i] - offset) * factor for i in index])
    rows = Rows(base, index, offset, factor)
    assert rows.shape == expected.shape and len(rows) == 6 and rows.take(index[:2]).base is base
    np.testing.assert_array_equal(np.asarray(rows), expected)
    for key in (slice(1, 4), slice(None, None, -2), slice(9, 9), np.array([4, 4, 0])):
        np.testing.assert_array_equal(rows[key], expected[key])
        np.testing.assert_array_equal(rows[key, ::-2], expected[key][:, ::-2])
        np.testing.assert_array_equal(rows.take(key)[:], expected[key])
        np.testing.assert_array_equal(rows.take(key).take(slice(2))[:], expected[key][:2])
    np.testing.assert_array_equal(Rows(base, None, offset)[2:4], base[2:4] - offset)
    np.testing.assert_array_equal(
        Rows(base, None, None, factor).take(index)[:], base[index] * factor
    )
    with pytest.raises(ValueError, match="read-only"):
        rows.index[0] = 1


def test_reading_gives_a_new_contiguous_float32_array():
    base = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    for key in (slice(None), np.array([2, 0])):
        values = Rows(base)[key]
        assert values.dtype == np.float32 and values.flags.c_contiguous
        values[:] = 0
    assert base[2, 2] == 8 and np.asarray(Rows(base), np.float64).dtype == np.float64


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file whose map counts as large."""
    monkeypatch.setattr(rows_module, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(rows_module, "_BLOCK_BYTES", 20_000)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((20_000, 5), dtype=np.float32))
    return tmp_path / "X.npy"


@pytest.mark.parametrize("kind", ["map", "part of a map", "copy on write"])
def test_rows_of_a_large_map_are_those_of_plain_indexing(large, kind):
    table = np.load(large, mmap_mode="c" if kind == "copy on write" else "r")
    if kind == "copy on write":
        table[7] = 5
    table = table[1000:] if kind == "part of a map" else table
    slices = slice(3, 700), slice(None), slice(900, 10, -7), slice(5, 5)
    for index in (*slices, np.array([5, 999, 5, 0, 17] * 9), np.array([-1, 3, -5])):
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
def test_a_read_leaves_nothing_of_a_map_in_memory(large):
    table = np.load(large, mmap_mode="r")
    for index in (slice(None), np.arange(19_999, -1, -3)):
        rows_module.read_rows(table[:], index)
        assert resident(large) == 0
    table[index].sum()
    assert resident(large) > 100_000
