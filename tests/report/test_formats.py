"""The three formats of a table, and how numbers are written."""

import csv
from dataclasses import replace

import pandas as pd
import pytest

from dsgkit.report.formats import Cell, Layout, Table, latex, markdown, write_table
from dsgkit.report.numbers import (
    grid_text,
    memory_text,
    ratio_text,
    seconds_text,
    short_count,
    time_digits,
    value_text,
    with_std,
)
from dsgkit.report.stats import Contrast
from dsgkit.report.terminal import plain
from tests.report.runs import AUC, ERROR

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
    about="Some data.",
)


def test_markdown():
    assert markdown(TABLE) == (
        "A caption. Some data.\n"
        "\n"
        "| Solver |         1,000 |                   all (2,000) |\n"
        "| ------ | ------------: | ----------------------------: |\n"
        "| A_1\\|x | **0.9 ± 0.1** | out of memory (needs 2.0 GiB) |\n"
        "| B      |     0.8 ± 0.1 |          **0.7 ± 0.1** (7/10) |\n"
        "\n"
        "Bold: best.\n"
        "\n"
        "A footnote: 100 %.\n"
    )
    assert TABLE.numeric_columns == [False, True, True]


def test_latex():
    lines = latex(TABLE).splitlines()
    assert lines[1] == "% A caption. Some data."
    assert lines[2:6] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"Solver & 1,000 & all (2,000) \\",
        r"\midrule",
    ]
    first, second, *end = lines[6:]
    note = r"\shortstack[r]{out of memory\\{\scriptsize (needs 2.0 GiB)}}"
    assert first == rf"A\_1\textbar{{}}x & \textbf{{0.9 $\pm$ 0.1}} & {note} \\"
    note = r"\shortstack[r]{\textbf{0.7 $\pm$ 0.1}\\{\scriptsize (7/10)}}"
    assert second == rf"B & 0.8 $\pm$ 0.1 & {note} \\"
    notes = ["% Bold: best.", "% A footnote: 100 %."]
    assert end == [r"\bottomrule", r"\end{tabular}", *notes]


@pytest.mark.parametrize(
    ("text", "in_markdown", "in_latex"),
    [
        ("<img src=x>", r"\<img src=x>", r"\textless{}img src=x\textgreater{}"),
        ("</b><!-- a", r"\</b>\<!-- a", r"\textless{}/b\textgreater{}\textless{}!-- a"),
        ("a &lt; b & c &#60;", r"a \&lt; b & c \&#60;", r"a \&lt; b \& c \&\#60;"),
        ("p < 0.05, <0.001", "p < 0.05, <0.001", r"p \textless{} 0.05, \textless{}0.001"),
        (r"a|b*c\d", r"a\|b\*c\\d", r"a\textbar{}b*c\textbackslash{}d"),
        ("100% of $5_{2}", "100% of $5_{2}", r"100\% of \$5\_\{2\}"),
        ("~x^2 – †", "~x^2 – †", r"\textasciitilde{}x\textasciicircum{}2 -- \dag{}"),
        ("a\nb\r\x1b[31m\u2028", r"a\\nb\\r\\x1b[31m\\u2028", None),
    ],
)
def test_labels_are_shown_as_they_are(text, in_markdown, in_latex):
    layout = Layout(f"Of {text}.", ["Solver", text], [[Cell(text), Cell("1", text)]], [text])
    caption, _, head, _, row, _, note = markdown(layout).splitlines()
    assert (caption, note) == (f"Of {in_markdown}.", in_markdown)
    assert [cell.strip() for cell in head[1:-1].split(" | ")] == ["Solver", in_markdown]
    assert [cell.strip() for cell in row[1:-1].split(" | ")] == [in_markdown, f"1 {in_markdown}"]
    assert in_latex is None or rf"Solver & {in_latex} \\" in latex(layout)
    # in LaTeX the caption is a comment, and what follows its end would be run
    for written in (markdown(layout), latex(layout), plain(layout, 80)):
        assert written.replace("\n", "").isprintable()
    assert latex(layout).count("\n") == latex(TABLE).count("\n") - 2


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *((label, f"'{label}") for label in ("=1+1", "+cmd", "-x", "@SUM(A1)", "-", "-0.3x")),
        *((label, f"'{label}") for label in ("\t=1", "\n@x", "-2+3+cmd", "-inf")),
        *((text, text) for text in ("-0.3", "+5", "-1e-05", "-1.5e3", "a=b", "a\n=1")),
    ],
)
def test_no_label_is_a_formula_in_a_spreadsheet(tmp_path, label, expected):
    frame = pd.DataFrame({"solver": [label], "mean": [-0.3], "n": [-1]})
    path, *_ = write_table(Table("table", [TABLE], frame), tmp_path)
    with path.open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"solver": expected, "mean": "-0.3", "n": "-1"}]


def seconds_in_table(seconds):
    return with_std(seconds, None, time_digits(seconds))


@pytest.mark.parametrize(
    ("form", "values", "texts"),
    [
        (seconds_in_table, [0.00012345, 0.012345, 1.2345, 12.34], "0.0001 0.0123 1.23 12.3"),
        (seconds_in_table, [123.4, 12345.6, 0.0], "123 12,346 0.00"),
        (lambda mean: with_std(mean, 0.5, 1), [-0.01, 1000], "0.0_±_0.5 1,000.0_±_0.5"),
        (memory_text, [0, 2**20, 2**30 - 1], "0.0_KiB 1.0_MiB 1,024_MiB"),
        (short_count, [9999, 59_335, 581_012, 5_000_000], "9,999 59.3k 581k 5M"),
        (short_count, [999_499, 999_500], "999k 1M"),
        (seconds_text, [0.0004, 35.2, 1234.5], "0.4_ms 35_s 1,234_s"),
        (seconds_text, [0.0994, 0.0996, 99.4, 99.6], "99_ms 0.1_s 99_s 100_s"),
        (ratio_text, [0.0123, 1.5, 1234], "0.012 1.50 1,234"),
        (grid_text, [[2.0**-14, 0.25, 4.0], [5], [0, 2]], "6.10352e-05..4_(3) 5 0..2_(2)"),
        (grid_text, [[None, "balanced"]], "null,_balanced"),
        (value_text, [[0.5, 2.0**-14], None, 0.001, 2**20], "[0.5_6.10352e-05] null 0.001 1048576"),
    ],
)
def test_numbers_are_written(form, values, texts):
    assert [form(value).replace(" ", "_") for value in values] == texts.split()


def test_differences_have_their_interval_small_ones_as_powers():
    assert Contrast(0.0999, (0.08, 0.1234)).cell(replace(AUC, digits=1)) == "+0.10 [0.08, 0.12]"
    assert Contrast(-1e-5, (-2e-5, 0.0)).cell(AUC) == "-1.0e-05 [-2.0e-05, 0.0e+00]"
    assert Contrast(0.001, None).cell(ERROR) == "+0.100"
    assert Contrast(1e-20, same=True).cell(AUC) == "identical"
