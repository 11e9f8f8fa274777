"""Datasets: prepared once for each state of their files, scaled, cut and doubled."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dsgkit.data import commands, loaders
from dsgkit.data import dataset as opening
from dsgkit.data import prepare as preparing
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, get
from dsgkit.data.dataset import load_dataset, open_dataset, resolve
from dsgkit.data.made import make_layers
from dsgkit.data.rows import Rows
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target, check_kind
from dsgkit.errors import DataError, MissingDataError
from tests.data.conftest import changed, edit_unseen, load, make_dataset

TEXT = "1 1:0.5 2:3\n-1 1:2.5\n1 2:-4\n"


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "data").write_text(TEXT)
    (tmp_path / "test").write_text("-1 1:9\n1 2:1\n")
    paths = {"path": str(tmp_path / "data"), "test_path": str(tmp_path / "test")}
    return DatasetSpec(loader="libsvm", **paths)


@pytest.fixture
def calls(monkeypatch):
    made, prepare = [], opening.prepare
    monkeypatch.setattr(opening, "prepare", lambda *a: made.append(1) or prepare(*a))
    return made


def prepared(tmp_path):
    folder = tmp_path / "cache/prepared"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_a_dataset_is_prepared_once(spec, tmp_path, calls):
    dataset, again = load_dataset(spec), load_dataset(spec)
    assert calls == [1] and dataset.content_hash == again.content_hash
    assert isinstance(dataset.X, np.memmap) and isinstance(dataset.X_test, np.memmap)
    np.testing.assert_array_equal(dataset.X, [[0.5, 3], [2.5, 0], [0, -4]])
    assert (dataset.minimum.tolist(), dataset.maximum.tolist()) == ([0, -4], [2.5, 3])
    rows = np.float32([[0.5, 3], [2.5, 0], [0, -4]]).tobytes() + np.array([1.0, -1, 1]).tobytes()
    test = np.float32([[9, 0], [0, 1]]).tobytes() + np.array([-1.0, 1]).tobytes()
    parts = "".join(hashlib.sha256(part).hexdigest() for part in (rows, test))
    assert dataset.content_hash == hashlib.sha256(parts.encode()).hexdigest()
    assert json.loads(json.dumps(dataset.describe())) == {
        "name": "data",
        "title": "data",
        "content_hash": dataset.content_hash,
        "target": "positive class: the larger label",
        "n_rows": 3,
        "n_test_rows": 2,
        "n_features": 2,
    }
    assert dataset.identity == [dataset.content_hash, "binary", None, None]
    (tmp_path / "data").unlink()
    with pytest.raises(MissingDataError, match="no such file"):
        load_dataset(spec)


def edit(path, text):
    path.write_text(text)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("write", [edit, edit_unseen])
def test_a_file_that_has_changed_is_prepared_again(spec, tmp_path, calls, write):
    """Even where size and time are kept."""
    before = load_dataset(spec)
    write(tmp_path / "data", TEXT.replace("0.5", "0.7"))
    after = load_dataset(spec)
    assert calls == [1, 1] and len(prepared(tmp_path)) == 1
    # an open map outlives its successor
    assert (before.X[0, 0], after.X[0, 0]) == (0.5, np.float32(0.7))
    assert before.content_hash != after.content_hash
    other = load_dataset(changed(spec, n_features=5))
    assert other.X.shape == (3, 5) and len(prepared(tmp_path)) == 2


def test_the_content_hash_is_of_rows_and_labels_alone(spec, tmp_path):
    one = load_dataset(spec)
    copy = changed(spec, path=str(shutil.copy(tmp_path / "data", tmp_path / "copy")))
    assert load_dataset(copy).identity == one.identity
    (tmp_path / "same").write_text("# a comment\n" + TEXT.replace("0.5", "5e-1"))
    same = changed(spec, path=str(tmp_path / "same"), positive=[1])
    assert load_dataset(same).content_hash == one.content_hash
    assert load_dataset(same).identity != one.identity
    alone = load_dataset(changed(same, test_path=None))
    (tmp_path / "same").write_text(TEXT.replace("-1", "-2"))
    other = load_dataset(changed(same, test_path=None))
    assert alone.y.tolist() == other.y.tolist()
    assert len({one.content_hash, alone.content_hash, other.content_hash}) == 3


@pytest.mark.parametrize("step", ["_write", "_sync"])
def test_an_interruption_leaves_nothing(spec, tmp_path, monkeypatch, step):
    with monkeypatch.context() as patch:

        def interrupt(*_):
            raise KeyboardInterrupt

        patch.setattr(preparing, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            load_dataset(spec)
    assert prepared(tmp_path) == []
    assert load_dataset(spec).X.shape == (3, 2)


def test_a_full_or_forbidden_cache_and_a_damaged_one_are_one_line(spec, tmp_path, monkeypatch):
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match=r"cannot write to .*; free or change .* DSGKIT_CACHE"):
        load_dataset(spec)
    (tmp_path / "cache").unlink()
    load_dataset(spec)
    (folder,) = (tmp_path / "cache/prepared").iterdir()
    (folder / "X_train.npy").write_bytes(b"x")
    with pytest.raises(
        DataError, match=r"the prepared data cannot be opened .*; remove the folder"
    ):
        load_dataset(spec)


@pytest.mark.slow  # two processes that import everything
def test_two_processes_prepare_one_dataset_at_once(tmp_path):
    content = b"".join(b"%d 1:%d.5 2:7\n" % (k % 2, k) for k in range(50_000))
    (tmp_path / "data").write_bytes(content)
    program = (
        "import sys, time, pathlib\n"
        "from dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "(here / ('ready' + sys.argv[2])).touch()\n"
        "while not (here / 'go').exists(): time.sleep(0.001)\n"
        "spec = DatasetSpec(loader='libsvm', path=str(here / 'data'))\n"
        "print(load_dataset(spec).content_hash)\n"
    )
    command, names = [sys.executable, "-c", program, str(tmp_path)], ("one", "two")
    started = [subprocess.Popen([*command, n], stdout=subprocess.PIPE, text=True) for n in names]
    while not all((tmp_path / f"ready{name}").exists() for name in names):
        assert all(process.poll() is None for process in started)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    hashes = {process.communicate(timeout=100)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(hashes) == 1 and len(prepared(tmp_path)) == 1


def test_opening_needs_no_parser(spec):
    load_dataset(spec)
    program = (
        "import sys\nfrom dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\n"
        f"load_dataset(DatasetSpec(**{spec.model_dump()!r}))\n"
        "print(sorted({'sklearn', 'pandas', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_many_rows_take_little_memory(tmp_path):
    """A file of 60 MB, which becomes 120 MB of rows, in chunks of 16 MiB."""
    line = b"1" + b"".join(b" %d:1" % k for k in range(1, 60)) + b"\n"
    (tmp_path / "data").write_bytes((line + b"-" + line) * 100_000)
    program = (
        "import resource, sys\nfrom dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\nimport sklearn.datasets\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        f"before, spec = peak(), DatasetSpec(path={str(tmp_path / 'data')!r}, loader='libsvm')\n"
        "print(load_dataset(spec).X.shape, peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    shape, _, grown = done.stdout.rpartition(" ")
    assert shape == "(200000, 59)" and int(grown) < 250, done.stderr


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("dota2", [1, -1, 1], [-1, 1]), ("dota2_all", [1, -1, 1, -1, 1], None)],
)
def test_one_archive_serves_two_readings_of_its_parts(name, train, test, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "files"))
    (tmp_path / "files/dota2").mkdir(parents=True)
    parts = {"dota2Train.csv": [1, -1, 1], "dota2Test.csv": [-1, 1]}
    with zipfile.ZipFile(tmp_path / "files/dota2/dota2+games+results.zip", "w") as archive:
        for member, labels in parts.items():
            lines = (f"{label}{f',{number}' * 116}\n" for number, label in enumerate(labels))
            archive.writestr(member, "".join(lines))
    info = get(name)
    files = tuple(replace(file, n_rows=None, sha256=None) for file in info.files)
    dataset = open_dataset(replace(info, files=files, n_rows=None))
    assert dataset.y.tolist() == train and dataset.X.shape == (len(train), 116)
    assert (None if dataset.y_test is None else dataset.y_test.tolist()) == test


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_rows": 4}, "3 rows, but 4 are expected"),
        ({"sha256": "0" * 64}, f"is {hashlib.sha256(TEXT.encode()).hexdigest()}, but 0000"),
        ({"part": "test"}, None),
    ],
)
def test_rows_and_checksums_of_registered_files_are_compared(tmp_path, monkeypatch, wrong, said):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    (tmp_path / "made").mkdir()
    (tmp_path / "made/made.txt").write_text(TEXT)
    file = DataFile("made.txt", n_rows=3, sha256=hashlib.sha256(TEXT.encode()).hexdigest())
    info = DatasetInfo("made", "Made", "libsvm", (file,), n_rows=3, n_features=2, folder="made")
    monkeypatch.setitem(DATASETS, "made", info)
    assert commands.state(info) == "found"
    assert dict(commands.info("made"))["prepared"] == "not yet"
    assert commands.verify("made")[0][0] is True
    assert len(open_dataset(info).X) == 3
    assert commands.state(info) == "prepared"
    assert dict(commands.info("made"))["train labels"] == "3 (-1: 1, 1: 2)"
    if said:
        info = replace(info, files=(replace(file, **wrong),))
        with pytest.raises(DataError, match=said):
            open_dataset(info)
        if "sha256" in wrong:
            monkeypatch.setitem(DATASETS, "made", info)
            assert commands.verify("made")[0][0] is False


def test_what_is_told_of_the_registered_datasets():
    states = {name: state for name, _, state, _ in commands.overview()}
    assert (states["susy"], states["susy_10k"]) == ("to download", "missing")
    assert states["digits"] == "bundled"
    for name in DATASETS:
        pairs = dict(commands.info(name))
        assert {"name", "rows x features", "target", "homepage", "licence"} <= set(pairs)
        assert all(text and "\n" not in text for text in pairs.values())


def test_made_clusters_have_the_sizes_and_radii_that_they_are_made_with():
    """The content of all bundled datasets is in tests/test_golden.py."""
    gaussians, rings = (load_dataset(DatasetSpec(name=n)) for n in ("gaussians_4", "rings"))
    assert np.bincount(gaussians.y)[1:].tolist() == [200] * 4
    radius = np.hypot(*rings.X.T)
    middle, inner, outer = (radius[rings.y == c] for c in (1, 2, 3))
    # Rayleigh's mean of a Gaussian in the plane
    assert middle.mean() == pytest.approx(0.1 * np.sqrt(np.pi / 2), rel=0.1)
    assert inner.mean() == pytest.approx(1, abs=0.02) and inner.std() == pytest.approx(0.05, 0.2)
    assert outer.mean() == pytest.approx(2, abs=0.02) and outer.std() == pytest.approx(0.05, 0.2)


@pytest.mark.parametrize("n_layers", [2, 5])
def test_layers_are_in_order_along_the_direction_of_least_variance(n_layers):
    X, y = make_layers(4000, n_layers=n_layers, n_features=20, gap=0.4, width=0.1, random_state=1)
    assert np.bincount(y).tolist() == [4000 // n_layers] * n_layers
    variances, directions = np.linalg.eigh(np.cov(X[y == 0].T))
    # across a layer the variance is width^2, within it 1
    np.testing.assert_allclose(variances, [0.01, *[1] * 19], rtol=0.4)
    places = X @ directions[:, 0]
    places *= np.sign(places[y == n_layers - 1].mean())
    means = [places[y == layer].mean() for layer in range(n_layers)]
    np.testing.assert_allclose(np.diff(means), 0.4, rtol=0.1)


@pytest.mark.parametrize("n_bytes", [1, 1000])
@pytest.mark.parametrize("labels", [[1.5, -2, 1e9], ["no", "yes", "no"], ["b", "1", "a"]])
def test_one_prepared_copy_keeps_the_labels_for_every_target(
    tmp_path, monkeypatch, calls, labels, n_bytes
):
    monkeypatch.setattr(loaders, "CHUNK_BYTES", n_bytes)
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    spec = DatasetSpec(path=str(path), test_path=str(path), loader="delimited")
    named = [label for label in labels if label != "1"]  # which alone is read as a number
    opened = {label: load_dataset(changed(spec, positive=[label])) for label in named}
    for name, dataset in opened.items():
        assert dataset.labels.tolist() == dataset.labels_test.tolist() == labels
        assert dataset.y.tolist() == [1 if label == name else -1 for label in labels]
    assert calls == [1] and len({one.content_hash for one in opened.values()}) == 1
    assert len({json.dumps(one.identity) for one in opened.values()}) == len(opened)


def test_labels_that_do_not_suit_are_named_with_the_dataset(spec, tmp_path):
    dataset = load_dataset(changed(spec, target={"ordered": [5, 6]}))
    for use in (lambda: dataset.y, dataset.describe):
        with pytest.raises(DataError, match="dataset data: row 1: label 1 is not in the order"):
            use()
    (tmp_path / "test").write_text("1 1:9\n-1 2:1\n3 1:1\n")
    with pytest.raises(DataError, match=r"dataset data \(test\): row 3: label 3 is a third"):
        _ = load_dataset(spec).y_test
    with pytest.raises(DataError, match=r"data: the task needs ordered classes, .* \{bins: 5\}"):
        check_kind(dataset := load_dataset(spec), "ordered")
    check_kind(dataset, "binary")


def test_settings_of_registered_datasets():
    info = resolve(DatasetSpec(name="covtype_20k", positive=[3]))
    assert info.target == Target("binary", (3,)) != get("covtype_20k").target
    assert resolve(DatasetSpec(name="baby", components=50)).n_features == 50
    with pytest.raises(DataError, match="skin holds no reviews: `components` is for these"):
        resolve(DatasetSpec(name="skin", components=5))


@given(arrays(np.float32, (6, 4), elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_scaled_training_values_lie_in_the_unit_interval(X):
    dataset = make_dataset(X, [1, -1] * 3)
    values = Rows(dataset.X, None, *dataset.scaling())[:]
    assert values.min() >= 0 and values.max() <= 1
    varying = X.max(axis=0) - X.min(axis=0) > np.finfo(np.float32).tiny
    assert (values.min(axis=0) == 0).all()
    assert (values.max(axis=0)[varying] >= np.nextafter(np.float32(1), np.float32(0))).all()


def test_every_scale_by_its_definition(monkeypatch):
    monkeypatch.setattr(opening, "_BLOCK_ROWS", 7)
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1e-3, 1, 1e4] + [0, 5, -1e4]
    X = np.column_stack([X, np.full(50, 0.1)]).astype(np.float32)
    dataset = make_dataset(X, [1, -1] * 25)
    exact, width = X.astype(float), np.ptp(X, axis=0).astype(float)
    for low, high in ((0, 1), (-1, 1), (0.5, 3)):
        values = Rows(X, None, *dataset.scaling((low, high)))[:]
        expected = low + (high - low) * (exact - exact.min(axis=0))[:, :3] / width[:3]
        np.testing.assert_allclose(values[:, :3], expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(values[:, 3], low)
    values = Rows(X, None, *dataset.scaling("standard"))[:].astype(float)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(values.std(axis=0), [1, 1, 1, 0], rtol=1e-4)
    values = Rows(X, None, *dataset.scaling("common"))[:].astype(float)
    assert np.square(values).sum(axis=1).mean() == pytest.approx(1, rel=1e-6)
    assert make_dataset(X * 0, [1, -1] * 25).scaling("common")[1].tolist() == [1] * 4
    dataset = make_dataset([[-3e38], [3e38]], [1, -1])
    with pytest.raises(DataError, match="the range of feature 1 overflows float32"):
        dataset.scaling()


N = 2_000


@pytest.fixture
def table(tmp_path):
    """Return what makes the spec of a file of N rows, with a test file."""
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.uniform(-10, 30, N), rng.normal(size=(N, 2)), rng.choice(2, N)])
    rows[:4, -1] = [0, 1, 0, 1]
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",")
    np.savetxt(tmp_path / "test.csv", rows[:4], delimiter=",")
    paths = {"path": str(tmp_path / "rows.csv"), "test_path": str(tmp_path / "test.csv")}
    return lambda **settings: DatasetSpec(**paths, loader="delimited", **settings)


def test_the_first_rows_have_their_own_statistics(table, tmp_path):
    whole, first = load_dataset(table()), load_dataset(table(rows=20))
    np.testing.assert_array_equal(first.X, whole.X[:20])
    np.testing.assert_array_equal(first.y, whole.y[:20])
    np.testing.assert_array_equal(first.maximum, whole.X[:20].max(axis=0))
    np.testing.assert_array_equal(first.X_test, whole.X_test)
    assert first.title == f"{whole.title}, first 20 rows"
    assert load_dataset(table(rows=20, double=0.1)).X.shape == (40, 3)
    with pytest.raises(DataError, match="rows: 2,001, but there are only 2,000"):
        load_dataset(table(rows=N + 1))
    # a file that is cut after these rows is the same dataset
    lines = (tmp_path / "rows.csv").read_text().splitlines(keepends=True)
    (tmp_path / "rows.csv").write_text("".join(lines[:20]))
    assert load_dataset(table()).identity == first.identity != whole.identity


def test_only_the_first_feature_of_the_copy_differs(table):
    plain, dataset = load_dataset(table()), load_dataset(table(double=0.1))
    X = dataset.X[:]
    assert X.dtype == np.float32 and X.shape == dataset.X.shape == (2 * N, 3)
    np.testing.assert_array_equal(X[:N], plain.X)
    np.testing.assert_array_equal(X[N:, 1:], plain.X[:, 1:])
    np.testing.assert_array_equal(dataset.y, np.tile(plain.y, 2))
    np.testing.assert_array_equal(dataset.X_test, plain.X_test)
    np.testing.assert_array_equal(dataset.minimum, X.min(axis=0))
    np.testing.assert_array_equal(dataset.maximum, X.max(axis=0))
    # the bounds are five standard errors: wrong with a probability of 6e-7 each, were it random
    width = plain.maximum[0] - plain.minimum[0]
    noise = (X[N:, 0] - X[:N, 0]) / (0.1 * width)
    assert abs(noise.mean()) < 5 / np.sqrt(N)
    assert abs(noise.std() - 1) < 5 / np.sqrt(2 * N)
    again, other = (load_dataset(table(double=noise)) for noise in (0.1, 0.2))
    np.testing.assert_array_equal(again.X, X)
    assert dataset.identity == again.identity
    assert len({str(one.identity) for one in (plain, dataset, other)}) == 3
    described = dataset.describe()
    assert described["n_rows"] == 2 * N and described["title"].endswith(", doubled with noise 0.1")
    assert described["features"].startswith("every row twice, the copy with noise of 0.1 of ")


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


def test_labels_of_another_file_belong_to_the_rows(tmp_path):
    for name, text in (("rows", "1,2\n3,4\n5,6\n"), ("labels", "7\n8\n9\n")):
        (tmp_path / name).write_text(text)
    files = [DataFile(str(tmp_path / "rows")), DataFile(str(tmp_path / "labels"), "train_labels")]
    info = DatasetInfo("made", "", "delimited", tuple(files), Target("classes"), local=True)
    dataset = open_dataset(info)
    assert dataset.X.tolist() == [[1, 2], [3, 4], [5, 6]] and dataset.labels.tolist() == [7, 8, 9]
    (tmp_path / "labels").write_text("7\n8\n")
    with pytest.raises(DataError, match="3 rows, but 2 labels"):
        open_dataset(info)


def test_loading_reads_one_kind_of_target(tmp_path):
    dataset = load(tmp_path, "30.5 1:1\n-1 1:2\n1e3 1:4\n", "libsvm", target={"numeric": True})
    assert dataset.y.tolist() == [30.5, -1, 1000] and dataset.y.dtype == np.float64
