import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dsgkit.data.rows import Rows

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
