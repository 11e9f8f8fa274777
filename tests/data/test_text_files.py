"""Text files of every kind become the arrays that they say, or one line with the place."""

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError
from sklearn.datasets import dump_svmlight_file

from dsgkit.data import loaders, tables
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from tests.data.conftest import COMPRESS, load, refusal

ARFF = b"% A comment\n@RELATION made\n\n@ATTRIBUTE a REAL\n@attribute 'b c' NUMERIC\n"
ARFF += b"@ATTRIBUTE target INTEGER\n\n@DATA\n"
LIBSVM = b"+1 1:0.5 3:-2\n-1 2:1e-3\n1\n-1 1:4 2:5 3:6\n"
LIBSVM_X = [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0], [4, 5, 6]]
TABLE, TABLE_X = b"1,2,0\n3,4,1\n", [[1, 2], [3, 4]]
HEADED = "id,colour,size,kind\n7,red,1.5,yes\n8,blue,2,no\n9,red,4,yes\n"
NAMED = {"header": True, "label_column": "kind", "categorical": ["colour"]}
NAMED |= {"ignored": ["id"], "positive": ["yes"]}
per_function = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(params=[7, 2**24])
def chunks(request, monkeypatch):
    """Read some bytes at a time, or much more than the file has."""
    monkeypatch.setattr(loaders, "CHUNK_BYTES", request.param)


def check(dataset, X, y):
    assert dataset.X.dtype == np.float32 and dataset.y.dtype == np.int8
    np.testing.assert_array_equal(dataset.X, np.array(X, np.float32))
    np.testing.assert_array_equal(dataset.y, y)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_every_container_and_line_end(tmp_path, suffix):
    for ending in (b"\n", b"\r\n"):
        content = COMPRESS[suffix](LIBSVM.replace(b"\n", ending))
        check(load(tmp_path, content, "libsvm", "data" + suffix), LIBSVM_X, [1, -1, 1, -1])
        content = COMPRESS[suffix](TABLE.replace(b"\n", ending)[:-1])
        check(load(tmp_path, content, name="data.csv" + suffix), TABLE_X, [-1, 1])
    if suffix:
        for wrong in (content[: len(content) // 2], b"garbage" * 20):
            assert "cannot be read" in refusal(tmp_path, wrong, name="data" + suffix)


def test_libsvm_comments_widths_and_test_rows(tmp_path, chunks):
    content = b"\xef\xbb\xbf# 9:9\n\n" + LIBSVM.replace(b" 3:-2", b" 3:-2 # a_b 7:1") + b"\n  \n"
    check(load(tmp_path, content, "libsvm"), LIBSVM_X, [1, -1, 1, -1])
    assert load(tmp_path, LIBSVM, "libsvm", n_features=6).X.shape == (4, 6)
    assert not np.signbit(load(tmp_path, b"1 1:-0\n-1 1:1\n", "libsvm").X).any()
    (tmp_path / "test").write_bytes(b"1 5:2\n-1 1:1\n")
    dataset = load(tmp_path, LIBSVM, "libsvm", test_path=str(tmp_path / "test"))
    assert dataset.X.shape == (4, 5)  # the test file has the largest index
    np.testing.assert_array_equal(dataset.X_test, [[0, 0, 0, 0, 2], [1, 0, 0, 0, 0]])
    assert dataset.y_test.tolist() == [1, -1]


LAYOUTS = [
    (b"1.5, 2, 7\r\n3, -4, 8", {"delimiter": ","}),
    (b"  1.5\t  2 7\n 3 -4 8\n\n", {}),
    (b"1,5;2;7\n3;-4;8\n", {"delimiter": ";", "decimal": ","}),
    (b"7,1.5,2\n8,3,-4\n", {"label_column": 0}),
    (b"1.5,7,2\n3,8,-4\n", {"label_column": -2}),
    (b"\xef\xbb\xbfx,y,l\n\n1.5,2,7\n \n3,-4,8\n", {"header": True}),
    (ARFF + b"1.5,2,7\n3,-4,8\n", {"header": True, "label_column": "target"}),
    (b"1.5,2,no\n3,-4, yes\n", {"positive": ["yes"]}),
    (b'1.5,"2","NA"\n3,-4 ,"a ""b"", c" \n', {"positive": ['a "b", c']}),
    (b"1.5,2,7,x\n3,-4,9,y\n", {"label_columns": [2, -2], "ignored": [3], "positive": [9]}),
]


@pytest.mark.parametrize(("content", "options"), LAYOUTS)
def test_delimited_layouts(tmp_path, chunks, content, options):
    check(load(tmp_path, content, **options), [[1.5, 2], [3, -4]], [-1, 1])


values = st.floats(width=32, allow_nan=False, allow_infinity=False)
matrices = arrays(np.float32, st.tuples(st.integers(2, 8), st.integers(1, 5)), elements=values)


@per_function
@given(X=matrices, data=st.data())
def test_both_formats_agree_with_other_libraries(X, data, tmp_path):
    more = st.lists(st.sampled_from([-1, 1]), min_size=len(X) - 2, max_size=len(X) - 2)
    y, buffer = [1, -1, *data.draw(more)], io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False, comment="made by a test")
    check(load(tmp_path, buffer.getvalue(), "libsvm", n_features=X.shape[1]), X, y)
    buffer = io.BytesIO()
    np.savetxt(buffer, np.column_stack([X, y]), "%.9g", delimiter=",")
    dataset = load(tmp_path, buffer.getvalue(), name="data.csv")
    check(dataset, np.loadtxt(io.BytesIO(buffer.getvalue()), delimiter=",", ndmin=2)[:, :-1], y)
    assert np.array(dataset.X).tobytes() == X.tobytes()


def test_numbers_are_those_of_python_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**63, 500, np.uint64, endpoint=True).view(np.float64)
    texts = [*map(repr, drawn[np.isfinite(drawn)].tolist()), "1.7e-320", "9007199254740993e1"]
    texts += ["3.4028235677973366e38"[:k] + "e8" for k in range(1, 19)]
    for loader, line in (("delimited", "1,{}\n"), ("libsvm", "{} 1:1\n")):
        content = "".join(map(line.format, texts))
        labels = load(tmp_path, content, loader, target={"numeric": True}).labels
        assert labels.tobytes() == np.array([float(text) for text in texts]).tobytes()


HEAD = {"header": True}
BAD = [
    ("libsvm", {}, b"1 1:2\n\n# c\n-1 1:x\n", ":4: feature 1: 'x' is not a number"),
    ("libsvm", {}, b"1 1:2\n-1 1:2 1:3\n", ":2: feature index 1 after 1; they increase from 1"),
    ("libsvm", {}, b"1 1:2\n-1 qid:3 1:2\n", ":2: 'qid:3' is not index:value"),
    ("libsvm", {}, b"1 1:2\n-1 1:4_0\n", ":2: feature 1: '4_0' is not a number"),
    ("libsvm", {}, b"1 1:2\n-1 1048577:1\n", ":2: an index implies 1,048,577 features"),
    ("libsvm", {}, b"1 1:2\n" * 999 + b"-1 99999:1\n", ":1000: an index implies 99,999 feat"),
    ("libsvm", {}, b"# nothing\n", ": the file holds no features"),
    ("libsvm", {}, b"1 1:2\n-1 1:\0\n", ":2: a NUL byte"),
    ("delimited", {}, b"1,nan,0\n1,2,1\n", ":1: column 1 (from 0): a missing value; set `fill: m"),
    ("delimited", {}, b"1,2,0\n-inf,1,1\n", ":2: column 0 (from 0): '-inf' is not finite"),
    ("delimited", {}, b"1,4_0,0\n1,1,1\n", ":1: column 1 (from 0): '4_0' is not a number"),
    ("delimited", {}, b"1 2 0\n1 2 label\n", ":2: column 2 (from 0): 'label' is not a number; "
     "text is for `categorical` or `ignored`, or a label (`label_column` is 2) of `target`"),
    ("delimited", {}, b'1,"2,0\n3,4",1\n', ":1: a quote that is not closed"),
    ("delimited", {}, b"1,2,0\r3,4,1\r", ":1: a carriage return"),
    ("delimited", {}, "1,2,0\n3,4,1\n".encode("utf-16"), ":1: a NUL byte"),
    ("delimited", {}, b"PAR1\x15\x04", ":1: a Parquet file; write it as text"),
    ("delimited", HEAD, b"\na,b\n1,0\nx,1\n", ":4: column 'a': 'x' is not a number"),
    ("delimited", HEAD, ARFF + b"1,2,3\n1,?,2\n", ":10: column 'b c': a missing value"),
    ("delimited", HEAD, b"1.5,2,0\n3,4,1\n", ":1: is a row like those below it: leave `header: tr"),
    ("delimited", {}, b"u,v,kind\n1,2,1\n", ":1: looks like names (u, v, kind): add `hea"),
    ("delimited", {}, b"1,2,1\n3,4,1\n", "every row is of the positive class; the labels are 1"),
    ("delimited", {"label_column": 3}, TABLE, ": label_column 3: not one of the columns, 0 to 2"),
    ("delimited", {"label_columns": [1, 2], "positive": ["a"]}, b"1,a,b\n", ": labels that are te"),
    ("delimited", {"categorical": [0]}, b"a,1,0\n,2,1\n", ":2: column 0 (from 0): a missing value"),
    ("delimited", {"categorical": [0]}, b"a,1,0\nb,1\n", ":2: 2 columns instead of 3"),
    ("delimited", {"positive": ["a"]}, b"1,2,a\n1,2\n", ":2: 2 columns instead of 3"),
    ("delimited", {"ignored": [1]}, b"1,1,0\n1,\xe9,0\n", ":2: not UTF-8"),
    ("delimited", {"positive": ["x"]}, b"1,2,0\n1,2," + b"x" * 300, ":2: column 2 (from 0): a tex"),
    ("delimited", {"delimiter": ";"}, b"1,5;2;0\n3;4;1\n", ":1: column 0 (from 0): '1,5' is not a n"
     'umber; for decimal commas set `decimal: ","`'),
    ("delimited", {}, b"1,5;2,3;0\n3;4,5;1\n", ':1: columns: 2, but 3 with `delimiter: ";"`'),
    ("delimited", {"delimiter": ";"}, b"1\t2\t0\n", ':1: columns: 1, but 3 with `delimiter: "\\t"'),
    ("delimited", {"delimiter": ","}, b"1  2 0\n3 4  1\n", ":1: columns: 1, but 3 without `delim"),
    ("delimited", HEAD | {"label_column": "a"}, b"a,a,b\n1,2,0\n", ": label_column 'a': not one o"),
    ("delimited", NAMED | {"label_column": "knd"}, HEADED, ": label_column 'knd': not one of th"),
]  # fmt: skip


@pytest.mark.parametrize(("loader", "options", "content", "said"), BAD)
def test_what_is_wrong_is_said_with_its_line(tmp_path, chunks, loader, options, content, said):
    assert said in refusal(tmp_path, content, loader, **options)


def test_all_columns_that_cannot_be_read_are_named(tmp_path):
    said = refusal(tmp_path, b"1,2,a,0\n1,,3,0\n,4,b,1\n")
    assert ":1: column 2 (from 0): 'a' is not a number" in said
    assert said.endswith("; columns that cannot be read: 0, 1, 2")


@pytest.mark.parametrize(("sign", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\n")])
def test_columns_by_name(tmp_path, sign, end):
    text = "\ufeff" + HEADED.replace("id,", '"id", ').replace(",", sign).replace("\n", end)
    dataset = load(tmp_path, text, delimiter=sign, **NAMED)
    check(dataset, [[0, 1, 1.5], [1, 0, 2], [0, 1, 4]], [1, -1, 1])
    (tmp_path / "test.csv").write_text("kind,id,colour,size\nyes,1,red,2\n")
    options = NAMED | {"test_path": str(tmp_path / "test.csv")}
    said = refusal(tmp_path, HEADED, **options)
    assert said.endswith("test.csv: other names of columns than in data")


@pytest.mark.parametrize("categorical", [[0, 2], [2, 0], [-2, -4]])
def test_a_category_makes_a_column_in_its_place(tmp_path, chunks, categorical):
    content = b"b,1.5,x,7\na,2,y,8\n c ,3,x,7\n"
    dataset = load(tmp_path, content, categorical=categorical)
    X = [[0, 1, 0, 1.5, 1, 0], [1, 0, 0, 2, 0, 1], [0, 0, 1, 3, 1, 0]]
    check(dataset, X, [-1, 1, -1])
    assert dataset.describe()["features"] == "one-hot column 1 (a, b, c), column 3 (x, y)"


def test_categories_are_those_of_all_files(tmp_path, chunks):
    (tmp_path / "test").write_bytes(b"h,k\nA,0\nd,1\n")
    options = {"header": True, "categorical": [0], "test_path": str(tmp_path / "test")}
    dataset = load(tmp_path, b"h,k\nb,0\nA,1\n", **options)
    check(dataset, [[0, 1, 0], [1, 0, 0]], [-1, 1])
    np.testing.assert_array_equal(dataset.X_test, [[1, 0, 0], [0, 0, 1]])


def test_labels_may_be_the_mean_of_columns_or_none(tmp_path):
    content = b"a,b,c,d\n5,1.5,6,2.5\n7,10,8,-20\n"
    dataset = load(tmp_path, content, header=True, label_columns=["b", -1])
    np.testing.assert_array_equal(dataset.X, [[5, 6], [7, 8]])
    assert dataset.labels.tolist() == [2, -5]
    dataset = load(tmp_path, "1,2\n3,4\n", label_column=None)
    assert dataset.X.tolist() == [[1, 2], [3, 4]] and dataset.y.tolist() == [1, 1]


def test_texts_may_stand_for_numbers(tmp_path):
    words = {1: {"low": 1, "high": 2.5}, 2: {"5more": 4}, -2: {"?": 7}}
    path, file = tmp_path / "data", DataFile("data")
    info = DatasetInfo("made", "", "delimited", (file,), ignored=(0,), values=words)
    path.write_bytes(b"17,low,3,?,1\n18,high,5more,2,0\n")
    ((X, labels),) = tables.open_tables(info, [(path, file)])[0][file].blocks()
    np.testing.assert_array_equal(X, [[1, 3, 7], [2.5, 4, 2]])
    assert labels.tolist() == [1, 0]
    path.write_bytes(b"17,low,3,?,1\nx,middle,3,?,0\n")
    with pytest.raises(DataError, match=r":2: column 1 \(from 0\): 'middle' is not a number"):
        [*tables.open_tables(info, [(path, file)])[0][file].blocks()]


def test_sparse_rows_are_spread_in_bounded_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(loaders, "BLOCK_VALUES", 6)
    (tmp_path / "a").write_bytes(LIBSVM)
    blocks = [*loaders.read_libsvm(tmp_path / "a", 3)]
    assert [len(X) for X, _ in blocks] == [2, 2]
    np.testing.assert_array_equal(np.vstack([X for X, _ in blocks]), LIBSVM_X)


PIECES = ["1", "2.5", ",", "\n", '"', "x", "", " ", "1:2", "-", "nan", "\r", "#", "\xe9", "1e39"]


@per_function
@given(st.integers(0, 2**32 - 1))
def test_whatever_a_file_holds_its_fields_are_read_or_refused(tmp_path, seed):
    """Every row that is read has the numbers that Python reads from its line."""
    rng = np.random.default_rng(seed)
    lines = [["1", "2.5", "0"], ["4", "7", "1"]] * 3
    row, column = rng.integers(6), rng.integers(2)
    lines[row][column] = "".join(rng.choice(PIECES, rng.integers(1, 4)))
    content = "".join(",".join(line) + "\n" for line in lines)
    try:
        dataset = load(tmp_path, content, target={"numeric": True})
    except DataError as error:
        assert str(error).startswith(f"{tmp_path}/data:") and str(error).isprintable()
        return
    filled = [line for line in content.split("\n") if line.strip(" ,")]
    fields = [[float(x.strip().strip('"')) for x in line.split(",")] for line in filled]
    assert dataset.labels.tolist() == [row[-1] for row in fields]
    np.testing.assert_array_equal(dataset.X, np.float32([row[:-1] for row in fields]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label_column": 1.5}, "is a whole number or a name, got"),
        ({"delimiter": "ab"}, "must be one character"),
        ({"decimal": ","}, "needs a `delimiter` other than commas, such as ';' or a tab"),
        ({"label_column": None, "positive": [1]}, "rows without labels have no target"),
        ({"label": {}, "label_column": 1}, "replaces label_column"),
    ],
)
def test_settings_that_contradict_each_other(options, said):
    with pytest.raises(ValidationError, match=said):
        DatasetSpec(**({"path": "rows.csv", "loader": "delimited"} | options))
