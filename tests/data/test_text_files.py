"""Text files of every kind become the arrays that another library reads from them."""

import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError
from sklearn.datasets import dump_svmlight_file

from dsgkit.data import lines
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.find import FoundFile
from dsgkit.data.reading import read_blocks
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from tests.data.conftest import COMPRESS, load, refusal

ARFF = b"% A comment\n@RELATION made\n\n@ATTRIBUTE a REAL\n@attribute 'b c' NUMERIC\n"
ARFF += b"@ATTRIBUTE target INTEGER\n\n@DATA\n"
LIBSVM = b"+1 1:0.5 3:-2\n-1 2:1e-3\n1\n-1 1:4 2:5 3:6\n"
LIBSVM_X = [[0.5, 0, -2], [0, 1e-3, 0], [0, 0, 0], [4, 5, 6]]
TABLE, TABLE_X = b"1,2,0\n3,4,1\n", [[1, 2], [3, 4]]
per_function = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def check(dataset, X, y):
    assert dataset.X.dtype == np.float32 and dataset.y.dtype == np.int8
    np.testing.assert_array_equal(dataset.X, np.array(X, np.float32))
    np.testing.assert_array_equal(dataset.y, y)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_every_container_and_line_end(tmp_path, suffix):
    for ending in (b"\n", b"\r\n"):
        content = COMPRESS[suffix](LIBSVM.replace(b"\n", ending))
        check(load(tmp_path, content, "libsvm", "data" + suffix), LIBSVM_X, [1, -1, 1, -1])
        content = COMPRESS[suffix](TABLE.replace(b"\n", ending))
        check(load(tmp_path, content, name="data.csv" + suffix), TABLE_X, [-1, 1])


@pytest.mark.parametrize("n_bytes", [1, 3, 16, 1000])
def test_chunks_may_end_anywhere(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    check(load(tmp_path, LIBSVM[:-1], "libsvm"), LIBSVM_X, [1, -1, 1, -1])
    check(load(tmp_path, b"a,b,l\n\n" + TABLE[:-1], header=True), TABLE_X, [-1, 1])


def test_libsvm_comments_widths_and_test_rows(tmp_path):
    content = b"# 9:9\n\n" + LIBSVM.replace(b" 3:-2", b" 3:-2 # note 7:1") + b"\n  \n"
    check(load(tmp_path, content, "libsvm"), LIBSVM_X, [1, -1, 1, -1])
    assert load(tmp_path, LIBSVM, "libsvm", n_features=6).X.shape == (4, 6)
    (tmp_path / "test").write_bytes(b"1 5:2\n-1 1:1\n")
    dataset = load(tmp_path, LIBSVM, "libsvm", test_path=str(tmp_path / "test"))
    assert dataset.X.shape == (4, 5)  # the test file has the largest index
    np.testing.assert_array_equal(dataset.X_test, [[0, 0, 0, 0, 2], [1, 0, 0, 0, 0]])
    assert dataset.y_test.tolist() == [1, -1]


LAYOUTS = [
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
]


@pytest.mark.parametrize(("content", "options"), LAYOUTS)
def test_delimited_layouts(tmp_path, parser, content, options):
    check(load(tmp_path, content, **options), [[1.5, 2], [3, -4]], [-1, 1])


values = st.floats(width=32, allow_nan=False, allow_infinity=False)
tables = arrays(np.float32, st.tuples(st.integers(2, 8), st.integers(1, 5)), elements=values)


@per_function
@given(X=tables, data=st.data())
def test_both_formats_agree_with_other_libraries(X, data, tmp_path):
    more = st.lists(st.sampled_from([-1, 1]), min_size=len(X) - 2, max_size=len(X) - 2)
    y, buffer = [1, -1, *data.draw(more)], io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False, comment="made by a test")
    check(load(tmp_path, buffer.getvalue(), "libsvm", n_features=X.shape[1]), X, y)
    buffer = io.BytesIO()
    np.savetxt(buffer, np.column_stack([X, y]), "%.9g", delimiter=",")
    least = data.draw(st.sampled_from([0, 2**40]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "MIN_COMPILED_BYTES", least)
        dataset = load(tmp_path, buffer.getvalue(), name=f"{least}.csv")
    check(dataset, np.loadtxt(io.BytesIO(buffer.getvalue()), delimiter=",", ndmin=2)[:, :-1], y)
    assert np.array(dataset.X).tobytes() == X.tobytes()


MISSING = "a missing value, 1 in all; fill it in, or leave"
BAD_LINES = [
    ("libsvm", b"1 1:2\n-1 nonsense\n", ":2: 'nonsense' is not index:value"),
    ("libsvm", b"1 1:2\n\n# c\n-1 1:x\n", ":4: feature 1: 'x' is not a number"),
    ("libsvm", b"1 1:2\n-1 1:2 1:3\n", ":2: feature index 1 after 1; indices must increase"),
    ("libsvm", b"1 2:2 1:3\n-1 1:2\n", ":1: feature index 1 after 2; indices must increase"),
    ("libsvm", b"1 1:2\n-1 0:2\n", ":2: feature index 0 in '0:2'; indices start at 1"),
    ("libsvm", b"1 1:2\n-1 1:nan\n", ":2: feature 1: 'nan' is not finite"),
    ("libsvm", b"1 1:2\n-1 2:-inf\n", ":2: feature 2: '-inf' is not finite"),
    ("libsvm", b"1 1:2\n-1 1:1e39\n", ":2: feature 1: '1e39' is too large for float32"),
    ("libsvm", b"one 1:2\n-1 1:1\n", ":1: label 'one' is not a number"),
    ("libsvm", b"nan 1:2\n-1 1:1\n", ":1: label 'nan' is not finite"),
    ("libsvm", b"1,2 1:2\n-1 1:1\n", ":1: label '1,2' is not a number"),
    ("libsvm", b"1 1:2\n-1 qid:3 1:2\n", ":2: 'qid:3' is not index:value"),
    ("libsvm", b"1 1:2\n-1 +1:0.5\n", ":2: '+1:0.5' is not index:value"),
    ("libsvm", b"1 1:2\n-1 -1:0.5\n", ":2: '-1:0.5' is not index:value"),
    ("libsvm", b"1 1:2\n-1 1:2:3\n", ":2: feature 1: '2:3' is not a number"),
    ("libsvm", b"1 1:2\n-1 " + b"9" * 5000 + b":1\n", ":2: a feature index of 5,000 digits"),
    ("libsvm", b"1 1:2\n-1 1048577:1\n", ":2: an index implies 1,048,577 features"),
    ("libsvm", b"1 1:2\n" * 999 + b"-1 99999:1\n", ":1000: an index implies 99,999 feat"),
    ("libsvm", b"1 1:2\n-1 99999999999:2\n", ":2: an index implies 99,999,999,999 features; rows"),
    ("libsvm", b"", ": the file is empty"),
    ("libsvm", b"# nothing\n", ": the file holds no features"),
    ("libsvm", b"1\n-1\n", ": the file holds no features"),
    ("delimited", b"1,2,0\n1,2\n", ":2: 2 columns instead of 3"),
    ("delimited", b"1,2,0\n1,2,3,1\n", ":2: 4 columns instead of 3"),
    ("delimited", b"1,2,0\n1,2,3,\n", ":2: 4 columns instead of 3"),
    ("delimited", b"1,2,0\r\n1,2,3,1\r\n1,2,3,1\r\n", ":2: 4 columns instead of 3"),
    ("delimited", b"1,2,0\n\n1,x,1\n", ":3: column 1 (the 2nd): 'x' is not a number"),
    ("delimited", b"1,True,0\n1,True,1\n", ":1: column 1 (the 2nd): 'True' is not a number"),
    ("delimited", b"1,2,0\n1,,1\n", f":2: column 1 (the 2nd): {MISSING}"),
    ("delimited", b"1,2,0\n1,nan,1\n", f":2: column 1 (the 2nd): {MISSING}"),
    ("delimited", b"1,2,0\n-inf,1,1\n", ":2: column 0 (the first): '-inf' is not finite"),
    ("delimited", b"1,2,0\n1e39,1,1\n", ":2: column 0 (the first): '1e39' is too large for float"),
    ("delimited", b"1,2,1e999\n1,1,1\n", ":1: column 2 (the 3rd): '1e999' is not finite"),
    ("delimited", b"1 2 0\n1 2 label\n", ":2: column 2 (the 3rd): 'label' is not a number; labels "
     "that are text have to be named by `dataset.target`"),
    ("delimited", b'1,"2,0\n3,4",1\n', ":1: a quote that is not closed"),
    ("delimited", b'1,"2"3,0\n3,4,1\n', ":1: a quote that is not closed, or with text"),
    ("delimited", b'1,2,0\n"1,"2,0"\n', ":2: a quote that is not closed, or with text"),
    ("delimited", b"1,2,0\n3,4,5,1" + b",1" * 10**4 + b"\n", ":2: 10004 columns instead of"),
    ("delimited", b"", ": the file is empty"),
    ("delimited", b"\n\n", ": the file holds no"),
    ("delimited", b"1\n2\n", ": the file holds no features"),
]  # fmt: skip


@pytest.mark.parametrize("n_bytes", [7, 2**20])
@pytest.mark.parametrize(("loader", "content", "said"), BAD_LINES)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path, monkeypatch, parser, loader, content, said, n_bytes
):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes if len(content) < 10**4 else 2**20)
    assert refusal(tmp_path, content, loader).startswith(said)


BAD_OPTIONS = [
    (b"", {"n_features": 2}, ": the file is empty"),
    (b"a,b,c\n", {"header": True}, ": the file holds no"),
    (b"\na,b\n1,0\nx,1\n", {"header": True}, ":4: column 'a': 'x' is not a number"),
    (b"1,2,1\n3,4,1\n", {}, "every row has the label 1: two classes are needed"),
    (b"1,2,1\n3,4,1\n", {"positive": [5]}, "the label 1; none has 5, which `positive` names"),
    (b"1,2,1\n3,4,0\n", {"label_column": 3}, ": label_column 3: the file has 3 columns, 0 to 2"),
    (b"1,1,0\n", {"label_columns": [-4]}, ": label_column -4: the file has 3 columns, 0 to 2"),
    (b"a,1,0\n", {"label_columns": [2, -1]}, ": label_column names one of the 3 columns twice"),
    (b"1,a,b\n", {"label_columns": [1, 2], "positive": ["a"]}, ": labels that are text have no me"),
    (b"1,1e301,2\n", {"label_columns": [1, 2]}, ":1: column 1 (the 2nd): '1e301' is too large fo"),
    (b"a,1,0\n,2,1\n", {"categorical": [0]}, ":2: column 0 (the first): a missing value, 1 in all"),
    (b"a,1,0\nb,1\n", {"categorical": [0]}, ":2: 2 columns instead of 3"),
    (b"a,1,0\nb,x,1\n", {"categorical": [0]}, ":2: column 1 (the 2nd): 'x' is not a number"),
    (b"a,1,0\n", {"categorical": [3]}, ": categorical 3: the file has 3 columns, 0 to 2"),
    (b"a,1,0\n", {"categorical": [0, -3]}, ": categorical names one of the 3 columns twice"),
    (b"a,1,0\n", {"categorical": [2]}, ": column 2 (the 3rd) is the label and cannot be `categ"),
    (b"1,2,a\n1,2\n", {"positive": ["a"]}, ":2: 2 columns instead of 3"),
    (b"a,1,0\n", {}, "not a number; `label_column` is 2: name a column of text there, in `c"),
    (b"a,1,0\n", {"label_column": None}, "not a number; `label_column` is null: name a column"),
    (b"a,1,0\n", {"label_columns": [1, 2]}, "not a number; `label_columns` is [1, 2]: name"),
    (b"1,\xe9,0\n", {"ignored": [1]}, ":1: not UTF-8"),
    (b"1,\xe9,0\n", {"categorical": [1]}, ":1: not UTF-8"),
    (b"1,a,?\n1,a\n", {"label_column": 0, "ignored": [1, 2]}, ": the file holds no features"),
    (b"1,3,?\n2,3\n", {"label_column": 0, "ignored": [2]}, ":2: 2 columns instead of 3"),
]


@pytest.mark.parametrize(("content", "options", "said"), BAD_OPTIONS)
def test_what_cannot_be_used_is_said(tmp_path, parser, content, options, said):
    assert said in refusal(tmp_path, content, **options)


@pytest.mark.parametrize("n_lines", [1, 40_000])
def test_libsvm_columns_are_counted_by_the_ends_of_lines(tmp_path, n_lines):
    said = refusal(tmp_path, b"1 1:2 3:1\n" * n_lines + b"-1 7:1 2:1\n", "libsvm")
    assert said == f":{n_lines + 1}: feature index 2 after 7; indices must increase"
    for comment in ("", " # 99:1 note"):
        rows = [f"{i % 2} 1:{i} {i % 19 + 2}:0.5{comment}" for i in range(n_lines // 2 + 19)]
        counted = load(tmp_path, "\n".join(rows), "libsvm", positive=[1])
        given = load(tmp_path, "\n".join(rows), "libsvm", positive=[1], n_features=20)
        assert counted.content_hash == given.content_hash and counted.X.shape[1] == 20
    said = refusal(tmp_path, b"1 1:2\n-1 4:2\n", "libsvm", n_features=3)
    assert said == ":2: feature index 4 is beyond the 3 features"


@pytest.mark.parametrize("row", [b"1,?,2", b"1,2", b"1,2,3,4", b"{0 1, 2 3}"])
def test_rows_of_an_arff_file_that_are_no_numbers(tmp_path, row):
    said = refusal(tmp_path, ARFF + b"1,2,3\n" + row + b"\n", header=True)
    assert said.startswith(":10: ")


@pytest.mark.parametrize("suffix", [".xz", ".bz2", ".gz", ".zip"])
def test_damaged_containers(tmp_path, suffix):
    whole, name = COMPRESS.get(suffix, bytes)(LIBSVM * 1000), "data" + suffix
    file = DataFile(name, member="data" if suffix == ".zip" else None)
    for content in (whole[: len(whole) // 2], b"garbage" * 20):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}.*cannot be read"):
            lines.checksum(FoundFile(file, tmp_path / name))


INFO = DatasetInfo("made", "", "delimited", n_features=2)


def read(path, info=INFO, **file):
    return list(read_blocks(FoundFile(DataFile(path.name, **file), path), info))


def test_a_zip_member_is_found_in_its_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("__MACOSX/train.csv", "junk")
        archive.writestr("folder/train.csv", TABLE)
    (block,) = read(tmp_path / "made.zip", member="train.csv")
    np.testing.assert_array_equal(block[0], TABLE_X)
    with pytest.raises(DataError, match=r"the archive holds no file other\.csv"):
        read(tmp_path / "made.zip", member="other.csv")


def test_rows_and_the_checksum_of_the_uncompressed_content_are_checked(tmp_path):
    right = hashlib.sha256(TABLE).hexdigest()
    for suffix, compress in COMPRESS.items():
        path = tmp_path / f"a.csv{suffix}"
        path.write_bytes(compress(TABLE))
        assert len(read(path, sha256=right)) == 1
        with pytest.raises(DataError, match=f"{right}, but {'0' * 64} is registered"):
            read(path, sha256="0" * 64)
        with pytest.raises(DataError, match=r"2 rows, but 3 are expected"):
            read(path, n_rows=3)


def test_sparse_rows_are_spread_in_bounded_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("dsgkit.data.reading.BLOCK_VALUES", 6)
    (tmp_path / "a").write_bytes(LIBSVM)
    blocks = read(tmp_path / "a", replace(INFO, loader="libsvm", n_features=3))
    assert [len(X) for X, _ in blocks] == [2, 2]
    np.testing.assert_array_equal(np.vstack([X for X, _ in blocks]), np.float32(LIBSVM_X))


CATEGORIES = b"b,1.5,x,7\na,2,y,8\n c ,3,x,7\n"
CATEGORIES_X = [[0, 1, 0, 1.5, 1, 0], [1, 0, 0, 2, 0, 1], [0, 0, 1, 3, 1, 0]]


@pytest.mark.parametrize("categorical", [[0, 2], [2, 0], [-2, -4]])
def test_a_category_makes_a_column_in_its_place(tmp_path, parser, categorical):
    dataset = load(tmp_path, CATEGORIES, categorical=categorical)
    check(dataset, CATEGORIES_X, [-1, 1, -1])
    made = "one-hot column 1 (a, b, c), column 3 (x, y)"
    assert sorted(dataset.describe()["features"]) == sorted(made)


@pytest.mark.parametrize("n_bytes", [3, 1000])
def test_categories_are_those_of_all_files(tmp_path, parser, monkeypatch, n_bytes):
    monkeypatch.setattr(lines, "CHUNK_BYTES", n_bytes)
    (tmp_path / "test").write_bytes(b"h,k\nA,0\nd,1\n")
    options = {"header": True, "categorical": [0], "test_path": str(tmp_path / "test")}
    dataset = load(tmp_path, b"h,k\nb,0\nA,1\n", **options)
    check(dataset, [[0, 1, 0], [1, 0, 0]], [-1, 1])
    np.testing.assert_array_equal(dataset.X_test, [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("columns", [[1, -1], [-1, 1], [3, 1]])
def test_labels_may_be_text_beside_categories_or_the_mean_of_columns(tmp_path, parser, columns):
    options = {"categorical": [1], "label_column": 0, "positive": ["yes"]}
    check(load(tmp_path, b"yes u 1\nno v 2\n", **options), [[1, 0, 1], [0, 1, 2]], [1, -1])
    content = b"a,b,c,d\n5,1.5,6,2.5\n7,10,8,-20\n"
    dataset = load(tmp_path, content, header=True, label_columns=columns)
    np.testing.assert_array_equal(dataset.X, [[5, 6], [7, 8]])
    assert dataset.labels.tolist() == [2, -5]


def test_texts_may_stand_for_numbers_and_columns_be_left_out(tmp_path, parser):
    words = {1: {"low": 1, "high": 2.5}, 2: {"5more": 4}, -2: {"?": 7}}
    info = replace(INFO, ignored=(0,), values=words, text_labels=True, n_features=3)
    content = b"17,low,3,?,yes\n18,high,5more,2,no\n"
    (tmp_path / "data").write_bytes(content)
    X, labels = (
        np.concatenate(parts) for parts in zip(*read(tmp_path / "data", info), strict=True)
    )
    np.testing.assert_array_equal(X, [[1, 3, 7], [2.5, 4, 2]])
    assert labels.tolist() == ["yes", "no"]
    (tmp_path / "data").write_bytes(content + b"x,middle,3,?,no\n")
    with pytest.raises(DataError, match=r":3: column 1 \(the 2nd\): 'middle' is not a number"):
        read(tmp_path / "data", info)


def test_rows_without_labels_all_have_the_same_class(tmp_path):
    dataset = load(tmp_path, "1,2\n3,4\n5,6\n", label_column=None)
    np.testing.assert_array_equal(dataset.X, [[1, 2], [3, 4], [5, 6]])
    assert dataset.target.kind == "classes"
    assert len(set(dataset.y.tolist())) == 1
    with pytest.raises(ValidationError, match="rows without labels have no target"):
        DatasetSpec(path="rows", loader="delimited", label_column=None, positive=[1])
