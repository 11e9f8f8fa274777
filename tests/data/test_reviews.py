"""Reviews: both forms, what scikit-learn makes of the text, and malformed lines."""

import csv
import io
import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from dsgkit.data import lines
from dsgkit.data.datasets import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from tests.data.conftest import COMPRESS

WORDS = ["guitar", "string", "good", "bad", "pick", "drum", "loud", "soft"]


def make_reviews(n=30, seed=0):
    """Texts with every trap of the two forms, one of them empty, and stars."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 12))) for _ in range(n)]
    texts[0] = 'a "quoted" guitar,\nwith a line break \u00e9'
    texts[1] = ""
    return texts, rng.permuted(np.arange(n) % 5 + 1.0)


TEXTS, STARS = make_reviews()


def as_json(texts=TEXTS, stars=STARS):
    rows = ({"asin": "1", "reviewText": t, "overall": s} for t, s in zip(texts, stars, strict=True))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_table(texts=TEXTS, stars=STARS, ending="\r\n"):
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator=ending)
    table.writerow(["asin", "reviewText", "overall"])
    table.writerows(("1", t, s) for t, s in zip(texts, stars, strict=True))
    return file.getvalue().encode()


@pytest.fixture
def load(tmp_path):
    def of(content, name="reviews", **options):
        (tmp_path / name).write_bytes(content)
        return load_dataset(DatasetSpec(path=str(tmp_path / name), loader="reviews", **options))

    return of


def test_features_are_the_principal_part_of_tf_idf(load):
    dataset = load(as_json(), components=5)
    words = TfidfVectorizer().fit_transform(TEXTS).toarray()
    _, _, V = np.linalg.svd(words)
    expected = words @ V[:5].T
    assert dataset.X.shape == (30, 5) and dataset.X.dtype == np.float32
    np.testing.assert_allclose(dataset.X @ dataset.X.T, expected @ expected.T, atol=1e-4)
    assert not dataset.X[1].any()
    np.testing.assert_array_equal(dataset.labels, STARS)
    np.testing.assert_array_equal(dataset.y, STARS)
    share = expected.var(axis=0).sum() / words.var(axis=0).sum()
    told = f"5 components of TF-IDF over {words.shape[1]} terms, with {share:.1%} of its variance"
    assert dataset.describe()["features"] == told
    assert dataset.describe()["target"].startswith("5 ordered classes: 1 (6 rows)")


@pytest.mark.parametrize("n_bytes", [5, 2**20])
def test_both_forms_in_every_container_give_the_same(load, monkeypatch, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    contents = [as_json(), as_table(), as_table(ending="\n"), b"\xef\xbb\xbf" + as_table()]
    hashes = {load(c, f"plain{i}").content_hash for i, c in enumerate(contents)}
    hashes |= {load(COMPRESS[s](as_json()), f"packed{s}").content_hash for s in COMPRESS}
    assert len(hashes) == 1


def test_fewer_components_than_asked_for_are_reported(load):
    dataset = load(as_json())
    assert 8 <= dataset.n_features <= 30
    told = dataset.describe()["features"]
    assert told.startswith(f"{dataset.n_features} components (1,000 asked for) of TF-IDF")
    assert told.endswith("with 100.0% of its variance")


def test_reviews_that_are_all_alike(load):
    dataset = load(as_json(["good pick"] * 4, [1, 2, 1, 2]))
    np.testing.assert_allclose(dataset.X, np.tile([1, 0], (4, 1)), atol=1e-6)


def test_test_reviews_are_seen_through_the_training_ones(load, tmp_path):
    (tmp_path / "test").write_bytes(as_table(["guitar good", "unseen", TEXTS[2]], [5, 1, 2]))
    dataset = load(as_json(), components=4, test_path=str(tmp_path / "test"))
    np.testing.assert_array_equal(dataset.X, load(as_json(), "alone", components=4).X)
    assert load(as_json(), "alone", components=3).n_features == 3
    np.testing.assert_allclose(dataset.X_test[2], dataset.X[2], atol=1e-6)
    assert not dataset.X_test[1].any() and dataset.y_test.tolist() == [5, 1, 2]


GOOD = '{"reviewText": "a good one", "overall": 5.0}\n'


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (GOOD + "{oops}\n", 2, "not JSON (Expecting property name"),
        (GOOD + "\n[1]\n", 3, "not a JSON object"),
        (GOOD + '{"overall": 5}\n', 2, "a review without reviewText"),
        (GOOD + '{"reviewText": "x"}\n', 2, "a review without overall"),
        (GOOD + '{"reviewText": null, "overall": 5}\n', 2, "reviewText is not text"),
        (GOOD + '{"reviewText": "x", "overall": "five"}\n', 2, "overall 'five' is not a finite"),
        (GOOD + '{"reviewText": "x", "overall": NaN}\n', 2, "overall nan is not a finite number"),
        ("a,b\n1,2\n", 1, "neither JSON nor a line of names with reviewText"),
        ("reviewText,stars\nx,2\n", 1, "neither JSON nor a line of names with overall"),
        ('reviewText,overall\n"x\ny",2\nz\n', 4, "1 columns instead of 2"),
        ("reviewText,overall\nx,\n", 2, "overall '' is not a finite number"),
        ('reviewText,overall\n"x"y,1\n', 2, "not a table ("),
        ('reviewText,overall\nx,1\n"y,1\n', 3, "not a table (unexpected end of data)"),
    ],
)
def test_a_malformed_review_is_found(load, tmp_path, text, line, expected):
    with pytest.raises(DataError) as caught:
        load(text.encode())
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'reviews'}:{line}: {expected}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "neither JSON nor a line of names"),
        (b"reviewText,overall\n", "the file holds no rows"),
        (GOOD.encode() + b'{"reviewText": "\xff"}\n', "reviews:2: not UTF-8"),
        (GOOD.encode().replace(b"good one", b"b c"), "hold fewer than two different words"),
        (b'{"reviewText": "", "overall": 1}\n', "hold fewer than two different words"),
    ],
)
def test_files_without_reviews(load, content, text):
    with pytest.raises(DataError, match=text):
        load(content)
