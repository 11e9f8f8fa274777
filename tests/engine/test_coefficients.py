import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.engine.coefficients import PART_BLOCKS, Coefficients
from dsgkit.engine.sizes import MAX_FORGOTTEN_SHARE

magnitudes = st.floats(2.0**-60, 2.0**10)


@given(st.lists(st.tuples(magnitudes, magnitudes), min_size=1, max_size=12), st.data())
def test_all_that_is_dropped_stays_below_the_bound_for_every_model(rows, data):
    """Also when blocks are dropped again and again."""
    past = Coefficients(4, 2)
    added = []
    for row in rows:
        block = np.tile(np.array(row, np.float32) / 4, (4, 1)) * [[1], [-1], [1], [-1]]
        past.append(block.astype(np.float32))
        added.append(np.abs(block).sum(axis=0))
        if data.draw(st.booleans()):
            past.forget()
            assert (
                sum(added[: past.first], np.zeros(2)) <= 1.001 * MAX_FORGOTTEN_SHARE * sum(added)
            ).all()
            oldest = sum(added[: past.first + 1], np.zeros(2))
            assert (oldest > 0.999 * MAX_FORGOTTEN_SHARE * sum(added)).any()
        kept = [part for _, part in past.kept()]
        assert sum(map(len, kept)) == len(added) - past.first
        np.testing.assert_array_equal(kept[-1][-1], block.astype(np.float32))


def test_models_that_are_not_finite_do_not_hold_on_to_blocks():
    past = Coefficients(2, 2)
    for x in (1.0, np.nan, np.nan):
        past.append(np.array([[x, 1e-12 if x == 1.0 else 1.0]] * 2, np.float32))
    past.forget()
    assert past.first == 1


def test_if_no_model_is_finite_all_blocks_stay():
    past = Coefficients(2, 1)
    past.append(np.full((2, 1), np.nan, np.float32))
    past.forget()
    assert past.first == 0


def test_multiplying_some_models():
    past = Coefficients(1, 3)
    past.append(np.array([[1, np.inf, 3]], np.float32))
    with np.errstate(invalid="ignore"):
        past.multiply(np.array([0, 1]), np.array([-2, 0], np.float32))
    np.testing.assert_array_equal(next(past.kept())[1], [[[-2, 0, 3]]])


def test_parts_that_are_forgotten_are_given_back():
    past = Coefficients(2, 1)
    for k in range(3 * PART_BLOCKS + 5):
        past.append(np.full((2, 1), 2.0 ** (k - 50), np.float32))
        past.forget()
        numbers = [n for first, part in past.kept() for n in range(first, first + len(part))]
        assert numbers == list(range(past.first, k + 1))
        values = np.concatenate([part for _, part in past.kept()])[:, 0, 0]
        np.testing.assert_array_equal(values, 2.0 ** (np.array(numbers) - 50))
        assert len(past._parts) <= 2
    assert past.first == 3 * PART_BLOCKS + 5 - 30
