"""Files of every kind become the arrays that they say, or one line with the place."""

import bz2
import csv
import gzip
import io
import json
import lzma
import struct

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from dsgkit.data import loaders
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.dataset import load_dataset
from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from tests.data.conftest import check_answers, load, refusal

LIBSVM = b"+1 1:0.5 3:-2\n-1 2:1e-3\n1\n-1 1:4 2:5 3:6\n"
LIBSVM_X = [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0], [4, 5, 6]]


@pytest.mark.parametrize("n_bytes", [7, 2**24])
def test_what_is_made_of_files(tmp_path, monkeypatch, n_bytes):
    """Read some bytes at a time, or much more than the file has."""
    monkeypatch.setattr(loaders, "CHUNK_BYTES", n_bytes)

    def answer(loader, options, content, test=None):
        """Return features, labels, targets and how they were made; or the error."""
        if test is not None:
            (tmp_path / "test").write_bytes(test)
            options = options | {"test_path": str(tmp_path / "test")}
        try:
            dataset = load(tmp_path, content, loader, **options)
            extremes = dataset.X.min(axis=0), dataset.X.max(axis=0)
            np.testing.assert_array_equal([dataset.minimum, dataset.maximum], extremes)
            facts = [dataset.X, dataset.labels, dataset.y]
            facts += [] if test is None else [dataset.X_test, dataset.labels_test, dataset.y_test]
        except DataError as error:
            assert str(error).isprintable() and len(str(error)) < len(str(tmp_path)) + 250
            return str(error).replace(f"{tmp_path}/", "")
        return "; ".join(filter(None, [*(str(fact.tolist()) for fact in facts), dataset.made]))

    check_answers("files.txt", answer)


def test_every_container(tmp_path):
    packers = {"": bytes, ".xz": lzma.compress, ".bz2": bz2.compress, ".gz": gzip.compress}
    packers |= {suffix.upper(): compress for suffix, compress in packers.items()}
    for suffix, compress in packers.items():
        content = compress(LIBSVM)
        dataset = load(tmp_path, content, "libsvm", "data" + suffix)
        np.testing.assert_array_equal(dataset.X, np.float32(LIBSVM_X))
        for wrong in (content[: len(content) // 2], b"garbage" * 20) if suffix else ():
            assert "cannot be read" in refusal(tmp_path, wrong, name="data" + suffix)


def test_numbers_are_those_of_python_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**63, 500, np.uint64, endpoint=True).view(np.float64)
    texts = [*map(repr, drawn[np.isfinite(drawn)].tolist()), "1.7e-320", "9007199254740993e1"]
    texts += ["3.4028235677973366e38"[:k] + "e8" for k in range(1, 19)]
    floats = rng.integers(0, 2**32, len(texts), np.uint32).view(np.float32)
    floats[~np.isfinite(floats)] = 2.5
    for loader, line in (("delimited", "{1!r},{0}\n"), ("libsvm", "{0} 1:{1!r}\n")):
        content = "".join(map(line.format, texts, floats.tolist()))
        dataset = load(tmp_path, content, loader, target={"numeric": True})
        assert dataset.labels.tobytes() == np.array([float(text) for text in texts]).tobytes()
        assert dataset.X.tobytes() == floats.tobytes()


def test_texts_may_stand_for_numbers(tmp_path):
    words = {1: {"low": 1, "high": 2.5}, 2: {"5more": 4}, -2: {"?": 7}}
    path = tmp_path / "data"
    files = (DataFile(str(path)),)
    info = DatasetInfo("made", "", "delimited", files, ignored=(0,), values=words, local=True)
    path.write_bytes(b"17,low,3,?,1\n18,high,5more,2,0\n")
    assert load_dataset(info).X.tolist() == [[1, 3, 7], [2.5, 4, 2]]
    path.write_bytes(b"17,low,3,?,1\nx,middle,3,?,0\n")
    with pytest.raises(DataError, match=r":2: column 1 \(from 0\): 'middle' is not a number"):
        load_dataset(info)


def test_sparse_rows_are_spread_in_bounded_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(loaders, "BLOCK_VALUES", 6)
    (tmp_path / "a").write_bytes(LIBSVM)
    blocks = [*loaders.read_libsvm(tmp_path / "a", 3)]
    assert [len(X) for X, _ in blocks] == [2, 2]
    np.testing.assert_array_equal(np.vstack([X for X, _ in blocks]), LIBSVM_X)


IMAGES = (np.arange(5 * 2 * 3) * 8 % 256).astype(np.uint8).reshape(5, 2, 3)
LABELS = np.array([3, 0, 7, 3, 9], np.uint8)


def idx_bytes(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


def of_images(tmp_path, **contents):
    for part, content in contents.items():
        (tmp_path / part).write_bytes(content)
    files = tuple(DataFile(str(tmp_path / part), part) for part in contents)
    target = Target("binary", (3,))
    return load_dataset(DatasetInfo("made", "Made", "idx", files, target, n_features=6, local=True))


def test_images_become_rows(tmp_path):
    parts = {"train": IMAGES, "train_labels": LABELS, "test": IMAGES[:2], "test_labels": LABELS[:2]}
    dataset = of_images(tmp_path, **{name: idx_bytes(x) for name, x in parts.items()})
    np.testing.assert_array_equal(dataset.X, IMAGES.reshape(5, 6))
    np.testing.assert_array_equal(dataset.X_test, IMAGES[:2].reshape(2, 6))
    assert dataset.labels.tolist() == LABELS.tolist()
    assert dataset.y.tolist() == [1, -1, -1, 1, -1] and dataset.y_test.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "not an IDX file of unsigned bytes: it begins with , not 00 00 08"),
        (b"\x00\x00\x0d\x03" + bytes(12), "begins with 00 00 0d, not 00 00 08"),
        (b"\x00\x00\x08", "not an IDX file of unsigned bytes: index out of range"),
        (idx_bytes(IMAGES)[:-7], "array of size 23 into shape"),
        (idx_bytes(IMAGES[:4]), "4 rows, but 5 labels"),
        (idx_bytes(np.tile(IMAGES, (2, 1, 1))), "10 rows, but 5 labels"),
        (idx_bytes(IMAGES.reshape(10, 3)), "3 features instead of 6"),
    ],
)
def test_images_that_cannot_be_used(tmp_path, content, text):
    with pytest.raises(DataError, match=text):
        of_images(tmp_path, train=content, train_labels=idx_bytes(LABELS))


WORDS = ["guitar", "string", "good", "bad", "pick", "drum", "loud", "soft"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(2, 12))) for _ in range(30)]
TEXTS[:2] = ['a "quoted" guitar,\nwith a line break \u00e9', ""]
STARS = RNG.permuted(np.arange(30) % 5 + 1.0)
ROWS = [{"asin": "1", "reviewText": t, "overall": s} for t, s in zip(TEXTS, STARS, strict=True)]
JSON = "".join(json.dumps(row) + "\n" for row in ROWS)


def test_features_are_the_principal_part_of_tf_idf(tmp_path):
    (tmp_path / "test").write_text(JSON)
    dataset = load(tmp_path, JSON, "reviews", test_path=str(tmp_path / "test"), components=5)
    words = TfidfVectorizer().fit_transform(TEXTS).toarray()
    _, _, V = np.linalg.svd(words)
    expected = words @ V[:5].T
    signs = np.sign((dataset.X * expected).sum(axis=0))
    np.testing.assert_allclose(dataset.X, expected * signs, atol=1e-4)
    assert dataset.y.tolist() == STARS.tolist() and dataset.target.kind == "ordered"
    assert not dataset.X[1].any()  # of a text without words
    assert "5 components of TF-IDF over 12 terms, with " in dataset.describe()["features"]
    np.testing.assert_allclose(dataset.X_test, dataset.X, atol=1e-5)
    table = csv.DictWriter(file := io.StringIO(newline=""), ROWS[0])
    table.writeheader()
    table.writerows(ROWS)
    again = load(tmp_path, "\ufeff" + file.getvalue(), "reviews", name="table", components=5)
    np.testing.assert_array_equal(again.X, dataset.X)
    assert again.y.tolist() == dataset.y.tolist()
    said = refusal(tmp_path, '{"reviewText": "good", "overall": 5}\n' * 3, "reviews")
    assert said.startswith("the texts of the reviews have too few words: ")
