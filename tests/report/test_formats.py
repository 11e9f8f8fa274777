"""The three formats of a table, and how numbers are written."""

import csv
from functools import partial

import pandas as pd
import pytest

from dsgkit.errors import ResultsError
from dsgkit.report.formats import (
    Cell,
    Layout,
    Table,
    escape_latex,
    latex,
    markdown,
    write_table,
    write_text,
)
from dsgkit.report.numbers import memory_text, short_count, time_digits, with_std
from dsgkit.report.summary import Size
from dsgkit.report.terminal import plain

TABLE = Layout(
    "A caption.",
    ["Solver", "1,000", "all (2,000)"],
    [
        [
            Cell("A_1|x"),
            Cell("0.9 ± 0.1", best=True, value=0.9),
            Cell("out of memory", "(needs 2.0 GiB)"),
        ],
        [Cell("B"), Cell("0.8 ± 0.1", value=0.8), Cell("0.7 ± 0.1", "(7/10)", True, 0.7)],
    ],
    ["A footnote: 100 %."],
)


def test_markdown():
    assert markdown(TABLE) == (
        "A caption.\n"
        "\n"
        "| Solver |         1,000 |                   all (2,000) |\n"
        "| ------ | ------------: | ----------------------------: |\n"
        "| A_1\\|x | **0.9 ± 0.1** | out of memory (needs 2.0 GiB) |\n"
        "| B      |     0.8 ± 0.1 |          **0.7 ± 0.1** (7/10) |\n"
        "\n"
        "A footnote: 100 %.\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<img src=x>", r"\<img src=x>"),
        ("</b><!-- a", r"\</b>\<!-- a"),
        ("a &lt; b & c &#60;", r"a \&lt; b & c \&#60;"),
        ("p < 0.05, <0.001", "p < 0.05, <0.001"),
        (r"a|b*c\d", r"a\|b\*c\\d"),
    ],
)
def test_markdown_shows_no_markup_of_a_label(text, expected):
    layout = Layout(f"Of {text}.", ["Solver", text], [[Cell(text), Cell("1", text)]], [text])
    caption, _, head, _, row, _, note = markdown(layout).splitlines()
    assert (caption, note) == (f"Of {expected}.", expected)
    assert [cell.strip() for cell in head[1:-1].split(" | ")] == ["Solver", expected]
    assert [cell.strip() for cell in row[1:-1].split(" | ")] == [expected, f"1 {expected}"]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *((label, f"'{label}") for label in ("=1+1", "+cmd", "-x", "@SUM(A1)", "-", "-0.3x")),
        ("\t=1", r"\t=1"),
        ("\r=1", r"\r=1"),
        ("a\n=1", r"a\n=1"),
    ],
)
def test_no_label_is_a_formula_in_a_spreadsheet(tmp_path, label, expected):
    frame = pd.DataFrame({"solver": [label, "a=b"], "mean": [-0.3, 1.0], "n": [-1, None]})
    rows = written(tmp_path, frame.astype({"n": "Int64"}))
    assert rows == [
        {"solver": expected, "mean": "-0.3", "n": "-1"},
        {"solver": "a=b", "mean": "1.0", "n": ""},
    ]


@pytest.mark.parametrize("number", ["-0.3", "+5", "-1e-05", "-inf"])
def test_a_number_that_is_text_stays_one(tmp_path, number):
    assert written(tmp_path, pd.DataFrame({"value": [number]})) == [{"value": number}]


def written(folder, frame):
    path, *_ = write_table(Table("table", [TABLE], frame), folder)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_latex():
    text = latex(TABLE)
    assert r"\begin{tabular}{lrr}" in text
    assert r"A\_1\textbar{}x & \textbf{0.9 $\pm$ 0.1} & " in text
    assert r"\shortstack[r]{out of memory\\{\scriptsize (needs 2.0 GiB)}} \\" in text
    assert r"\shortstack[r]{\textbf{0.7 $\pm$ 0.1}\\{\scriptsize (7/10)}} \\" in text
    assert r"{\footnotesize A footnote: 100 \%.}" in text
    for command in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"):
        assert text.count(command) == 1
    assert text.count("{") == text.count("}")


def test_latex_escapes():
    for letter in "&%$#_{}":
        assert escape_latex(f"a{letter}b") == rf"a\{letter}b"
    assert escape_latex("~^\\<") == (
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}"
    )


def test_transposed_twice_is_the_same_but_for_bold_names():
    turned = TABLE.transposed("Rows")
    assert list(turned.header) == ["Rows", "A_1|x", "B"]
    assert [cell.text for cell in turned.rows[0]] == ["1,000", "0.9 ± 0.1", "0.8 ± 0.1"]
    assert turned.transposed("Solver") == Layout(
        TABLE.caption, list(TABLE.header), [list(row) for row in TABLE.rows], TABLE.footnotes
    )


@pytest.mark.parametrize("write", [markdown, partial(plain, width=80), latex])
def test_no_text_ends_its_line_or_steers_a_terminal(write):
    """In LaTeX the caption is a comment, and what follows its end would be run."""
    hostile = "a\n\\input{x}\r\u2028\x1b[31m\x9b1m"
    text = write(Layout(hostile, ["A", hostile], [[Cell("b"), Cell(hostile, hostile)]]))
    assert text.replace("\n", "").isprintable()
    assert not any(line.startswith("\\input") for line in text.splitlines())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00012345, "0.0001"),
        (0.012345, "0.0123"),
        (1.2345, "1.23"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (0.0, "0.00"),
    ],
)
def test_times_have_three_digits(seconds, text):
    assert with_std(seconds, None, time_digits(seconds)) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0.0 KiB"), (2**20, "1.0 MiB"), (1.5 * 2**30, "1.5 GiB"), (2**30 - 1, "1,024 MiB")],
)
def test_memory(n_bytes, text):
    assert memory_text(n_bytes) == text


def test_counts():
    assert [short_count(n) for n in (500, 3975, 9999, 59_335, 581_012, 5_000_000)] == [
        "500",
        "3,975",
        "9,999",
        "59.3k",
        "581k",
        "5M",
    ]
    assert Size(59_335, True).text == "all (59,335)"
    assert Size(1000, False).text == "1,000"


def test_a_users_own_folder_of_such_a_name_may_be_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "figures").symlink_to(tmp_path / "elsewhere")
    write_text(tmp_path / "figures" / "out" / "page.html", "x")
    assert (tmp_path / "elsewhere" / "out" / "page.html").read_text() == "x"
    (tmp_path / "config.yaml").touch()  # now it is that of a results folder
    with pytest.raises(ResultsError, match="figures is a link"):
        write_text(tmp_path / "figures" / "out" / "page.html", "x")
