"""The data in the figures, their files, and that drawing twice gives the same bytes."""

import statistics
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from dsgkit.errors import ResultsError
from dsgkit.report import draw_figures
from dsgkit.report.curves import with_bands
from dsgkit.report.outputs import all_figures, wanted_figures
from dsgkit.report.style import COLUMN_WIDTH, LOOKS, PAGE_WIDTH
from dsgkit.report.summary import summarise
from dsgkit.tasks.measures import STANDARD, TIME
from tests.report.conftest import (
    AUC,
    CLASSES,
    RANKING,
    experiment_of,
    results_of,
    solver_of,
    typical_records,
)


def lines_of(axes):
    """Return the curves by their labels."""
    return {line.get_label(): line for line in axes.get_lines() if line.get_marker() != "x"}


def note_of(axes):
    """What a figure says below its panels."""
    (legend,) = axes[0].figure.legends
    return legend.get_title().get_text().replace("\n", " ")


def crosses_of(axes):
    return [tuple(line.get_xydata()[0]) for line in axes.get_lines() if line.get_marker() == "x"]


def dots_of(axes):
    return [line for line in axes.get_lines() if line.get_linestyle() == "None"]


def texts_of(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def boxes_of(axes):
    return [Text.get_window_extent(text) for text in axes.texts if text.get_text()]


def overlapping(boxes):
    return any(one.overlaps(other) for one, other in combinations(boxes, 2))


def band_of(collection, axes):
    return tuple(collection.get_datalim(axes.transData).intervaly)


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """Results of fast methods and of exact ones, which no test changes."""
    experiment = experiment_of(trials=5)
    records = typical_records(experiment, sizes=(500, 5000, 20_000, 59_335))
    return results_of(tmp_path_factory.mktemp("results") / "codrna", experiment, records)


@pytest.fixture(scope="module")
def curve(usual):
    """The panel of their times."""
    (axes,) = next(d for d in all_figures(summarise([usual])) if d.name == "time_curve").draw().axes
    return axes


# --- curves -----------------------------------------------------------------------------------


def test_curves_join_the_medians(usual, curve):
    lines = lines_of(curve)
    assert list(lines) == ["QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"]
    finished = usual.cells[usual.cells.status == "ok"]
    medians = finished.groupby(["label", "size"])["fit_seconds"].median()
    for solver, last in (("QSG-S2AUC", 59_335), ("SAMULT", 5000)):
        x, y = lines[solver].get_data()
        assert dict(zip(x, y, strict=True)) == pytest.approx(medians[solver].to_dict())
        assert max(x) == last
    assert curve.get_xscale() == curve.get_yscale() == "log"
    assert curve.get_title() == "codrna"


def test_bands_go_from_the_fastest_to_the_slowest(usual, curve):
    own = usual.cells[usual.cells.solver == "qsg_s2auc"]["fit_seconds"]
    assert band_of(curve.collections[0], curve) == pytest.approx((own.min(), own.max()))


def test_lines_that_memory_ended_are_crossed_out(curve):
    ends = [lines_of(curve)[name].get_xydata()[-1] for name in ("SAMULT", "PNU-AUC")]
    assert sorted(crosses_of(curve)) == sorted(map(tuple, ends))
    ended = [f"{name}\nneeds\n3.0 GiB" for name in ("SAMULT", "PNU-AUC")]
    assert texts_of(curve) == ["QSG-S2AUC", "RFF-S2AUC", *ended]


def test_texts_at_ends_overlap_neither_each_other_nor_the_frame(curve):
    assert not curve.figure.legends[0].get_texts()
    boxes, frame = boxes_of(curve), curve.get_window_extent()
    assert len(boxes) == 4 and not overlapping(boxes)
    for box in boxes[:2]:
        assert frame.x1 <= box.x0 < box.x1 <= curve.figure.bbox.x1
    for box in boxes[2:]:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    assert all(frame.y0 <= box.y0 < box.y1 <= frame.y1 for box in boxes)


def refused(gib):
    return {"status": "out_of_memory", "needed": gib * 2**30}


@pytest.mark.parametrize(
    ("sizes", "texts", "crosses"),
    [
        ({500: [{}], 900: ["out_of_memory"]}, ["SAMULT", "memory"], [(500, 1.0)]),
        ({500: [{}], 900: ["time_limit"]}, ["SAMULT", "time limit"], [(500, 1.0)]),
        ({500: [{}], 900: ["diverged"]}, ["SAMULT", "diverged"], [(500, 1.0)]),
        ({500: [{}], 900: [refused(26.4)]}, ["SAMULT", "needs\n26 GiB"], [(500, 1.0)]),
        ({500: [{}], 900: [refused(26.4 / 1024)]}, ["SAMULT", "needs\n26 MiB"], [(500, 1.0)]),
        # before the last finished size it is no end
        ({500: ["indefinite"], 900: [{}]}, ["SAMULT"], []),
    ],
)
def test_ends_say_why(fits, drawn, sizes, texts, crosses):
    _, (axes,) = drawn("time_curve", fits({"samult": sizes}))
    assert texts_of(axes) == texts
    assert crosses_of(axes) == crosses


def test_a_solver_that_finished_nowhere_is_named(fits, drawn):
    results = fits({"qsg_s2auc": {500: [{}]}, "samult": {500: [refused(9.5)]}})
    _, (axes,) = drawn("time_curve", results)
    assert texts_of(axes) == ["SAMULT: needs 9.5 GiB", "QSG-S2AUC"]
    _, (axes,) = drawn("auc_boxplot", results)
    assert texts_of(axes) == ["refused\nneeds 9.5 GiB"]


def test_many_names_beside_a_panel_stand_in_the_order_of_the_ends_of_lines(fits, drawn):
    names = [f"Solver {i}, of many" for i in range(18)]
    values = {name: {n: [1.0 + i / 100] for n in (500, 900)} for i, name in enumerate(names)}
    _, (axes,) = drawn("time_curve", fits(values, "fit"))
    boxes = boxes_of(axes)
    assert texts_of(axes) == names
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))
    assert boxes[-1].y1 <= axes.get_window_extent().y1


def test_a_text_at_an_end_keeps_clear_of_the_note_on_absent_solvers(fits, drawn):
    ended = {500: [1.0], 600: [9.0], 900: ["time_limit"]}
    results = fits({"samult": ended, "pnu_auc": {500: [refused(26.4)]}}, "fit")
    boxes = boxes_of(drawn("time_curve", results)[1][0])
    assert len(boxes) == 3 and not overlapping(boxes)


LEVELS = {"mine": 0.6, "a": 0.7, "b": 0.9, "c": 0.8, "d": 0.75}


def test_only_the_own_method_and_its_best_rivals_have_bands(fits, drawn):
    # b has the best median, and the worst mean
    values = {k: dict.fromkeys((500, 900), [level] * 3) for k, level in LEVELS.items()}
    values["b"] = dict.fromkeys((500, 900), (0.1, 0.9, 0.9))
    results = fits(values)
    (shown,) = summarise([results])
    assert with_bands([shown], AUC) == ["mine", "b", "c"]
    assert with_bands([shown], AUC, centre=statistics.fmean) == ["mine", "c", "d"]
    assert with_bands([shown], TIME)[0] == "mine"
    drawing, (axes,) = drawn("auc_curve", results)
    assert (
        "medians over trials. Bands of mine and its best rivals by median AUC (b, c) go from the "
        "lowest to the highest trial."
    ) in drawing.caption
    assert len(axes.collections) == 3


def test_the_axis_shows_what_is_drawn_not_trials_without_a_band(fits, drawn):
    values = {k: dict.fromkeys((500, 900), [level] * 3) for k, level in LEVELS.items() if k != "d"}
    values |= {"mine": values["b"], "a": dict.fromkeys((500, 900), (0.1, 0.7, 0.7))}
    _, (axes,) = drawn("auc_curve", fits(values))
    assert 0.6 < axes.get_ylim()[0] < 0.7


@pytest.mark.parametrize(
    ("name", "trials", "note"),
    [
        ("auc_curve", 3, "Points: medians over 3 trials; bands: lowest to highest."),
        ("time_curve", 3, "Points: medians over 3 trials; bands: fastest to slowest."),
        ("auc_curve", 1, "Points: one trial each."),
        ("time_curve", 1, "Points: one trial each; bands: the range of its repeats."),
        ("auc_boxplot", 2, "Dots: trials; bars: medians."),
        ("auc_boxplot", 5, "Dots: trials; boxes: quartiles and medians."),
    ],
)
def test_a_figure_says_what_its_marks_are(typical, drawn, name, trials, note):
    drawing, axes = drawn(name, typical(trials=trials, solvers=("samult",), sizes=(500, 900)))
    assert note_of(axes) == note
    if name == "auc_boxplot":
        bar, box = "A bar marks their median.", "the quartiles and the median of 5 trials or more."
        assert (bar in drawing.caption, box in drawing.caption) == (trials < 5, trials >= 5)


def test_the_axis_names_its_last_size(typical, drawn):
    sizes = (500, 1000, 2000, 5000, 10_000, 10_784)
    _, (axes,) = drawn("time_curve", typical(trials=1, solvers=("samult",), sizes=sizes))
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert labels == ["10.8k", "5,000", "2,000", "1,000", "500"]
    assert list(axes.get_xticks()) == [10_784, 5000, 2000, 1000, 500]


def test_a_time_of_zero_is_drawn_as_the_shortest(fits, drawn):
    _, (axes,) = drawn("time_curve", fits({"samult": {500: [0.0], 900: [1.0]}}, "fit"))
    (line,) = lines_of(axes).values()
    assert list(line.get_ydata()) == [1e-6, 1.0]


@pytest.mark.parametrize("sizes", [(500, 600), (500,)])
def test_disturbed_times_have_a_ring_that_the_caption_explains(fits, drawn, sizes):
    timing = {"range": {"fit": (1.0, 4.0)}, "threads": 2, "slowdown": 3.0}
    values = {
        n: [{"times": {"fit": 2.0}, "timing": timing | {"disturbed": n == 600}}] for n in sizes
    }
    drawing, (axes,) = drawn("time_curve", fits({"samult": values}))
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    assert [list(line.get_xdata()) for line in hollow] == [[600]] * (600 in sizes)
    assert ("A ring: disturbed by other processes." in drawing.caption) == (600 in sizes)
    # of one trial, the band is the range of its repeats
    (band,) = [c for c in axes.collections if len(c.get_paths())]
    assert band_of(band, axes) == (1.0, 4.0)


# --- boxes ------------------------------------------------------------------------------------


def test_boxes_hold_the_trials_of_the_largest_finished_size(usual, drawn):
    drawing, (axes,) = drawn("auc_boxplot", usual)
    assert ", at each solver's largest finished number of unlabelled rows" in drawing.caption
    cells = usual.cells[usual.cells.status == "ok"]
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    boxes = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert len(dots) == len(boxes) == 4
    for place, (solver, own) in enumerate(cells.groupby("solver", sort=False)):
        values = own[own["size"] == own["size"].max()]["auc"].tolist()
        assert list(dots[place].get_xdata()) == [place] * 5, solver
        assert list(dots[place].get_ydata()) == values
        heights = boxes[place].get_path().vertices[:, 1]
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert (heights.min(), heights.max()) == pytest.approx((low, high))
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names[:2] == ["QSG-S2AUC", "SAMULT\n$n$ = 5,000"]
    assert axes.get_xlabel() == "59,335 unlabelled rows (or $n$)"


def test_few_trials_have_dots_and_a_bar_instead_of_a_box(fits, drawn):
    aucs = [0.7, 0.8, 0.9, 0.75]
    _, (axes,) = drawn("auc_boxplot", fits({"samult": {500: [*aucs, "indefinite"]}}))
    assert not axes.patches
    bar, dots = axes.get_lines()
    assert list(bar.get_ydata()) == [0.775] * 2
    assert list(dots.get_ydata()) == aucs
    assert (dots.get_marker(), dots.get_color()) == (LOOKS[1].marker, LOOKS[1].color)
    (name,) = axes.get_xticklabels()
    assert name.get_text() == "SAMULT\n4/5 trials"
    assert axes.get_xlabel() == "500 unlabelled rows"


def test_the_test_part_has_its_own_boxes(typical, drawn):
    results = [typical(sizes=(500,), test=True), typical("skin", sizes=(500,))]
    assert len(drawn("auc_boxplot", *results)[1]) == 2
    _, (axes,) = drawn("auc_test_boxplot", *results)
    cells = results[0].cells
    expected = cells[cells.solver == "qsg_s2auc"]["test_auc"]
    assert list(dots_of(axes)[0].get_ydata()) == expected.tolist()


def test_wide_names_stand_at_the_left_in_lines_and_values_go_to_the_right(fits, drawn):
    aucs = {"qsg_s2auc": (0.7, 0.8), "samult": (0.9, 0.95)}
    values = {key: {500: one} for key, one in aucs.items()} | {"pnu_auc": {500: ["indefinite"] * 2}}
    solvers = {"samult": solver_of("samult", "Labelled rows alone, exact, all centres")}
    drawing, (axes,) = drawn("auc_boxplot", fits(values, solvers=solvers))
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["QSG-S2AUC", "Labelled rows alone,\nexact, all centres", "PNU-AUC"]
    assert axes.get_xlabel() == "AUC at 500 unlabelled rows"
    for place, (line, trials) in enumerate(zip(dots_of(axes), aucs.values(), strict=True)):
        assert (tuple(line.get_xdata()), list(line.get_ydata())) == (trials, [place] * 2)
    assert axes.yaxis_inverted()  # the first is at the top
    assert texts_of(axes) == ["indefinite"]
    axes.figure.draw_without_rendering()
    assert axes.get_window_extent().height > 0.6 * axes.figure.bbox.height
    assert not overlapping([label.get_window_extent() for label in axes.get_yticklabels()])
    assert "a dot is a trial. A bar marks their median. " in drawing.caption
    assert "box" not in drawing.caption + note_of([axes])


@pytest.mark.parametrize(
    ("task", "name", "sign", "arrow"),
    [
        (RANKING, "auc", 1, r"$\leftarrow$ 0.501"),
        (CLASSES, "error", -1, r"50.10 $\rightarrow$"),
    ],
)
def test_a_box_far_worse_than_the_others_is_an_arrow(fits, drawn, task, name, sign, arrow):
    def panel(last):
        levels = zip("abcd", (0.9, 0.91, 0.92, last), strict=True)
        values = {
            key: {500: [0.5 + sign * (level - 0.5) + 0.001 * t for t in range(3)]}
            for key, level in levels
        }
        return drawn(f"{name}_boxplot", fits(values, name, task=task))[1][0]

    axes = panel(0.5)
    low, high = axes.get_ylim()
    assert high - low < (0.05 if task is RANKING else 5)
    assert texts_of(axes) == [arrow]
    # as near as the others are to each other it is a box like them
    assert texts_of(panel(0.89)) == []


def test_an_axis_shows_at_least_the_range_of_its_measure(fits, drawn):
    wide = replace(AUC, least_range=0.05)
    task = RANKING.model_copy(update={"measures": (wide, *STANDARD)})
    values = {key: {500: [auc]} for key, auc in zip("abc", (0.73, 0.731, 0.732), strict=True)}
    low, high = drawn("auc_boxplot", fits(values, task=task))[1][0].get_ylim()
    assert high - low == pytest.approx(0.05) and low < 0.73 < 0.732 < high


# --- several panels ---------------------------------------------------------------------------


@pytest.mark.slow
def test_eight_datasets_stand_in_two_rows_of_four(typical, drawn):
    names = ["codrna", "covtype", "dota2", "higgs", "ijcnn1", "skin", "unclonable", "susy"]
    _, panels = drawn("time_curve", *(typical(one, sizes=(500, 20_000)) for one in names))
    assert [axes.get_title() for axes in panels] == names
    figure = panels[0].figure
    figure.draw_without_rendering()
    corners = [axes.get_window_extent() for axes in panels]
    assert len({round(box.y0) for box in corners}) == 2
    assert len({round(box.x0 / 20) for box in corners}) == 4
    (legend,) = figure.legends
    solvers = ["QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"]
    assert [text.get_text() for text in legend.get_texts()] == solvers
    below = legend.get_window_extent()
    assert below.x0 >= 0 and below.x1 <= figure.bbox.x1
    assert below.y1 <= min(axes.get_tightbbox().y0 for axes in panels)


@pytest.mark.parametrize("name", ["time_curve", "auc_boxplot"])
def test_long_names_stay_inside_the_figure(typical, drawn, name):
    labels = {
        "qsg_s2auc": "QSG-S2AUC with a very long name",
        "samult": "SAMULT, all rows as centres",
    }
    _, (axes,) = drawn(name, typical(solvers=tuple(labels), labels=labels))
    axes.figure.draw_without_rendering()
    box = axes.get_tightbbox()
    assert box.x0 >= 0 and box.x1 <= axes.figure.bbox.x1


def test_a_panel_without_a_finished_fit_says_why(fits, drawn):
    good = fits({"samult": {500: [0.9]}})
    bad = fits({"samult": {500: ["indefinite"]}}, dataset="skin")
    assert texts_of(drawn("time_curve", good, bad)[1][1]) == ["SAMULT: indefinite"]
    empty = drawn("auc_boxplot", good, bad)[1][1]
    assert texts_of(empty) == ["indefinite"] and len(empty.get_yticks()) == 0


def test_percents_are_drawn_as_percents(fits, drawn):
    fit = [{"error": 0.05, "positive": 0.5}, {"error": 0.06, "positive": 0.5}]
    results = fits({"tsgs3vm": {500: fit, 900: fit}}, task=CLASSES)
    _, (axes,) = drawn("error_boxplot", results)
    assert axes.get_ylabel() == "Error (%)"
    (dots,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert list(dots.get_ydata()) == pytest.approx([5, 6])
    _, (axes,) = drawn("error_curve", results)
    (line,) = lines_of(axes).values()
    assert list(line.get_ydata()) == pytest.approx([5.5, 5.5])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_ylabel() == "Error (%)"
    assert band_of(axes.collections[0], axes) == pytest.approx((5, 6))


def test_without_a_sweep_boxes_have_no_size_and_there_are_no_curves(regression, drawn, tmp_path):
    results = regression({"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, 4.0]})
    assert [one.name for one in all_figures(summarise([results]))] == ["rmse_boxplot"]
    _, (axes,) = drawn("rmse_boxplot", results)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Ridge", "Lasso"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("", "RMSE")
    assert {path.stem for path in draw_figures([results], tmp_path)} == {"rmse_boxplot"}


# --- files ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_are_written_the_same_twice_and_fit_for_print(usual, tmp_path):
    first, second = (draw_figures([usual], tmp_path / name) for name in "ab")
    assert [path.relative_to(tmp_path / "a").as_posix() for path in first] == [
        f"figures/{name}.{suffix}"
        for name in ("auc_boxplot", "time_curve")
        for suffix in ("pdf", "png")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    *_, pdf, png = first
    content = pdf.read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content and b"CreationDate" not in content
    pixels = imread(png)
    assert pixels.shape[1] == 650
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 50


@pytest.mark.parametrize(
    ("outputs", "sizes", "figures"),
    [
        (("auc_table",), (500, 900), set()),
        (("auc_boxplot",), (500, 900), {"auc_boxplot"}),
        (("auc_boxplot", "time_curve"), (500,), {"auc_boxplot"}),  # one size makes no curve
    ],
)
def test_a_report_has_the_figures_that_the_config_asks_for(
    typical, tmp_path, outputs, sizes, figures
):
    draw_figures([typical(trials=1, outputs=outputs, sizes=sizes)], tmp_path)
    expected = {f"{name}.{suffix}" for name in figures for suffix in ("pdf", "png")}
    assert {path.name for path in tmp_path.glob("figures/*")} == expected


@pytest.mark.parametrize(
    ("values", "only", "told"),
    [
        ([0.9], ["error_boxplot"], "there is no figure 'error_boxplot'"),
        ([0.9], ["auc_test_boxplot"], "no finished fit has a value for auc_test_boxplot"),
        ([0.9], ["auc_test_curve"], "no finished fit has a value for auc_test_curve"),
        (["failed"], [], "no fit has finished"),
        ([0.9], ["auc_boxplot"], "cannot be written"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(fits, tmp_path, values, only, told):
    (tmp_path / "figures").write_text("")
    with pytest.raises(ResultsError, match=told):
        draw_figures([fits({"samult": {500: values}})], tmp_path, only)


@pytest.mark.parametrize(("width", "inches"), [("column", COLUMN_WIDTH), ("page", PAGE_WIDTH)])
def test_figures_have_the_width_that_is_asked_for(typical, tmp_path, width, inches):
    results = typical(trials=1, outputs=("auc_boxplot", "time_curve"), sizes=(500, 900))
    figures = [one.draw() for one in wanted_figures(summarise([results]), width=width)]
    assert [figure.get_size_inches()[0] for figure in figures] == [inches] * 2
    paths = draw_figures([results], tmp_path, ["auc_boxplot"], ["svg"], width)
    assert [path.name for path in paths] == ["auc_boxplot.svg"]
