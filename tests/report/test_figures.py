"""The data in the axes of figures, which figures are made, and their files."""

from dataclasses import replace
from statistics import mean, stdev
from string import ascii_lowercase

import numpy as np
import pytest

from dsgkit.errors import ResultsError
from dsgkit.report.drawing import along, traced_sizes
from dsgkit.report.figures import wanted_figures
from dsgkit.tasks.measures import Measure
from tests.report.runs import AUC, ERROR, lines, make_run

TRIALS = [0.8, 0.9, 0.6, 0.7, 0.75]


def drawn(run, name, **options):
    """Return a figure of a run, or of several."""
    runs = run if isinstance(run, list) else [run]
    (one,) = wanted_figures(runs, [name], **options)
    return one.draw()


def dots(axes, row):
    """Return the values of the trials in a row of a box plot."""
    every = [line for line in axes.lines if line.get_linestyle() == "None"]
    return sorted(x for line in every for x, y in line.get_xydata() if y == row)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_box_plot_has_a_row_for_each_solver_with_a_box_and_a_dot_per_trial():
    run = make_run(a=TRIALS, b=[0.5, 0.6], records={("b", 0, 1): {"status": "timeout"}})
    (axes,) = drawn(run, "auc_boxplot").axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["A", "B"]
    assert dots(axes, 0) == sorted(TRIALS)
    assert dots(axes, 1) == [0.5]
    (box,) = axes.patches
    x, y = box.get_path().vertices[:-1].T
    assert {round(one, 9) for one in x} == {*np.percentile(TRIALS, [25, 75]).round(9)}
    assert y.min() < 0 < y.max()
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is at the top


def test_a_row_without_values_says_why_and_others_at_which_size_they_are():
    end = {"status": "memory_limit", "needed": 26 * 2**30}
    ended = {("b", n, i): end for n in (200, 500) for i in range(5)}
    ended |= {("c", 500, i): {"status": "timeout"} for i in range(5)}
    both = {200: TRIALS, 500: TRIALS}
    run = make_run(a=both, b=both, c=both, records=ended)
    (axes,) = drawn(run, "auc_boxplot").axes
    assert texts(axes) == ["at 500", "needs 26 GiB", "at 200"]


def test_scores_that_hardly_differ_look_so_and_trivial_solvers_are_left_out():
    close = replace(AUC, least_range=0.05)
    constant = {"b": {"kind": "constant_median"}}
    run = make_run(measure=close, a=[0.801, 0.802], b=[0.5, 0.5], solvers=constant)
    (axes,) = drawn(run, "auc_boxplot").axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["A"]
    low, high = axes.get_xlim()
    assert (high - low, (high + low) / 2) == pytest.approx((0.05, 0.8015))


def test_several_box_plots_have_the_same_rows():
    one, other = make_run("one", a=TRIALS, b=TRIALS), make_run("other", b=TRIALS, c=TRIALS)
    left, right = drawn([one, other], "auc_boxplot").axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["A", "B", "C"]
    assert (dots(right, 0), dots(right, 2)) == ([], sorted(TRIALS))


def test_a_curve_joins_medians_with_bars_from_the_lowest_to_the_highest():
    times = {500: [1.0, 3.0, 2.0], 1000: [0.0, 8.0, 5.0]}
    run = make_run(a={n: [0.5] * 3 for n in times}, seconds={"a": times})
    (axes,) = drawn(run, "time_curve").axes
    assert lines(axes) == {"A": [(500, 2), (1000, 5)]}
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert {tick.get_text() for tick in axes.get_xticklabels()} == {"500", "1,000"}
    (bars,) = axes.collections
    ends = [[y for _, y in path.vertices] for path in bars.get_paths()]
    assert ends == [[1, 3], [1e-6, 8]]  # a time of 0 has no logarithm
    low, high = axes.get_ylim()
    assert 0 < low < 1e-6 and 8 < high < 100


def test_a_line_ends_with_a_cross_where_the_next_size_failed():
    values = {500: [0.5] * 2, 1000: [0.6] * 2, 2000: [0.7] * 2}
    failed = {("b", 2000, 0): {"status": "timeout"}, ("b", 2000, 1): {"status": "timeout"}}
    failed[("a", 1000, 0)] = {"status": "timeout"}  # in the middle is no end
    left_out = {n: of for n, of in values.items() if n < 2000}
    run = make_run(a=values, b=values, c=left_out, left_out=[("c", 2000)], records=failed)
    (axes,) = drawn(run, "auc_curve").axes
    crosses = [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_marker() == "x"]
    assert crosses == [(1000, 0.6)]
    assert {name: points[-1] for name, points in lines(axes).items()} == {
        "A": (2000, 0.7),
        "B": (1000, 0.6),
        "C": (1000, 0.6),
    }


def test_fits_that_do_not_depend_on_the_size_are_a_line_without_markers():
    run = make_run(a={100: [0.5], 200: [0.6]}, b={100: [0.7]})
    level = [(200,) if key == "b" else () for key in run.fits["solver"]]
    run = replace(run, fits=run.fits.assign(also_at=level, level=[*map(bool, level)]))
    (axes,) = drawn(run, "auc_curve").axes
    assert lines(axes)["B"] == [(100, 0.7), (200, 0.7)]
    markers = {line.get_label(): line.get_marker() for line in axes.lines}
    assert markers["B"] == "none" != markers["A"]


def test_a_trace_joins_means_at_equal_iterations_and_others_are_points():
    measure = replace(ERROR, traced=True)

    def steps(*values):
        times = {"seconds": 0.25}
        return [{"iteration": 10**i, **times, "error": v} for i, v in enumerate(values)]

    records = {("a", 0, i): {"trace": steps(0.4 - 0.2 * i, 0.1)} for i in range(2)}
    records["a", 0, 1]["trace"].append({"iteration": 100, "seconds": 1.0, "error": "inf"})
    seconds = {"b": [0.5, 1.5]}
    run = make_run(measure=measure, a=[0.1] * 2, b=[0.2, 0.4], records=records, seconds=seconds)
    figure = drawn(run, "error_trace")
    (axes,) = figure.axes
    expected = {"A": [(0.25, 30), (0.25, 10)], "B": [(1, 30)]}
    assert {n: [*map(pytest.approx, p)] for n, p in lines(axes).items()} == expected
    assert figure.get_supxlabel() == "Training time (s)"
    ends = [path.vertices.tolist() for one in axes.collections for path in one.get_paths()]
    up = stdev([20, 40])
    for bar in ([(0.25, 30 - up), (0.25, 30 + up)], [(1, 30 - up), (1, 30 + up)]):
        assert [*map(pytest.approx, bar)] in ends
    assert traced_sizes(run, measure) == [0]
    table = along(run, measure, 0)["A"]
    assert table["std"].tolist() == pytest.approx([stdev([40, 20]), 0])
    assert (table["iteration"].tolist(), mean([40, 20])) == ([1, 10], 30)


@pytest.mark.parametrize("n", [1, 6, 7, 14])
def test_few_checkpoints_of_a_trace_are_marked_the_last_one_too(n):
    steps = [{"iteration": i + 1, "seconds": i + 1.0, "error": 0.5 / (i + 1)} for i in range(n)]
    records = {("a", 0, 0): {"trace": steps}}
    run = make_run(measure=replace(ERROR, traced=True), a=[0.1], records=records)
    (axes,) = drawn(run, "error_trace").axes
    (line,) = axes.lines
    assert len(line.get_xydata()) == n
    marked = line.get_markevery()
    assert 1 <= len(marked) <= 6 and marked[-1] == n - 1 and len({*np.diff(marked)}) <= 1
    bars = [path.vertices[0, 0] for one in axes.collections for path in one.get_paths()]
    assert bars == [steps[i]["seconds"] for i in marked]


def test_of_one_run_every_size_is_traced_of_several_the_largest_gaps_on_a_log_axis():
    gap = Measure("gap", "Gap", better="lower", traced=True)
    steps = [
        {"iteration": 1, "seconds": 0.1, "gap": 1.0},
        {"iteration": 9, "seconds": 1, "gap": 1e-4},
    ]
    records = {("a", n, i): {"trace": steps} for n in (100, 200) for i in range(2)}
    records["a", 200, 1] = {"trace": [steps[0], steps[1] | {"gap": 9e-4}]}
    run = make_run(measure=gap, a={100: [1e-4] * 2, 200: [1e-4] * 2}, records=records)
    first, last = drawn(run, "gap_trace").axes
    assert [first.get_title(), last.get_title()] == ["100 unlabelled", "200 unlabelled"]
    (bars,) = last.collections
    assert last.get_yscale() == "log"
    assert all((path.vertices > 0).all() for path in bars.get_paths())
    assert "0.0001" in {tick.get_text() for tick in first.get_yticklabels()}
    several = drawn([run, run.named(run.names, "other")], "gap_trace").axes
    titles = [axes.get_title() for axes in several]
    assert titles == ["toy, 200 unlabelled", "other, 200 unlabelled"]
    fewer = run.named(run.names, "fewer")
    fewer = replace(fewer, fits=fewer.fits.query("size == 200 or trial == 0"))
    (both,) = wanted_figures([fewer, run], ["gap_trace"])
    assert "Means over 2 trials" in both.caption


def test_figures_are_those_that_configs_ask_for_and_that_have_values():
    further = [Measure("mae", "MAE", better="lower"), replace(AUC, name="test_auc", optional=True)]
    outputs = ["mae_boxplot", "auc_curve", "auc_boxplot", "pictures", "time_curve"]
    run = make_run(a={500: TRIALS}, further=further, outputs=outputs)
    assert [one.name for one in wanted_figures([run])] == ["auc_boxplot"]
    with pytest.raises(ResultsError, match="no finished fit has a value for mae_boxplot"):
        wanted_figures([run], ["mae_boxplot"])
    with pytest.raises(ResultsError, match=r"no figure 'auc_boxplt' [(]did you mean 'auc_boxplot'"):
        wanted_figures([run], ["auc_boxplt"])


def test_a_caption_says_how_many_trials_there_are_and_what_is_to_come():
    run = make_run(a={500: TRIALS}, b={500: [0.5, 0.6, None, None, None]})
    (figure,) = wanted_figures([run], ["auc_boxplot"])
    for part in ("AUC on the unlabelled rows", "2 to 5 trials", "boxes", "7 of 10 fits have run"):
        assert part in figure.caption
    few = make_run(a={500: TRIALS, 1000: [0.5, 0.6]})  # a box plot shows the largest size only
    (boxes, times) = wanted_figures([few], ["auc_boxplot", "time_curve"])
    assert "Dots are 2 trials" in boxes.caption and "bars show" in boxes.caption
    assert "2 to 5 trials, processor time on one thread" in times.caption


@pytest.mark.parametrize(
    ("kind", "width", "inches"),
    [
        *[("boxplot", None, 3.25), ("boxplot", 6.75, 6.75), ("boxplot", 5.5, 5.5)],
        *[("curve", None, 6.75), ("curve", 3.25, 3.25), ("curve", 5.5, 5.5)],
    ],
)
def test_figures_and_their_legends_have_the_widths_of_a_paper(kind, width, inches):
    labels = {key: {"label": f"A long name of the solver {key}"} for key in ascii_lowercase}
    run = make_run(solvers=labels, **{key: {500: TRIALS, 900: TRIALS} for key in labels})
    figure = drawn(run, f"auc_{kind}", width=width)
    assert figure.get_figwidth() == inches
    figure.draw_without_rendering()
    for legend in figure.legends:
        assert {text.get_text()[-1] for text in legend.get_texts()} == {*ascii_lowercase}
        assert figure.bbox.containsx(legend.get_window_extent().x0)
        assert figure.bbox.containsy(legend.get_window_extent().y0)
