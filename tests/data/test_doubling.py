"""The first rows of a file, and rows twice, with noise in the first feature."""

import numpy as np
import pytest

from dsgkit.data import doubling
from dsgkit.data.datasets import load_dataset
from dsgkit.data.rows import Rows
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from dsgkit.tasks.semi_supervised import semi_supervised_split

N = 2_000


@pytest.fixture
def spec(tmp_path):
    """Return what makes the spec of a file of N rows, with a test file."""
    rng = np.random.default_rng(5)
    table = np.column_stack([rng.uniform(-10, 30, N), rng.normal(size=(N, 2)), rng.choice(2, N)])
    table[:4, -1] = [0, 1, 0, 1]
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",")
    np.savetxt(tmp_path / "test.csv", table[:4], delimiter=",")
    paths = {"path": str(tmp_path / "rows.csv"), "test_path": str(tmp_path / "test.csv")}
    return lambda **settings: DatasetSpec(**paths, loader="delimited", **settings)


def test_the_first_rows_have_their_own_statistics(spec, tmp_path):
    whole, first = load_dataset(spec()), load_dataset(spec(rows=20))
    np.testing.assert_array_equal(first.X, whole.X[:20])
    np.testing.assert_array_equal(first.y, whole.y[:20])
    np.testing.assert_array_equal(first.maximum, whole.X[:20].max(axis=0))
    np.testing.assert_array_equal(first.X_test, whole.X_test)
    assert first.title == f"{whole.title}, first 20 rows"
    assert first.identity != whole.identity
    assert load_dataset(spec(rows=20, double=0.1)).X.shape == (40, 3)
    assert len(load_dataset(spec(rows=N)).X) == N
    with pytest.raises(DataError, match="rows: 2,001, but there are only 2,000"):
        load_dataset(spec(rows=N + 1))
    # a file that is cut after these rows is the same dataset
    lines = (tmp_path / "rows.csv").read_text().splitlines(keepends=True)
    (tmp_path / "rows.csv").write_text("".join(lines[:20]))
    assert load_dataset(spec()).identity == first.identity


def test_only_the_first_feature_of_the_copy_differs(spec, monkeypatch):
    monkeypatch.setattr(doubling, "_BLOCK_VALUES", 100)
    plain, dataset = load_dataset(spec()), load_dataset(spec(double=0.1))
    X = dataset.X[:]
    assert X.dtype == np.float32 and X.shape == dataset.X.shape == (2 * N, 3)
    np.testing.assert_array_equal(X[:N], plain.X)
    np.testing.assert_array_equal(X[N:, 1:], plain.X[:, 1:])
    np.testing.assert_array_equal(dataset.labels, np.tile(plain.labels, 2))
    np.testing.assert_array_equal(dataset.y, np.tile(plain.y, 2))
    np.testing.assert_array_equal(dataset.X_test, plain.X_test)
    # the bounds are five standard errors: wrong with a probability of 6e-7 each, were it random
    width = plain.maximum[0] - plain.minimum[0]
    noise = (X[N:, 0] - X[:N, 0]) / (0.1 * width)
    assert abs(noise.mean()) < 5 / np.sqrt(N)
    assert abs(noise.std() - 1) < 5 / np.sqrt(2 * N)
    assert abs(np.corrcoef(noise, X[:N, 0])[0, 1]) < 5 / np.sqrt(N)


def test_the_statistics_are_of_both_halves(spec):
    dataset = load_dataset(spec(double=0.5))
    X = dataset.X[:].astype(float)
    np.testing.assert_array_equal(dataset.minimum, X.min(axis=0))
    np.testing.assert_array_equal(dataset.maximum, X.max(axis=0))
    assert dataset.mean_square == pytest.approx(np.square(X).sum(axis=1).mean(), rel=1e-9)


def test_rows_are_read_by_any_index_and_as_parts_of_a_split(spec):
    dataset = load_dataset(spec(double=0.1))
    X = dataset.X[:]
    for key in (np.array([N + 3, 0, 3, 2 * N - 1, N + 3]), slice(N - 2, N + 2), slice(None, 9, 4)):
        np.testing.assert_array_equal(dataset.X[key], X[key])
        np.testing.assert_array_equal(Rows(dataset.X)[key], X[key])
    with pytest.raises(IndexError):
        dataset.X[np.array([2 * N])]
    split = semi_supervised_split(dataset, labeled=10, folds=2, seed=1)
    index = split.X_unlabeled.index
    offset, factor = dataset.scaling()
    np.testing.assert_array_equal(split.X_unlabeled[:], (X[index] - offset) * factor)


def test_the_noise_belongs_to_the_dataset(spec):
    plain = load_dataset(spec())
    one, again, other = (load_dataset(spec(double=noise)) for noise in (0.1, 0.1, 0.2))
    np.testing.assert_array_equal(one.X[:], again.X[:])
    assert one.identity == again.identity
    assert len({str(dataset.identity) for dataset in (plain, one, other)}) == 3
    described = one.describe()
    assert described["n_rows"] == 2 * N and described["title"].endswith(", doubled with noise 0.1")
    assert described["features"].startswith("every row twice, the copy with noise of 0.1 of ")


def test_registered_datasets_are_cut_and_doubled():
    assert load_dataset(DatasetSpec(name="breast_cancer", rows=100)).X.shape == (100, 30)
    dataset = load_dataset(DatasetSpec(name="breast_cancer", double=0.1))
    assert dataset.X.shape == (2 * 569, 30) and dataset.y.shape == (2 * 569,)


@pytest.mark.parametrize(
    ("name", "noise", "said"),
    [
        ("digits", 0.1, "dataset digits: the first feature is the same in every row; `double` sc"),
        ("breast_cancer", 1e300, "`double: 1e\\+300` makes its first feature"),
    ],
)
def test_rows_that_cannot_be_doubled(name, noise, said):
    with pytest.raises(DataError, match=said):
        load_dataset(DatasetSpec(name=name, double=noise))


@pytest.mark.parametrize(
    "settings",
    [
        *({"double": noise} for noise in (0, -0.1, "0.1", True)),
        *({"rows": rows} for rows in (0, -1, 1.5, "many")),
    ],
)
def test_a_config_names_noise_above_0_and_a_number_of_rows(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        DatasetSpec(name="digits", **settings)
