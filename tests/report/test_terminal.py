"""Tables and trials in a terminal, within its width."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dsgkit.experiment.plan import Cell as Planned
from dsgkit.experiment.runs import load
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.tables import text_tables, wanted_tables
from dsgkit.report.terminal import plain, trial_text
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
        "*: best.",
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


def test_wide_tables_are_cut_with_the_names_again():
    rows = [[Cell(f"s{r}"), *(Cell(f"{r}.{c}", value=1) for c in range(30))] for r in range(3)]
    text = plain(Layout("", ["Solver", *(f"n{c}" for c in range(30))], rows), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert set(text.split()) >= {cell.text for row in rows for cell in row}
    assert text.count("Solver") == text.count("s2") > 1


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()))
def test_all_is_shown_within_the_width(name, width):
    (run,) = load(GOLDEN / name)
    tables = wanted_tables([run])
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
def test_the_first_trial_is_a_table_with_the_largest_sizes(width):
    small = {"status": "ok", "scores": {"auc": 0.7}}
    fits = ended(RECORDS) + ended({"a": small, "c": small}, size=500)
    lines = trial_text(experiment(a="A", b=LONG, c="C", d="D"), 0, fits, width).splitlines()
    assert max(map(len, lines)) <= width and lines[0] == "trial 1 of 3:"
    words = [line.split() for line in lines]
    assert words[2][:3] == ["Solver", "Unlabelled", "AUC"]
    assert ["A", "2,000", "0.800", "1.5", "s"] in words and ["C", "500", "0.700"] in words
    alone = trial_text(experiment(c="C"), 0, ended({"c": RECORDS["c"]}))
    assert alone.split()[-4:] == ["C", "2,000", "time", "limit"]


def test_further_trials_are_a_line_with_the_largest_sizes():
    fits = ended({"a": {"status": "ok", "scores": {"auc": 0.7}}}, size=500)
    fits += ended({"a": RECORDS["a"]}) + ended({"b": RECORDS["b"]}, also_at=(500,))
    assert trial_text(experiment(a="A", b="B"), 1, fits) == "trial 2 of 3: AUC A 0.800; B 0.750"
    assert trial_text(experiment(c="C"), 2, ended({"c": RECORDS["c"]})) == "trial 3 of 3"
    names = {f"s{n}": f"Labelled rows alone, exact {n}" for n in range(9)}
    text = trial_text(experiment(**names), 1, ended(dict.fromkeys(names, RECORDS["a"])))
    assert max(map(len, text.splitlines())) <= 80
    assert not any(line.split()[0] == "0.800" for line in text.splitlines())
