"""What solvers gain over the row that they are compared with, recomputed by hand."""

import csv
import math

import pytest
from scipy import stats

from dsgkit.report.effects import adjusted, effects, pairs
from dsgkit.report.gains import gain_table
from dsgkit.report.html.page import page_text
from dsgkit.report.summary import summarise
from dsgkit.report.tables import text_table, write_tables
from dsgkit.text.errors import ResultsError
from tests.report.conftest import CLASSES

SUPERVISED = (0.30, 0.28, 0.35, 0.31, 0.33)
SEMI = (0.25, 0.29, 0.30, 0.24, 0.31)
"""Errors; lower in four of five trials."""


@pytest.fixture
def classified(invent, make):
    """Return a function that makes results of a solver and the row that it is compared with."""

    def make_results(dataset="codrna", own=SEMI, other=SUPERVISED, sizes=(500, 2000), **besides):
        solvers = {
            "supervised": invent.solver("supervised_svm", "SVM, labelled rows"),
            "tsgs3vm": invent.solver("tsgs3vm", "TSGS3VM", against="supervised"),
        }
        outputs = ("error_table", "gain_table")
        experiment = invent.experiment(
            dataset, trials=len(own), solvers=solvers, task=CLASSES, outputs=outputs
        )
        records = [
            invent.record(experiment, key, trial, n, error=error - n / 10**6, full=n == sizes[-1])
            if not math.isnan(error)
            else invent.failure(experiment, key, trial, n, "diverged")
            for key, errors in (("supervised", other), ("tsgs3vm", own))
            for n in sizes
            for trial, error in enumerate(errors)
        ]
        return make(experiment, records, CLASSES, **besides)

    return make_results


def read_csv(folder):
    with (folder / "tables" / "gain_table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_gain_is_the_paired_difference_signed_so_that_above_0_is_better(classified, tmp_path):
    write_tables([classified()], tmp_path)
    differences = [other - own for own, other in zip(SEMI, SUPERVISED, strict=True)]
    test = stats.ttest_1samp(differences, 0)
    interval = test.confidence_interval(0.95)
    rows = read_csv(tmp_path)
    assert [row["unlabeled"] for row in rows] == ["500", "2000"]
    for row in rows:
        assert (row["measure"], row["solver"]) == ("error", "TSGS3VM")
        assert row["against"] == "SVM, labelled rows"
        assert float(row["gain"]) == pytest.approx(sum(differences) / 5)
        assert float(row["interval_low"]) == pytest.approx(interval.low)
        assert float(row["interval_high"]) == pytest.approx(interval.high)
        assert float(row["p_t"]) == pytest.approx(test.pvalue)
        assert float(row["holm_t"]) == pytest.approx(2 * test.pvalue)
        assert (row["trials"], row["wins"], row["losses"]) == ("5", "4", "1")


def test_people_read_it_in_every_format(classified, tmp_path):
    results = classified()
    write_tables([results], tmp_path)
    test = stats.ttest_1samp([5, -1, 5, 7, 2], 0)
    low, high = test.confidence_interval(0.95)
    gain = f"+3.600 [{low:.3f}, {high:.3f}]"
    text = (tmp_path / "tables" / "gain_table.md").read_text()
    assert (
        'Gain in error on the unlabelled rows in percentage points over "SVM, labelled rows": '
        "mean over trials, above 0 where better, by unlabelled rows; codrna, 200 labelled rows."
    ) in text
    p_values = (f"{test.pvalue:.3f}", f"{2 * test.pvalue:.3f}")
    cells = [cell.strip() for cell in text.splitlines()[5].split("|")[1:-1]]
    assert cells == ["TSGS3VM", "all (2,000)", gain, *p_values, "4/5"]
    assert (
        "Holm: p adjusted for all 2 tests of gains in error at every number of unlabelled rows."
    ) in text
    printed = text_table([results])
    assert printed.count(gain) == 1  # at the largest size
    assert text_table([results], ["gain_table"]).count(gain) == 2
    assert gain in page_text([results], tmp_path)
    titled = classified(data={"title": "Coding RNA"})
    write_tables([titled], tmp_path)
    assert "by unlabelled rows; Coding RNA, 200" in (tmp_path / "tables/gain_table.md").read_text()
    assert "4/5" in (tmp_path / "tables" / "gain_table.tex").read_text()


def test_only_trials_that_both_finished_count(classified):
    nan = math.nan
    results = classified(own=(nan, 0.2, 0.2, 0.1), other=(0.3, 0.25, nan, 0.2), sizes=(500,))
    (row,) = gain_table(summarise([results])).frame.to_dict("records")
    assert (row["trials"], row["gain"]) == (2, pytest.approx(0.075))


def test_a_clear_gain_is_marked_and_an_equal_loss_is_not(classified):
    better, worse = [0.2, 0.21, 0.19, 0.2], [0.3, 0.305, 0.3, 0.31]
    for own, other, marks in ((better, worse, [True]), (worse, better, [False])):
        table = gain_table(summarise([classified(own=own, other=other, sizes=(500,))]))
        assert [any(cell.best for cell in row) for row in table.layouts[0].rows] == marks


def test_several_datasets_are_compared_at_the_largest_sizes(classified, tmp_path):
    both = [classified(), classified("skin", own=SUPERVISED, name="skin")]
    write_tables(both, tmp_path)
    rows = read_csv(tmp_path)
    assert [(row["dataset"], row["unlabeled"]) for row in rows] == [
        ("codrna", "2000"),
        ("skin", "2000"),
    ]
    assert len(read_csv_in(tmp_path, "skin")) == 2
    text = (tmp_path / "tables" / "gain_table.md").read_text()
    assert "identical" in text
    assert ("gains in error at every number of unlabelled rows and in every dataset.") in text
    assert text_table(both).count("+3.600 [") == 1


def test_a_gain_has_the_same_p_values_wherever_it_is_shown(classified):
    shown = summarise([classified()])
    whole, short = (gain_table(shown, largest=largest) for largest in (False, True))
    assert len(whole.frame) > len(short.frame) > 0
    columns = ["measure", "solver", "unlabeled", "p_t", "holm_t"]
    merged = short.frame[columns].merge(whole.frame[columns])
    assert len(merged) == len(short.frame)
    assert short.layouts[0].footnotes == whole.layouts[0].footnotes


def read_csv_in(folder, dataset):
    with (folder / "tables" / dataset / "gain_table.csv").open() as file:
        return list(csv.DictReader(file))


def test_any_two_solvers_of_some_results_can_be_paired(classified):
    nan = math.nan
    results = classified(own=(nan, 0.2, 0.2, 0.1), other=(0.3, 0.25, nan, 0.2), sizes=(500, 2000))
    (one,) = summarise([results])
    error = next(measure for measure in results.task.measures if measure.name == "error")
    found = effects(pairs(one, error, "supervised", "tsgs3vm"), error)
    assert [(effect.solver, effect.size.n) for effect in found] == [
        ("TSGS3VM", 500),
        ("TSGS3VM", 2000),
    ]
    assert found[0].values_a == pytest.approx([0.25 - 500e-6, 0.2 - 500e-6])
    assert found[0].values_b == pytest.approx([0.2 - 500e-6, 0.1 - 500e-6])
    assert found[0].contrast.difference == pytest.approx(-0.075)
    (alone, both) = adjusted(found[:1])[0].holm_t, adjusted(found)[0].holm_t
    assert both == pytest.approx(2 * alone)


def test_without_a_row_to_compare_with_there_is_no_such_table(invent, make):
    experiment = invent.experiment("codrna", trials=1)
    results = make(experiment, invent.typical(experiment))
    with pytest.raises(ResultsError, match="no table 'gain_table'"):
        text_table([results], ["gain_table"])
