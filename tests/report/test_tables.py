"""The numbers and words of the tables, recomputed by hand."""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from click import UsageError

from dsgkit import cli, report
from dsgkit.config.spec import parse_values
from dsgkit.errors import ResultsError
from dsgkit.report.numbers import grid_text, value_text
from dsgkit.report.summary import settings, summarise
from dsgkit.report.tables import text_table, write_tables
from dsgkit.tasks.measures import FIT_COLUMNS, STANDARD, TIDY_COLUMNS, Published
from tests.report.conftest import AUC, BALANCE, RANKING, solver_of

PACKAGE = Path(report.__file__).parent


def bold(entry):
    return entry.startswith("**")


def test_numbers_are_those_of_plain_python(typical, written):
    results = typical(trials=7, sizes=(500, 2000, 30_000), seed=3)
    tables = written(results)
    shown, rows = tables.shown("auc_table"), tables.data("auc_table")
    assert len(rows) == 4 * 3
    for row in rows:
        n = int(row["unlabeled"])
        values = [
            one["scores"]["auc"]
            for one in results.records
            if (one["label"], one["at"]["unlabeled"], one["status"]) == (row["solver"], n, "ok")
        ]
        entry = shown[row["solver"]]["all (30,000)" if n == 30_000 else f"{n:,}"]
        assert (row["dataset"], int(row["trials"])) == ("codrna", len(values))
        if values:
            mean, std = statistics.mean(values), statistics.stdev(values)
            assert [float(row["mean"]), float(row["std"])] == pytest.approx([mean, std], rel=1e-12)
            assert entry.strip("*") == f"{mean:.3f} ± {std:.3f}"
            assert (row["status"], row["needed_bytes"]) == ("ok", "")
        else:
            assert entry == "refused (needs 6.7 GiB)"
            assert (row["mean"], row["status"]) == ("", "refused")
            assert row["needed_bytes"] == str(8 * 30_000**2)


def test_no_measure_may_be_called_as_a_column_of_a_table_is(fits, written):
    (first,) = written(fits({"samult": {500: [{"remark": "so"}]}})).data("auc_table")
    assert {"dataset", "mean", "needed_bytes", "remarks"} < first.keys()
    assert first.keys() <= {*FIT_COLUMNS, *TIDY_COLUMNS, "unlabeled", "measure"}


@pytest.mark.parametrize(
    ("aucs", "best"),
    [
        ((0.91234, 0.91249, 0.9126), [2]),
        ((0.9121, 0.9119, 0.91151, 0.9), [0, 1, 2]),  # equal as shown
        ((0.9, 0.9), []),  # all tie
    ],
)
def test_the_best_mean_and_its_ties_are_bold(fits, written, aucs, best):
    tables = written(fits({f"s{place}": {500: [auc]} for place, auc in enumerate(aucs)}))
    shown = tables.column("auc_table").values()
    assert [place for place, entry in enumerate(shown) if bold(entry)] == best
    assert tables.text("auc_table", "tex").count(r"\textbf{0.9") == len(best)


@pytest.mark.parametrize(
    ("third", "shown"), [(1.004, ["3.00", "1.00", "1.00"]), (1.006, ["3.00", "**1.00**", "1.01"])]
)
def test_the_shortest_time_is_bold(fits, written, third, shown):
    results = fits({"a": {500: [3.0]}, "b": {500: [1.001]}, "c": {500: [third]}}, "fit")
    assert list(written(results).column("time_table").values()) == shown


def timed(seconds, low, high, threads=2, disturbed=False):
    timing = {"range": {"fit": (low, high)}, "threads": threads, "slowdown": 1.0}
    return {"times": {"fit": seconds}, "timing": timing | {"disturbed": disturbed}}


OVERLAPPING = {
    "qsg_s2auc": timed(3.0, 2.5, 3.5),
    "samult": timed(1.0, 0.9, 1.25),
    "pnu_auc": timed(1.2, 1.15, 1.3),
    "rff_s2auc": timed(2.0, 1.5, 8.0),
}
APART = OVERLAPPING | {"samult": timed(1.0, 0.9, 1.1)}


@pytest.mark.parametrize(
    ("times", "shown", "told"),
    [
        (
            APART,
            [
                "3.00 [2.50..3.50]",
                "**1.00 [0.90..1.10]**",
                "1.20 [1.15..1.30]",
                "2.00 [1.50..8.00]",
            ],
            ["Bold: the fastest, if its longest time is shorter than the shortest of every"],
        ),
        (
            APART | {"rff_s2auc": timed(2.0, 1.5, 8.0, disturbed=True)},  # may hide the best
            ["3.00 [2.50..3.50]", "1.00 [0.90..1.10]", "1.20 [1.15..1.30]", "2.00 [1.50..8.00]‡"],
            ["‡ Disturbed by other processes: ", "busiest thread (RFF-S2AUC in 1 of 1 trial)."],
        ),
        (
            {key: timed(s, s, s, 1, True) for key, s in zip(APART, (3, 1, 1.2, 2), strict=True)},
            ["3.00", "**1.00**", "1.20", "2.00"],  # other processes have no part in it
            ["processor time on one thread, median [range]"],
        ),
        (
            OVERLAPPING | {"samult": timed(1.0, 1.0, 1.0, threads=1)},
            ["3.00 [2.50..3.50]", "**1.00**", "1.20 [1.15..1.30]", "2.00 [1.50..8.00]"],
            ["processor time where it was on one thread, else wall time, median"],
        ),
    ],
)
def test_times_of_one_trial_have_the_range_of_its_repeats(fits, written, times, shown, told):
    """The fastest is bold where no other range reaches its own."""
    tables = written(fits({key: {500: [fit]} for key, fit in times.items()}))
    assert list(tables.column("time_table").values()) == shown
    text = tables.text("time_table")
    assert all(one in text for one in told)
    row = tables.data("time_table")[1]
    low, high = times["samult"]["timing"]["range"]["fit"]
    found = [float(row[name]) for name in ("median", "lowest", "highest")]
    assert found == [1.0, low, high]
    assert "mean" not in row and "std" not in row


def refused(needed, message="it needs 9.0 GiB"):
    return {"status": "out_of_memory", "needed": round(needed), "message": message}


def test_an_entry_may_have_no_record_no_deviation_and_no_value(fits, written):
    values = {"qsg_s2auc": {500: [0.9], 900: [0.9]}, "samult": {500: [0.9], 900: [None]}}
    results = fits(values, full=True)
    tables = written(results)
    assert tables.shown("auc_table")["SAMULT"] == {"500": "0.900", "all (900)": "–"}
    assert {row["std"] for row in tables.data("auc_table")} == {""}
    assert "±" not in tables.text("auc_table", "tex") and "one trial" in text_table([results])
    failed = fits(values | {"samult": {900: ["indefinite"]}}, full=True)
    # a failure at the full size shares the column of the finished
    assert written(failed).column("auc_table", "all (900)")["SAMULT"] == "indefinite"


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grids", "chosen", "rows"),
    [
        (  # words have no edges, and a grid of one point is no choice
            [{"sigma": [1.0], "t0": [0, "stable"]}],
            [{"sigma": 1.0, "t0": 0}, {"sigma": 1.0, "t0": "stable"}],
            [("t0", "0", "1", "0, stable", "False"), ("t0", "stable", "1", "0, stable", "False")],
        ),
        (  # of every stage
            [{"lam": [1.0, 2.0]}, {"gamma": [0.0, 0.5, 1.0]}],
            [{"lam": 1.0, "gamma": 0.5}, {"lam": 2.0, "gamma": 0.5}],
            [
                ("lam", "1", "1", "1..2 (2)", "True"),
                ("lam", "2", "1", "1..2 (2)", "True"),
                ("gamma", "0.5", "2", "0..1 (3)", "False"),
            ],
        ),
        (  # of two stages
            [{"lam": [1.0, 9.0]}, {"lam": [2.0, 3.0, 4.0]}],
            [{"lam": 4.0}],
            [("lam", "4", "1", "1..9 (2); then 2..4 (3)", "True")],
        ),
    ],
)
def test_a_choice_has_its_grid_and_whether_it_is_at_an_edge(fits, written, grids, chosen, rows):
    solvers = {"samult": solver_of("samult", None, *grids)}
    results = fits({"samult": {500: [{"params": one} for one in chosen]}}, solvers=solvers)
    columns = ("parameter", "value", "count", "grid", "at_edge")
    found = [tuple(row[c] for c in columns) for row in written(results).data("params_table")]
    assert sorted(found) == sorted((n, v, c, g, e) for n, v, c, g, e in rows)


def test_what_the_choices_scored_on_held_out_folds(fits, make, written):
    folds = {1.0: [0.7, 0.8, 0.9], 2.0: [0.6, 0.6, None]}
    results = fits(
        {"samult": {500: [{"params": {"lam": lam}} for lam in folds]}},
        solvers={"samult": solver_of("samult", None, {"lam": [1.0, 2.0]})},
    )
    searched = {"points": [{"lam": lam} for lam in folds], "fold_scores": [*folds.values()]}
    records = [one | searched | {"kind": k} for one in results.records for k in ("search", "fit")]
    task = RANKING.model_copy(update={"chooses": "auc"})
    tables = written(make(results.experiment, records, task))
    # means of 0.8 and 0.6, and of 0.1 / sqrt(3) and 0
    last = tables.text("params_table").splitlines()[-1]
    assert re.findall(r"[\d.]+", last) == ["0.700", "0.029"]
    assert "held-out" in tables.text("params_table", "tex")
    other = written(make(results.experiment, records))  # of a folder that does not say by what
    assert "held-out" not in other.text("params_table")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([2.0**k for k in range(-18, 3, 2)], "2^-18..2^2 (11)"),
        (parse_values("10^-5..10^4"), "10^-5..10^4 (10)"),
        ([0.1, 1, 10], "0.1..10 (3)"),
        ([1, 2], "1..2 (2)"),
        ([0.125, 0.3, 8], "0.125..8 (3)"),
        ([0.0, 2.0**-14], "0..2^-14 (2)"),
        ([-1.0, 0.125], "-1..0.125 (2)"),
        ([0, 1024], "0..1024 (2)"),
        ([None, "balanced"], "null, balanced"),
        ([5], "5"),
    ],
)
def test_a_grid_of_powers_is_shown_by_its_exponents(values, text):
    assert grid_text(values) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0**-14, "2^-14"),
        (2.0**20, "2^20"),
        (0.0625, "0.0625"),
        (8.0, "8"),
        (1e-5, "10^-5"),
        (1e6, "10^6"),
        (0.001, "0.001"),
        (6.10352e-05, "6.10352e-05"),  # near a power, and none
        (-(2.0**-14), "-6.10352e-05"),
        (0.0, "0"),
        (2**20, "1048576"),
        ((0.5, 2.0**-14), "[0.5 2^-14]"),
    ],
)
def test_a_long_value_that_is_a_power_is_shown_by_its_exponent(value, text):
    assert value_text(value) == text


def test_peak_memory_is_the_largest(fits, written):
    tables = written(fits({"samult": {500: [{"peak_memory": n * 2**30} for n in (1, 2)]}}))
    assert tables.data("time_table")[0]["peak_memory_bytes"] == str(2**31)
    assert "2.0 GiB" in tables.text("time_table")


# --- several results --------------------------------------------------------------------------


@pytest.fixture
def several(typical):
    two = ("qsg_s2auc", "samult")
    return [
        typical(trials=3, sizes=(500, 20_000), test=True),
        typical("skin", trials=3, solvers=two, sizes=(500, 1000, 8000), seed=1),
    ]


def test_several_datasets_are_compared_at_the_largest_finished_sizes(several, written):
    tables = written(*several)
    shown = tables.shown("auc_table")
    assert list(shown) == ["codrna", "skin"]
    assert list(shown["skin"]) == ["QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"]
    assert shown["codrna"]["QSG-S2AUC"].endswith("(20,000)")
    assert shown["codrna"]["SAMULT"].endswith("(500)")
    assert shown["skin"]["PNU-AUC"] == "–"
    assert sum(map(bold, shown["skin"].values())) == 1
    cells = several[1].cells
    values = cells[(cells.solver == "samult") & (cells["size"] == 8000)]["auc"].tolist()
    entry = f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
    assert entry in shown["skin"]["SAMULT"] and shown["skin"]["SAMULT"].endswith("(8,000)")
    # times at different sizes are no contest
    assert "**" not in tables.text("time_table")
    assert list(tables.shown("auc_test_table")) == ["codrna"]
    assert {path.parent.name for path in tables.paths} == {"tables", "codrna", "skin"}
    assert "(20,000)" in text_table(several)


def test_names_of_datasets_stay_inside_the_folder_and_apart(several, typical, written):
    spec = several[0].experiment.dataset.model_copy(update={"name": "../../up"})
    odd = several[0].experiment.model_copy(update={"dataset": spec})
    tables = written(replace(several[0], experiment=odd), several[1])
    assert all(tables.folder in path.resolve().parents for path in tables.paths)
    assert {path.parent.name for path in tables.paths} == {"tables", "_._.._up", "skin"}
    same = [typical("skin", name=name, sizes=(500,)) for name in ("a", "b")]
    assert list(written(*same).shown("auc_table")) == ["a", "b"]


def test_no_value_stands_under_the_name_of_another_solver(fits, written):
    # the two folders have their keys the other way round, and a third has one label twice
    plans = {
        "codrna": {"one": ("samult", "SAMULT"), "two": ("pnu_auc", "PNU-AUC")},
        "skin": {"one": ("pnu_auc", "PNU-AUC"), "two": ("samult", "SAMULT")},
        "susy": {"one": ("samult", "SAMULT"), "other": ("qsg_s2auc", "QSG")},
    }
    aucs = {"samult": 0.25, "pnu_auc": 0.5, "qsg_s2auc": 0.75}
    results = [
        fits(
            {key: {500: [aucs[kind]]} for key, (kind, _) in plan.items()},
            dataset=name,
            solvers={key: solver_of(*one) for key, one in plan.items()},
        )
        for name, plan in plans.items()
    ]
    shown = written(*results).shown("auc_table")
    entries = {name: [e.strip("*")[:5] for e in row.values()] for name, row in shown.items()}
    assert list(shown["skin"]) == ["SAMULT", "PNU-AUC", "QSG"]
    assert entries == {
        "codrna": ["0.250", "0.500", "–"],
        "skin": ["0.250", "0.500", "–"],
        "susy": ["0.250", "–", "0.750"],
    }


def test_kinds_that_share_a_label_are_named_too(fits, written):
    results = [
        fits(
            {"exact": {500: [0.9]}, "rff_s2auc": {500: [0.9]}},
            dataset=name,
            solvers={"exact": solver_of(kind, "Exact")},
        )
        for name, kind in (("codrna", "samult"), ("skin", "pnu_auc"))
    ]
    shown = written(*results).shown("auc_table")
    assert list(shown["skin"]) == ["Exact (samult)", "RFF-S2AUC", "Exact (pnu_auc)"]
    assert shown["skin"]["Exact (samult)"] == "–"
    assert list(written(results[0]).shown("auc_table")) == ["Exact", "RFF-S2AUC"]


def test_a_table_of_what_sweeps_nothing_has_one_column(regression, written):
    results = regression({"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, 4.0]})
    tables = written(results)
    assert tables.names == {"rmse_table", "time_table", "params_table"}
    assert tables.shown("rmse_table") == {
        "Ridge": {"RMSE": "**2.000 ± 0.500**"},
        "Lasso": {"RMSE": "3.500 ± 0.500"},
    }
    caption = "RMSE on the held-out rows, mean ± standard deviation over 3 trials; bikes.\n"
    assert tables.text("rmse_table").startswith(caption)
    columns = ["dataset", "solver", "mean", "std", "trials", "status", "needed_bytes"]
    assert list(tables.data("rmse_table")[0]) == columns
    times = ["median", "lowest", "highest", "disturbed"]
    columns = [*columns[:2], *times, *columns[4:], "peak_memory_bytes"]
    assert list(tables.data("time_table")[0]) == columns
    assert re.search(r"^Ridge +2\.000 ± 0\.500\*$", text_table([results]), re.MULTILINE)


def test_results_of_several_tasks_share_the_tables_of_what_both_have(fits, regression, written):
    tables = written(fits({"samult": {500: [0.9]}}), regression({"ridge": [1.5]}))
    assert tables.shown("time_table") == {
        "codrna": {"SAMULT": "1.00 (500)", "Ridge": "–"},
        "bikes": {"SAMULT": "–", "Ridge": "1.00"},
    }
    assert list(tables.shown("auc_table")) == ["codrna"]
    assert list(tables.shown("rmse_table")) == ["bikes"]
    assert [row["unlabeled"] for row in tables.data("time_table")] == ["500", ""]


def test_a_setting_that_differs_is_told_with_its_datasets(fits):
    words = ("z-scores, a choice", "raw, a choice", "in [0, 1], a choice", "z-scores, a choice")
    shown = [
        fits(
            {"samult": {500: [0.9]}},
            dataset=name,
            task=RANKING.model_copy(update={"setting": setting}),
        )
        for name, setting in zip("abcd", words, strict=True)
    ]
    found = summarise(shown)
    assert settings(found) == "z-scores (a, d), raw (b), in [0, 1] (c), a choice"
    assert settings([found[0], found[3]]) == "z-scores, a choice"
    start = f"{settings(found)}.\n\nOne trial, at the largest number of"
    assert text_table(shown).startswith(start)


# --- which tables -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([], {"params_table"}),
        (["time_table", "auc_boxplot"], {"time_table", "params_table"}),
        (["auc_table"], {"auc_table", "auc_test_table", "params_table"}),
    ],
)
def test_outputs_say_which_tables_are_written(typical, written, outputs, expected):
    tables = written(typical(outputs=outputs, sizes=(500,), test=True))
    assert tables.names == expected
    assert set(tables.paths) == set(tables.folder.iterdir())


def test_a_terminal_gets_what_outputs_name_and_explanations_by_name_only(fits, written):
    named = {"name": "error", "title": "Why", "output": "why", "file": "why"}
    why = replace(AUC, **named, for_published=True)
    task = RANKING.model_copy(update={"measures": (AUC, BALANCE, why, *STANDARD)})
    known = task.model_copy(update={"published": Published(source="Somebody", figures=())})
    values = {"samult": {500: [{"positive": 0.25, "error": 0.5}]}}
    outputs = ("balance_table", "why_table")
    beside = fits(values, task=known, outputs=outputs, name="a")
    text = text_table([beside])
    assert "25.00" in text and "Why" not in text and "AUC on" not in text
    assert "Why" in text_table([beside], ["why_table"])
    assert written(fits(values, task=task, outputs=outputs)).names == {
        "balance_table",
        "params_table",
    }


def test_what_cannot_be_written_is_an_error_in_one_line(fits, tmp_path):
    (tmp_path / "file").write_text("")
    results, empty = fits({"samult": {500: [0.9]}}), fits({"samult": {500: [None]}}, name="empty")
    for found, folder, only, told in (
        ([empty], tmp_path, (), "no fit is recorded yet"),
        ([results], tmp_path / "file", (), "cannot be written"),
        ([results], tmp_path, ["error_table"], "there is no table 'error_table'"),
        ([results], tmp_path, ["auc_test_table"], "no finished fit has a value for auc_test_table"),
    ):
        with pytest.raises(ResultsError, match=told) as caught:
            write_tables(found, folder, only)
        assert "\n" not in str(caught.value)
    for found, told in (([empty], "no fit is recorded yet"), ([], "at least one results folder")):
        with pytest.raises(ResultsError, match=told):
            text_table(found)


# --- parts of results -------------------------------------------------------------------------


def dsg(*command):
    cli.cli.main([*map(str, command)], standalone_mode=False)


def test_one_size_of_several_datasets_is_a_row_each(fits, written, tmp_path):
    first, second = (
        fits(
            {key: {n: [0.5 + n / 10**5] for n in sizes} for key in ("qsg_s2auc", "samult")},
            dataset=name,
        )
        for name, sizes in (("codrna", (500, 2000, 30_000)), ("heart", (210, 900)))
    )
    assert written(first.at(2000), second.at(2000), only=["auc_table"]).shown("auc_table") == {
        "codrna": dict.fromkeys(("QSG-S2AUC", "SAMULT"), "0.520 (2,000)"),
        "heart": dict.fromkeys(("QSG-S2AUC", "SAMULT"), "0.509 (900)"),
    }
    with pytest.raises(ResultsError, match="no fit at 300 unlabelled or below; the least is 500"):
        first.at(300)
    before = sorted(first.folder.rglob("*"))
    dsg("table", first.folder, "--at", 1000)
    assert sorted(first.folder.rglob("*")) == before
    dsg("table", first.folder, "--at", 1000, "--out", tmp_path / "only")
    text = (tmp_path / "only" / "tables" / "auc_table.md").read_text()
    assert re.search(r"\| Solver +\| +500 \|\n", text)
    with pytest.raises(UsageError, match="needs --out"):
        dsg("plot", first.folder, "--at", 1000)


def test_tables_of_some_solvers(fits, written, capsys):
    keys = ("qsg_s2auc", "samult", "pnu_auc")
    solvers = {"pnu_auc": solver_of("pnu_auc", against="samult")}
    results = fits({key: {500: [0.5, 0.6]} for key in keys}, solvers=solvers)
    two = results.of(["pnu_auc", "qsg_s2auc", "of another folder"])
    assert two.solvers == ["qsg_s2auc", "pnu_auc"]
    assert len(two.cells) == len(two.records) == 4
    tables = written(two)
    assert list(tables.shown("auc_table")) == ["QSG-S2AUC", "PNU-AUC"]
    assert "gain_table" not in tables.names  # a gain over a solver that is left out is none
    dsg("table", results.folder, "--solvers", "samult, pnu_auc")
    out = capsys.readouterr().out
    assert "SAMULT" in out and "QSG" not in out
    with pytest.raises(UsageError, match=r"no solver is called 'samul' \(did you mean 'samult'"):
        dsg("table", results.folder, "--solvers", "samul")


def test_a_report_knows_no_measure_and_reads_no_registry():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"\b(auc|rmse|positive|(n_)?unlabell?ed)\b", text, re.I), path
        assert not re.search(r"dsgkit\.(data|solvers|tasks\.(?!base|measures))", text), path
