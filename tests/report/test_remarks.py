"""What fits say of themselves: a mark in the tables, and a line below."""

import numpy as np
import pytest
import yaml

from dsgkit import SAMULT
from dsgkit.experiment.results import load_results
from dsgkit.report.export import fits as rows_of
from dsgkit.report.html.page import page_text
from dsgkit.report.tables import text_table
from tests.experiment.runs import dsg_here

REMARK = "gamma = 1: unlabelled rows were not used"


@pytest.fixture
def remarked(fits):
    """Return a function that makes results of which some trials have a remark."""

    def make_results(dataset="codrna", remarks=(REMARK, "", REMARK)):
        own = [{"auc": 0.8, "remark": remark} for remark in remarks]
        sizes = (500, 2000)
        values = {"samult": dict.fromkeys(sizes, own), "pnu_auc": dict.fromkeys(sizes, [0.8] * 3)}
        return fits(values, dataset=dataset)

    return make_results


def test_entries_are_marked_and_a_line_below_says_why(remarked, written, tmp_path):
    results = remarked()
    tables = written(results)
    note = f"† {REMARK} (SAMULT in 2 of 3 trials)."
    for name in ("auc_table", "time_table"):
        lines = tables.text(name).splitlines()
        assert note in lines
        row = next(line for line in lines if line.startswith("| SAMULT"))
        assert row.count("†") == 2
        assert not any("†" in line for line in lines if line.startswith("| PNU-AUC"))
        assert r"0\dag{} &" in tables.text(name, "tex")
    printed = text_table([results])
    assert printed.count(note) == 1  # below the last of the tables in a row that have it
    assert "0.800 ± 0.000†" in printed
    page = page_text([results], tmp_path)
    assert "0.800 ± 0.000<sup>†</sup>" in page.replace("\n", "") and note in page


def test_data_keep_clean_numbers_and_a_column_of_remarks(remarked, written):
    rows = written(remarked()).data("auc_table")
    found = [(row["solver"], round(float(row["mean"]), 9), row["remarks"]) for row in rows[:2]]
    assert found == [("SAMULT", 0.8, f"2: {REMARK}")] * 2
    without = written(remarked(remarks=("", "", "")))
    assert "remarks" not in without.text("auc_table", "csv")
    assert "†" not in without.text("auc_table")


def test_of_several_datasets_each_has_its_own_line(remarked, written):
    text = written(remarked(), remarked("skin", (REMARK, "", ""))).text("auc_table")
    assert f"† {REMARK} (codrna: SAMULT in 2 of 3 trials)." in text
    assert f"† {REMARK} (skin: SAMULT in 1 of 3 trials)." in text


def test_samult_tells_that_it_did_without_the_unlabelled_rows():
    rng = np.random.default_rng(0)
    X, y, U = rng.random((20, 2)), np.repeat([-1, 1], 10), rng.random((30, 2))
    model = SAMULT(gamma=1).fit(X, y, U)
    assert model.remark_ == REMARK and len(model.centers_) == 20
    assert model.set_params(gamma=0.9).fit(X, y, U).remark_ == ""


def test_a_remark_goes_from_the_fit_into_the_results(tmp_path):
    X = np.random.default_rng(0).random((90, 2))
    rows = np.column_stack([X, np.where(X[:, 0] > 0.5, 1, -1)])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", fmt="%.4f")
    config = {
        "dataset": {"path": "rows.csv", "loader": "delimited"},
        "protocol": {"kind": "semi_supervised_auc", "labeled": 20, "trials": 1, "folds": 2},
        "solvers": {
            "supervised": {"kind": "samult", "params": {"gamma": 1}},
            "samult": {"params": {"gamma": 0.5}, "against": "supervised"},
        },
        "outputs": ["auc_table"],
    }
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(config))
    code, _, err = dsg_here(tmp_path, "run", "small.yaml")
    assert code == 0, err
    results = load_results(tmp_path / "results" / "small")
    remarks = results.cells.set_index("solver")["remark"].to_dict()
    assert remarks == {"supervised": REMARK, "samult": ""}
    out = text_table([results])
    assert f"† {REMARK} (" in out and "in 1 of 1 trial)." in " ".join(out.split())
    assert set(rows_of([results])["dataset"]) == {"rows.csv"}
    assert "Gain in AUC" in out and (results.folder / "tables" / "gain_table.csv").is_file()
