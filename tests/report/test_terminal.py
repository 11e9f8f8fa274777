"""Tables and trials in a terminal, within its width."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dsgkit.experiment.plan import Cell as Planned
from dsgkit.experiment.runs import load
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.tables import text_tables, wanted_tables
from dsgkit.report.terminal import plain, plain_tables, trial_text
from dsgkit.text import paragraph, wrapped
from tests.report.runs import AUC, UNLABELED
from tests.report.test_formats import TABLE

GOLDEN = Path(__file__).parents[1] / "data" / "golden_tables"


def test_columns_are_aligned_and_the_best_is_marked():
    assert plain(TABLE, 80).splitlines() == [
        "A caption. Some data.",
        "",
        "Solver       1,000                    all (2,000)",
        "------  ----------  -----------------------------",
        "A_1|x   0.9 ± 0.1*  out of memory (needs 2.0 GiB)",
        "B       0.8 ± 0.1               0.7 ± 0.1 (7/10)*",
        "",
        "* best",
        "A footnote: 100 %.",
    ]
    # a text is wrapped at its note first, a number never
    assert plain(TABLE, 42).splitlines()[4:7] == [
        "A_1|x   0.9 ± 0.1*      out of memory",
        "                      (needs 2.0 GiB)",
        "B       0.8 ± 0.1   0.7 ± 0.1 (7/10)*",
    ]


def test_numbers_are_aligned_whatever_marks_they_have():
    cells = [
        Cell("0.5", value=1),
        Cell("10.5", "(3/5)", value=1),
        Cell("1.5", "", True, 1, "", "†"),
    ]
    text = plain(Layout("", ["Name", "Value"], [[Cell("a"), cell] for cell in cells]), 80)
    assert len({line.index(".") for line in text.splitlines()[2:5]}) == 1


def test_what_tables_in_a_row_share_is_said_once():
    tables = [
        Layout(f"{name}.", ["S", "1", "2"], [], notes, about="Data.")
        for name, notes in (("AUC", ["Of all.", "Of AUC."]), ("Error", ["Of all."]))
    ]
    text = plain_tables(tables, 80)
    assert text.count("Data.") == text.count("Of all.") == 1
    assert text.index("Of AUC.") < text.index("Error.") < text.index("Of all.")
    names = [[Cell(a), Cell(b), Cell(c)] for a, b, c in ("xya", "xyb", "xzb")]
    lines = plain(Layout("", ["P", "Q", "R"], names), 80).splitlines()[2:]
    assert [line.split() for line in lines] == [["x", "y", "a"], ["b"], ["z", "b"]]


def single(column, text):
    rows = [[Cell("a"), Cell(text, value=1)]]
    return Layout(f"{column}: mean.", ["S", "all (9)"], rows, column=column)


def test_tables_of_one_column_are_joined():
    text = plain_tables([single("AUC", "0.5"), single("Error", "0.25")], 80)
    assert text.splitlines() == ["Mean.", "", "S  AUC  Error", "-  ---  -----", "a  0.5   0.25"]


@pytest.mark.parametrize(("rows", "columns"), [(2, 30), (30, 2), (30, 30)])
def test_wide_tables_are_turned_or_cut_with_the_names_again(rows, columns):
    cells = [
        [Cell(f"s{r}"), *(Cell(f"{r}.{c}", value=1) for c in range(columns))] for r in range(rows)
    ]
    header = ["Solver", *(f"n{c}" for c in range(columns))]
    text = plain_tables([Layout("", header, cells, corner="Size")], 80)
    assert max(map(len, text.splitlines())) <= 80
    assert set(text.split()) >= {cell.text for row in cells for cell in row}
    assert text.count("Size") == (rows < columns) and ("\n\n" in text) == (rows == columns)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()))
def test_all_is_shown_within_the_width(name, width):
    (run,) = load(GOLDEN / name)
    tables = [make() for _, make in wanted_tables([run])]
    text = text_tables([run], [table.name for table in tables], width)
    assert max(map(len, text.splitlines())) <= width
    words = set(text.replace("*", " ").split())
    for cell in (c for t in tables for one in t.layouts for row in one.rows for c in row):
        number = re.match(r"[-+]?[\d,.]+( ± [\d,.]+| \[[^]]+\])?", cell.text)
        assert cell.value is None or number is None or number[0] in text
        assert cell.value is not None or not set(cell.text.split()) - words


def test_lines_break_below_their_indent_and_never_within_an_amount():
    for amount in ("0.32 ms", "4,373 d", "1.5 GiB", "p = 0.101", "theta >= -1", "k - 1"):
        for length in range(20, 45):
            lines = paragraph(f"{'x' * length} {amount} and more", 40).splitlines()
            assert sum(amount in line for line in lines) == 1
    assert paragraph(f"{'x' * 37} 5 sizes", 40).splitlines()[1] == "sizes"
    long = "a " * 60
    first, second, *_ = wrapped(f"  {long}\n    {long}", 80).splitlines()
    assert first.startswith("  a") and second.startswith("    a") and len(first) <= 80
    assert wrapped(f"    {long}", 80) == f"    {long}"  # a line of a traceback


# --- trials of a run ----------------------------------------------------------------------------


def ended(records, also_at=(), size=2000):
    return [
        (Planned(key, "fit", key, 0, {"unlabeled": size}, also_at=also_at), record)
        for key, record in records.items()
    ]


def experiment(**labels):
    return SimpleNamespace(
        task=SimpleNamespace(measures=[AUC]),
        axis=UNLABELED,
        solvers={key: SimpleNamespace(label=label) for key, label in labels.items()},
        protocol=SimpleNamespace(trials=3),
        outputs=["auc_table"],
    )


LONG = "Labelled rows alone, exact, by a name that is long " * 2
RECORDS = {
    "a": {"status": "ok", "scores": {"auc": 0.8}, "times": {"fit": 1.5}},
    "b": {"status": "ok", "scores": {"auc": 0.75}, "times": {"fit": 0.0123}},
    "c": {"status": "time_limit", "scores": {}},
}


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_trial_is_a_table_for_each_size(width):
    fits = ended(RECORDS) + ended(RECORDS, size=500)
    lines = trial_text(experiment(a="A", b=LONG, c="C"), 0, fits, width).splitlines()
    assert max(map(len, lines)) <= width
    words = [line.split() for line in lines]
    starts = [place for place, line in enumerate(lines) if line.startswith("trial")]
    titles = [f"trial 1 of 3, {n} unlabelled rows:" for n in ("500", "2,000")]
    assert [lines[place] for place in starts] == titles
    assert words[1][:3] == ["Solver", "AUC", "Training"]
    assert words.count(["A", "0.800", "1.5", "s"]) == words.count(["C", "time", "limit"]) == 2
    level = trial_text(experiment(a="A"), 0, ended({"a": RECORDS["a"]}, also_at=(500,)))
    assert level.startswith("trial 1 of 3:\n") and level.count("A ") == 1


def test_further_trials_are_a_line_with_the_largest_sizes():
    fits = ended({"a": {"status": "ok", "scores": {"auc": 0.7}}}, size=500)
    fits += ended({"a": RECORDS["a"]}) + ended({"b": RECORDS["b"]}, also_at=(500,))
    assert trial_text(experiment(a="A", b="B"), 1, fits) == "trial 2 of 3: AUC A 0.800; B 0.750"
    assert trial_text(experiment(c="C"), 2, ended({"c": RECORDS["c"]})) == "trial 3 of 3"
    names = {f"s{n}": f"Labelled rows alone, exact {n}" for n in range(9)}
    text = trial_text(experiment(**names), 1, ended(dict.fromkeys(names, RECORDS["a"])))
    assert max(map(len, text.splitlines())) <= 80
    assert not any(line.split()[0] == "0.800" for line in text.splitlines())
