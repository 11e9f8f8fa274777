import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

from dsgkit.data import lines
from dsgkit.data import prepare as preparing
from dsgkit.data.catalogue import get
from dsgkit.data.datasets import load_dataset, obtain, open_dataset, resolve
from dsgkit.data.find import FoundFile
from dsgkit.data.rows import Rows
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target, check_kind
from dsgkit.errors import DataError
from tests.data.conftest import changed, load

TEXT = "1 1:0.5 2:3\n-1 1:2.5\n1 2:-4\n"


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "data").write_text(TEXT)
    (tmp_path / "test").write_text("-1 1:9\n1 2:1\n")
    paths = {"path": str(tmp_path / "data"), "test_path": str(tmp_path / "test")}
    return DatasetSpec(loader="libsvm", **paths)


def prepared(tmp_path):
    folder = tmp_path / "cache/prepared"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def count_preparations(monkeypatch):
    calls = []
    original = preparing._write
    monkeypatch.setattr(preparing, "_write", lambda *a: calls.append(1) or original(*a))
    return calls


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
    assert (dataset.y_test is None) == (test is None)
    if test is None:
        assert dataset.X[:, 5].tolist() == [0, 1, 2, 0, 1]
    else:
        assert dataset.y_test.tolist() == test


def test_what_is_kept_of_a_dataset(spec, tmp_path, monkeypatch):
    calls = count_preparations(monkeypatch)
    dataset, again = load_dataset(spec), load_dataset(spec)
    assert calls == [1] and dataset.content_hash == again.content_hash
    assert isinstance(dataset.X, np.memmap) and isinstance(dataset.X_test, np.memmap)
    np.testing.assert_array_equal(dataset.X, again.X)
    np.testing.assert_array_equal(dataset.y_test, again.y_test)
    (name,) = prepared(tmp_path)
    meta = json.loads((tmp_path / "cache/prepared" / name / "meta.json").read_text())
    train = meta["parts"]["train"]
    assert (train["minimum"], train["maximum"]) == ([0, -4], [2.5, 3])
    assert (dataset.minimum.tolist(), dataset.maximum.tolist()) == ([0, -4], [2.5, 3])
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
    np.testing.assert_array_equal(load_dataset(spec).X, dataset.X)


@pytest.mark.parametrize(
    ("name", "part", "expected"),
    [
        ("codrna", "train", 59_535),
        ("codrna", "test", 271_617),
        ("unclonable", "train", 6_000_000),
        ("susy_10k", "test", 1_000),
        ("digits", "train", 1_797),
        (None, "train", None),
    ],
)
def test_the_progress_of_parsing_has_the_registered_total(monkeypatch, spec, name, part, expected):
    info = resolve(spec) if name is None else get(name)
    bar = mock.MagicMock()
    monkeypatch.setattr(preparing, "Bar", bar)
    block = (np.zeros((3, 2)), np.ones(3))
    assert len(list(preparing._shown(iter([block, block]), info, part))) == 2
    assert [call.args[1] for call in bar.call_args_list] == [expected]
    assert bar().__enter__().update.call_args_list == [mock.call(3)] * 2


def edit_unseen(path, text):
    """Write text of the same size, and keep the time of the last change."""
    stat = path.stat()
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size


def edit(path, text):
    path.write_text(text)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("largest", [preparing.MAX_CHECKED_BYTES, 0])
@pytest.mark.parametrize(("write", "value"), [(edit, "0.25"), (edit_unseen, "0.7"), (edit, "0.5")])
def test_only_a_file_that_has_changed_is_prepared_again(
    spec, tmp_path, monkeypatch, largest, write, value
):
    """Even where size and time are kept: by the content of a small file, by the inode's time."""
    monkeypatch.setattr(preparing, "MAX_CHECKED_BYTES", largest)
    before = load_dataset(spec)
    calls = count_preparations(monkeypatch)
    write(tmp_path / "data", TEXT.replace("0.5", value))
    after = load_dataset(spec)
    assert calls == [1] * (value != "0.5")
    # an open map outlives its successor
    assert (before.X[0, 0], after.X[0, 0]) == (0.5, np.float32(value))
    assert (before.content_hash == after.content_hash) == (value == "0.5")
    assert len(prepared(tmp_path)) == 1


def test_a_large_file_is_read_only_if_its_state_has_changed(spec, tmp_path, monkeypatch):
    load_dataset(spec)
    monkeypatch.setattr(preparing, "MAX_CHECKED_BYTES", 0)
    read = []
    original = FoundFile.sha256
    monkeypatch.setattr(FoundFile, "sha256", lambda file: read.append(1) or original(file))
    load_dataset(spec)
    assert read == []
    shutil.copy(tmp_path / "data", tmp_path / "other")
    (tmp_path / "other").replace(tmp_path / "data")
    for _ in range(2):
        load_dataset(spec)
    assert read == [1]


def test_what_an_earlier_release_has_prepared_is_kept_and_watched(spec, tmp_path, monkeypatch):
    before = load_dataset(spec)
    (folder,) = (tmp_path / "cache" / "prepared").iterdir()
    meta = preparing.read_meta(folder)
    known = ("path", "size", "mtime_ns")
    meta["sources"] = [{name: one[name] for name in known} for one in meta["sources"]]
    preparing._write_meta(meta, folder)
    calls = count_preparations(monkeypatch)
    load_dataset(spec)
    assert calls == []
    edit_unseen(tmp_path / "data", TEXT.replace("0.5", "0.7"))
    assert load_dataset(spec).content_hash != before.content_hash
    assert calls == [1]


@pytest.mark.parametrize("name", ["..up", "x" * 250, "\u00e9t\u00e9 1"])
def test_any_name_makes_one_folder(spec, tmp_path, name):
    path = (tmp_path / "data").rename(tmp_path / name)
    assert load_dataset(changed(spec, path=str(path))).name == name
    assert len(prepared(tmp_path)) == 1


def test_the_content_hash_is_of_rows_and_labels_alone(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "MAX_CHECKED_BYTES", 0)
    one = load_dataset(spec)
    copy = changed(spec, path=str(shutil.copy(tmp_path / "data", tmp_path / "copy")))
    assert load_dataset(copy).identity == one.identity
    (tmp_path / "same").write_text("# a comment\n" + TEXT.replace("0.5", "5e-1"))
    same = changed(spec, path=str(tmp_path / "same"))
    assert load_dataset(same).content_hash == one.content_hash
    alone = load_dataset(changed(same, test_path=None))
    assert alone.content_hash != one.content_hash
    (tmp_path / "same").write_text(TEXT.replace("-1", "-2"))
    other = load_dataset(changed(same, test_path=None))
    assert alone.y.tolist() == other.y.tolist() and alone.content_hash != other.content_hash
    n_prepared = len(prepared(tmp_path))
    assert load_dataset(changed(spec, n_features=5)).X.shape == (3, 5)
    assert len(prepared(tmp_path)) == n_prepared + 1


@pytest.mark.parametrize("step", ["_write_meta", "_sync", "_publish"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_nothing(spec, tmp_path, monkeypatch, step, error):
    with monkeypatch.context() as patch:

        def interrupt(*_):
            raise error

        patch.setattr(preparing, step, interrupt)
        with pytest.raises(error):
            load_dataset(spec)
    assert prepared(tmp_path) == []
    assert load_dataset(spec).X.shape == (3, 2)


def test_what_cannot_be_read_or_written_is_one_line_and_leaves_nothing(spec, tmp_path, monkeypatch):
    (tmp_path / "test").write_text("1 1:2\n1 x\n")
    with pytest.raises(DataError, match=r"test:2: 'x' is not index:value"):
        load_dataset(spec)
    spec = changed(spec, test_path=None)

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match=r"No space left on device; .* DSGKIT_CACHE"):
            load_dataset(spec)
    assert prepared(tmp_path) == []
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match=r"cannot write prepared data to .*cache/prepared"):
        load_dataset(spec)


def test_whoever_finishes_second_keeps_the_first(spec, tmp_path, monkeypatch):
    info = resolve(spec)
    original, first = preparing._publish, []

    def overtaken(*args):
        if not first:
            first.append(1)
            preparing.prepare(info, obtain(info))
            (preparing.prepared_folder(info) / "mark").touch()
        original(*args)

    monkeypatch.setattr(preparing, "_publish", overtaken)
    assert open_dataset(info).X.shape == (3, 2)
    assert (preparing.prepared_folder(info) / "mark").exists()
    assert len(prepared(tmp_path)) == 1


def test_what_a_killed_process_left_is_removed_in_time(spec, tmp_path):
    parent = tmp_path / "cache/prepared"
    for name, age in ((".preparing-old", 2 * 24 * 3600), (".preparing-new", 60)):
        (parent / name).mkdir(parents=True)
        (parent / name / "X.npy").touch()
        for path in (parent / name / "X.npy", parent / name):
            os.utime(path, (time.time() - age,) * 2)
    load_dataset(spec)
    assert ".preparing-new" in prepared(tmp_path) and ".preparing-old" not in prepared(tmp_path)


def test_opening_needs_no_parser(spec, tmp_path):
    load_dataset(spec)
    program = (
        "import sys\nfrom dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\nimport dsgkit.tasks.semi_supervised\n"
        f"load_dataset(DatasetSpec(**{spec.model_dump()!r}))\n"
        "print(sorted({'sklearn', 'pandas', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_datasets_that_are_made_are_the_same_every_time():
    X, y = make_moons(n_samples=600, noise=0.08, random_state=0)
    moons = load_dataset(DatasetSpec(name="moons"))
    np.testing.assert_array_equal(moons.X, X.astype(np.float32))
    np.testing.assert_array_equal(moons.y, y + 1)
    gaussians, rings = (load_dataset(DatasetSpec(name=n)) for n in ("gaussians_4", "rings"))
    assert np.bincount(gaussians.y)[1:].tolist() == [200] * 4
    assert np.bincount(rings.y)[1:].tolist() == [300] * 3
    radius = np.hypot(*rings.X.T)
    middle, inner, outer = (radius[rings.y == c] for c in (1, 2, 3))
    # Rayleigh's mean of a Gaussian in the plane
    assert middle.mean() == pytest.approx(0.1 * np.sqrt(np.pi / 2), rel=0.1)
    assert inner.mean() == pytest.approx(1, abs=0.02) and inner.std() == pytest.approx(0.05, 0.2)
    assert outer.mean() == pytest.approx(2, abs=0.02) and outer.std() == pytest.approx(0.05, 0.2)
    assert middle.max() < inner.min() and inner.max() < outer.min()


def test_bundled_datasets():
    X, digit = load_digits(return_X_y=True)
    dataset = load_dataset(DatasetSpec(name="digits"))
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, np.where(digit % 2, -1, 1))
    seven = load_dataset(DatasetSpec(name="digits", positive=[7]))
    np.testing.assert_array_equal(seven.labels, digit)
    np.testing.assert_array_equal(seven.y, np.where(digit == 7, 1, -1))
    assert seven.describe()["target"] == "positive class: 7; negative: the rest"
    bunch = load_breast_cancer()
    dataset = load_dataset(DatasetSpec(name="breast_cancer"))
    malignant = bunch.target_names[bunch.target] == "malignant"
    np.testing.assert_array_equal(dataset.X, bunch.data.astype(np.float32))
    np.testing.assert_array_equal(dataset.y == 1, malignant)
    assert dataset.X_test is None


@pytest.mark.parametrize(
    ("labels", "raw", "stored", "texts"),
    [
        ("1.5 -2 1e9", [1.5, -2, 1e9], np.float64, None),
        ("no yes no", ["no", "yes", "no"], np.int32, ["no", "yes"]),
        ("b 1 a", ["b", "1", "a"], np.int32, ["1", "a", "b"]),
    ],
)
@pytest.mark.parametrize("n_bytes", [1, 1000])
def test_one_prepared_copy_keeps_the_labels_for_every_target(
    tmp_path, monkeypatch, labels, raw, stored, texts, n_bytes
):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    calls, path = count_preparations(monkeypatch), tmp_path / "rows.csv"
    path.write_text("".join(f"{i},{label}\n" for i, label in enumerate(labels.split())))
    spec = DatasetSpec(path=str(path), test_path=str(path), loader="delimited", positive=[raw[0]])
    named_ones = [label for label in raw if label != "1"]  # which alone is read as a number
    opened = {label: load_dataset(changed(spec, positive=[label])) for label in named_ones}
    for named, dataset in opened.items():
        assert dataset.labels.tolist() == dataset.labels_test.tolist() == raw
        assert dataset.y.tolist() == [1 if label == named else -1 for label in raw]
        assert dataset.target == Target("binary", (named,))
    folder = preparing.prepared_folder(resolve(spec))
    assert np.load(folder / "y.npy").dtype == stored
    assert preparing.read_meta(folder)["parts"]["test"]["texts"] == texts
    assert calls == [1] and len(prepared(tmp_path)) == 1
    assert len({one.content_hash for one in opened.values()}) == 1
    assert len({json.dumps(one.identity) for one in opened.values()}) == len(opened)
    assert {one.identity[0] for one in opened.values()} == {opened[raw[0]].content_hash}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1:9\n1 2:1\n", "every row has the label 1"),
        ("1 1:9\n-1 2:1\n3 1:1\n", "row 3: 3 is a third label after"),
    ],
)
def test_wrong_labels_of_test_rows_are_named_with_the_dataset(spec, tmp_path, text, said):
    (tmp_path / "test").write_text(text)
    with pytest.raises(DataError, match=rf"dataset data \(test\): {said}"):
        _ = load_dataset(spec).y_test


def test_the_common_scale_makes_the_mean_square_of_row_norms_one(tmp_path):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 3)) * [1e-3, 1, 1e4]).astype(np.float32)
    rows = "".join(f"{i % 2} 1:{a:.9g} 2:{b:.9g} 3:{c:.9g}\n" for i, (a, b, c) in enumerate(X))
    (tmp_path / "data").write_text(rows)
    dataset = load_dataset(DatasetSpec(path=str(tmp_path / "data"), loader="libsvm"))
    norms = [sum(Fraction(float(x)) ** 2 for x in row) for row in X]
    assert dataset.mean_square == pytest.approx(float(sum(norms) / 500), rel=1e-15)
    offset, factor = dataset.common_scaling()
    assert not offset.any() and len(set(factor.tolist())) == 1
    scaled = Rows(dataset.X, None, offset, factor)[:].astype(float)
    assert np.mean((scaled**2).sum(axis=1)) == pytest.approx(1, rel=1e-6)
    dataset = load(tmp_path, "1 1:0\n-1 1:0\n", "libsvm", "zeros")
    assert [x.tolist() for x in dataset.common_scaling()] == [[0], [1]]


blocks = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(cut=blocks, seed=st.integers(0, 99))
def test_statistics_do_not_depend_on_the_blocks(cut, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(sum(cut), 3)) * 10.0 ** rng.integers(-9, 9, 3)).astype(np.float32)
    pieces, whole = preparing.Statistics(3), preparing.Statistics(3)
    for block in np.split(X, np.cumsum(cut)[:-1]):
        pieces.add(block)
    whole.add(X)
    y = np.zeros(len(X))
    assert pieces.finish(y, None) == whole.finish(y, None)


KINDS = {
    "ordered": ("3 1:1\n1 1:2\n3 1:4\n2 1:4\n", {"bins": 4}, [3, 1, 3, 2], np.int16),
    "numeric": ("30.5 1:1\n-1 1:2\n1e3 1:4\n", {"numeric": True}, [30.5, -1, 1000], np.float64),
    "binary": ("1 1:1\n-1 1:2\n", {"positive": [1]}, [1, -1], np.int8),
}
NEEDS = {"binary": r"two classes, .* \{positive", "ordered": r"ordered classes, .* \{bins: 5\}"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_suits_one_kind_of_task(tmp_path, kind):
    text, target, y, dtype = KINDS[kind]
    dataset = load(tmp_path, text, "libsvm", target=target)
    assert dataset.y.tolist() == y and dataset.y.dtype == dtype
    check_kind(dataset, kind)
    for other in NEEDS.keys() - {kind}:
        with pytest.raises(DataError, match=f"dataset data: the task needs {NEEDS[other]}"):
            check_kind(dataset, other)


def test_labels_that_make_no_classes_are_named_with_the_dataset(spec):
    dataset = load_dataset(changed(spec, target={"ordered": [5, 6]}))
    for use in (lambda: dataset.y, dataset.describe):
        with pytest.raises(DataError, match="dataset data: row 1: label 1 is not in the order"):
            use()


def test_components_are_for_reviews(spec):
    assert resolve(DatasetSpec(name="baby", components=50)).n_features == 50
    assert resolve(DatasetSpec(name="baby")).components == 1000
    with pytest.raises(DataError, match="skin holds no reviews: `components` is for these"):
        resolve(DatasetSpec(name="skin", components=5))
