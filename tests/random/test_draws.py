import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit.random import draw_in_passes, draw_with_replacement


@pytest.mark.parametrize("draw", [draw_in_passes, draw_with_replacement])
@given(
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 50),
    length=st.integers(1, 9),
    batch=st.integers(1, 7),
    pool=st.integers(1, 300),
)
def test_an_iterations_draws_depend_on_its_number_alone(draw, seed, first, length, batch, pool):
    run = draw(seed, 3, first, length, batch, pool)
    assert run.shape == (length, batch)
    assert run.min() >= 0
    assert run.max() < pool
    alone = [draw(seed, 3, first + i, 1, batch, pool)[0] for i in range(length)]
    np.testing.assert_array_equal(run, alone)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**64 - 1), pool=st.integers(1, 700), epoch=st.integers(0, 5))
def test_every_pass_visits_every_row_once(seed, pool, epoch):
    rows = draw_in_passes(seed, 0, epoch * pool, pool, 1, pool).ravel()
    np.testing.assert_array_equal(np.sort(rows), np.arange(pool))


def test_passes_sources_and_seeds_differ():
    base = draw_in_passes(1, 0, 0, 1, 100, 100)
    assert (draw_in_passes(1, 0, 1, 1, 100, 100) != base).any()
    assert (draw_in_passes(1, 1, 0, 1, 100, 100) != base).any()
    assert (draw_in_passes(2, 0, 0, 1, 100, 100) != base).any()


@pytest.mark.parametrize("draw", [draw_in_passes, draw_with_replacement])
def test_draws_are_uniform_and_independent_between_seeds(draw):
    """Chi-square of the first draw over many seeds, and of pairs of consecutive draws."""
    drawn = np.array([draw(seed, 0, 0, 1, 2, 10)[0] for seed in range(4000)])
    counts = np.bincount(drawn[:, 0], minlength=10)
    assert ((counts - 400) ** 2 / 400).sum() < 30  # 9 degrees of freedom, p = 4e-4
    pairs = np.bincount(drawn[:, 0] * 10 + drawn[:, 1], minlength=100).reshape(10, 10)
    if draw is draw_in_passes:
        assert not pairs.diagonal().any()
        expected = np.where(np.eye(10), np.inf, 4000 / 90)
    else:
        expected = np.full((10, 10), 40.0)
    assert ((pairs - np.where(np.isinf(expected), 0, expected)) ** 2 / expected).sum() < 150
