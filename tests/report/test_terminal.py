"""Tables in a terminal: within its width, with all that the written tables have."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsgkit.experiment.results import load_results
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.tables import text_table, write_tables
from dsgkit.report.terminal import plain, plain_tables
from dsgkit.text import paragraph, wrapped
from tests.report.test_formats import TABLE

KEPT = Path(__file__).parents[2] / "results" / "reference"
KEPT_NAMES = (
    "flame_clustering",  # published figures, many solvers at one size
    "layers_5_ordinal_labels-wide",  # gains at every size
    "lev_ordinal_convergence",  # traces
    "skin_s2auc_times",  # times of one trial
    "skin_s3vm_labels-useful",  # tallies
    "su_cost",
    "susy_10k_s2auc_labels-wide",  # remarks
    "usps_su",  # trials that did not finish, and fits that were refused
)

WIDTHS = (80, 120)


def test_plain_is_aligned_and_marks_the_best():
    assert plain(TABLE, 80).splitlines() == [
        "A caption.",
        "",
        "Solver       1,000                    all (2,000)",
        "------  ----------  -----------------------------",
        "A_1|x   0.9 ± 0.1*  out of memory (needs 2.0 GiB)",
        "B       0.8 ± 0.1               0.7 ± 0.1 (7/10)*",
        "",
        "* best",
        "A footnote: 100 %.",
    ]


def test_a_number_is_aligned_whatever_marks_others_have():
    cells = [
        Cell("0.5", value=0.5),
        Cell("10.5", "(3/5)", value=10.5),
        Cell("1.5", best=True, value=1.5, mark="†"),
    ]
    text = plain(Layout("", ["Name", "Value"], [[Cell("a"), cell] for cell in cells]), 80)
    points = {line.index(".") for line in text.splitlines()[2:5]}
    assert len(points) == 1


def test_a_text_is_wrapped_at_its_note_first_and_a_number_never():
    assert plain(TABLE, 42).splitlines()[2:8] == [
        "Solver       1,000        all (2,000)",
        "------  ----------  -----------------",
        "A_1|x   0.9 ± 0.1*      out of memory",
        "                      (needs 2.0 GiB)",
        "B       0.8 ± 0.1   0.7 ± 0.1 (7/10)*",
        "",
    ]


def test_a_table_that_is_too_wide_is_cut_into_parts_with_the_names():
    rows = [[Cell(name), *(Cell(f"0.{n}", value=n) for n in range(100, 130))] for name in "ab"]
    text = plain(Layout("Many.", ["Solver", *map(str, range(100, 130))], rows), 80)
    heads = [line.split() for line in text.splitlines() if line.startswith("Solver")]
    assert len(heads) == 3
    assert [int(n) for _, *sizes in heads for n in sizes] == list(range(100, 130))


def test_what_tables_in_a_row_say_is_said_once():
    tables = [
        Layout("", ["S", "1", "2"], [], notes, head=head, detail="mean", about="Data.")
        for head, notes in (("AUC", ["Of all.", "Of AUC."]), ("Error", ["Of all."]))
    ]
    text = plain_tables(tables, 80)
    assert text.count("Data.") == text.count("Of all.") == 1
    assert text.index("Of AUC.") < text.index("Error: mean.") < text.index("Of all.")


def test_at_one_size_measures_are_columns_of_one_table():
    tables = [
        Layout(
            "",
            ["S", "all (9)"],
            [[Cell("a"), Cell(x, value=1)]],
            head=head,
            detail="mean",
            about="",
        )
        for head, x in (("AUC", "0.5"), ("Error", "0.25"))
    ]
    assert plain_tables(tables, 80).splitlines() == [
        "Mean.",
        "",
        "S  AUC  Error",
        "-  ---  -----",
        "a  0.5   0.25",
    ]


@pytest.mark.parametrize(
    "amount",
    [
        "0.32 ms",
        "4,373 d",
        "1.5 GiB",
        "p = 0.101",
        "p < 0.05",
        "theta >= -1",
        "lam = 2^-3",
        "k - 1",
    ],
)
def test_no_line_of_a_paragraph_ends_within_an_amount(amount):
    for length in range(20, 45):
        lines = paragraph(f"{'x' * length} {amount} and more", 40).splitlines()
        assert sum(amount in line for line in lines) == 1


def test_a_line_of_a_paragraph_may_end_between_words_and_numbers():
    assert paragraph(f"{'x' * 37} 5 sizes", 40).splitlines()[1] == "sizes"


def test_lines_are_wrapped_below_their_indent_and_tracebacks_are_not():
    long = "a " * 60
    first, second, *_ = wrapped(f"  {long}\n    {long}", 80).splitlines()
    assert first.startswith("  a") and second.startswith("    a") and len(first) <= 80
    assert wrapped(f"    {long}", 80) == f"    {long}"


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT_NAMES)
def test_kept_tables_are_written_as_they_are_and_fit_the_terminal(tmp_path, name, monkeypatch):
    """Where only wording has changed, ``scripts/keep_results.py --again`` writes them anew."""
    results = load_results(KEPT / name)
    written = [path for path in write_tables([results], tmp_path) if path.suffix == ".md"]
    assert {path.name for path in written} == {p.name for p in (KEPT / name).glob("tables/*.md")}
    for path in written:
        assert path.read_text() == (KEPT / name / "tables" / path.name).read_text()
    # what is in the tables takes long, and is the same for every width
    monkeypatch.setattr("dsgkit.report.tables.plain_tables", lambda layouts, _: layouts)
    made = [text_table([results], only) for only in ((), [path.stem for path in written])]
    for width in WIDTHS:
        brief, whole = (plain_tables(layouts, width) for layouts in made)
        assert max(map(len, [*brief.splitlines(), *whole.splitlines()])) <= width
        assert "nan" not in whole.split()
        for solver in map(results.label, results.solvers):
            assert set(solver.split()) <= set(brief.split())
        missing = [entry for path in written for entry in entries(path) if not has(whole, entry)]
        assert missing == []


def entries(path: Path) -> Iterator[str]:
    """Yield the entries of Markdown tables."""
    for line in path.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| --"):
            for entry in re.split(r"(?<!\\)\|", line)[1:-1]:
                yield re.sub(r"\*\*|\\", "", entry).strip()


def has(text: str, entry: str) -> bool:
    """Whether a text has an entry: its number in one piece, its words anywhere."""
    number = re.match(r"[-+]?[\d,.]+( ± [\d,.]+| \[[^]]+\])?", entry)
    return (number is None or number[0] in text) and all(word in text for word in entry.split())
