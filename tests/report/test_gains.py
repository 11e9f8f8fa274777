"""What solvers gain over the row that they are compared with, recomputed by hand."""

import pytest
from scipy import stats

from dsgkit.report.effects import adjusted, effects, pairs
from dsgkit.report.gains import gain_table
from dsgkit.report.html.page import page_text
from dsgkit.report.summary import summarise
from dsgkit.report.tables import text_table
from tests.report.conftest import CLASSES, ERROR, solver_of

SUPERVISED = (0.30, 0.28, 0.35, 0.31, 0.33)
SEMI = (0.25, 0.29, 0.30, 0.24, 0.31)
"""Errors; lower in four of five trials."""
LOST = {"own": ("diverged", 0.2, 0.2, 0.1), "other": (0.3, 0.25, "diverged", 0.2)}


@pytest.fixture
def classified(fits):
    """Return a function that makes results of a solver and the row that it is compared with."""

    def make_results(dataset="codrna", own=SEMI, other=SUPERVISED, sizes=(500, 2000), **stored):
        solvers = {
            "supervised": solver_of("supervised_svm", "SVM, labelled rows"),
            "tsgs3vm": solver_of("tsgs3vm", "TSGS3VM", against="supervised"),
        }
        values = {
            key: {n: [at(n, error) for error in errors] for n in sizes}
            for key, errors in (("supervised", other), ("tsgs3vm", own))
        }
        parts = {"task": CLASSES, "outputs": ("error_table", "gain_table"), "stored": stored}
        return fits(values, "error", dataset=dataset, solvers=solvers, full=True, **parts)

    return make_results


def at(n, error):
    return error if isinstance(error, str) else error - n / 10**6


def test_a_gain_is_the_paired_difference_signed_so_that_above_0_is_better(classified, written):
    differences = [other - own for own, other in zip(SEMI, SUPERVISED, strict=True)]
    test = stats.ttest_1samp(differences, 0)
    interval = test.confidence_interval(0.95)
    rows = written(classified()).data("gain_table")
    assert [row["unlabeled"] for row in rows] == ["500", "2000"]
    for row in rows:
        assert (row["measure"], row["solver"]) == ("error", "TSGS3VM")
        assert row["against"] == "SVM, labelled rows"
        numbers = [
            float(row[k]) for k in ("gain", "interval_low", "interval_high", "p_t", "holm_t")
        ]
        expected = [sum(differences) / 5, *interval, test.pvalue, 2 * test.pvalue]
        assert numbers == pytest.approx(expected)
        assert (row["trials"], row["wins"], row["losses"]) == ("5", "4", "1")


def test_people_read_it_in_every_format(classified, written, tmp_path):
    results = classified()
    tables = written(results)
    test = stats.ttest_1samp([5, -1, 5, 7, 2], 0)
    low, high = test.confidence_interval(0.95)
    gain = f"+3.600 [{low:.3f}, {high:.3f}]"
    assert text_table([results]).count(gain) == 1  # at the largest size
    assert text_table([results], ["gain_table"]).count(gain) == 2
    assert gain in page_text([results], tmp_path)
    assert "4/5" in tables.text("gain_table", "tex")


def test_a_clear_gain_is_marked_and_an_equal_loss_is_not(classified):
    better, worse = [0.2, 0.21, 0.19, 0.2], [0.3, 0.305, 0.3, 0.31]
    for own, other, marks in ((better, worse, [True]), (worse, better, [False])):
        table = gain_table(summarise([classified(own=own, other=other, sizes=(500,))]))
        assert [any(cell.best for cell in row) for row in table.layouts[0].rows] == marks


def test_several_datasets_are_compared_at_the_largest_sizes(classified, written):
    both = [classified(), classified("skin", own=SUPERVISED)]
    tables = written(*both)
    found = [(row["dataset"], row["unlabeled"]) for row in tables.data("gain_table")]
    assert found == [("codrna", "2000"), ("skin", "2000")]
    assert len(tables.data("skin/gain_table")) == 2
    text = tables.text("gain_table")
    assert "identical" in text
    assert "gains in error at every number of unlabelled rows and in every dataset." in text
    assert text_table(both).count("+3.600 [") == 1


def test_any_two_solvers_of_some_results_can_be_paired(classified):
    (one,) = summarise([classified(**LOST)])
    found = effects(pairs(one, ERROR, "supervised", "tsgs3vm"), ERROR)
    assert [(e.solver, e.size.n) for e in found] == [("TSGS3VM", 500), ("TSGS3VM", 2000)]
    assert found[0].values_a == pytest.approx([0.25 - 500e-6, 0.2 - 500e-6])
    assert found[0].values_b == pytest.approx([0.2 - 500e-6, 0.1 - 500e-6])
    assert found[0].contrast.difference == pytest.approx(-0.075)
    alone, both = adjusted(found[:1])[0].holm_t, adjusted(found)[0].holm_t
    assert both == pytest.approx(2 * alone)
