"""Costs of a run against counts row by row, and against closed formulas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.engine import TableSize, sizes, training_cost
from dsgkit.features import FourierFeatures

POOLED, OPEN = 200, 100_000


def cost_of(n_unlabeled, T, *, m=16, d=5, b=32, **rest):
    return training_cost(
        FourierFeatures("gaussian", 1.0, m, 0),
        d,
        [TableSize(POOLED, in_pools=True), TableSize(n_unlabeled)],
        batch_size=b,
        n_iterations=T,
        **rest,
    )


@given(
    st.integers(1, 10**5),
    st.integers(1, 300),
    st.integers(1, 40),
    st.one_of(st.none(), st.integers(1, 400)),
)
def test_operations_are_those_of_every_row_that_meets_a_block(n_unlabeled, T, n_models, remembered):
    """Per frequency 2d for a projection, 20 for its functions and 4 for their use by a model."""
    m, d, b = 16, 5, 32
    kept = T if remembered is None else min(T, remembered)
    resident = n_unlabeled <= b * T / 2
    met = 0.0
    for t in range(T):
        met += POOLED
        seen = min(t, kept if n_models == 1 else T)
        met += n_unlabeled if resident else b * seen
    cost = cost_of(n_unlabeled, T, n_models=n_models, remembered=remembered)
    expected = met * (m * (2 * d + 20) + 2 * 2 * m * n_models)
    assert cost.flops == pytest.approx(expected, rel=2 / T + 1e-9)
    assert cost.flops_per_row == kept * (m * (2 * d + 20) + 4 * m)
    assert cost.row_flops(3) == kept * (m * (2 * d + 20) + 3 * 4 * m)


@pytest.mark.parametrize("n_models", [1, 7, 400])
@pytest.mark.parametrize("result", ["model", "models", "values"])
@pytest.mark.parametrize("n_unlabeled", [1000, OPEN])
def test_memory_counts_coefficients_values_and_rows(n_unlabeled, result, n_models, monkeypatch):
    T, m, d = 100, 16, 5
    n_resident = POOLED + (n_unlabeled if n_unlabeled == 1000 else 0)
    kept = 0 if result == "values" and n_unlabeled == 1000 else T
    # coefficients, their sums, and twice the values of resident rows and of a panel
    per_model = 4 * 2 * m * kept + 8 * kept + 8 * (n_resident + 8192)
    monkeypatch.setattr(sizes, "MAX_MODEL_BYTES", 50 * per_model)
    at_once = n_models if result == "model" else min(n_models, 50)
    all_models = 4 * 2 * m * T * n_models if result == "models" else 0
    expected = 8 * d * (n_resident + 8192) + per_model * at_once + all_models
    assert cost_of(n_unlabeled, T, n_models=n_models, result=result).memory == expected


def test_every_source_of_a_streamed_table_counts():
    features = FourierFeatures("gaussian", 1.0, 16, 0)
    one, two = (
        training_cost(features, 5, [TableSize(OPEN, n_sources=k)], batch_size=8, n_iterations=50)
        for k in (1, 2)
    )
    assert two.flops == 2 * one.flops
