from pathlib import Path

import numpy as np
import pytest

from dsgkit import QSGS2AUC
from dsgkit.data.rows import Rows
from dsgkit.system import mapped

KINDS = ["array", "float64", "small map", "map", "part of a map", "as an array", "by columns"]
INDICES = {
    "slice": slice(3, 700),
    "all": slice(None),
    "steps": slice(900, 10, -7),
    "backwards": slice(None, None, -1),
    "empty": slice(5, 5),
    "positions": np.array([5, 999, 5, 0, 17]),
    "none": np.array([], np.int64),
    "from the end": np.array([-1, 3, -5]),
}


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file whose map counts as large."""
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 1000)
    rows = np.random.default_rng(0).random((20_000, 5), dtype=np.float32)
    np.save(tmp_path / "X.npy", rows)
    return tmp_path / "X.npy", rows


def by_columns(path, rows):
    np.save(path.with_name("columns.npy"), np.asfortranarray(rows))
    return path.with_name("columns.npy")


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("kind", [*KINDS, "rows"])
def test_rows_are_those_of_plain_indexing(large, name, kind, monkeypatch):
    path, rows = large
    table = {
        "array": rows,
        "float64": rows.astype(np.float64),
        "part of a map": np.load(path, mmap_mode="r")[1000:],
        "as an array": np.asarray(np.load(path, mmap_mode="r")),
        "by columns": np.load(by_columns(path, rows), mmap_mode="r"),
        "rows": Rows(np.load(path, mmap_mode="r"), np.arange(len(rows))[::-1]),
    }.get(kind, np.load(path, mmap_mode="r"))
    if kind == "small map":
        monkeypatch.setattr(mapped, "MAPPED_BYTES", 2**30)
    if kind == "part of a map":
        rows = rows[1000:]
    if kind == "rows":
        rows = rows[::-1]
    read = mapped.read_rows(table, INDICES[name])
    np.testing.assert_array_equal(read, rows[INDICES[name]])
    assert read.dtype == np.float32
    assert read.flags.c_contiguous
    assert read.flags.writeable
    assert type(read) is np.ndarray
    assert not np.shares_memory(read, table if isinstance(table, np.ndarray) else rows)


def resident(path):
    """Bytes of a file's mapping that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        if line.endswith(str(path)):
            return 1024 * int(next(x for x in lines if x.startswith("Rss:")).split()[1])
    raise AssertionError("not mapped")


on_linux = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux only")


@on_linux
@pytest.mark.parametrize("index", [slice(None), np.arange(19_999, -1, -3)])
@pytest.mark.parametrize("kind", ["map", "part of a map", "rows"])
def test_reading_maps_nothing(large, index, kind):
    path, _ = large
    table = np.load(path, mmap_mode="r")
    view = {"map": table, "part of a map": table[:], "rows": Rows(table)}[kind]
    mapped.read_rows(view, index)
    assert resident(path) == 0
    table[index].sum()
    assert resident(path) > 100_000


@on_linux
@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_a_map_is_read_even_if_its_file_is_not_under_its_name_any_more(large, change):
    path, rows = large
    table = np.load(path, mmap_mode="r")
    if change == "replaced":
        np.save(path.with_name("other.npy"), rows + 1)
        path.with_name("other.npy").replace(path)
    else:
        path.unlink()
    np.testing.assert_array_equal(mapped.read_rows(table, np.arange(9)), rows[:9])


@pytest.mark.parametrize("row", [20_000, -20_001])
def test_rows_that_are_not_there_are_an_error(large, row):
    path, _ = large
    with pytest.raises(IndexError):
        mapped.read_rows(np.load(path, mmap_mode="r"), np.array([0, row]))


def test_a_shortened_file_is_an_error_not_a_crash(large):
    path, _ = large
    table = np.load(path, mmap_mode="r")
    with path.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(OSError, match="shorter"):
        mapped.read_rows(table, slice(None))


def test_changes_of_copy_on_write_maps_are_kept(large):
    path, rows = large
    table = np.load(path, mmap_mode="c")
    table[7] = 5
    mapped.read_rows(table, slice(None))
    np.testing.assert_array_equal(table[7], [5] * 5)
    np.testing.assert_array_equal(table[8], rows[8])


def test_an_estimator_on_a_map_equals_one_on_an_array(large):
    path, rows = large
    table = np.load(path, mmap_mode="r")
    model = QSGS2AUC(n_iterations=30, batch_size=40, n_features=8)
    y = np.arange(50) % 2
    expected = model.fit(rows[:50], y, rows[50:]).decision_function(rows)
    on_map = model.fit(rows[:50], y, table[50:]).decision_function(table)
    np.testing.assert_array_equal(on_map, expected)
