"""The first rows of a file as a dataset."""

import numpy as np
import pytest

from dsgkit.config import DatasetSpec
from dsgkit.data.datasets import load_dataset
from dsgkit.text.errors import DataError

N = 50


@pytest.fixture
def spec(tmp_path):
    """Return what makes the spec of a file of N rows, with a test file of 4."""
    table = np.random.default_rng(3).normal(size=(N, 4))
    table[:, -1] = np.arange(N) % 2
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",")
    np.savetxt(tmp_path / "test.csv", table[:4], delimiter=",")
    paths = {"path": str(tmp_path / "rows.csv"), "test_path": str(tmp_path / "test.csv")}
    return lambda **settings: DatasetSpec(**paths, loader="delimited", **settings)


def test_it_has_the_first_rows_and_their_statistics(spec):
    whole, first = load_dataset(spec()), load_dataset(spec(rows=20))
    np.testing.assert_array_equal(first.X, whole.X[:20])
    np.testing.assert_array_equal(first.y, whole.y[:20])
    np.testing.assert_array_equal(first.maximum, whole.X[:20].max(axis=0))
    np.testing.assert_array_equal(first.X_test, whole.X_test)
    assert first.title == f"{whole.title}, first 20 rows"
    assert first.identity != whole.identity
    assert load_dataset(spec(rows=20, double=0.1)).X.shape == (40, 3)


def test_a_file_cut_after_these_rows_is_the_same_dataset(spec, tmp_path):
    first = load_dataset(spec(rows=20))
    lines = (tmp_path / "rows.csv").read_text().splitlines(keepends=True)
    (tmp_path / "rows.csv").write_text("".join(lines[:20]))
    assert load_dataset(spec()).identity == first.identity


def test_a_registered_dataset_has_first_rows():
    assert load_dataset(DatasetSpec(name="breast_cancer", rows=100)).X.shape == (100, 30)


def test_more_rows_than_there_are_is_one_line(spec):
    assert len(load_dataset(spec(rows=N)).X) == N
    with pytest.raises(DataError, match="rows: 51, but there are only 50"):
        load_dataset(spec(rows=N + 1))


@pytest.mark.parametrize("rows", [0, -1, 1.5, "many"])
def test_a_config_names_a_number_of_rows(rows):
    with pytest.raises(ValueError, match="rows"):
        DatasetSpec(name="digits", rows=rows)
