import re

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dsgkit.features import tiles
from dsgkit.system import jit
from dsgkit.system.machine import single_blas_thread
from dsgkit.system.machine import threads_for

ONE = np.ones((1, 1), np.float32)


SMALLEST = 2.0**-149  # of float32


def exact(X, W):
    """[cos, sin] of pi X W in float64."""
    half_turns = np.mod(X.astype(np.float64) @ W, 2)
    return np.hstack([np.cos(np.pi * half_turns), np.sin(np.pi * half_turns)])


def rows_of(n, d, m, n_models, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.random((n, d), dtype=np.float32),
        rng.normal(size=(3, d, m)).astype(np.float32),
        rng.normal(size=(3, 2 * m, n_models)).astype(np.float32),
    )


@jit.fast
def _cosines(u, out):
    for i in range(len(u)):
        out[i] = tiles.cosine(u[i])


RNG = np.random.default_rng(0)
ANGLES = {
    "usual": RNG.normal(size=300_000) * 10,
    "first turns": np.linspace(-4, 4, 400_001),
    "around quarters": (np.arange(-4000, 4000) / 4)[:, None] + np.linspace(-1e-3, 1e-3, 21),
    "large": RNG.uniform(-(2**22), 2**22, 300_000),
    "every scale": RNG.uniform(-1, 1, (2500, 120)) * 2.0 ** np.arange(-100, 20),
    "ends": np.array([0.0, -0.0, 2**22 - 0.5, -(2**22) + 0.5, 1e-45, -1e-38]),
}


def test_functions_are_accurate_over_the_whole_range():
    u = np.concatenate([angles.astype(np.float32).ravel() for angles in ANGLES.values()])
    expected = exact(u[:, None], np.ones((1, 1)))
    assert np.abs(tiles.cos_sin(u[:, None], ONE) - expected).max() < 2.5e-7
    cosines = np.empty_like(u)
    _cosines(u, cosines)
    assert np.abs(cosines - expected[:, 0]).max() < 2.5e-7
    u = np.array([[np.nan], [np.inf], [-np.inf]], np.float32)  # is passed on
    assert np.isnan(tiles.cos_sin(u, ONE)).all()
    values = np.zeros((3, 1), np.float32)
    tiles.add_blocks(u, ONE[None], np.ones((1, 2, 1), np.float32), values)
    assert np.isnan(values).all()


def test_wide_angles_of_any_size_have_a_cosine_and_a_sine():
    u = np.concatenate([ANGLES["large"], ANGLES["large"] * 4, RNG.uniform(-1, 1, 999) * 2.0**60])
    u = u.astype(np.float32)
    expected = exact(u[:, None], np.ones((1, 1)))
    assert np.abs(tiles.cos_sin(u[:, None], ONE, wide=True) - expected).max() < 2.5e-7
    for coefficients in (np.ones((1, 2, 1)), np.ones((1, 2, 2))):
        values = np.zeros((len(u), coefficients.shape[2]), np.float32)
        tiles.add_blocks(u[:, None], ONE[None], coefficients.astype(np.float32), values, wide=True)
        assert np.abs(values - expected.sum(axis=1, keepdims=True)).max() < 2e-6


@pytest.mark.parametrize("function", ["tile_features", "_accumulate_one", "_fold"])
def test_loops_over_frequencies_are_vectorised(function):
    """By the machine code: it multiplies several float32 at a time."""
    kernel = getattr(tiles, function)
    options = {"fastmath": kernel.targetoptions["fastmath"], "error_model": "numpy"}
    compiled = numba.njit(**options)(kernel.py_func)
    f2, f3 = np.zeros((2, 4), np.float32), np.zeros((2, 2, 4), np.float32)
    arguments = {
        "tile_features": (f2, np.zeros((2, 8), np.float32)),
        "_accumulate_one": (f2, f3, False, f2, f2, f2[0], np.zeros((1, 2, 4), np.float32)),
        "_fold": (f2,),
    }[function]
    compiled.compile(tuple(numba.typeof(a) for a in arguments))
    (code,) = compiled.inspect_asm().values()
    assert re.search(r"v?(mul|fmadd\d+)ps|f(mul|mla)\s+v\d+\.4s", code)


numbers = st.floats(-30, 30, width=32)


@given(*(arrays(np.float32, shape, elements=numbers) for shape in ((5, 4), (4, 6), (2,))))
def test_the_documented_error_bounds(X, W, coefficients):
    """Of features, and of the phase by which a single model merges a cosine and a sine."""
    X8, W8, a = (array.astype(np.float64) for array in (X, W, coefficients))
    size, expected = np.abs(X8) @ np.abs(W8), exact(X, W)
    bound = 2.5e-7 + (4 + 2) * 2.0**-24 * np.pi * size
    assert (np.abs(tiles.cos_sin(X, W) - expected) <= np.hstack([bound, bound])).all()
    values = np.zeros((5, 1), np.float32)
    tiles.add_blocks(X, W[None, :, :1].copy(), coefficients[None, :, None], values)
    bound = 2.5e-7 + 2.0**-22 + 2.0**-24 * np.pi * (7 * size[:, 0] + 8)
    error = np.abs(values[:, 0] - expected[:, [0, 6]] @ a)
    assert (error <= np.hypot(*a) * bound + 4 * SMALLEST).all()


@pytest.mark.parametrize("n_models", [1, 2, 40, 200])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 19), (64, 1), (300, 64), (777, 19), (600, 130)])
def test_sums_over_blocks_and_over_rows(n, m, n_models):
    X, W, A = rows_of(n, 5, m, n_models)
    values, C = np.random.default_rng(1).normal(size=(2, n, n_models)).astype(np.float32)
    expected = values + sum(exact(X, W[t]) @ A[t] for t in range(3))
    tiles.add_blocks(X, W, A, values)
    np.testing.assert_allclose(values, expected, atol=2e-4)
    np.testing.assert_allclose(tiles.correlate(X, W[0], C), exact(X, W[0]).T @ C, atol=3e-4)


@pytest.mark.parametrize("n_models", [1, 6, 90])
def test_results_do_not_depend_on_threads(n_models, monkeypatch):
    monkeypatch.setattr(tiles, "TERMS_PER_THREAD", 1)
    X, W, A = rows_of(1500, 7, 150, n_models)
    C = np.random.default_rng(1).normal(size=(1500, n_models)).astype(np.float32)

    def results():
        values = np.zeros((1500, n_models), np.float32)
        tiles.add_blocks(X, W, A, values)
        return values, tiles.correlate(X, W[0], C), tiles.cos_sin(X, W[0])

    with single_blas_thread():
        expected = results()
        with threads_for(1, 1):
            alone = results()
    for a, b in zip(expected, alone, strict=True):
        np.testing.assert_array_equal(a, b)


@given(st.integers(1, 2000), st.integers(1, 5000), st.integers(1, 1000))
def test_tiles_are_within_their_rule(d, m, n_models):
    rows = tiles.tile_rows(d, m, n_models)
    assert tiles.MIN_TILE_ROWS <= rows <= tiles.MAX_TILE_ROWS
    assert rows % 8 == 0
    largest = m * max(d, 2 * n_models if n_models > 1 else 1)
    unpacked = rows * largest <= tiles.MAX_UNPACKED_TERMS
    assert unpacked or largest * tiles.MIN_TILE_ROWS > tiles.MAX_UNPACKED_TERMS
    assert 4 * rows * m <= tiles.cache_size() or rows == tiles.MIN_TILE_ROWS
