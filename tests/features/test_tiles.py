"""Compiled cosines, sines and their sums, against float64."""

import re

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dsgkit.features import tiles
from dsgkit.system.machine import single_blas_thread, threads_for

SMALLEST = 2.0**-149  # of float32
ONE = np.ones((1, 1), np.float32)
RNG = np.random.default_rng(0)
ANGLES = {
    "usual": RNG.normal(size=300_000) * 10,
    "first turns": np.linspace(-4, 4, 400_001),
    "around quarters": (np.arange(-4000, 4000) / 4)[:, None] + np.linspace(-1e-3, 1e-3, 21),
    "large": RNG.uniform(-(2**22), 2**22, 300_000),
    "every scale": RNG.uniform(-1, 1, (2500, 120)) * 2.0 ** np.arange(-100, 20),
    "ends": np.array([0.0, -0.0, 2**22 - 0.5, -(2**22) + 0.5, 1e-45, -1e-38]),
}
WIDE = {"large": ANGLES["large"], "larger": ANGLES["large"] * 4, "any": ANGLES["usual"] * 2.0**60}


def exact(X, W):
    """[cos, sin] of pi X W in float64."""
    half_turns = np.mod(X.astype(np.float64) @ W, 2)
    return np.hstack([np.cos(np.pi * half_turns), np.sin(np.pi * half_turns)])


def drawn(n, d, m, n_models):
    rng = np.random.default_rng(0)
    shapes = (3, d, m), (3, 2 * m, n_models), (n, n_models)
    others = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    return rng.random((n, d), dtype=np.float32), *others


@pytest.mark.parametrize(("angles", "wide"), [(ANGLES, False), (WIDE, True)])
def test_functions_are_accurate_over_the_whole_range(angles, wide):
    """With ``wide``, of angles of any size; also if one model merges a cosine and a sine."""
    u = np.concatenate([some.astype(np.float32).ravel() for some in angles.values()])[:, None]
    expected = exact(u, np.ones((1, 1)))
    assert np.abs(tiles.cos_sin(u, ONE, wide=wide) - expected).max() < 2.5e-7
    for G in (1, 2):
        values = np.zeros((len(u), G), np.float32)
        cosine = np.tile(np.array([[1], [0]], np.float32), (1, 1, G))
        tiles.add_blocks(u, ONE[None], cosine, values, wide=wide)
        assert np.abs(values - expected[:, :1]).max() < 2.5e-7
    u = np.array([[np.nan], [np.inf], [-np.inf]], np.float32)  # is passed on
    assert np.isnan(tiles.cos_sin(u, ONE, wide=wide)).all()
    values = np.zeros((3, 1), np.float32)
    tiles.add_blocks(u, ONE[None], np.ones((1, 2, 1), np.float32), values, wide=wide)
    assert np.isnan(values).all()


def test_loops_over_frequencies_are_vectorised():
    """By the machine code: it multiplies several float32 at a time."""
    f2, f3, f8 = (np.zeros(shape, np.float32) for shape in ((2, 4), (2, 2, 4), (2, 8)))
    for kernel, arguments in (
        (tiles.tile_features, (f2, f8)),
        (tiles._accumulate_one, (f2, f3, False, f2, f2, f2[0], f3)),
        (tiles._fold, (f2,)),
    ):
        options = {"fastmath": kernel.targetoptions["fastmath"], "error_model": "numpy"}
        compiled = numba.njit(**options)(kernel.py_func)
        compiled.compile(tuple(numba.typeof(a) for a in arguments))
        (code,) = compiled.inspect_asm().values()
        assert re.search(r"v?(mul|fmadd\d+)ps|f(mul|mla)\s+v\d+\.4s", code), kernel


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
def test_sums_over_blocks_and_rows_on_any_number_of_threads(n, m, n_models, monkeypatch):
    monkeypatch.setattr(tiles, "TERMS_PER_THREAD", 1)
    X, W, A, C = drawn(n, 5, m, n_models)
    found = []
    for threads in (1, 2):
        values = C.copy()
        with single_blas_thread(), threads_for(threads, 1):
            tiles.add_blocks(X, W, A, values)
            found.append((values, tiles.correlate(X, W[0], C), tiles.cos_sin(X, W[0])))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    expected = C + sum(exact(X, W[t]) @ A[t] for t in range(3))
    np.testing.assert_allclose(values, expected, atol=2e-4)
    np.testing.assert_allclose(found[0][1], exact(X, W[0]).T @ C, atol=3e-4)
