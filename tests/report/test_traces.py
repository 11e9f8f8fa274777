"""A measure along training: its table and its figure against numbers made by hand."""

import csv
import re

import numpy as np
import pytest
from matplotlib.colors import same_color

from dsgkit.report import draw_figures, write_report
from dsgkit.report.compare.comparison import compare
from dsgkit.report.html import page_text
from dsgkit.report.outputs import all_figures
from dsgkit.report.style import solver_styles
from dsgkit.report.summary import summarise
from dsgkit.report.tables import text_table, write_tables
from dsgkit.tasks.measures import STANDARD, outputs_of
from dsgkit.text.errors import ResultsError
from tests.report.conftest import ERROR as PLAIN_ERROR
from tests.report.conftest import RANKING, UNLABELED

ERROR = PLAIN_ERROR.model_copy(update={"traced": True, "digits": 1})
TRACED = RANKING.model_copy(update={"axis": None, "measures": (ERROR, *STANDARD)})
SWEPT = TRACED.model_copy(update={"axis": UNLABELED})
NAMES = {"sgd": "SGD", "exact": "Exact", "big": "Big"}
OUTPUTS = ("error_trace", "error_trace_table")


@pytest.fixture
def race(invent, make):
    """Return a function from sizes to results: two trials in iterations, at once, and neither."""

    def make_race(dataset="codrna", sizes=(0,), task=TRACED, traces=None, **more_of_sgd):
        solvers = {key: invent.solver(f"mine:{key}", label) for key, label in NAMES.items()}
        experiment = invent.experiment(
            dataset, trials=2, solvers=solvers, task=task, outputs=OUTPUTS
        )

        def fit(key, trial, n, value, seconds, **more):
            fields = {"scores": {"error": value}, "times": {"fit": seconds}}
            return invent.record(experiment, key, trial, n, **fields | more)

        traces = (
            [trace((0.1, 0.4), (0.9, 0.2)), trace((0.3, 0.6), (1.5, 0.1))]
            if (traces is None)
            else traces
        )
        records = []
        for n in sizes:
            records += [
                fit("sgd", t, n, 0.1, 1.0, trace=steps, **more_of_sgd)
                for t, steps in enumerate(traces)
            ]
            records += [fit("exact", 0, n, 0.3, 0.4), fit("exact", 1, n, 0.5, 0.8)]
            records += [invent.failure(experiment, "big", t, n, "time_limit") for t in range(2)]
        return make(experiment, records, task)

    return make_race


def trace(*steps):
    return [
        {"iteration": iteration, "seconds": seconds, "error": value}
        for iteration, (seconds, value) in zip((1, 10, 100), steps, strict=False)
    ]


def read_csv(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def lines_of(text):
    """Return the rows of the first table for a terminal, the dashes below its head left out."""
    head, _, *rows = text.split("\n\n")[1].splitlines()
    return [head.split(), *(row.split() for row in rows)]


def near(points):
    return pytest.approx(np.array(points))


def panels_of(results):
    (drawing,) = (one for one in all_figures(summarise(results)) if one.name == "error_trace")
    return drawing.draw().axes


def test_traced_measures_have_two_outputs_more():
    assert set(outputs_of([ERROR], swept=True)) - set(outputs_of([PLAIN_ERROR], swept=True)) == set(
        OUTPUTS
    )


def test_a_table_has_the_last_value_by_each_time(race, tmp_path):
    results = race()
    (header, *rows) = lines_of(text_table([results], ["error_trace_table"]))
    assert header == ["Training", "time", "SGD", "Exact", "Big"]
    assert rows == [
        # SGD has a value in one trial of two, by 0.5 s in both; std of two is |a - b| / sqrt(2)
        ["0.1", "s", "40.0", "(1/2)", "time", "limit"],
        ["0.2", "s", "40.0", "(1/2)", "–"],
        ["0.5", "s", "50.0", "±", "14.1", "30.0", "(1/2)*", "–"],
        ["1", "s", "40.0", "±", "28.3", "40.0", "±", "14.1", "–"],
        ["2", "s", "15.0", "±", "7.1*", "40.0", "±", "14.1", "–"],
    ]
    paths = write_tables([results], tmp_path)
    names = {path.name for path in paths}
    assert {f"error_trace_table.{suffix}" for suffix in ("csv", "md", "tex")} <= names
    found = {
        (row["solver"], float(row["seconds"])): row
        for row in read_csv(tmp_path / "tables" / "error_trace_table.csv")
    }
    assert float(found["SGD", 0.5]["mean"]) == pytest.approx(0.5)
    assert (found["Exact", 0.2]["mean"], found["Exact", 0.2]["trials"]) == ("", "0")
    assert (found["Big", 2.0]["mean"], found["Big", 2.0]["status"]) == ("", "time limit")
    markdown = (tmp_path / "tables" / "error_trace_table.md").read_text()
    assert re.search(r"\| Exact +\| +\| +\|", markdown)


def test_a_figure_joins_means_over_trials_at_equal_iterations(race):
    results = race()
    (axes,) = panels_of([results])
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["SGD"].get_xydata() == near([(0.2, 50.0), (1.2, 15.0)])
    band = axes.collections[0].get_datalim(axes.transData)
    assert band.intervaly == pytest.approx([15 - 50**0.5, 50 + 200**0.5])
    bars = next(one for one in axes.containers if one.get_label() == "Exact")
    assert bars.lines[0].get_xydata() == near([(0.6, 40.0)])
    across, upright = (bar.get_segments()[0] for bar in bars.lines[2])
    # the bar of the time does not go below the shortest trial
    assert across == near([(0.4, 40), (0.6 + 0.08**0.5, 40)])
    assert upright == near([(0.6, 40 - 200**0.5), (0.6, 40 + 200**0.5)])
    assert [text.get_text() for text in axes.texts] == ["Big: time limit"]
    color = solver_styles(summarise([results])[0].solvers)["SGD"].color
    assert same_color(lines["SGD"].get_color(), color)
    assert axes.get_xscale() == "log"


def test_times_along_a_fit_are_shares_of_its_time_in_tables(race):
    """That is 1 s here, of processor time; on the wall the first measurement took 4 s."""
    measured = {"wall": {"fit": [4.0, 3.0]}, "processor": {"fit": [1.0, 1.0]}, "busiest": {}}
    traces = [trace((0.4, 0.4), (4.0, 0.2)), trace((0.4, 0.6), (4.0, 0.1))]
    (axes,) = panels_of([race(traces=traces, measurements=measured)])
    line = next(one for one in axes.get_lines() if one.get_label() == "SGD")
    assert line.get_xydata() == near([(0.1, 50.0), (1.0, 15.0)])


def test_other_iterations_and_values_that_are_none_are_left_out(race):
    diverged = [*trace((0.2, 0.4)), {"iteration": 10, "seconds": 0.5, "error": "nan"}]
    results = race(traces=[diverged, trace((0.4, 0.6), (0.7, 0.2), (2.0, 0.1))])
    (axes,) = panels_of([results])
    line = next(one for one in axes.get_lines() if one.get_label() == "SGD")
    assert line.get_xydata() == near([(0.3, 50.0), (0.7, 20.0), (2.0, 10.0)])
    last = lines_of(text_table([results], ["error_trace_table"]))[-1]
    assert last[:5] == ["2", "s", "25.0", "±", "21.2*"]


def test_a_trial_without_a_trace_counts_at_the_end_of_its_training(race):
    results = race(traces=[trace((0.1, 0.4), (0.5, 0.2)), []])
    (axes,) = panels_of([results])
    line = next(one for one in axes.get_lines() if one.get_label() == "SGD")
    assert line.get_xydata() == near([(0.1, 40.0), (0.5, 20.0)])
    rows = lines_of(text_table([results], ["error_trace_table"]))
    assert [row[2:5] for row in rows if row[0] == "1"] == [["15.0", "±", "7.1*"]]


def test_a_point_far_before_every_line_says_its_time(invent, make):
    solvers = {key: invent.solver(f"mine:{key}", NAMES[key]) for key in ("sgd", "exact")}
    experiment = invent.experiment("codrna", trials=1, solvers=solvers, task=TRACED)
    score = {"scores": {"error": 0.3}, "times": {"fit": 0.002}}
    records = [
        invent.record(experiment, "sgd", 0, trace=trace((1.0, 0.4), (2.0, 0.2)), **score),
        invent.record(experiment, "exact", 0, **score),
    ]
    (axes,) = panels_of([make(experiment, records, TRACED)])
    (bars,) = axes.containers
    assert bars.lines[0].get_xydata() == near([(0.1, 30.0)])
    assert r"$\leftarrow$ 2 ms" in [text.get_text() for text in axes.texts]


def test_one_folder_shows_every_size_several_the_largest(race, tmp_path):
    swept = race(sizes=(500, 2000), task=SWEPT)
    other = race("ijcnn1", sizes=(900,), task=SWEPT)
    titles = [axes.get_title() for axes in panels_of([swept])]
    assert titles == ["codrna, 500 unlabelled", "codrna, 2,000 unlabelled"]
    titles = [axes.get_title() for axes in panels_of([swept, other])]
    assert titles == ["codrna, 2,000 unlabelled", "ijcnn1, 900 unlabelled"]
    write_report([swept, other], tmp_path)
    rows = read_csv(tmp_path / "tables" / "error_trace_table.csv")
    assert {(row["dataset"], row["unlabeled"]) for row in rows} == {
        ("codrna", "2000"),
        ("ijcnn1", "900"),
    }
    rows = read_csv(tmp_path / "tables" / "codrna" / "error_trace_table.csv")
    assert {row["unlabeled"] for row in rows} == {"500", "2000"}
    assert (tmp_path / "figures" / "error_trace.pdf").is_file()


def test_the_page_and_comparisons_take_such_results(race, tmp_path):
    results, other = race(), race("ijcnn1")
    page = page_text([results, other], tmp_path)
    assert page.count("after so many seconds of training") == 2 * 3  # a caption and its label
    assert page.count("--only error_trace") == 3
    assert compare(results, results).common == 6


def test_results_without_traces_show_none(race, tmp_path):
    results = race(traces=[[], []])
    assert not any("trace" in path.name for path in write_report([results], tmp_path))
    with pytest.raises(ResultsError, match=r"no finished fit has a value for error_trace$"):
        draw_figures([results], tmp_path, ["error_trace"])
    with pytest.raises(ResultsError, match="no finished fit has a value for error_trace_table"):
        write_tables([results], tmp_path, ["error_trace_table"])
    with pytest.raises(ResultsError, match="did you mean 'error_trace'"):
        draw_figures([race()], tmp_path, ["error_tracee"])
