"""Model files that are cut or have wrong entries: each is one line."""

import io
import re

import numpy as np
import pytest

from dsgkit import load_model
from dsgkit.engine import DSGModel
from dsgkit.errors import DataError
from dsgkit.features import FourierFeatures, SketchFeatures, random_features
from dsgkit.system.files import read_arrays
from tests.solvers.allocated import peak_of

X = np.random.default_rng(1).random((5, 3), dtype=np.float32)


@pytest.fixture(scope="module")
def model():
    coefficients = np.random.default_rng(0).normal(size=(1, 4, 1)).astype(np.float32)
    intercept = np.array([0.5], np.float32)
    return DSGModel(FourierFeatures("gaussian", 0.7, 2, seed=3), coefficients, 3, 0, intercept)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    model.save(path)
    return path.read_bytes()


def function_or_line(path):
    """The values of a model's function, or the line that says why there are none."""
    try:
        return load_model(path).decision_function(X)
    except DataError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 400 + len(str(path))
        return str(error)


def test_every_cut_is_one_line(content, tmp_path):
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with path.open("r+b") as file:
        for length in reversed(range(len(content))):
            file.truncate(length)
            assert "not a dsgkit model file" in function_or_line(path), length


HOSTILE = {
    "missing": None,
    "text": np.array("x" * 1000),
    "line": np.array("a\nb\x1b[31m"),
    "nan": np.array(np.nan),
    "infinite": np.array(np.inf),
    "negative": np.array(-1),
    "zero": np.array(0),
    "beyond single precision": np.array(1e308),
    "denormal": np.array(5e-324),
    "huge": np.array(2**64 - 1, np.uint64),
    "large": np.array(2**53),
    "true": np.array(True),
    "complex": np.array(1j),
    "date": np.array("2020-01-01", "datetime64[D]"),
    "empty": np.zeros((0, 0, 0), np.float32),
    "no width": np.zeros((2, 0, 1), np.float32),
    "odd": np.zeros((1, 3, 1), np.float32),
    "double": np.zeros((1, 4, 1)),
    "not finite": np.full((1, 4, 1), np.inf, np.float32),
    "two": np.zeros(2, np.float32),
    "objects": np.array([{}], dtype=object),
    "records": np.zeros(1, "i4,f4"),
}


@pytest.mark.parametrize("features", [FourierFeatures, SketchFeatures])
def test_every_entry_is_checked(features, tmp_path):
    """What the entries are is read from a file that was saved: a new one is tried as well."""
    path = tmp_path / "m.npz"
    kernel = "gaussian" if features is FourierFeatures else "dot_product(3)"
    DSGModel(features(kernel, 0.7, 4, 3), np.ones((1, 8, 1), np.float32), 3).save(path)
    saved = dict(np.load(path))
    tried = refused = 0
    for name in saved:
        for what, value in HOSTILE.items():
            entries = {**saved, name: value}
            np.savez(path, **{key: one for key, one in entries.items() if one is not None})
            read = function_or_line(path)
            tried += 1
            refused += isinstance(read, str)
            if not isinstance(read, str):
                assert np.isfinite(read).all() and read.shape[0] == 5, (name, what)
    assert refused > 0.85 * tried


@pytest.mark.parametrize("sigma", [1e308, 1e100, 1e-100, 5e-324, 0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "dot_product(3)"])
def test_a_sigma_without_features_is_refused(kernel, sigma, content, tmp_path):
    path = tmp_path / "m.npz"
    entries = dict(np.load(io.BytesIO(content)))
    np.savez(path, **{**entries, "kernel": kernel, "sigma": sigma})
    with pytest.raises(DataError, match=r"sigma is|is too (small|large) for random features"):
        load_model(path)
    if 0 < sigma < np.inf:
        with pytest.raises(DataError, match=re.escape(f"sigma={sigma:g} is too ")):
            random_features(kernel, sigma, 4, 0)


@pytest.mark.parametrize("entry", ["format_version", "stream_version"])
def test_newer_and_older_versions_are_told_apart(entry, content, tmp_path):
    path = tmp_path / "m.npz"
    entries = dict(np.load(io.BytesIO(content)))
    advices = {99: "a newer release wrote it, use that", 0: "use the release that"}
    for version, advice in advices.items():
        np.savez(path, **{**entries, entry: version})
        assert advice in function_or_line(path)


@pytest.mark.parametrize("entry", ["format_version", "kernel", "sigma", "seed", "n_inputs"])
@pytest.mark.parametrize("forged", [np.zeros(10**6, np.uint8), np.array("x" * 10**6)])
def test_a_large_entry_is_not_listed_for_its_message(entry, forged, content, tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, **{**np.load(io.BytesIO(content)), entry: forged})
    assert f"{forged.dtype} of shape {forged.shape}" in function_or_line(path)
    assert peak_of(lambda: function_or_line(path)) < 4 * forged.nbytes


def test_nothing_is_unpickled(tmp_path):
    class Harm:
        def __reduce__(self):
            return (tmp_path / "harm").touch, ()

    np.savez(tmp_path / "m.npz", format_version=np.array([Harm()], dtype=object))
    assert "not a dsgkit model file" in function_or_line(tmp_path / "m.npz")
    assert not (tmp_path / "harm").exists()


def test_arrays_of_other_writers_are_read(tmp_path):
    written = {"a": np.arange(6).reshape(2, 3).T, "b": np.array("text"), "c": np.zeros((0, 4))}
    np.savez_compressed(tmp_path / "a.npz", **written)
    read = read_arrays(tmp_path / "a.npz")
    assert read.keys() == written.keys()
    for name, array in written.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype


def test_what_is_no_file_is_one_line(tmp_path):
    (tmp_path / "loop.npz").symlink_to("loop.npz")
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "empty.npz").touch()
    names = ("loop.npz", "array.npy", "empty.npz", "a\x00")
    for path in (tmp_path, *(tmp_path / name for name in names)):
        assert isinstance(function_or_line(path), str)
    assert "no such model file" in function_or_line(tmp_path / "missing.npz")
