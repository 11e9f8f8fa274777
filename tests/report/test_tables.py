"""The numbers and words of the tables, recomputed by hand."""

import csv
import re
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click import UsageError

from dsgkit import cli, report
from dsgkit.config.ranges import parse_values
from dsgkit.report import write_report
from dsgkit.report.numbers import grid_text
from dsgkit.report.summary import settings, summarise
from dsgkit.report.tables import text_table, write_tables
from dsgkit.tasks.base import Published
from dsgkit.tasks.columns import why_no_columns
from dsgkit.tasks.measures import STANDARD, outputs_of
from dsgkit.text.errors import ResultsError
from tests.report.conftest import AUC, BALANCE, RANKING

PACKAGE = Path(report.__file__).parent


def read_csv(folder, name):
    with (folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def read_markdown(folder, name):
    """Return the first table of a file as {row name: {column: entry}}."""
    text = (folder / "tables" / f"{name}.md").read_text().split("\n\n")[1]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {line[0]: dict(zip(lines[0][1:], line[1:], strict=True)) for line in lines[2:]}


def bold(entry):
    return entry.startswith("**")


def test_numbers_are_those_of_plain_python(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=7)
    records = invent.typical(experiment, sizes=(500, 2000, 30_000), seed=3)
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    rows = read_csv(tmp_path, "auc_table")
    assert len(rows) == 4 * 3
    for row in rows:
        values = [
            record["scores"]["auc"]
            for record in records
            if (record["label"], str(record["at"]["unlabeled"]))
            == (row["solver"], row["unlabeled"])
            and record["status"] == "ok"
        ]
        n = int(row["unlabeled"])
        entry = shown[row["solver"]]["all (30,000)" if n == 30_000 else f"{n:,}"]
        assert row["dataset"] == "codrna"
        assert int(row["trials"]) == len(values)
        if values:
            mean = sum(values) / len(values)
            std = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
            assert float(row["mean"]) == pytest.approx(mean, rel=1e-12)
            assert float(row["std"]) == pytest.approx(std, rel=1e-9)
            assert entry.strip("*") == f"{mean:.3f} ± {std:.3f}"
            assert (row["status"], row["needed_bytes"]) == ("ok", "")
        else:
            assert entry == "refused (needs 6.7 GiB)"
            assert (row["mean"], row["status"]) == ("", "refused")
            assert row["needed_bytes"] == str(8 * 30_000**2)


def test_every_format_of_every_table_is_written(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=2)
    paths = write_tables([make(experiment, invent.typical(experiment, test=True))], tmp_path)
    assert sorted(paths) == sorted((tmp_path / "tables").iterdir())
    assert {path.name for path in paths} == {
        f"{name}.{suffix}"
        for name in ("auc_table", "auc_test_table", "time_table", "params_table")
        for suffix in ("csv", "md", "tex")
    }
    assert all(path.stat().st_size for path in paths)


def test_no_measure_may_be_called_as_a_column_of_a_table_is(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=2)
    records = [record | {"remark": "so"} for record in invent.typical(experiment, sizes=(500,))]
    write_tables([make(experiment, records)], tmp_path)
    (first, *_) = read_csv(tmp_path, "auc_table")
    assert {"dataset", "mean", "needed_bytes", "remarks"} < first.keys()
    for column in first:
        assert why_no_columns([AUC.model_copy(update={"name": column})], ["unlabeled"])


def test_no_table_of_test_rows_without_a_test_part(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1)
    write_tables([make(experiment, invent.typical(experiment))], tmp_path)
    assert not list(tmp_path.rglob("auc_test_table*"))


def test_the_best_mean_and_its_ties_are_bold(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1)
    means = {"qsg_s2auc": 0.91234, "samult": 0.91249, "pnu_auc": 0.9126, "rff_s2auc": 0.5}
    records = [invent.record(experiment, key, 0, 500, auc=auc) for key, auc in means.items()]
    ties = {"qsg_s2auc": 0.9121, "samult": 0.9119, "pnu_auc": 0.9, "rff_s2auc": 0.91151}
    records += [invent.record(experiment, key, 0, 900, auc=auc) for key, auc in ties.items()]
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert {solver for solver in shown if bold(shown[solver]["500"])} == {"PNU-AUC"}
    expected = {"QSG-S2AUC", "SAMULT", "RFF-S2AUC"}
    assert {solver for solver in shown if bold(shown[solver]["900"])} == expected
    latex = (tmp_path / "tables" / "auc_table.tex").read_text()
    assert latex.count(r"\textbf{0.912}") == 3
    assert latex.count(r"\textbf{0.913}") == 1


def test_the_shortest_time_is_bold(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1)
    records = [
        invent.record(experiment, key, 0, 500, times={"fit": seconds})
        for key, seconds in zip(experiment.solvers, (3.0, 1.004, 1.001, 2.0), strict=True)
    ]
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "time_table")
    assert [shown[solver]["500"] for solver in shown] == ["3.00", "1.00", "1.00", "2.00"]
    records[1]["times"]["fit"] = 1.006
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "time_table")
    assert [shown[solver]["500"] for solver in shown] == ["3.00", "1.01", "**1.00**", "2.00"]


def timing(low, high, threads=2, disturbed=False):
    return {
        "range": {"fit": (low, high)},
        "threads": threads,
        "slowdown": 1.0,
        "disturbed": disturbed,
    }


TIMES = {
    "qsg_s2auc": (3.0, timing(2.5, 3.5)),
    "samult": (1.0, timing(0.9, 1.25)),
    "pnu_auc": (1.2, timing(1.15, 1.3)),
    "rff_s2auc": (2.0, timing(1.5, 8.0)),
}


def time_table(invent, make, folder, changes=None):
    """The column of the only size of a table of `TIMES`, and the text below it."""
    experiment = invent.experiment("codrna", trials=1)
    records = [
        invent.record(experiment, key, 0, 500, times={"fit": seconds}, timing=told)
        for key, (seconds, told) in (TIMES | (changes or {})).items()
    ]
    write_tables([make(experiment, records)], folder)
    text = (folder / "tables" / "time_table.md").read_text()
    return [row["500"] for row in read_markdown(folder, "time_table").values()], text


def test_times_of_one_trial_have_the_range_of_its_repeats(invent, make, tmp_path):
    """The ranges of the fastest two overlap: which of them is faster, nobody knows."""
    shown, text = time_table(invent, make, tmp_path)
    assert shown == [
        "3.00 [2.50..3.50]",
        "1.00 [0.90..1.25]",
        "1.20 [1.15..1.30]",
        "2.00 [1.50..8.00]",
    ]
    assert "median [range] over repeats of one trial" in text
    row = read_csv(tmp_path, "time_table")[1]
    assert [row[name] for name in ("median", "lowest", "highest")] == ["1.0", "0.9", "1.25"]
    assert "mean" not in row and "std" not in row


def test_the_shortest_time_is_bold_where_no_other_range_reaches_its_own(invent, make, tmp_path):
    faster = {"samult": (1.0, timing(0.9, 1.1))}
    shown, text = time_table(invent, make, tmp_path, faster)
    assert shown[1] == "**1.00 [0.90..1.10]**"
    assert sum(map(bold, shown)) == 1
    assert "Bold: the fastest, if its longest time is shorter than the shortest of every" in text


def test_a_disturbed_time_has_a_mark_and_may_hide_the_best(invent, make, tmp_path):
    faster = {"samult": (1.0, timing(0.9, 1.1))}
    changes = faster | {"rff_s2auc": (2.0, timing(1.5, 8.0, disturbed=True))}
    shown, text = time_table(invent, make, tmp_path, changes)
    assert shown[3] == "2.00 [1.50..8.00]‡"
    assert not any(map(bold, shown))
    assert "‡ Disturbed by other processes: " in text
    assert "busiest thread (RFF-S2AUC in 1 of 1 trial)." in text


def test_on_one_thread_the_times_are_processor_times(invent, make, tmp_path):
    """Those of other processes have no part in it."""
    alone = {
        key: (seconds, timing(seconds, seconds, threads=1, disturbed=True))
        for key, (seconds, _) in TIMES.items()
    }
    shown, text = time_table(invent, make, tmp_path, alone)
    assert shown == ["3.00", "**1.00**", "1.20", "2.00"]
    assert "processor time on one thread, median [range]" in text
    _, text = time_table(invent, make, tmp_path, {"samult": alone["samult"]})
    assert "processor time where it was on one thread, else wall time, median" in text


def test_times_of_several_trials_have_the_range_over_these(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=3, solvers=("samult",))
    records = [
        invent.record(
            experiment, "samult", trial, 500, times={"fit": seconds}, timing=timing(0.1, 99.0)
        )
        for trial, seconds in enumerate((5.0, 1.0, 2.0))
    ]
    write_tables([make(experiment, records)], tmp_path)
    assert read_markdown(tmp_path, "time_table")["SAMULT"]["500"] == "2.00 [1.00..5.00]"
    assert "median [range] over 3 trials" in (tmp_path / "tables" / "time_table.md").read_text()


def test_statuses_are_words(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=2)
    statuses = {"qsg_s2auc": "diverged", "samult": "indefinite", "rff_s2auc": "failed"}
    records = [
        invent.failure(experiment, key, trial, 500, status, message="it needs 9.0 GiB")
        for key, status in statuses.items()
        for trial in range(2)
    ]
    records += [
        invent.failure(
            experiment,
            "pnu_auc",
            trial,
            500,
            "out_of_memory",
            needed=round((26.4 - trial) * 2**30),
        )
        for trial in range(2)
    ]
    results = make(experiment, records)
    write_tables([results], tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert {solver: entry["500"] for solver, entry in shown.items()} == {
        "QSG-S2AUC": "diverged",
        "SAMULT": "indefinite",
        "PNU-AUC": "refused (needs 26.4 GiB)",
        "RFF-S2AUC": "failed",
    }
    assert "refused (needs 26.4 GiB)" in text_table([results])


def test_partly_finished_entries_say_so(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=10, solvers=("qsg_s2auc", "samult"))
    aucs = [0.9, 0.8, 0.7, 0.75, 0.95, 0.85, 0.65]
    records = [
        invent.record(experiment, "samult", trial, 500, auc=auc) for trial, auc in enumerate(aucs)
    ]
    records += [invent.failure(experiment, "samult", t, 500, "indefinite") for t in (7, 8)]
    records += [invent.record(experiment, "qsg_s2auc", t, 500, auc=0.6) for t in range(10)]
    write_tables([make(experiment, records)], tmp_path)
    entry = f"**{statistics.mean(aucs):.3f} ± {statistics.stdev(aucs):.3f}** (7/10)"
    shown = read_markdown(tmp_path, "auc_table")
    assert shown["SAMULT"]["500"] == entry
    assert shown["QSG-S2AUC"]["500"] == "0.600 ± 0.000"
    text = (tmp_path / "tables" / "auc_table.md").read_text()
    assert "SAMULT at 500 (2 indefinite, 1 not run)." in text
    row = next(row for row in read_csv(tmp_path, "auc_table") if row["solver"] == "SAMULT")
    assert (row["trials"], row["status"]) == ("7", "ok")


def test_a_size_without_any_record_is_a_dash(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult"))
    records = [
        invent.record(experiment, "qsg_s2auc", 0, 500),
        invent.record(experiment, "qsg_s2auc", 0, 900),
        invent.record(experiment, "samult", 0, 500),
    ]
    write_tables([make(experiment, records)], tmp_path)
    assert read_markdown(tmp_path, "auc_table")["SAMULT"] == {"500": "0.900", "900": "–"}


def test_a_failure_at_the_full_size_shares_the_column_of_the_finished(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult"))
    records = [
        invent.record(experiment, "qsg_s2auc", 0, 900, full=True),
        invent.failure(experiment, "samult", 0, 900, "indefinite"),
    ]
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert shown == {
        "QSG-S2AUC": {"all (900)": "0.900"},
        "SAMULT": {"all (900)": "indefinite"},
    }


def test_one_trial_has_no_deviation(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1)
    results = make(experiment, invent.typical(experiment))
    write_tables([results], tmp_path)
    assert {row["std"] for row in read_csv(tmp_path, "auc_table")} == {""}
    assert "±" not in (tmp_path / "tables" / "auc_table.tex").read_text()
    assert "one trial" in text_table([results])


def test_chosen_hyper_parameters_are_counted(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=10)
    records = invent.typical(experiment, seed=5)
    write_tables([make(experiment, records)], tmp_path)
    rows = read_csv(tmp_path, "params_table")
    for solver, spec in experiment.solvers.items():
        for name in ("lam", "sigma"):
            expected = Counter(
                f"{record['params'][name]:g}"
                for record in records
                if record["solver"] == solver and record.get("params")
            )
            found = [r for r in rows if (r["solver"], r["parameter"]) == (spec.label, name)]
            assert {row["value"]: int(row["count"]) for row in found} == expected
            counts = [int(row["count"]) for row in found]
            assert counts == sorted(counts, reverse=True)
            assert {row["value"] for row in found if row["at_edge"] == "True"} <= {"0.125", "8"}
            assert {row["grid"] for row in found} == {"2^-3..2^3 (3)"}
    assert re.search(
        r"\| *lam \|.*\| *2\^-3\.\.2\^3 \(3\) \|", next(tmp_path.rglob("*ms_table.md")).read_text()
    )


def test_grids_of_words_have_no_edges(invent, make, tmp_path):
    solver = invent.solver("qsg_s2auc", None, {"sigma": [1.0], "t0": [0, "stable"]})
    experiment = invent.experiment("codrna", trials=2, solvers={"qsg_s2auc": solver})
    records = [
        invent.record(experiment, "qsg_s2auc", trial, 500, params={"sigma": 1.0, "t0": t0})
        for trial, t0 in enumerate((0, "stable"))
    ]
    write_tables([make(experiment, records)], tmp_path)
    rows = read_csv(tmp_path, "params_table")
    assert [(r["value"], r["grid"], r["at_edge"]) for r in rows if r["parameter"] == "t0"] == [
        ("0", "0, stable", "False"),
        ("stable", "0, stable", "False"),
    ]


def test_peak_memory_is_the_largest(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=2, solvers=("qsg_s2auc",))
    records = [
        invent.record(experiment, "qsg_s2auc", trial, 500, peak_memory=(trial + 1) * 2**30)
        for trial in range(2)
    ]
    write_tables([make(experiment, records)], tmp_path)
    assert read_csv(tmp_path, "time_table")[0]["peak_memory_bytes"] == str(2**31)
    assert "2.0 GiB" in (tmp_path / "tables" / "time_table.md").read_text()


def several(invent, make):
    first = invent.experiment("codrna", trials=3)
    second = invent.experiment("skin", trials=3, solvers=("qsg_s2auc", "samult"))
    return [
        make(first, invent.typical(first, sizes=(500, 20_000), test=True)),
        make(second, invent.typical(second, sizes=(500, 1000, 8000), seed=1)),
    ]


def test_several_datasets_are_compared_at_the_largest_finished_sizes(invent, make, tmp_path):
    results = several(invent, make)
    paths = write_tables(results, tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert list(shown) == ["codrna", "skin"]
    assert list(shown["skin"]) == ["QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"]
    assert shown["codrna"]["QSG-S2AUC"].endswith("(20,000)")
    assert shown["codrna"]["SAMULT"].endswith("(500)")
    assert shown["skin"]["SAMULT"].endswith("(8,000)")
    assert shown["skin"]["PNU-AUC"] == "–"
    assert sum(map(bold, shown["skin"].values())) == 1
    cells = results[1].cells
    values = cells[(cells.solver == "samult") & (cells["size"] == 8000)]["auc"].tolist()
    assert (
        f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"
        in (shown["skin"]["SAMULT"])
    )
    # Times at different sizes are no contest.
    assert not any(
        bold(e) for row in read_markdown(tmp_path, "time_table").values() for e in row.values()
    )
    assert list(read_markdown(tmp_path, "auc_test_table")) == ["codrna"]
    assert {path.parent.name for path in paths} == {"tables", "codrna", "skin"}
    assert "(20,000)" in text_table(results)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([], {"params_table"}),
        (["time_table", "auc_boxplot"], {"time_table", "params_table"}),
        (["auc_table"], {"auc_table", "auc_test_table", "params_table"}),
    ],
)
def test_outputs_say_which_tables_are_written(invent, make, tmp_path, outputs, expected):
    experiment = invent.experiment("codrna", trials=1, outputs=outputs)
    results = make(experiment, invent.typical(experiment, sizes=(500,), test=True))
    paths = write_tables([results], tmp_path)
    assert {path.stem for path in paths} == expected
    assert set(paths) == set((tmp_path / "tables").iterdir())


def test_several_datasets_have_the_tables_that_one_of_them_asks_for(invent, make, tmp_path):
    experiments = [
        invent.experiment(name, trials=1, outputs=outputs)
        for name, outputs in (("codrna", ["auc_boxplot"]), ("skin", ["time_table"]))
    ]
    write_tables([make(e, invent.typical(e, sizes=(500,))) for e in experiments], tmp_path)
    assert list(read_markdown(tmp_path, "time_table")) == ["codrna", "skin"]
    assert not list(tmp_path.rglob("auc_table*"))
    for name in ("codrna", "skin"):
        stems = {path.stem for path in (tmp_path / "tables" / name).iterdir()}
        assert stems == {"time_table", "params_table"}


def test_a_report_has_what_the_outputs_say(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, outputs=["time_table", "auc_boxplot"])
    results = make(experiment, invent.typical(experiment, sizes=(500,)))
    paths = write_report([results], tmp_path)
    assert {path.stem for path in paths} == {"time_table", "params_table", "auc_boxplot"}


def test_needs_below_a_gib_are_in_mib(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult", "pnu_auc"))
    sizes = {"samult": 40.5 * 2**20, "pnu_auc": 2**30}
    records = [
        invent.failure(experiment, key, 0, 500, "out_of_memory", needed=round(size))
        for key, size in sizes.items()
    ]
    write_tables([make(experiment, records)], tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert [entry["500"] for entry in shown.values()] == [
        "refused (needs 40.5 MiB)",
        "refused (needs 1.0 GiB)",
    ]


def test_no_name_of_a_dataset_leads_out_of_the_folder(invent, make, tmp_path):
    results = several(invent, make)
    spec = results[0].experiment.dataset.model_copy(update={"name": "../../up"})
    odd = results[0].experiment.model_copy(update={"dataset": spec})
    paths = write_tables([replace(results[0], experiment=odd), results[1]], tmp_path / "out")
    assert all((tmp_path / "out/tables") in path.resolve().parents for path in paths)
    assert {path.parent.name for path in paths} == {"tables", "_._.._up", "skin"}


def test_two_results_of_one_dataset_have_different_names(invent, make, tmp_path):
    experiments = [invent.experiment("skin", name=name, trials=1) for name in ("a", "b")]
    write_tables([make(e, invent.typical(e)) for e in experiments], tmp_path)
    assert list(read_markdown(tmp_path, "auc_table")) == ["a", "b"]


def test_without_any_record_there_is_nothing_to_show(invent, make, tmp_path):
    results = make(invent.experiment("codrna"), [])
    with pytest.raises(ResultsError, match="no fit is recorded yet"):
        write_tables([results], tmp_path)
    with pytest.raises(ResultsError, match="no fit is recorded yet"):
        text_table([results])
    with pytest.raises(ResultsError, match="at least one results folder"):
        text_table([])


def test_a_folder_that_cannot_be_written_is_named_in_one_line(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1)
    results = make(experiment, invent.typical(experiment))
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ResultsError, match="cannot be written") as caught:
        write_tables([results], blocked)
    assert "\n" not in str(caught.value)


def test_no_value_stands_under_the_name_of_another_solver(invent, make, tmp_path):
    # the two folders have their keys the other way round, and a third has one label twice
    plans = {
        "codrna": {"one": ("samult", "SAMULT"), "two": ("pnu_auc", "PNU-AUC")},
        "skin": {"one": ("pnu_auc", "PNU-AUC"), "two": ("samult", "SAMULT")},
        "susy": {"one": ("samult", "SAMULT"), "other": ("qsg_s2auc", "QSG")},
    }
    aucs = {"samult": 0.25, "pnu_auc": 0.5, "qsg_s2auc": 0.75}
    results = []
    for name, plan in plans.items():
        solvers = {key: invent.solver(kind, label) for key, (kind, label) in plan.items()}
        experiment = invent.experiment(name, trials=1, solvers=solvers)
        records = [
            invent.record(experiment, key, 0, 500, auc=aucs[kind])
            for key, (kind, _) in plan.items()
        ]
        results.append(make(experiment, records))
    write_tables(results, tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    entries = {
        name: {solver: entry.strip("*")[:5] for solver, entry in row.items()}
        for name, row in shown.items()
    }
    assert entries == {
        "codrna": {"SAMULT": "0.250", "PNU-AUC": "0.500", "QSG": "–"},
        "skin": {"SAMULT": "0.250", "PNU-AUC": "0.500", "QSG": "–"},
        "susy": {"SAMULT": "0.250", "PNU-AUC": "–", "QSG": "0.750"},
    }


def test_kinds_that_share_a_label_are_named_too(invent, make, tmp_path):
    results = []
    for name, kind in (("codrna", "samult"), ("skin", "pnu_auc")):
        solvers = {"exact": invent.solver(kind, "Exact"), "rff_s2auc": invent.solver("rff_s2auc")}
        experiment = invent.experiment(name, trials=1, solvers=solvers)
        records = [invent.record(experiment, key, 0, 500) for key in solvers]
        results.append(make(experiment, records))
    write_tables(results, tmp_path)
    shown = read_markdown(tmp_path, "auc_table")
    assert list(shown["skin"]) == ["Exact (samult)", "RFF-S2AUC", "Exact (pnu_auc)"]
    assert shown["skin"]["Exact (samult)"] == "–"
    write_tables(results[:1], tmp_path)
    assert list(read_markdown(tmp_path, "auc_table")) == ["Exact", "RFF-S2AUC"]


def test_a_table_of_what_sweeps_nothing_has_one_column(regression, tmp_path):
    values = {"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, 4.0]}
    results = regression(values)
    paths = write_tables([results], tmp_path)
    assert {path.stem for path in paths} == {"rmse_table", "time_table", "params_table"}
    assert read_markdown(tmp_path, "rmse_table") == {
        "Ridge": {"RMSE": "**2.000 ± 0.500**"},
        "Lasso": {"RMSE": "3.500 ± 0.500"},
    }
    text = (tmp_path / "tables" / "rmse_table.md").read_text()
    assert text.startswith(
        "RMSE on the held-out rows, mean ± standard deviation over 3 trials; bikes.\n"
    )
    row = read_csv(tmp_path, "rmse_table")[0]
    columns = ["dataset", "solver", "mean", "std", "trials", "status", "needed_bytes"]
    assert list(row) == columns
    times = ["median", "lowest", "highest", "disturbed"]
    columns = [*columns[:2], *times, *columns[4:], "peak_memory_bytes"]
    assert list(read_csv(tmp_path, "time_table")[0]) == columns
    assert re.search(r"^Ridge +2\.000 ± 0\.500\*$", text_table([results]), re.MULTILINE)


def test_results_of_several_tasks_share_the_tables_of_what_both_have(
    invent, make, regression, tmp_path
):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    ranking = make(experiment, [invent.record(experiment, "samult", 0, 500)])
    write_tables([ranking, regression({"ridge": [1.5]})], tmp_path)
    times = read_markdown(tmp_path, "time_table")
    assert times == {
        "codrna": {"SAMULT": "1.00 (500)", "Ridge": "–"},
        "bikes": {"SAMULT": "–", "Ridge": "1.00"},
    }
    assert list(read_markdown(tmp_path, "auc_table")) == ["codrna"]
    assert list(read_markdown(tmp_path, "rmse_table")) == ["bikes"]
    assert [row["unlabeled"] for row in read_csv(tmp_path, "time_table")] == ["500", ""]


def test_one_size_of_several_datasets_is_a_row_each(invent, make, tmp_path):
    folders = []
    for dataset, sizes in (("codrna", (500, 2000, 30_000)), ("heart", (210, 900))):
        experiment = invent.experiment(dataset, trials=1, solvers=("qsg_s2auc", "samult"))
        records = [
            invent.record(experiment, key, 0, n, auc=0.5 + n / 10**5, full=n == sizes[-1])
            for key in experiment.solvers
            for n in sizes
        ]
        folders.append(make(experiment, records))
    write_tables([one.at(2000) for one in folders], tmp_path, ["auc_table"])
    assert read_markdown(tmp_path, "auc_table") == {
        "codrna": dict.fromkeys(("QSG-S2AUC", "SAMULT"), "0.520 (2,000)"),
        "heart": dict.fromkeys(("QSG-S2AUC", "SAMULT"), "0.509 (900)"),
    }
    with pytest.raises(ResultsError, match="no fit at 300 unlabelled or below; there are 500, 2,0"):
        folders[0].at(300)
    out = ["--out", str(tmp_path / "only")]
    one_size = [str(folders[0].folder), "--at", "1000"]
    cli.cli.main(["table", *one_size, *out], standalone_mode=False)
    assert list(read_markdown(tmp_path / "only", "auc_table")["SAMULT"]) == ["500"]
    with pytest.raises(UsageError, match="--at needs --out"):
        cli.cli.main(["plot", *one_size], standalone_mode=False)
    before = sorted(folders[0].folder.rglob("*"))
    cli.cli.main(["table", *one_size], standalone_mode=False)
    assert sorted(folders[0].folder.rglob("*")) == before


def test_tables_of_some_solvers(invent, make, tmp_path, capsys):
    solvers = {key: invent.solver(key) for key in ("qsg_s2auc", "samult", "pnu_auc")}
    solvers["pnu_auc"] = solvers["pnu_auc"].model_copy(update={"against": "samult"})
    experiment = invent.experiment("codrna", trials=2, solvers=solvers)
    records = [
        invent.record(experiment, key, trial, 500, auc=0.5 + 0.1 * trial)
        for key in solvers
        for trial in range(2)
    ]
    results = make(experiment, records)
    two = results.of(["pnu_auc", "qsg_s2auc", "of another folder"])
    assert two.solvers == ["qsg_s2auc", "pnu_auc"]
    assert len(two.cells) == len(two.records) == 4
    write_tables([two], tmp_path, ["auc_table"])
    assert [row["solver"] for row in read_csv(tmp_path, "auc_table")] == ["QSG-S2AUC", "PNU-AUC"]
    write_tables([two], tmp_path)  # a gain over a solver that is left out is none
    assert not (tmp_path / "tables" / "gain_table.csv").exists()

    def table(*more):
        cli.cli.main(["table", str(results.folder), *more], standalone_mode=False)

    table("--solvers", "samult, pnu_auc")
    out = capsys.readouterr().out
    assert "SAMULT" in out
    assert "QSG" not in out
    with pytest.raises(
        UsageError, match=r"no solver is called 'samul' \(did you mean 'samult'\?\)"
    ):
        table("--solvers", "samul")


def test_parameters_of_every_stage_are_counted(invent, make, tmp_path):
    solver = invent.solver("samult", None, {"lam": [1.0, 2.0]}, {"gamma": [0.0, 0.5, 1.0]})
    experiment = invent.experiment("codrna", trials=2, solvers={"samult": solver})
    records = [
        invent.record(experiment, "samult", t, 500, params={"lam": 1.0 + t, "gamma": 0.5})
        for t in range(2)
    ]
    write_tables([make(experiment, records)], tmp_path)
    rows = read_csv(tmp_path, "params_table")
    assert [(row["parameter"], row["value"], row["count"], row["at_edge"]) for row in rows] == [
        ("lam", "1", "1", "True"),
        ("lam", "2", "1", "True"),
        ("gamma", "0.5", "2", "False"),
    ]


def test_what_the_choices_scored_on_held_out_folds(invent, make, tmp_path):
    solver = invent.solver("samult", None, {"lam": [1.0, 2.0]})
    experiment = invent.experiment("codrna", trials=2, solvers={"samult": solver})
    folds = {1.0: [0.7, 0.8, 0.9], 2.0: [0.6, 0.6, None]}
    searched = {"points": [{"lam": lam} for lam in folds], "fold_scores": [*folds.values()]}
    records = [
        invent.record(experiment, "samult", t, 500, params={"lam": lam})
        | {"kind": kind, **searched}
        for t, lam in enumerate(folds)
        for kind in ("search", "fit")
    ]
    task = RANKING.model_copy(update={"chooses": "auc"})
    write_tables([make(experiment, records, task)], tmp_path)
    last = (tmp_path / "tables" / "params_table.md").read_text().splitlines()[-1]
    # means of 0.8 and 0.6, and of 0.1 / sqrt(3) and 0
    assert re.findall(r"[\d.]+", last) == ["0.700", "0.029"]
    assert "held-out" in (tmp_path / "tables" / "params_table.tex").read_text()
    write_tables([make(experiment, records)], tmp_path)  # of a folder that does not say by what
    assert "held-out" not in (tmp_path / "tables" / "params_table.md").read_text()


def test_a_parameter_of_two_stages_has_both_grids(invent, make, tmp_path):
    solver = invent.solver("samult", None, {"lam": [1.0, 9.0]}, {"lam": [2.0, 3.0, 4.0]})
    experiment = invent.experiment("codrna", trials=1, solvers={"samult": solver})
    records = [invent.record(experiment, "samult", 0, 500, params={"lam": 4.0})]
    write_tables([make(experiment, records)], tmp_path)
    (row,) = read_csv(tmp_path, "params_table")
    assert (row["grid"], row["at_edge"]) == ("1..9 (2); then 2..4 (3)", "True")


def test_tables_of_another_task_are_unknown(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    results = make(experiment, [invent.record(experiment, "samult", 0, 500)])
    with pytest.raises(ResultsError, match="there is no table 'error_table'"):
        write_tables([results], tmp_path, ["error_table"])
    with pytest.raises(ResultsError, match="no finished fit has a value for auc_test_table"):
        write_tables([results], tmp_path, ["auc_test_table"])


def test_a_report_knows_no_measure_and_reads_no_registry():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"\b(auc|rmse|positive|(n_)?unlabell?ed)\b", text, re.I), path
        assert not re.search(r"dsgkit\.(data|solvers|tasks\.(?!base|measures))", text), path


def test_a_setting_that_differs_is_told_with_its_datasets(invent, make):
    words = ("z-scores, a choice", "raw, a choice", "in [0, 1], a choice", "z-scores, a choice")
    shown = []
    for name, setting in zip("abcd", words, strict=True):
        experiment = invent.experiment(name, trials=1, solvers=("samult",))
        task = RANKING.model_copy(update={"setting": setting})
        shown.append(make(experiment, [invent.record(experiment, "samult", 0, 500)], task))
    found = summarise(shown)
    assert settings(found) == "z-scores (a, d), raw (b), in [0, 1] (c), a choice"
    assert settings([found[0], found[3]]) == "z-scores, a choice"
    assert text_table(shown).startswith(
        f"{settings(found)}.\n\nOne trial, at the largest number of"
    )


def test_entries_that_all_tie_are_not_marked(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult"))
    records = [invent.record(experiment, key, 0, 500) for key in experiment.solvers]
    assert "*" not in text_table([make(experiment, records)])


def test_a_grid_of_one_point_is_no_choice(invent, make, tmp_path):
    solvers = {"a": invent.solver("samult", None, {"lam": [1.0], "sigma": [0.125, 1.0]})}
    experiment = invent.experiment("codrna", trials=1, solvers=solvers)
    write_tables([make(experiment, [invent.record(experiment, "a", 0, 500)])], tmp_path)
    assert [row["parameter"] for row in read_csv(tmp_path, "params_table")] == ["sigma"]
    assert grid_text([5]) == "5"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([2.0**k for k in range(-18, 3, 2)], "2^-18..2^2 (11)"),
        (parse_values("10^-5..10^4"), "10^-5..10^4 (10)"),
        ([0.1, 1, 10], "0.1..10 (3)"),
        ([1, 2], "1..2 (2)"),
        ([0.125, 0.3, 8], "0.125..8 (3)"),
        ([-1.0, 0.125], "-1..0.125 (2)"),
        ([0, 1024], "0..1024 (2)"),
        ([None, "balanced"], "null, balanced"),
    ],
)
def test_a_grid_of_powers_is_shown_by_its_exponents(values, text):
    assert grid_text(values) == text


def test_a_tally_shows_how_many_of_the_finished_trials(invent, make, tmp_path):
    tally = BALANCE.model_copy(update={"tally": True})
    task = RANKING.model_copy(update={"measures": (tally, *STANDARD)})
    outputs = ("balance_table",)
    experiment = invent.experiment("codrna", trials=4, solvers=("samult",), outputs=outputs)
    records = [
        invent.record(experiment, "samult", trial, 500, positive=float(trial < 2))
        for trial in range(3)
    ]
    write_tables([make(experiment, records, task)], tmp_path)
    assert read_markdown(tmp_path, "balance_table")["SAMULT"]["500"] == "2/3 (3/4)"
    assert "in how many of 4 trials" in (tmp_path / "tables" / "balance_table.md").read_text()
    assert outputs_of([tally], swept=True)[0] == "balance_table"
    assert not [name for name in outputs_of([tally], swept=True) if "curve" in name]


def test_a_terminal_gets_what_outputs_name_and_explanations_by_name_only(invent, make, tmp_path):
    why = AUC.model_copy(
        update={"name": "error", "title": "Why", "output": "why", "file": "why"}
        | {"for_published": True}
    )
    task = RANKING.model_copy(update={"measures": (AUC, BALANCE, why, *STANDARD)})
    published = Published(source="Somebody (2001)", figures=())
    outputs = ("balance_table", "why_table")
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",), outputs=outputs)
    records = [invent.record(experiment, "samult", 0, 500, positive=0.25, error=0.5)]
    beside = make(experiment, records, task.model_copy(update={"published": published}), name="a")
    text = text_table([beside])
    assert "25.00" in text and "Why" not in text and "AUC on" not in text
    assert "Why" in text_table([beside], ["why_table"])
    names = {path.stem for path in write_tables([make(experiment, records, task)], tmp_path)}
    assert names == {"balance_table", "params_table"}
