"""Headers, columns by name, and delimiters: what a file's first lines say is checked."""

import numpy as np
import pytest
from pydantic import ValidationError

from dsgkit.data.spec import DatasetSpec
from tests.data.conftest import load, refusal

TABLE = "id,colour,size,kind\n7,red,1.5,yes\n8,blue,2,no\n9,red,4,yes\n"
TABLE_X = [[0, 1, 1.5], [1, 0, 2], [0, 1, 4]]


pytestmark = pytest.mark.usefixtures("parser")


NAMED = {
    "header": True,
    "label_column": "kind",
    "categorical": ["colour"],
    "ignored": ["id"],
    "positive": ["yes"],
}


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "\ufeff" + TABLE,
        TABLE.replace("\n", "\r\n"),
        '"id", "colour" ,size,"kind"\n' + TABLE.partition("\n")[2],
        TABLE.replace(",", ";"),
        TABLE.replace(",", "\t"),
    ],
    ids=["plain", "byte order mark", "carriage returns", "quoted", "semicolon", "tab"],
)
def test_columns_by_name(tmp_path, text):
    delimiter = next(sign for sign in ";\t," if sign in text)
    dataset = load(tmp_path, text, delimiter=delimiter, **NAMED)
    np.testing.assert_array_equal(dataset.X, np.float32(TABLE_X))
    assert dataset.y.tolist() == [1, -1, 1]


NAMES = [
    ('"fixed acidity","a ""b"", c",l\n1,2,0\n3,4,1\n', {"label_column": 'a "b", c'}, [2, 4],
     [[1, 0], [3, 1]]),
    ("a,b,c\n1,2,4\n3,4,8\n", {"label_columns": ["a", -1]}, [2.5, 5.5], [[2], [4]]),
    ("@relation r\n@ATTRIBUTE a REAL\n@attribute 'b c' NUMERIC\n@data\n1,2\n3,4\n",
     {"label_column": "b c"}, [2, 4], [[1], [3]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "labels", "X"), NAMES, ids=["quoted", "mean", "ARFF"])
def test_labels_by_name(tmp_path, text, options, labels, X):
    dataset = load(tmp_path, text, header=True, **options)
    assert (dataset.labels.tolist(), dataset.X.tolist()) == (labels, X)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"label_column": "knd"}, ": label_column 'knd': no such column (did you mean 'kind'?)"),
        ({"categorical": ["hue"]}, ": categorical 'hue': no such column; known: id, colour, size,"),
        ({"ignored": ["kind"]}, ": column 'kind' is the label and cannot be `ignored` too"),
        ({"categorical": ["colour", 1]}, ": categorical names one of the 4 columns twice"),
    ],
)
def test_names_that_cannot_be_used(tmp_path, options, text):
    assert refusal(tmp_path, TABLE, **(NAMED | options)).startswith(text)


MISSING = "size,mass,width,kind\n1,2,1,0\n,3,1,1\n4,NaN,1,0\nNA,6,1,1\n7,8,1,\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"header": True}, ":3: column 'size': a missing value, 2 in all; fill it in, or leave "
         "the column out: ignored: ['size']"),
        ({"header": True, "ignored": ["size"]}, ":4: column 'mass': a missing value, 1 "
         "in all; fill it in, or leave the column out: ignored: ['mass']"),
        ({"header": True, "ignored": [0, 1]}, ":6: column 'kind': no label, 1 in "
         "all; remove these rows"),
        ({"header": False}, ":2: column 0 (the first): a missing value, 2 in all; fill it in, "
         "or leave the column out: ignored: [0]"),
    ],
    ids=["first", "second", "label", "headerless"],
)  # fmt: skip
def test_missing_values_are_counted_in_the_column_by_its_name(tmp_path, options, told):
    text = MISSING if options["header"] else MISSING.partition("\n")[2]
    assert refusal(tmp_path, text, label_column=-1, positive=[1], **options) == told


def test_missing_values_of_a_long_file_are_counted_in_its_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("dsgkit.data.reading.MAX_COUNTED_ROWS", 2)
    said = refusal(tmp_path, MISSING, header=True, label_column=-1, positive=[1])
    assert "a missing value, 1 in the first 2 rows; fill it in" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,a,b\n1,2,0\n3,4,1\n", "2 columns have this name; give the number of one"),
        ("b,a\n1,2,0\n3,4,1\n", "the header has 2 names for 3 columns"),
    ],
)
def test_names_that_are_not_of_one_column(tmp_path, text, said):
    assert refusal(tmp_path, text, header=True, label_column="a") == f": label_column 'a': {said}"


def test_test_rows_have_the_same_columns(tmp_path):
    (tmp_path / "test.csv").write_text("kind,id,colour,size\nyes,1,red,2\n")
    said = refusal(tmp_path, TABLE, test_path=str(tmp_path / "test.csv"), **NAMED)
    assert said.endswith("test.csv: its columns have other names than those of data")


HEADERLESS = ["1,2,0\n3,4,1\n", "?,2,a\n3,4,b\n", "5,red,1\n6,blue,0\n", "1;2;x\n3;4;y\n"]


@pytest.mark.parametrize("text", HEADERLESS)
def test_no_row_is_taken_for_a_header(tmp_path, text):
    delimiter = ";" if ";" in text else ","
    said = refusal(tmp_path, text, header=True, delimiter=delimiter, positive=["a"])
    assert said == ":1: is a row like those below it: leave `header: true` out"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,l\n1,2,0\n3,4,1\n", "'a', 'b', 'l'"),
        ("\na,b,c,l\n1,2,3,0\n3,4,5,1\n", "'a', 'b', 'c', ..."),
        (",2001 q1,kind\n1,2,yes\n3,4,no\n", "'', '2001 q1', 'kind'"),
        ("colour,kind\n1,yes\n2,no\n", "'colour', 'kind'"),
    ],
)
def test_a_header_is_noticed(tmp_path, text, names):
    said = refusal(tmp_path, text, categorical=[0], positive=["yes"])
    line = 2 if text.startswith("\n") else 1
    assert said == f":{line}: looks like names ({names}): add `header: true`"


def test_a_first_row_with_texts_of_a_category_is_no_header(tmp_path):
    dataset = load(tmp_path, "none,1,0\n3,2,1\n4,5,1\n", categorical=[0])
    assert dataset.X.shape == (3, 4)


WINE = "fixed acidity;pH;quality\n7.4;3.5;5\n7.8;3.2;6\n"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("1;2;0\n3;4;1\n", {}, "has one column; with `delimiter: ';'` it has 3"),
        ("1|2|0\n3|4|1\n", {}, "has one column; with `delimiter: '|'` it has 3"),
        ("1\t2\t0\n3\t4\t1\n", {"delimiter": ";"}, 'with `delimiter: "\\t"` it has 3'),
        ("1,2,0\n3,4,1\n", {"delimiter": ";"}, "has one column; with `delimiter: ','` it has 3"),
        ("1  2 0\n3 4  1\n", {"delimiter": ","}, "has one column; without `delimiter` it has 3"),
        (
            WINE,
            {"header": True},
            "has 2 columns, unlike the lines below it; with `delimiter: ';'` it",
        ),
        (WINE, {"header": True, "delimiter": ","}, "has one column; with `delimiter: ';'` it has"),
        ("1,2,10:30\n3,4,10:45\n5,10:50\n", {"positive": ["10:30"]}, "2 columns instead of 3"),
    ],
)
def test_a_wrong_delimiter_is_named_with_the_likely_one(tmp_path, text, options, said):
    message = refusal(tmp_path, text, **options)
    assert message.startswith(":3: " if "positive" in options else ":1: ") and said in message


COMMAS = b"\n".join(f"{i},5;-{i},25e1;x{i % 3},1;{i % 2}".encode() for i in range(1, 301)) + b"\n"


@pytest.mark.parametrize("sign", [";", "\t"])
@pytest.mark.parametrize("header", [False, True])
def test_decimal_commas(tmp_path, sign, header):
    text = ("a;b;c;d\n" * header + COMMAS.decode()).replace(";", sign)
    options = {"delimiter": sign, "decimal": ",", "header": header, "categorical": [2]}
    dataset = load(tmp_path, text, **options)
    i = np.arange(1, 301)
    np.testing.assert_array_equal(dataset.X[:, :2], np.transpose([i + 0.5, -10 * i - 2.5]))
    assert dataset.describe()["features"] == "one-hot column 3 (x0,1, x1,1, x2,1)"
    said = refusal(tmp_path, text.replace("7,5", "7.5", 1), **options)
    name = "'a'" if header else "0 (the first)"
    assert said == f":{7 + header}: column {name}: '7.5' is not a number"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delimiter": ";"}, ":1: column 0 (the first): '1,5' is not a number; for decimal commas "
         'set `decimal: ","`'),
        ({"delimiter": ";", "label_column": 0, "ignored": [1]}, ":1: column 0 (the first): "
         "'1,5' is not a number; for decimal commas set `decimal: \",\"`"),
        ({}, ":1: has commas within numbers: set `delimiter: ';'` and `decimal: \",\"`"),
    ],
    ids=["feature", "label", "no delimiter"],
)  # fmt: skip
def test_decimal_commas_that_are_not_named(tmp_path, options, said):
    assert refusal(tmp_path, "1,5;2,3;0\n3;4,5;1\n", **options) == said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"label_column": "kind"}, "'kind' is a name: add `header: true`"),
        ({"ignored": [0, "id"]}, "'id' is a name: add `header: true`"),
        ({"label_column": 1.5}, "is a whole number or a name, got"),
        ({"loader": "libsvm", "ignored": [0]}, "is for the delimited loader"),
        ({"loader": "libsvm", "decimal": ","}, "is for the delimited loader"),
        ({"decimal": ","}, "needs a `delimiter` other than commas, such as ';' or a tab"),
        ({"decimal": ",", "delimiter": ","}, "needs a `delimiter` other than commas"),
    ],
)
def test_configs_that_name_columns_or_signs_wrongly(settings, said):
    with pytest.raises(ValidationError, match=said):
        DatasetSpec(**({"path": "rows.csv", "loader": "delimited"} | settings))
