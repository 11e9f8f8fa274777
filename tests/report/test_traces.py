"""A measure along training: its table and its figure against numbers made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.errors import ResultsError
from dsgkit.report import draw_figures
from dsgkit.tasks.measures import STANDARD, outputs_of
from tests.report.conftest import ERROR as PLAIN_ERROR
from tests.report.conftest import RANKING, UNLABELED, solver_of

ERROR = replace(PLAIN_ERROR, traced=True, digits=1)
TRACED = RANKING.model_copy(update={"axis": None, "measures": (ERROR, *STANDARD)})
SWEPT = TRACED.model_copy(update={"axis": UNLABELED})
SOLVERS = {
    key: solver_of(f"mine:{key}", label)
    for key, label in (("sgd", "SGD"), ("exact", "Exact"), ("big", "Big"))
}
OUTPUTS = ("error_trace",)


@pytest.fixture
def race(fits):
    """Return a function from sizes to results: two trials in iterations, at once, and neither."""

    def make_race(dataset="codrna", sizes=(0,), task=TRACED, traces=TRACES, **more_of_sgd):
        values = {
            "sgd": [fit(0.1, 1.0, trace=steps, **more_of_sgd) for steps in traces],
            "exact": [fit(0.3, 0.4), fit(0.5, 0.8)],
            "big": ["time_limit"] * 2,
        }
        return fits(
            {key: dict.fromkeys(sizes, trials) for key, trials in values.items()},
            dataset=dataset,
            task=task,
            solvers=SOLVERS,
            outputs=OUTPUTS,
        )

    return make_race


def fit(value, seconds, **more):
    return {"scores": {"error": value}, "times": {"fit": seconds}} | more


def trace(*steps):
    return [
        {"iteration": iteration, "seconds": seconds, "error": value}
        for iteration, (seconds, value) in zip((1, 10, 100), steps, strict=False)
    ]


TRACES = [trace((0.1, 0.4), (0.9, 0.2)), trace((0.3, 0.6), (1.5, 0.1))]


def lines_of(text):
    """Return the rows of the first table for a terminal, the dashes below its head left out."""
    head, _, *rows = text.split("\n\n")[1].splitlines()
    return [head.split(), *(row.split() for row in rows)]


def near(points):
    return pytest.approx(np.array(points))


@pytest.fixture
def panels(drawn):
    return lambda *results: drawn("error_trace", *results)[1]


def points_of(axes, label="SGD"):
    return next(one for one in axes.get_lines() if one.get_label() == label).get_xydata()


def test_traced_measures_have_a_figure_more():
    plain, traced = (set(outputs_of([one], swept=True)) for one in (PLAIN_ERROR, ERROR))
    assert traced - plain == set(OUTPUTS)


def test_a_figure_joins_means_over_trials_at_equal_iterations(race, panels):
    results = race()
    (axes,) = panels(results)
    assert points_of(axes) == near([(0.2, 50.0), (1.2, 15.0)])
    band = axes.collections[0].get_datalim(axes.transData)
    assert band.intervaly == pytest.approx([15 - 50**0.5, 50 + 200**0.5])
    bars = next(one for one in axes.containers if one.get_label() == "Exact")
    assert bars.lines[0].get_xydata() == near([(0.6, 40.0)])
    across, upright = (bar.get_segments()[0] for bar in bars.lines[2])
    # the bar of the time does not go below the shortest trial
    assert across == near([(0.4, 40), (0.6 + 0.08**0.5, 40)])
    assert upright == near([(0.6, 40 - 200**0.5), (0.6, 40 + 200**0.5)])
    assert [text.get_text() for text in axes.texts] == ["Big: time limit"]
    assert axes.get_xscale() == "log"


DIVERGED = [*trace((0.2, 0.4)), {"iteration": 10, "seconds": 0.5, "error": "nan"}]


@pytest.mark.parametrize(
    ("traces", "points"),
    [
        (  # a value that is none, and an iteration of one trial, are left out
            [DIVERGED, trace((0.4, 0.6), (0.7, 0.2), (2.0, 0.1))],
            [(0.3, 50.0), (0.7, 20.0), (2.0, 10.0)],
        ),
        (  # a trial without a trace counts at the end of its training
            [trace((0.1, 0.4), (0.5, 0.2)), []],
            [(0.1, 40.0), (0.5, 20.0)],
        ),
    ],
)
def test_what_trials_lack_of_traces(race, panels, traces, points):
    results = race(traces=traces)
    assert points_of(*panels(results)) == near(points)


def test_a_point_far_before_every_line_says_its_time(fits, panels):
    late = fit(0.3, 0.002, trace=trace((1.0, 0.4), (2.0, 0.2)))
    (axes,) = panels(fits({"sgd": [late], "exact": [fit(0.3, 0.002)]}, task=TRACED))
    (bars,) = axes.containers
    assert bars.lines[0].get_xydata() == near([(0.1, 30.0)])
    assert r"$\leftarrow$ 2 ms" in [text.get_text() for text in axes.texts]


def test_one_folder_shows_every_size_several_the_largest(race, panels):
    swept = race(sizes=(500, 2000), task=SWEPT)
    other = race("ijcnn1", sizes=(900,), task=SWEPT)
    titles = [axes.get_title() for axes in panels(swept)]
    assert titles == ["codrna, 500 unlabelled", "codrna, 2,000 unlabelled"]
    titles = [axes.get_title() for axes in panels(swept, other)]
    assert titles == ["codrna, 2,000 unlabelled", "ijcnn1, 900 unlabelled"]


def test_results_without_traces_show_none(race, tmp_path):
    results = race(traces=[[], []])
    assert draw_figures([results], tmp_path) == []
    with pytest.raises(ResultsError, match=r"no finished fit has a value for error_trace$"):
        draw_figures([results], tmp_path, ["error_trace"])
    with pytest.raises(ResultsError, match="did you mean 'error_trace'"):
        draw_figures([race()], tmp_path, ["error_tracee"])
