"""Text files of every kind become the arrays that another library reads from them."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError
from sklearn.datasets import dump_svmlight_file

from dsgkit.config import DatasetSpec
from dsgkit.data import lines
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.datasets import load_dataset
from dsgkit.data.find import FoundFile
from dsgkit.data.reading import read_blocks
from dsgkit.text.errors import DataError
from tests.data.conftest import COMPRESS, make_spec

ARFF = b"""% A comment
@RELATION made

@ATTRIBUTE a REAL
@attribute 'b c' NUMERIC
@ATTRIBUTE target INTEGER

@DATA
"""
LIBSVM = b"+1 1:0.5 3:-2\n-1 2:1e-3\n1\n-1 1:4 2:5 3:6\n"
LIBSVM_X = [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0], [4, 5, 6]]
Y = [1, -1, 1, -1]
per_function = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def load(tmp_path, content, loader, name="data.txt", **options):
    (tmp_path / name).write_bytes(content)
    return load_dataset(make_spec(path=str(tmp_path / name), loader=loader, **options))


def check(dataset, X, y):
    assert dataset.X.dtype == np.float32 and dataset.y.dtype == np.int8
    np.testing.assert_array_equal(dataset.X, np.array(X, np.float32))
    np.testing.assert_array_equal(dataset.y, y)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_libsvm_in_every_container(tmp_path, suffix, ending):
    content = COMPRESS[suffix](LIBSVM.replace(b"\n", ending))
    check(load(tmp_path, content, "libsvm", "data" + suffix), LIBSVM_X, Y)


@pytest.mark.parametrize("n_bytes", [1, 3, 16, 1000])
def test_chunks_may_end_anywhere(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    check(load(tmp_path, LIBSVM[:-1], "libsvm"), LIBSVM_X, Y)
    table = b"a,b,l\n\n1,2,0\n3,4,1"
    dataset = load(tmp_path, table, "delimited", "table.csv", header=True)
    check(dataset, [[1, 2], [3, 4]], [-1, 1])


def test_comments_and_blank_lines(tmp_path):
    content = b"# 9:9\n\n" + LIBSVM.replace(b" 3:-2", b" 3:-2 # note 7:1") + b"\n  \n"
    check(load(tmp_path, content, "libsvm"), LIBSVM_X, Y)


def test_a_given_number_of_features_widens_the_matrix(tmp_path):
    assert load(tmp_path, LIBSVM, "libsvm", n_features=6).X.shape == (4, 6)


def test_a_test_file_may_have_the_largest_index(tmp_path):
    (tmp_path / "test").write_bytes(b"1 5:2\n-1 1:1\n")
    dataset = load(tmp_path, LIBSVM, "libsvm", test_path=str(tmp_path / "test"))
    assert dataset.X.shape == (4, 5)
    np.testing.assert_array_equal(dataset.X_test, [[0, 0, 0, 0, 2], [1, 0, 0, 0, 0]])
    assert dataset.y_test.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"1.5,2,7\n3,-4,8\n", {}),
        (b"1.5, 2, 7\r\n3, -4, 8", {"delimiter": ","}),
        (b"1.5\t2\t7\n3\t-4\t8\n", {}),
        (b"  1.5   2 7\n 3 -4 8\n\n", {}),
        (b"1.5;2;7\n3;-4;8\n", {"delimiter": ";"}),
        (b"7,1.5,2\n8,3,-4\n", {"label_column": 0}),
        (b"1.5,7,2\n3,8,-4\n", {"label_column": -2}),
        (b"x,y,l\n1.5,2,7\n3,-4,8\n", {"header": True}),
        (ARFF + b"1.5,2,7\n3,-4,8\n", {"header": True}),
        (b"1.5,2,7\n3,-4,8\n", {"positive": [8]}),
        (b"1.5,2,no\n3,-4, yes\n", {"positive": ["yes"]}),
        (b'1.5,2,"NA"\n3,-4,"yes"\n', {"positive": ["yes"]}),
    ],
)
def test_delimited_layouts(tmp_path, content, options):
    check(load(tmp_path, content, "delimited", **options), [[1.5, 2], [3, -4]], [-1, 1])


@pytest.mark.parametrize("suffix", COMPRESS)
def test_delimited_in_every_container(tmp_path, suffix):
    content = COMPRESS[suffix](b"1,2,0\n3,4,1\n")
    check(load(tmp_path, content, "delimited", "data.csv" + suffix), [[1, 2], [3, 4]], [-1, 1])


values = st.floats(width=32, allow_nan=False, allow_infinity=False)
tables = arrays(np.float32, st.tuples(st.integers(2, 8), st.integers(1, 5)), elements=values)


@per_function
@given(X=tables, data=st.data())
def test_libsvm_round_trip(X, data, tmp_path):
    y = [
        1,
        -1,
        *data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X) - 2, max_size=len(X) - 2)),
    ]
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False, comment="made by a test")
    name = f"{abs(hash(buffer.getvalue()))}.svm"
    check(load(tmp_path, buffer.getvalue(), "libsvm", name, n_features=X.shape[1]), X, y)


@per_function
@given(X=tables)
def test_delimited_agrees_with_numpy(X, tmp_path):
    buffer = io.BytesIO()
    np.savetxt(buffer, np.column_stack([X, np.arange(len(X)) % 2]), "%.9g", delimiter=",")
    name = f"{abs(hash(buffer.getvalue()))}.csv"
    dataset = load(tmp_path, buffer.getvalue(), "delimited", name)
    again = np.loadtxt(io.BytesIO(buffer.getvalue()), delimiter=",", ndmin=2)
    check(dataset, again[:, :-1], np.where(again[:, -1] == 1, 1, -1))
    np.testing.assert_array_equal(dataset.X, X)


LINES = [
    ("libsvm", b"1 1:2\n-1 nonsense\n", 2, "'nonsense' is not index:value"),
    ("libsvm", b"1 1:2\n\n# c\n-1 1:x\n", 4, "feature 1: 'x' is not a number"),
    ("libsvm", b"1 1:2\n-1 1:2 1:3\n", 2, "feature index 1 after 1; indices must increase"),
    ("libsvm", b"1 2:2 1:3\n-1 1:2\n", 1, "feature index 1 after 2; indices must increase"),
    ("libsvm", b"1 1:2\n-1 0:2\n", 2, "feature index 0 in '0:2'; indices start at 1"),
    ("libsvm", b"1 1:2\n-1 1:nan\n", 2, "feature 1: 'nan' is not finite"),
    ("libsvm", b"1 1:2\n-1 2:-inf\n", 2, "feature 2: '-inf' is not finite"),
    ("libsvm", b"1 1:2\n-1 1:1e39\n", 2, "feature 1: '1e39' is too large for float32"),
    ("libsvm", b"one 1:2\n-1 1:1\n", 1, "label 'one' is not a number"),
    ("libsvm", b"nan 1:2\n-1 1:1\n", 1, "label 'nan' is not finite"),
    ("delimited", b"1,2,0\n1,2\n", 2, "2 columns instead of 3"),
    ("delimited", b"1,2,0\n1,2,3,1\n", 2, "4 columns instead of 3"),
    ("delimited", b"1,2,0\r\n1,2,3,1\r\n1,2,3,1\r\n", 2, "4 columns instead of 3"),
    ("delimited", b"1,2,0\n\n1,x,1\n", 3, "column 1, the 2nd: 'x' is not a number"),
    ("delimited", b"1,2,0\n1,True,1\n", 2, "column 1, the 2nd: 'True' is not a number"),
    (
        "delimited",
        b"1,2,0\n1,,1\n",
        2,
        "column 1, the 2nd: a missing value, 1 in all; fill it in, or leave",
    ),
    (
        "delimited",
        b"1,2,0\n1,nan,1\n",
        2,
        "column 1, the 2nd: a missing value, 1 in all; fill it in, or leave",
    ),
    ("delimited", b"1,2,0\n-inf,1,1\n", 2, "column 0, the first: '-inf' is not finite"),
    ("delimited", b"1,2,0\n1e39,1,1\n", 2, "column 0, the first: '1e39' is too large for float32"),
    (
        "delimited",
        b"1 2 0\n1 2 label\n",
        2,
        "column 2, the 3rd: 'label' is not a number; labels that are text have to be named by",
    ),
]


@pytest.mark.parametrize("n_bytes", [7, 2**20])
@pytest.mark.parametrize(("loader", "content", "line", "text"), LINES)
def test_a_bad_line_is_found(tmp_path, monkeypatch, loader, content, line, text, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    with pytest.raises(DataError) as caught:
        load(tmp_path, content, loader)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'data.txt'}:{line}: {text}")
    assert "\n" not in message


def test_the_line_counts_the_header(tmp_path):
    with pytest.raises(DataError, match=r"data.txt:4: column 'a': 'x' is not a number"):
        load(tmp_path, b"\na,b\n1,0\nx,1\n", "delimited", header=True)


@pytest.mark.parametrize("n_lines", [1, 40_000])
def test_indices_that_do_not_increase_are_told_where_columns_are_counted(tmp_path, n_lines):
    """Columns are counted by the last index of each line, and the line is then read whole."""
    content = b"1 1:2 3:1\n" * n_lines + b"-1 7:1 2:1\n"
    told = f":{n_lines + 1}: feature index 2 after 7; indices must increase"
    with pytest.raises(DataError, match=told):
        load(tmp_path, content, "libsvm")


@pytest.mark.parametrize("comment", [b"", b" # 99:1 note"])
def test_counted_columns_give_the_bytes_of_given_ones(tmp_path, comment):
    rows = (f"{i % 2} 1:{i} {i % 19 + 2}:0.5".encode() + comment for i in range(20_000))
    content = b"\n".join(rows)
    counted = load(tmp_path, content, "libsvm", positive=[1])
    given = load(tmp_path, content, "libsvm", positive=[1], n_features=20)
    assert counted.X.shape == (20_000, 20)
    assert np.asarray(counted.X).tobytes() == np.asarray(given.X).tobytes()


@pytest.mark.parametrize("row", [b"1,?,2", b"1,2", b"1,2,3,4", b"{0 1, 2 3}"])
def test_rows_of_an_arff_file_that_are_no_numbers(tmp_path, row):
    with pytest.raises(DataError, match=r"data.txt:10: "):
        load(tmp_path, ARFF + b"1,2,3\n" + row + b"\n", "delimited", header=True)


def test_an_index_beyond_the_features(tmp_path):
    with pytest.raises(DataError, match=r":2: feature index 4 is beyond the 3 features"):
        load(tmp_path, b"1 1:2\n-1 4:2\n", "libsvm", n_features=3)


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        (b"", {}, "the file is empty"),
        (b"\n\n", {}, "the file holds no"),
        (b"", {"n_features": 2}, "the file is empty"),
        (b"1,2,1\n3,4,1\n", {}, "every row has the label 1: two classes are needed"),
        (b"1,2,1\n3,4,1\n", {"positive": [5]}, "the label 1; none has 5, which `positive` names"),
        (b"1\n2\n", {}, "the file holds no features"),
        (b"1,2,1\n3,4,0\n", {"label_column": 3}, "label_column 3: the file has 3 columns, 0 to 2"),
        (b"a,b,c\n", {"header": True}, "the file holds no"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, options, text):
    with pytest.raises(DataError, match=text) as caught:
        _ = load(tmp_path, content, "delimited", **options).y
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"1\n-1\n"])
def test_libsvm_files_without_features(tmp_path, content):
    why = "holds no features" if content else "is empty"
    with pytest.raises(DataError, match=f"the file {why}"):
        load(tmp_path, content, "libsvm")


def test_a_mistyped_index_is_not_taken_for_a_width(tmp_path):
    with pytest.raises(DataError, match=r"99,999,999,999 features; rows are kept dense"):
        load(tmp_path, b"1 1:2\n-1 99999999999:2\n", "libsvm")


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".gz", ".zip"])
@pytest.mark.parametrize("damage", ["truncated", "garbage"])
def test_damaged_containers(tmp_path, suffix, damage):
    whole = COMPRESS.get(suffix, bytes)(LIBSVM * 1000)
    content = whole[: len(whole) // 2] if damage == "truncated" else b"garbage" * 20
    name = "data" + suffix
    (tmp_path / name).write_bytes(content)
    file = DataFile(name, member="data" if suffix == ".zip" else None)
    with pytest.raises(DataError, match=f"{name}.*cannot be read"):
        lines.checksum(FoundFile(file, tmp_path / name))


def info(**settings):
    defaults = {"name": "made", "title": "", "loader": "delimited", "files": (), "n_rows": None}
    return DatasetInfo(**(defaults | {"n_features": 2} | settings))


def read(source, dataset):
    return list(read_blocks(source, dataset))


def test_a_zip_member_is_found_in_its_folder(tmp_path):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/train.csv", "junk")
        archive.writestr("folder/train.csv", "1,2,0\n3,4,1\n")
    (block,) = read(FoundFile(DataFile("made.zip", member="train.csv"), path), info())
    np.testing.assert_array_equal(block[0], [[1, 2], [3, 4]])
    with pytest.raises(DataError, match=r"the archive holds no file other\.csv"):
        read(FoundFile(DataFile("made.zip", member="other.csv"), path), info())


def test_the_number_of_rows_is_checked(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1,2,0\n3,4,1\n")
    with pytest.raises(DataError, match=r"2 rows, but 3 are expected"):
        read(FoundFile(DataFile("a.csv", n_rows=3), tmp_path / "a.csv"), info())


def test_the_checksum_is_of_the_uncompressed_content(tmp_path):
    import hashlib

    content = b"1,2,0\n3,4,1\n"
    right = hashlib.sha256(content).hexdigest()
    for suffix, compress in COMPRESS.items():
        path = tmp_path / f"a.csv{suffix}"
        path.write_bytes(compress(content))
        assert len(read(FoundFile(DataFile("a.csv", sha256=right), path), info())) == 1
        with pytest.raises(DataError, match=f"{right}, but {'0' * 64} is registered"):
            read(FoundFile(DataFile("a.csv", sha256="0" * 64), path), info())


def test_sparse_rows_are_spread_in_bounded_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("dsgkit.data.reading.BLOCK_VALUES", 6)
    (tmp_path / "a").write_bytes(LIBSVM)
    source = FoundFile(DataFile("a"), tmp_path / "a")
    blocks = read(source, info(loader="libsvm", n_features=3))
    assert [len(X) for X, _ in blocks] == [2, 2]
    np.testing.assert_array_equal(np.vstack([X for X, _ in blocks]), np.float32(LIBSVM_X))


CATEGORIES = b"b,1.5,x,7\na,2,y,8\n c ,3,x,7\n"
CATEGORIES_X = [[0, 1, 0, 1.5, 1, 0], [1, 0, 0, 2, 0, 1], [0, 0, 1, 3, 1, 0]]


@pytest.mark.parametrize("categorical", [[0, 2], [2, 0], [-2, -4]])
def test_a_category_makes_a_column_in_its_place(tmp_path, categorical):
    dataset = load(tmp_path, CATEGORIES, "delimited", categorical=categorical)
    check(dataset, CATEGORIES_X, [-1, 1, -1])
    made = "one-hot column 1 (a, b, c), column 3 (x, y)"
    assert sorted(dataset.describe()["features"]) == sorted(made)


@pytest.mark.parametrize("n_bytes", [3, 1000])
def test_categories_are_those_of_all_files(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    (tmp_path / "test").write_bytes(b"h,k\nA,0\nd,1\n")
    options = {"header": True, "categorical": [0], "test_path": str(tmp_path / "test")}
    dataset = load(tmp_path, b"h,k\nb,0\nA,1\n", "delimited", **options)
    check(dataset, [[0, 1, 0], [1, 0, 0]], [-1, 1])
    np.testing.assert_array_equal(dataset.X_test, [[1, 0, 0], [0, 0, 1]])


def test_a_label_may_be_text_beside_categories(tmp_path):
    content = b"yes u 1\nno v 2\n"
    dataset = load(
        tmp_path, content, "delimited", categorical=[1], label_column=0, positive=["yes"]
    )
    check(dataset, [[1, 0, 1], [0, 1, 2]], [1, -1])


@pytest.mark.parametrize("columns", [[1, -1], [-1, 1], [3, 1]])
def test_a_label_may_be_the_mean_of_columns(tmp_path, columns):
    content = b"a,b,c,d\n5,1.5,6,2.5\n7,10,8,-20\n"
    dataset = load(tmp_path, content, "delimited", header=True, label_columns=columns)
    np.testing.assert_array_equal(dataset.X, [[5, 6], [7, 8]])
    assert dataset.labels.tolist() == [2, -5]


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        (
            b"a,1,0\n,2,1\n",
            {"categorical": [0]},
            ":2: column 0, the first: a missing value, 1 in all",
        ),
        (b"a,1,0\nb,1\n", {"categorical": [0]}, ":2: 2 columns instead of 3"),
        (b"a,1,0\nb,x,1\n", {"categorical": [0]}, ":2: column 1, the 2nd: 'x' is not a number"),
        (b"a,1,0\n", {"categorical": [3]}, "categorical 3: the file has 3 columns, 0 to 2"),
        (b"a,1,0\n", {"categorical": [0, -3]}, "categorical names one of the 3 columns twice"),
        (
            b"a,1,0\n",
            {"categorical": [2]},
            "column 2, the 3rd holds the label, it cannot be `categorical` too",
        ),
        (b"a,1,0\n", {"label_columns": [2, -1]}, "label_column names one of the 3 columns twice"),
        (b"1,1,0\n", {"label_columns": [-4]}, "label_column -4: the file has 3 columns, 0 to 2"),
        (
            b"1,a,b\n",
            {"label_columns": [1, 2], "positive": ["a"]},
            "labels that are text have no mean; take one column",
        ),
    ],
)
def test_columns_that_cannot_be_used(tmp_path, content, options, text):
    with pytest.raises(DataError) as caught:
        load(tmp_path, content, "delimited", **options)
    assert text in str(caught.value) and "\n" not in str(caught.value)


VALUES = b"17,low,3,?,yes\n18,high,5more,2,no\n"


def recoded(tmp_path, content):
    """Read text with words that stand for numbers, and a column that is left out."""
    path = tmp_path / "data.txt"
    path.write_bytes(content)
    words = {1: {"low": 1, "high": 2.5}, 2: {"5more": 4}, -2: {"?": 7}}
    known = {"ignored": (0,), "values": words, "text_labels": True, "n_features": 3}
    ((X, labels),) = read(FoundFile(DataFile("data.txt"), path), info(**known))
    return X, labels


def test_texts_may_stand_for_numbers_and_columns_be_left_out(tmp_path):
    X, labels = recoded(tmp_path, VALUES)
    np.testing.assert_array_equal(X, [[1, 3, 7], [2.5, 4, 2]])
    assert labels.tolist() == ["yes", "no"]


def test_other_texts_are_no_numbers(tmp_path):
    with pytest.raises(DataError, match=":3: column 1, the 2nd: 'middle' is not a number"):
        recoded(tmp_path, VALUES + b"x,middle,3,?,no\n")


def test_rows_without_labels_all_have_the_same_class(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n3,4\n5,6\n")
    spec = DatasetSpec(path=str(path), loader="delimited", label_column=None)
    dataset = load_dataset(spec)
    np.testing.assert_array_equal(dataset.X, [[1, 2], [3, 4], [5, 6]])
    assert dataset.target.kind == "classes"
    assert len(set(dataset.y.tolist())) == 1
    with pytest.raises(ValidationError, match="rows without labels have no target"):
        DatasetSpec(path=str(path), loader="delimited", label_column=None, positive=[1])
