"""IDX files and reviews: what becomes rows, and what is wrong with others."""

import csv
import io
import json
import struct

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.dataset import load_dataset
from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from tests.data.conftest import load, refusal

IMAGES = (np.arange(5 * 2 * 3) * 8 % 256).astype(np.uint8).reshape(5, 2, 3)
LABELS = np.array([3, 0, 7, 3, 9], np.uint8)


def idx_bytes(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


def of_images(tmp_path, **contents):
    files = []
    for part, content in contents.items():
        (tmp_path / part).write_bytes(content)
        files.append(DataFile(str(tmp_path / part), part))
    target = Target("binary", (3,))
    return load_dataset(
        DatasetInfo("made", "Made", "idx", tuple(files), target, n_features=6, local=True)
    )


def test_images_become_rows(tmp_path):
    parts = {"train": IMAGES, "train_labels": LABELS, "test": IMAGES[:2], "test_labels": LABELS[:2]}
    dataset = of_images(tmp_path, **{name: idx_bytes(x) for name, x in parts.items()})
    assert dataset.X.dtype == np.float32
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
        (idx_bytes(IMAGES)[:10], "not an IDX file of unsigned bytes"),
        (idx_bytes(IMAGES)[:-7], "array of size 23 into shape"),
        (idx_bytes(IMAGES) + b"\0", "array of size 31 into shape"),
        (idx_bytes(IMAGES[:4]), "4 rows, but 5 labels"),
        (idx_bytes(IMAGES.reshape(10, 3)), "3 features instead of 6"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # the bytes say nothing
)
def test_what_is_wrong_is_said_with_the_file(tmp_path, content, text):
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"reviewText": "good", "overall": 5}\n{"overall": 4}\n', ": review 2: no field 'rev"),
        ('{"reviewText": 3, "overall": 4}\n', ": review 1: 'reviewText must be text"),
        ('{"reviewText": "x", "overall": "many"}\n', ": review 1: "),
        ('{"reviewText": "x", "overall": NaN}\n', ": review 1: 'reviewText must be text, and over"),
        ('{"reviewText": "x"\n', ": review "),
        ("overall,reviewText\n1,x\n2\n", ": review 2: "),
        ("", ": the file holds no rows"),
        ('{"reviewText": "good", "overall": 5}\n' * 3, "the texts of the reviews have too few wor"),
    ],
)
def test_reviews_that_cannot_be_used(tmp_path, text, said):
    assert refusal(tmp_path, text, "reviews").startswith(said)
