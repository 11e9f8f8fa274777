"""Datasets: prepared once for each state of their files, scaled, cut, doubled and read by rows."""

import hashlib
import itertools
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dsgkit import linalg as rows_module
from dsgkit.data import dataset as opening
from dsgkit.data import loaders
from dsgkit.data import prepare as preparing
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo
from dsgkit.data.dataset import Rows, load_dataset
from dsgkit.data.spec import DatasetSpec, resolve
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError
from tests.data.conftest import check_answers, make_dataset

TEXT = "1 1:0.5 2:3\n-1 1:2.5\n1 2:-4\n"


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "data").write_text(TEXT)
    (tmp_path / "test").write_text("-1 1:9\n1 2:1\n")
    return spec_of(tmp_path / "data", test_path=str(tmp_path / "test"))


def spec_of(path, loader="libsvm", **settings):
    return DatasetSpec(path=str(path), loader=loader, **settings)


def changed(spec, **settings):
    return DatasetSpec(**(spec.model_dump(exclude_unset=True) | settings))


@pytest.fixture
def calls(monkeypatch):
    made, prepare = [], opening.prepare
    monkeypatch.setattr(opening, "prepare", lambda *a: made.append(a) or prepare(*a))
    return made


def prepared(tmp_path):
    folder = tmp_path / "cache/prepared"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_a_dataset_is_prepared_once(spec, tmp_path, calls):
    dataset, again = load_dataset(spec), load_dataset(spec)
    assert len(calls) == 1 and dataset.content_hash == again.content_hash
    assert isinstance(dataset.X, np.memmap) and isinstance(dataset.X_test, np.memmap)
    np.testing.assert_array_equal(dataset.X, [[0.5, 3], [2.5, 0], [0, -4]])
    rows = np.float32([[0.5, 3], [2.5, 0], [0, -4]]).tobytes() + np.array([1.0, -1, 1]).tobytes()
    test = np.float32([[9, 0], [0, 1]]).tobytes() + np.array([-1.0, 1]).tobytes()
    parts = "".join(hashlib.sha256(part).hexdigest() for part in (rows, test))
    content = hashlib.sha256(parts.encode()).hexdigest()
    counts = {"n_rows": 3, "n_test_rows": 2, "n_features": 2}
    names = {"name": "data", "title": "data", "target": "positive class: the larger label"}
    assert dataset.describe() == {"content_hash": content} | names | counts
    read = "data: 3 rows, 2 features; positive class: the larger label (66.7% positive)"
    assert dataset.summary == read
    assert dataset.identity == [content, "binary", None, None]
    other = load_dataset(changed(spec, positive=[-1]))  # of the same prepared form
    assert other.y.tolist() == [-1, 1, -1] and other.y_test.tolist() == [1, -1]
    assert len(calls) == 1 and other.identity == [content, "binary", ["-1"], None]
    preparing.prepare(*calls[0])  # as another process does
    assert len(prepared(tmp_path)) == 1 and load_dataset(spec).identity == dataset.identity
    (tmp_path / "data").unlink()
    with pytest.raises(MissingDataError, match=f"as they were are in .*{prepared(tmp_path)[0]}$"):
        load_dataset(spec)


@pytest.mark.parametrize("unseen", [False, True])
def test_a_file_that_has_changed_is_prepared_again(spec, tmp_path, calls, unseen):
    before, path = load_dataset(spec), tmp_path / "data"
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns) if unseen else (1, 1)
    path.write_text(TEXT.replace("0.5", "0.7"))
    os.utime(path, ns=times)
    after = load_dataset(spec)
    assert len(calls) == 2 and len(prepared(tmp_path)) == 1
    # an open map outlives its successor
    assert (before.X[0, 0], after.X[0, 0]) == (0.5, np.float32(0.7))
    assert before.content_hash != after.content_hash
    other = load_dataset(changed(spec, n_features=5))
    assert other.X.shape == (3, 5) and len(prepared(tmp_path)) == 2
    # the hash is of rows and labels alone
    path.write_text("# a comment\n" + TEXT.replace("0.5", "5e-1"))
    same = load_dataset(changed(spec, positive=[1]))
    assert same.content_hash == before.content_hash and same.identity != before.identity
    alone = load_dataset(changed(spec, test_path=None))
    path.write_text(TEXT.replace("-1", "-2"))
    other = load_dataset(changed(spec, test_path=None))
    assert alone.y.tolist() == other.y.tolist()
    assert len({before.content_hash, alone.content_hash, other.content_hash}) == 3


def test_an_interruption_leaves_nothing(spec, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(preparing.os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            load_dataset(spec)
    assert prepared(tmp_path) == []
    assert load_dataset(spec).X.shape == (3, 2)
    program = (
        "import sys\nfrom dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\n"
        f"load_dataset(DatasetSpec(**{spec.model_dump()!r}))\n"
        "print(sorted({'sklearn', 'pandas', 'scipy'} & set(sys.modules)))\n"
    )  # opening needs no parser
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"
    (folder,) = (tmp_path / "cache/prepared").iterdir()
    (folder / "X_train.npy").write_bytes(b"x")
    with pytest.raises(DataError, match=r"data cannot be opened .*; remove the folder"):
        load_dataset(spec)


def test_many_rows_take_little_memory(spec, tmp_path, monkeypatch):
    load_dataset(spec)  # imports all
    monkeypatch.setattr(loaders, "CHUNK_BYTES", 2**14)
    line = b"1" + b"".join(b" %d:1" % k for k in range(1, 60)) + b"\n"
    (tmp_path / "many").write_bytes((line + b"-" + line) * 3_000)
    tracemalloc.start()
    dataset = load_dataset(spec_of(tmp_path / "many"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert dataset.X.shape == (6_000, 59) and peak < 1.2 * dataset.X.nbytes


def test_rows_and_checksums_of_registered_files_are_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    (tmp_path / "made").mkdir()
    (tmp_path / "made/made.txt").write_text(TEXT)
    right = hashlib.sha256(TEXT.encode()).hexdigest()
    file = DataFile("made.txt", n_rows=3, sha256=right)
    info = DatasetInfo("made", "Made", "libsvm", (file,), n_rows=3, n_features=2, folder="made")
    assert preparing.state(info) == "found"
    assert len(load_dataset(info).X) == 3
    assert preparing.state(info) == "prepared"
    with pytest.raises(DataError, match="3 rows, but 4 are expected"):
        load_dataset(replace(info, files=(replace(file, n_rows=4),)))
    with pytest.raises(DataError, match=f"is {right}, but 0000"):
        load_dataset(replace(info, files=(replace(file, sha256="0" * 64),)))
    others = {"susy": "to download", "susy_10k": "missing", "digits": "bundled"}
    assert {name: preparing.state(DATASETS[name]) for name in others} == others


def test_labels_of_another_file_belong_to_the_rows(tmp_path):
    for name, text in (("rows", "1,2\n3,4\n5,6\n"), ("labels", "7\n8\n9\n")):
        (tmp_path / name).write_text(text)
    files = [DataFile(str(tmp_path / "rows")), DataFile(str(tmp_path / "labels"), "train_labels")]
    info = DatasetInfo("made", "", "delimited", tuple(files), Target("classes"), local=True)
    dataset = load_dataset(info)
    assert dataset.X.tolist() == [[1, 2], [3, 4], [5, 6]] and dataset.labels.tolist() == [7, 8, 9]


def test_labels_that_do_not_suit_are_named_with_the_dataset(spec, tmp_path):
    dataset = load_dataset(changed(spec, target={"ordered": [5, 6]}))
    with pytest.raises(DataError, match="dataset data: row 1: label 1 is not one of 5, 6"):
        dataset.describe()
    (tmp_path / "test").write_text("1 1:9\n-1 2:1\n3 1:1\n")
    with pytest.raises(DataError, match=r"dataset data \(test\): row 3: label 3 is a third"):
        _ = load_dataset(spec).y_test
    info = resolve(DatasetSpec(name="covtype_20k", positive=[3]))
    assert info == replace(DATASETS["covtype_20k"], target=Target("binary", (3,)))
    assert resolve(DatasetSpec(name="baby", components=50)).n_features == 50
    with pytest.raises(DataError, match="skin holds no reviews: `components` is for these"):
        resolve(DatasetSpec(name="skin", components=5))


def test_every_scale_by_its_definition(monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK_ROWS", 7)
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1e-3, 1, 1e4, 1e30] + [0, 5, -1e4, 0]
    X = np.column_stack([X, np.full(50, 0.1)]).astype(np.float32)
    dataset = make_dataset(X, [1, -1] * 25)
    exact, width = X.astype(float), np.ptp(X, axis=0).astype(float)
    for low, high in ((0, 1), (-1, 1), (0.5, 3)):
        values = Rows(X, None, *dataset.scaling((low, high)))[:]
        expected = low + (high - low) * (exact - exact.min(axis=0))[:, :4] / width[:4]
        np.testing.assert_allclose(values[:, :4], expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(values[:, 4], low)
        tops = values[:, :4].max(axis=0)
        assert low or (values.min() == 0 and tops.min() >= np.nextafter(1, 0, dtype="f4"))
        assert low or tops.max() <= 1
    X = X[:, [0, 1, 2, 4]]
    dataset = make_dataset(X, [1, -1] * 25)
    values = Rows(X, None, *dataset.scaling("standard"))[:].astype(float)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(values.std(axis=0), [1, 1, 1, 0], rtol=1e-4)
    values = Rows(X, None, *dataset.scaling("common"))[:].astype(float)
    assert np.square(values).sum(axis=1).mean() == pytest.approx(1, rel=1e-6)
    assert make_dataset(X * 0, [1, -1] * 25).scaling("common")[1].tolist() == [1] * 4
    with pytest.raises(DataError, match="the range of feature 1 overflows float32"):
        make_dataset([[-3e38], [3e38]], [1, -1]).scaling()


def test_the_first_rows_and_doubled_ones(tmp_path):
    N, rng, path = 2_000, np.random.default_rng(5), tmp_path / "rows.csv"
    rows = np.column_stack([rng.uniform(-10, 30, N), rng.normal(size=(N, 2)), rng.choice(2, N)])
    rows[:2, -1] = [0, 1]
    for name, part in (("rows.csv", rows), ("test.csv", rows[:4])):
        np.savetxt(tmp_path / name, part, delimiter=",")
    spec = spec_of(path, "delimited", test_path=str(tmp_path / "test.csv"))
    whole, first = load_dataset(spec), load_dataset(changed(spec, rows=20))
    np.testing.assert_array_equal(first.X, whole.X[:20])
    np.testing.assert_array_equal(first.y, whole.y[:20])
    np.testing.assert_array_equal(first.maximum, whole.X[:20].max(axis=0))
    np.testing.assert_array_equal(first.X_test, whole.X_test)
    assert first.title == "rows.csv, first 20 rows"
    assert load_dataset(changed(spec, rows=20, double=0.1)).X.shape == (40, 3)
    dataset, other = (load_dataset(changed(spec, double=noise)) for noise in (0.1, 0.2))
    X = dataset.X
    np.testing.assert_array_equal(X[:N], whole.X)
    np.testing.assert_array_equal(X[N:, 1:], whole.X[:, 1:])
    np.testing.assert_array_equal(dataset.y, np.tile(whole.y, 2))
    np.testing.assert_array_equal([dataset.minimum, dataset.maximum], [X.min(0), X.max(0)])
    # the bounds are five standard errors: wrong with a probability of 6e-7 each, were it random
    noise = (X[N:, 0] - X[:N, 0]) / (0.1 * (whole.maximum[0] - whole.minimum[0]))
    assert abs(noise.mean()) < 5 / np.sqrt(N) and abs(noise.std() - 1) < 5 / np.sqrt(2 * N)
    again = load_dataset(changed(spec, double=0.1))
    assert X.dtype == np.float32 and X.tobytes() == again.X.tobytes()
    assert whole.identity != dataset.identity == again.identity != other.identity
    assert dataset.title == "rows.csv, doubled with noise 0.1"
    # a file that is cut after these rows is the same dataset
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:20]))
    assert load_dataset(spec).identity == first.identity != whole.identity
    for name, double in (("digits", 0.1), ("breast_cancer", 1e300)):
        with pytest.raises(DataError, match=f"dataset {name}: `double: .* noise in units of the"):
            load_dataset(DatasetSpec(name=name, double=double))


def test_values_equal_the_loop():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(7, 3)).astype(np.float32)
    offset, factor = rng.normal(size=(2, 3)).astype(np.float32)
    index = np.array([5, 0, 3, 3, 6, 1])
    expected = np.array([(base[i] - offset) * factor for i in index])
    rows = Rows(base, index, offset, factor)
    assert rows.shape == expected.shape and len(rows) == 6 and rows.take(index[:2]).base is base
    np.testing.assert_array_equal(np.asarray(rows), expected)
    for key in (slice(1, 4), slice(None, None, -2), slice(9, 9), np.array([4, 4, 0])):
        np.testing.assert_array_equal(rows[key], expected[key])
        np.testing.assert_array_equal(rows[key, ::-2], expected[key][:, ::-2])
        np.testing.assert_array_equal(rows.take(key)[:], expected[key])
        np.testing.assert_array_equal(rows.take(key).take(slice(2))[:], expected[key][:2])
    np.testing.assert_array_equal(Rows(base, None, offset)[2:4], base[2:4] - offset)
    scaled = Rows(base, None, None, factor)
    np.testing.assert_array_equal(scaled.take(index)[:], base[index] * factor)
    with pytest.raises(ValueError, match="read-only"):
        rows.index[0] = 1
    base = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    for key in (slice(None), np.array([2, 0])):
        values = Rows(base)[key]
        assert values.dtype == np.float32 and values.flags.c_contiguous
        values[:] = 0
    assert base[2, 2] == 8 and np.asarray(Rows(base), np.float64).dtype == np.float64


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file whose map counts as large."""
    monkeypatch.setattr(rows_module, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(rows_module, "_BLOCK_BYTES", 20_000)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((20_000, 5), dtype=np.float32))
    return tmp_path / "X.npy"


def test_rows_of_a_large_map_are_those_of_plain_indexing(large):
    table, changed = (np.load(large, mmap_mode=mode) for mode in ("r", "c"))
    changed[7] = 5
    indices = [slice(3, 700), slice(None), slice(900, 10, -7), slice(5, 5)]
    indices += [np.array([5, 999, 5, 0, 17] * 9), np.array([-1, 3, -5])]
    for one, index in itertools.product((table, table[1000:], changed), indices):
        read = rows_module.read_rows(one, index)
        np.testing.assert_array_equal(read, np.array(one[index]))
        assert type(read) is np.ndarray and read.flags.c_contiguous and read.flags.owndata
    assert (changed[7] == 5).all()


def resident(path):
    """Bytes of a file's mapping that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines if line.startswith("Rss:")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux only")
def test_a_read_leaves_nothing_of_a_map_in_memory(large):
    table = np.load(large, mmap_mode="r")
    for index in (slice(None), np.arange(19_999, -1, -3)):
        rows_module.read_rows(table[:], index)
        assert resident(large) == 0
    table[index].sum()
    assert resident(large) > 100_000


def identity(target):
    return replace(make_dataset([[1]], [1]), target=target).identity[1:]


def target_of(settings, labels, training=None):
    """Return what a target makes of labels, with its description and identity; or the error."""
    target = Target.of(settings) if settings else Target()
    labels, training = np.array(labels), np.array(labels if training is None else training)
    try:
        y = target.apply(labels, training)
    except ValueError as error:
        return str(error)
    told = target.words if target.kind == "binary" else target.describe(training, y)
    return f"{y.dtype} {y.tolist()}; {told}; {identity(target)}"


def test_what_targets_make_of_labels():
    check_answers("targets.txt", target_of)


def test_targets_are_told_apart():
    different = [Target("binary", *labels) for labels in ((), ((1,),), ((1,), (2,)), ((2,), (1,)))]
    different += [Target("binary", (1, 2)), Target("ordered"), Target("numeric"), Target("classes")]
    different += [Target("ordered", labels=labels) for labels in ((1, 2), (2, 1))]
    different += [Target("ordered", bins=bins) for bins in (2, 3)]
    assert len({str(identity(target)) for target in different}) == len(different)
    assert len({target.words for target in different}) == len(different)
    with pytest.raises(ValueError, match="40,000 different labels are too many for classes; cut"):
        Target("ordered").apply(np.arange(4e4), np.arange(4e4))
    most = np.arange(2.0**15 - 1)  # of int16
    assert Target("ordered").apply(most, most).max() == len(most)
    for wrong in ({"ordered": 3}, {"bin": 5}):
        with pytest.raises(TypeError):
            Target.of(wrong)
