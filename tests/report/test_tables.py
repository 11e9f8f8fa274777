"""Cells of tables, recomputed by hand or by pandas, and which tables there are."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dsgkit import load_results
from dsgkit.errors import ResultsError
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.runs import load
from dsgkit.report import refresh_report
from dsgkit.report.choices import edge_choices, params_table
from dsgkit.report.formats import markdown
from dsgkit.report.tables import gain_table, text_tables, wanted_tables, write_tables
from dsgkit.tasks.measures import Published, PublishedFigure
from tests.report.runs import AUC, ERROR, make_run

GOLDEN = Path(__file__).parents[1] / "data" / "golden_tables"
"""Two trials of some kept folders, and the cells of their tables."""

FROZEN = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def rows_of(tables):
    """Return the rows of Markdown tables."""
    texts = (f"# {table.name}\n{markdown(layout)}" for table in tables for layout in table.layouts)
    lines = "\n".join(texts).splitlines()
    return [line for line in lines if line.startswith(("#", "|")) and not line.startswith("| --")]


@pytest.mark.parametrize("names", [*([name] for name in FROZEN), ["ijcnn1_s2auc", "skin_s2auc"]])
def test_cells_are_those_of_before(names):
    path = GOLDEN / f"{'+'.join(names)}.md"
    runs = load(*(GOLDEN / name for name in names))
    rows = rows_of(wanted_tables(runs))
    if os.environ.get("DSGKIT_RECORD_GOLDEN"):
        path.write_text("\n".join(rows) + "\n")
    assert rows == path.read_text().splitlines()


@pytest.mark.parametrize("name", ["ijcnn1_s2auc", "skin_s3vm_labels-useful", "usps_su"])
def test_numbers_are_those_of_pandas(name):
    (run,), fits = load(GOLDEN / name), load_results(GOLDEN / name)
    axis = run.axis.name
    fits = fits[(fits["status"] == "ok")]
    for table in wanted_tables([run]):
        frame = table.frame
        for measure in run.task.measures if "median" in frame else ():
            own = frame[(frame["measure"] == measure.name) & (frame["trials"] > 1)]
            own = own[~own["level"]].set_index(["solver", axis])
            found = fits.dropna(subset=measure.name).groupby(["label", "size"])[measure.name]
            expected = found.agg(["mean", "std", "median", "min", "max", "count"]).loc[own.index]
            columns = ["mean", "std", "median", "lowest", "highest", "trials"]
            np.testing.assert_allclose(own[columns], expected, rtol=1e-12)


# --- one measure ------------------------------------------------------------------------------


def shown(*runs, only="auc_table"):
    """Return the first printed table as {row: {column: entry}}, and all of its text."""
    (table,) = wanted_tables(runs, [only])
    text = markdown(table.layouts[0])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *body = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in body}, text


def column(*runs, only="auc_table", size="500"):
    return [row[size] for row in shown(*runs, only=only)[0].values()]


@pytest.mark.parametrize(
    ("measure", "values", "cells"),
    [
        (AUC, (0.91234, 0.91249, 0.9126), ["0.912", "0.912", "**0.913**"]),
        (AUC, (0.9121, 0.9119, 0.9), ["**0.912**", "**0.912**", "0.900"]),  # equal as shown
        (AUC, (0.9, 0.9), ["0.900", "0.900"]),
        (ERROR, (0.1, 0.2), ["**10.00**", "20.00"]),
        (replace(AUC, better=None), (0.9, 0.8), ["0.900", "0.800"]),
    ],
)
def test_the_best_as_printed_is_bold(measure, values, cells):
    run = make_run(measure=measure, **{f"s{n}": {500: [x]} for n, x in enumerate(values)})
    assert column(run, only=f"{measure.name}_table") == cells


def timing(low, high, threads=1, disturbed=False):
    known = {"range": {"fit": [low, high]}, "threads": threads, "disturbed": disturbed}
    return {"timing": {**known, "slowdown": 1.0}}


@pytest.mark.parametrize(
    ("second", "cells", "clock"),
    [
        (timing(1.3, 1.5), ["**1.00 [0.90..1.20]**", "1.40 [1.30..1.50]"], "processor time on one"),
        (timing(1.2, 1.5), ["1.00 [0.90..1.20]", "1.40 [1.20..1.50]"], "processor time on one"),
        (timing(1.3, 1.5, 2, True), ["1.00 [0.90..1.20]", "1.40 [1.30..1.50]‡"], "else wall time"),
        (timing(1.4, 1.4), ["**1.00 [0.90..1.20]**", "1.40"], "processor time on one"),
    ],
)
def test_a_time_is_the_fastest_if_no_range_reaches_its_own(second, cells, clock):
    records = {("a", 500, 0): timing(0.9, 1.2), ("b", 500, 0): second}
    seconds = {"a": {500: [1.0]}, "b": {500: [1.4]}}
    run = make_run(a={500: [0.5]}, b={500: [0.5]}, seconds=seconds, records=records)
    assert column(run, only="time_table") == cells
    text = shown(run, only="time_table")[1]
    assert clock in text and ("‡ Disturbed" in text) == ("‡" in cells[1])


REFUSED = {"status": "out_of_memory", "needed": 2**33, "scores": {}, "times": {}}
LIMITED = {"status": "out_of_memory", "scores": {}, "times": {}}
LATE = {"status": "timeout", "scores": {}, "times": {}}
REMARK = {"remark": "gamma = 1: unlabelled rows were not used"}


@pytest.mark.parametrize(
    ("fits", "records", "cell", "note"),
    [
        ([0.8, 0.9], {}, "**0.850 ± 0.071**", ""),
        ([0.8, 0.9], {0: REFUSED, 1: REFUSED}, "refused (needs 8.0 GiB)", ""),
        ([0.8, 0.9], {0: LIMITED, 1: LIMITED}, "out of memory", ""),
        ([0.8, 0.9], {0: LATE, 1: LATE}, "timeout", ""),
        ([0.8, 0.9], {0: LATE}, "**0.900** (1/2)", "timeout – A in 1 of 2 trials."),
        ([0.8, 0.9], {0: {"scores": {}}, 1: {"scores": {}}}, "–", ""),
        ([0.8, None], {}, "0.800 (1/2)", "to come – 3 of 4 fits have run."),
        ([None, None], {}, "not yet run", "to come – 2 of 4 fits have run."),
        ([0.8, 0.9], {0: REMARK}, "**0.850 ± 0.071†**", "not used – A in 1 of 2 trials."),
    ],
)
def test_what_became_of_the_trials_is_said(fits, records, cell, note):
    given = {("a", 500, trial): record for trial, record in records.items()}
    run = make_run(a={500: fits}, b={500: [0.2, 0.3]}, records=given)
    assert column(run)[0] == cell
    assert note in shown(run)[1]
    assert "to come" not in note or not re.search(r"\*\*|other trials", shown(run)[1])


def test_sizes_left_out_and_fits_for_all_sizes_are_marked():
    run = make_run(a={500: [0.9]}, c={500: [0.8], 900: [0.8]}, left_out=[("a", 900)])
    cells, text = shown(run)
    assert cells["A"] == {"500": "**0.900**", "900": "left out"}
    assert "left out: by the config (at_most) – A." in text
    level = make_run(a={900: [0.9, 0.7]}, b={900: [0.5, 0.6]}, also_at=[500])
    assert column(level) == ["**0.800 ± 0.141§**", "0.550 ± 0.071§"]
    assert "§ One fit per trial: it does not use unlabelled rows – A, B." in shown(level)[1]


def test_tallies_bytes_and_solvers_that_know_hidden_labels():
    tally = replace(AUC, name="never", tally=True, better="lower", file="", output="")
    sizes = {("a", 500, n): {"peak_memory": (n + 1) * 2**30} for n in (0, 1)}
    run = make_run(measure=tally, records=sizes, a={500: [0, 1]}, b={500: [1, 1]})
    assert column(run, only="never_table") == ["**1/2**", "2/2"]
    (table,) = wanted_tables([run], ["time_table"])
    assert [row[1].text for row in table.layouts[1].rows] == ["2.0 GiB", "1.0 MiB"]
    told = make_run(a={500: [0.9]}, b={500: [0.8]}, c={500: [0.7]}, told={"a": "all labels"})
    assert column(told) == ["0.900", "**0.800**", "0.700"]


def test_without_a_sweep_a_table_has_one_column():
    run = make_run(a=[0.9, 0.8], b=[0.5, 0.6])
    cells, text = shown(run)
    assert cells == {"A": {"AUC": "**0.850 ± 0.071**"}, "B": {"AUC": "0.550 ± 0.071"}}
    caption = "AUC on the unlabelled rows: mean ± standard deviation over 2 trials. toy."
    assert text.startswith(caption)


# --- several runs -----------------------------------------------------------------------------


def test_datasets_are_compared_at_the_largest_finished_sizes():
    first = make_run("one", a={500: [0.7], 900: [0.8]}, b={500: [0.9], 900: [0.7]})
    lost = {("b", 900, 0): REFUSED}
    second = make_run("two", a={500: [0.7], 900: [0.8]}, b={500: [0.9], 900: [0.7]}, records=lost)
    third = make_run("three", c=[0.5])
    assert shown(first, second, third)[0] == {
        "one": {"A": "**0.800** (900)", "B": "0.700 (900)", "C": "–"},
        "two": {"A": "0.800 (900)", "B": "**0.900** (500)", "C": "–"},
        "three": {"A": "–", "B": "–", "C": "0.500"},
    }
    times = shown(first, second, only="time_table")[1]
    assert "**" not in times.split("Peak")[0]  # times at different sizes are no contest
    assert column(second.at(500), third, size="B") == ["**0.900** (500)", "–"]


# --- choices ----------------------------------------------------------------------------------


def searched(grids, choices, scores=()):
    """Return a run of one solver with chosen parameters; ``scores`` are of each point, by fold."""
    records = {("a", 500, trial): {"params": chosen} for trial, chosen in enumerate(choices)}
    solvers = {"a": {"search": [{"grid": grid} for grid in grids]}}
    run = make_run(a={500: [0.9] * len(choices)}, records=records, solvers=solvers)
    points = [{name: value} for name, values in grids[0].items() for value in values]
    cells = [*run.cells]
    for trial, of_trial in enumerate(scores):
        cell = Cell(f"s{trial}", "search", "a", trial, {"unlabeled": 500})
        cells.append((cell, {"status": "ok", "points": points, "fold_scores": of_trial}))
    return replace(run, cells=cells)


@pytest.mark.parametrize(
    ("grids", "choices", "rows"),
    [
        (  # words have no edges, and a grid of one point is no choice
            [{"sigma": [1.0], "t0": [0, "stable"]}],
            [{"sigma": 1.0, "t0": 0}, {"sigma": 1.0, "t0": "stable"}],
            ["t0 | 0 (1), stable (1) | 0, stable | 0/2"],
        ),
        (
            [{"lam": [1.0, 2.0]}, {"gamma": [0.0, 0.5, 1.0]}],
            [{"lam": 1.0, "gamma": [0.5, 1.0]}, {"lam": 1.0, "gamma": [0.5, 0.5]}],
            ["lam | 1 (2) | 1..2 (2) | 2/2", "gamma | [0.5 0.5] (1), [0.5 1] (1) | 0..1 (3) | 1/2"],
        ),
        (  # of two stages, the last one chooses
            [{"lam": [1.0, 9.0]}, {"lam": [2.0, 3.0, 4.0]}],
            [{"lam": 4.0}],
            ["lam | 4 (1) | 1..9 (2); then 2..4 (3) | 1/1"],
        ),
    ],
)
def test_choices_have_their_grid_and_edges(grids, choices, rows):
    (layout,) = params_table(searched(grids, choices)).layouts
    assert [" | ".join(cell.text for cell in row[1:]) for row in layout.rows] == rows


def test_choices_at_edges_are_those_that_no_other_value_ties():
    grid, low = [{"lam": [1.0, 2.0, 3.0]}], {"lam": 1.0}
    clear = [[0.9, 0.7], [0.7, 0.7], [0.6, 0.6]]
    tied = [[0.9, 0.7], [0.8, 0.8], [0.6, None]]
    run = searched(grid, [low, low, {"lam": 2.0}], scores=[clear, tied, clear])
    (edge,) = edge_choices(run)
    assert (edge.solver, edge.value, edge.side) == ("a", 1.0, "lower")
    assert (edge.count, edge.searches) == (1, 3)
    assert list(edge_choices(searched([{"lam": [1.0, 2.0]}], [low]))) == []


# --- published values -------------------------------------------------------------------------


def test_published_values_agree_within_their_tolerance_and_rounding():
    def run(name, figures, **values):
        made = make_run(name, **values)
        known = [
            PublishedFigure(solver=key, measure="auc", tolerance=0.05, value=value, flag=flag)
            for key, value, flag in figures
        ]
        published = Published(source="Somebody (2001)", figures=tuple(known))
        return replace(made, task=made.task.model_copy(update={"published": published}))

    one = run("one", [("a", 0.9, ""), ("b", 0.8, ""), ("x", 0.1, "")], a=[0.9], b=[0.7])
    two = run("two", [("a", 0.6, ""), ("b", 0.6, "a slip")], a=[0.545], b=[0.62])
    (table,) = wanted_tables([one, two], ["published_table"])
    assert table.frame["difference"].tolist() == pytest.approx([0, -0.1, -0.055, 0.02])
    assert table.frame["agrees"].tolist() == [True, False, True, None]
    (values,) = table.layouts
    assert [[cell.text for cell in row[2:]] for row in values.rows] == [
        ["0.90", "0.900", "0.000", ""],
        ["0.80", "0.700", "-0.100", ""],
        ["0.60", "0.545", "-0.055", ""],
        ["0.60", "0.620", "+0.020", "a slip"],
    ]
    assert values.footnotes[0].startswith("2 of 3 published values without a remark are within")


# --- which tables -----------------------------------------------------------------------------

WHY = replace(AUC, name="why", title="Why", for_published=True, output="", file="")


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        ([], ["params_table"]),
        (["time_table", "auc_boxplot"], ["time_table", "params_table"]),
        (
            ["time_table", "auc_table"],
            ["time_table", "auc_table", "auc_test_table", "params_table"],
        ),
        (["why_table", "auc_table"], ["auc_table", "auc_test_table", "params_table"]),
    ],
)
def test_outputs_say_which_tables_there_are(outputs, names):
    test = AUC.on("official test rows", "test")
    both = {("a", 500, 0): {"scores": {"auc": 0.9, "test_auc": 0.8}}}
    run = make_run(a={500: [0.9]}, records=both, further=(test, WHY), outputs=outputs)
    assert [table.name for table in wanted_tables([run])] == names
    against = make_run(a=[0.9], b=[0.8], solvers={"b": {"against": "a"}}, outputs=outputs)
    assert "gain_table" in [table.name for table in wanted_tables([against])]
    assert "gain_table" not in [table.name for table in wanted_tables([against.of(["b"])])]


def test_a_terminal_shows_what_configs_ask_for_others_by_name():
    gains = {"a": {500: [0.9, 0.8], 900: [0.9, 0.7]}, "b": {500: [0.8, 0.6], 900: [0.8, 0.5]}}
    run = make_run(**gains, solvers={"a": {"against": "b"}}, outputs=["auc_table"])
    text = text_tables([run])
    assert "Gains over B" in text and "+0.1500" in text and "Chosen" not in text
    assert "Further gains" not in text
    by_name = text_tables([run], ["gain_table"])
    assert "Further gains" in by_name and "AUC on" not in by_name
    assert "Training time" in text_tables([make_run(**gains, outputs=["auc_curve"])])


def test_gains_of_datasets_that_are_tested_and_not_have_their_notes():
    values = {"a": [0.9, 0.8, 0.85], "b": [0.8, 0.75, 0.7], "solvers": {"a": {"against": "b"}}}
    tested, same = make_run("t", **values), make_run("s", draws="", **values)
    rows = gain_table([tested, same]).layouts[0]
    assert [row[4].text != "\N{EN DASH}" for row in rows.rows] == [True, False]
    assert rows.header[3:5] == ["Gain [95%]", "p"]
    assert [row[-1].text for row in rows.rows] == ["3/3", "3/3"]
    notes = [note for note in rows.footnotes if note.startswith(("t: ", "s: "))]
    assert [note.split()[0] for note in notes] == ["t:", "s:"] and "same rows" in notes[1]
    alone = gain_table([same]).layouts[0]
    assert alone.header[2:] == ["Gain", "Better in"] and not alone.has_best


def test_what_cannot_be_shown_is_an_error_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    run, empty = make_run(a={500: [0.9]}, further=(WHY,)), make_run(a={500: [None]})
    for runs, folder, only, told in (
        ([empty], tmp_path, (), "no fit is recorded yet"),
        ([], tmp_path, (), "at least one results folder"),
        ([run], tmp_path / "file", (), "cannot be written .Not a directory.; name another"),
        ([run], tmp_path, ["aux_table"], "no table 'aux_table' .*did you mean 'auc_table'"),
        ([run], tmp_path, ["why_table"], "no table 'why_table' in these results .*auc_table"),
    ):
        with pytest.raises(ResultsError, match=told) as caught:
            write_tables(runs, folder, only)
        assert "\n" not in str(caught.value)


def test_a_report_is_written_again_if_what_it_shows_has_changed(tmp_path, monkeypatch):
    for name in ("config.yaml", "plan.json", "task.json", "cells.jsonl"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr("dsgkit.experiment.runs.load", lambda folder: [make_run(a=[0.9])])
    monkeypatch.setattr("dsgkit.report.figures.draw_figures", lambda runs, folder: [])
    table = tmp_path / "tables" / "auc_table.md"

    def is_written():
        table.write_text("old")
        refresh_report(tmp_path)
        return table.read_text() != "old"

    table.parent.mkdir()
    assert is_written() and not is_written()
    for name in ("config.yaml", "plan.json", "task.json", "cells.jsonl"):
        os.utime(tmp_path / name)  # a run writes all but the records again
        assert is_written() == (name == "cells.jsonl")
        (tmp_path / name).write_text(f"new {name}")
        assert is_written() and not is_written()
    monkeypatch.setattr("dsgkit.report.__version__", "another")
    assert is_written() and not is_written()
    (tmp_path / "tables" / "time_table.csv").unlink()
    assert is_written() and (tmp_path / "tables" / "time_table.csv").exists()
    (tmp_path / ".report.json").write_text("[")
    assert is_written() and not is_written()


def test_reports_know_no_measure_and_read_no_registry():
    for path in (Path(__file__).parents[2] / "dsgkit" / "report").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"\b(auc|rmse|positive|(n_)?unlabell?ed)\b", text, re.I), path
        assert not re.search(r"dsgkit\.(data|solvers|tasks\.(?!base|measures))", text), path
