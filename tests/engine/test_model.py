import dataclasses

import numpy as np
import pytest

from dsgkit import load_model
from dsgkit.engine import DSGModel
from dsgkit.features.fourier import FourierFeatures
from dsgkit.system.progress import listening


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    features = FourierFeatures("gaussian", 0.7, 5, seed=2**63 + 1)
    return DSGModel(features, rng.normal(size=(4, 10, 3)).astype(np.float32), n_inputs=6)


def test_the_value_is_the_sum_over_blocks(model):
    X = np.random.default_rng(1).random((50, 6), dtype=np.float32)
    expected = sum(
        model.features.transform(X, t) * np.sqrt(5) @ model.coefficients[t] for t in range(4)
    )
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


def test_blocks_of_rows_and_progress_do_not_change_values(model, monkeypatch):
    X = np.random.default_rng(1).random((50, 6), dtype=np.float32)
    expected = model.decision_function(X)
    monkeypatch.setattr("dsgkit.engine.sizes.MAX_BLOCK_ROWS", 16)
    done = []
    with listening(done.append):
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)
    assert done == [0.32, 0.64, 0.96, 1.0]


def test_an_intercept_is_added_and_saved(model, tmp_path):
    X = np.random.default_rng(1).random((50, 6), dtype=np.float32)
    intercept = np.array([0.5, -2, 0], np.float32)
    shifted = dataclasses.replace(model, intercept=intercept)
    values = shifted.decision_function(X)
    np.testing.assert_allclose(values, model.decision_function(X) + intercept, atol=1e-5)
    shifted.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").decision_function(X), values)


def test_a_file_from_before_intercepts_has_none(model, tmp_path):
    path = tmp_path / "model.npz"
    model.save(path)
    entries = dict(np.load(path)) | {"format_version": 2}
    del entries["intercept"]
    np.savez(path, **entries)
    X = np.random.default_rng(1).random((50, 6), dtype=np.float32)
    np.testing.assert_array_equal(load_model(path).decision_function(X), model.decision_function(X))


def test_a_failed_save_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    model.save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]
