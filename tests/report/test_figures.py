"""The data in the figures, their files, and that drawing twice gives the same bytes."""

import statistics
import subprocess
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import same_color, to_rgb
from matplotlib.image import imread
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from dsgkit.report import draw_figures, write_report
from dsgkit.report.curves import with_bands
from dsgkit.report.outputs import all_figures, wanted_figures
from dsgkit.report.placement import spread_out
from dsgkit.report.style import (
    COLUMN_WIDTH,
    FAINT_LOOK,
    LOOKS,
    PAGE_WIDTH,
    places,
    solver_styles,
    styles_of,
)
from dsgkit.report.summary import Summary, summarise
from dsgkit.tasks.measures import STANDARD, TIME
from dsgkit.text.errors import ResultsError
from tests.report.conftest import AUC, CLASSES, RANKING


def drawn(results, name):
    """Draw a figure by its name."""
    (drawing,) = (one for one in all_figures(summarise(results)) if one.name == name)
    return drawing.draw()


def time_curve(results):
    return drawn(results, "time_curve")


def auc_boxplot(results):
    return drawn(results, "auc_boxplot")


def lines_of(axes):
    """Return the curves by their labels."""
    return {line.get_label(): line for line in axes.get_lines() if line.get_marker() != "x"}


def note_of(figure):
    """What a figure says below its panels."""
    (legend,) = figure.legends
    return legend.get_title().get_text().replace("\n", " ")


def crosses_of(axes):
    return [tuple(line.get_xydata()[0]) for line in axes.get_lines() if line.get_marker() == "x"]


def texts_of(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


@pytest.fixture
def results(invent, make):
    experiment = invent.experiment("codrna", trials=5)
    return make(experiment, invent.typical(experiment, sizes=(500, 5000, 20_000, 59_335)))


def test_curves_join_the_medians(results):
    (axes,) = time_curve([results]).axes
    lines = lines_of(axes)
    assert list(lines) == ["QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"]
    for solver, last in (("qsg_s2auc", 59_335), ("samult", 5000)):
        fits = results.cells[(results.cells.solver == solver) & (results.cells.status == "ok")]
        expected = {
            n: statistics.median(fits[fits["size"] == n]["fit_seconds"])
            for n in sorted(set(fits["size"]))
        }
        x, y = lines[results.label(solver)].get_data()
        assert dict(zip(x, y, strict=True)) == pytest.approx(expected)
        assert max(x) == last
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_title() == "codrna"


def test_bands_go_from_the_fastest_to_the_slowest(results):
    (axes,) = time_curve([results]).axes
    fits = results.cells[(results.cells.solver == "qsg_s2auc")]["fit_seconds"]
    low, high = axes.collections[0].get_datalim(axes.transData).intervaly
    assert (low, high) == pytest.approx((fits.min(), fits.max()))


def test_lines_that_memory_ended_are_crossed_out(results):
    (axes,) = time_curve([results]).axes
    lines = lines_of(axes)
    ends = [lines[name].get_xydata()[-1] for name in ("SAMULT", "PNU-AUC")]
    assert sorted(crosses_of(axes)) == sorted(map(tuple, ends))
    assert texts_of(axes) == [
        "QSG-S2AUC",
        "RFF-S2AUC",
        "SAMULT\nneeds\n3.0 GiB",
        "PNU-AUC\nneeds\n3.0 GiB",
    ]


@pytest.mark.parametrize(
    ("status", "needed", "text"),
    [
        ("out_of_memory", None, "memory"),
        ("time_limit", None, "time limit"),
        ("diverged", None, "diverged"),
        ("out_of_memory", 26.4 * 2**30, "needs\n26 GiB"),
        ("out_of_memory", 26.4 * 2**20, "needs\n26 MiB"),
    ],
)
def test_ends_say_why(invent, make, status, needed, text):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    records = [
        invent.record(experiment, "samult", 0, 500),
        invent.failure(experiment, "samult", 0, 900, status, needed=needed),
    ]
    (axes,) = time_curve([make(experiment, records)]).axes
    assert texts_of(axes) == ["SAMULT", text]
    assert crosses_of(axes) == [(500, 1.0)]


def test_a_failure_before_the_last_finished_size_is_no_end(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    records = [
        invent.failure(experiment, "samult", 0, 500, "indefinite"),
        invent.record(experiment, "samult", 0, 900),
    ]
    (axes,) = time_curve([make(experiment, records)]).axes
    assert crosses_of(axes) == []
    assert texts_of(axes) == ["SAMULT"]


def test_a_solver_that_finished_nowhere_is_named(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult"))
    records = [
        invent.record(experiment, "qsg_s2auc", 0, 500),
        invent.failure(experiment, "samult", 0, 500, "out_of_memory", needed=9.5 * 2**30),
    ]
    results = make(experiment, records)
    (axes,) = time_curve([results]).axes
    assert texts_of(axes) == ["SAMULT: needs 9.5 GiB", "QSG-S2AUC"]
    (axes,) = auc_boxplot([results]).axes
    assert texts_of(axes) == ["refused\nneeds 9.5 GiB"]


def test_texts_at_ends_overlap_neither_each_other_nor_the_frame(results):
    figure = time_curve([results])
    (axes,) = figure.axes
    assert not figure.legends[0].get_texts()
    boxes = [Text.get_window_extent(text) for text in axes.texts if text.get_text()]
    frame = axes.get_window_extent()
    assert len(boxes) == 4
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    for box in boxes[:2]:
        assert frame.x1 <= box.x0 < box.x1 <= figure.bbox.x1
    for box in boxes[2:]:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    for box in boxes:
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1


def test_many_names_beside_a_panel_stand_in_the_order_of_the_ends_of_lines(invent, make):
    solvers = {f"s{i}": invent.solver(f"mine:S{i}", f"Solver {i}, of many") for i in range(18)}
    experiment = invent.experiment("codrna", trials=1, solvers=solvers)
    records = [
        invent.record(experiment, key, 0, n, times={"fit": 1.0 + i / 100})
        for i, key in enumerate(solvers)
        for n in (500, 900)
    ]
    figure = time_curve([make(experiment, records)])
    (axes,) = figure.axes
    boxes = [Text.get_window_extent(text) for text in axes.texts if text.get_text()]
    assert texts_of(axes) == [one.label for one in solvers.values()]
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))
    assert boxes[-1].y1 <= axes.get_window_extent().y1


def test_intervals_move_no_further_than_they_must():
    wanted, heights = np.array([5.0, 1.0, 1.0, 9.0]), np.array([2.0, 2.0, 2.0, 2.0])
    assert spread_out(wanted, heights, -10, 20).tolist() == [5.0, 0.0, 2.0, 9.0]
    assert spread_out(wanted, heights, 0, 9).tolist() == [5.0, 1.0, 3.0, 8.0]


def test_only_three_methods_have_bands(invent, make):
    solvers = {key: invent.solver(f"mine:{key}", key) for key in ("mine", "a", "b", "c", "d")}
    experiment = invent.experiment("codrna", trials=2, solvers=solvers)
    levels = {"mine": 0.6, "a": 0.7, "b": 0.9, "c": 0.8, "d": 0.75}
    records = [
        invent.record(experiment, key, trial, n, auc=level + trial / 100)
        for key, level in levels.items()
        for trial in range(2)
        for n in (500, 900)
    ]
    shown = summarise([make(experiment, records)])
    assert with_bands(shown, AUC) == with_bands(shown, TIME) == ["mine", "b", "c"]
    (drawing,) = (one for one in all_figures(shown) if one.name == "auc_curve")
    assert (
        "medians over trials. Bands of mine and its best rivals by median AUC (b, c) go from the "
        "lowest to the highest trial."
    ) in drawing.caption
    (axes,) = drawing.draw().axes
    assert len(axes.collections) == 3


def test_bands_are_those_of_the_best_by_what_is_drawn(invent, make):
    solvers = {key: invent.solver(f"mine:{key}", key) for key in ("mine", "a", "b", "c", "d")}
    experiment = invent.experiment("codrna", trials=3, solvers=solvers)
    # b has the best median, and the worst mean
    levels = {"mine": 0.6, "a": 0.7, "b": 0.9, "c": 0.8, "d": 0.75}
    records = [
        invent.record(experiment, key, trial, n, auc=0.1 if (key, trial) == ("b", 0) else level)
        for key, level in levels.items()
        for trial in range(3)
        for n in (500, 900)
    ]
    shown = summarise([make(experiment, records)])
    assert with_bands(shown, AUC) == ["mine", "b", "c"]
    assert with_bands(shown, AUC, centre=statistics.fmean) == ["mine", "c", "d"]


def test_the_axis_shows_what_is_drawn_not_trials_without_a_band(invent, make):
    solvers = {key: invent.solver(f"mine:{key}", key) for key in ("mine", "a", "b", "c")}
    experiment = invent.experiment("codrna", trials=3, solvers=solvers)
    records = [
        invent.record(experiment, key, trial, n, auc=0.1 if (key, trial) == ("a", 0) else level)
        for key, level in {"mine": 0.9, "a": 0.7, "b": 0.9, "c": 0.8}.items()
        for trial in range(3)
        for n in (500, 900)
    ]
    results = make(experiment, records)
    assert with_bands(summarise([results]), AUC) == ["mine", "b", "c"]
    (axes,) = drawn([results], "auc_curve").axes
    assert 0.6 < axes.get_ylim()[0] < 0.7


@pytest.mark.parametrize(
    ("name", "trials", "note"),
    [
        ("auc_curve", 3, "Points: medians over 3 trials; bands: lowest to highest."),
        ("time_curve", 3, "Points: medians over 3 trials; bands: fastest to slowest."),
        ("auc_curve", 1, "Points: one trial each."),
        ("time_curve", 1, "Points: one trial each; bands: the range of its repeats."),
    ],
)
def test_a_figure_says_what_points_and_bands_are(invent, make, name, trials, note):
    experiment = invent.experiment("codrna", trials=trials, solvers=("samult",))
    results = make(experiment, invent.typical(experiment, sizes=(500, 900)))
    figure = drawn([results], name)
    assert note_of(figure) == note


def test_the_axis_names_its_last_size(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    sizes = (500, 1000, 2000, 5000, 10_000, 10_784)
    results = make(experiment, invent.typical(experiment, sizes=sizes))
    (axes,) = time_curve([results]).axes
    assert [t.get_text() for t in axes.get_xticklabels()] == [
        "10.8k",
        "5,000",
        "2,000",
        "1,000",
        "500",
    ]
    assert list(axes.get_xticks()) == [10_784, 5000, 2000, 1000, 500]


def test_a_text_at_an_end_keeps_clear_of_the_note_on_absent_solvers(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult", "pnu_auc"))
    records = [
        invent.record(experiment, "samult", 0, 500, times={"fit": 1.0}),
        invent.record(experiment, "samult", 0, 600, times={"fit": 9.0}),
        invent.failure(experiment, "samult", 0, 900, "time_limit"),
        invent.failure(experiment, "pnu_auc", 0, 500, "out_of_memory", needed=26.4 * 2**30),
    ]
    (axes,) = time_curve([make(experiment, records)]).axes
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert len(boxes) == 3
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_boxes_hold_the_trials_of_the_largest_finished_size(results):
    (axes,) = auc_boxplot([results]).axes
    cells = results.cells[results.cells.status == "ok"]
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    boxes = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert len(dots) == len(boxes) == 4
    sizes = {"qsg_s2auc": 59_335, "samult": 5000, "pnu_auc": 5000, "rff_s2auc": 59_335}
    for place, (solver, n) in enumerate(sizes.items()):
        values = cells[(cells.solver == solver) & (cells["size"] == n)]["auc"].tolist()
        assert list(dots[place].get_xdata()) == [place] * 5
        assert list(dots[place].get_ydata()) == values
        heights = boxes[place].get_path().vertices[:, 1]
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert (heights.min(), heights.max()) == pytest.approx((low, high))
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names[0] == "QSG-S2AUC"
    assert names[1] == "SAMULT\n$n$ = 5,000"
    assert axes.get_xlabel() == "59,335 unlabelled rows (or $n$)"


def test_missing_trials_are_said_below_the_box(invent, make):
    experiment = invent.experiment("codrna", trials=3, solvers=("samult",))
    records = [invent.record(experiment, "samult", trial, 500) for trial in range(2)]
    records.append(invent.failure(experiment, "samult", 2, 500, "indefinite"))
    (axes,) = auc_boxplot([make(experiment, records)]).axes
    (name,) = axes.get_xticklabels()
    assert name.get_text() == "SAMULT\n2/3 trials"
    assert axes.get_xlabel() == "500 unlabelled rows"


def test_few_trials_have_dots_and_a_bar_instead_of_a_box(invent, make):
    experiment = invent.experiment("codrna", trials=4, solvers=("samult",))
    aucs = [0.7, 0.8, 0.9, 0.75]
    records = [invent.record(experiment, "samult", t, 500, auc=auc) for t, auc in enumerate(aucs)]
    (axes,) = auc_boxplot([make(experiment, records)]).axes
    assert not axes.patches
    bar, dots = axes.get_lines()
    assert list(bar.get_ydata()) == [0.775] * 2
    assert list(dots.get_ydata()) == aucs
    assert (dots.get_marker(), dots.get_color()) == (LOOKS[1].marker, LOOKS[1].color)


def test_the_test_part_has_its_own_boxes(invent, make):
    with_test = invent.experiment("codrna", trials=2)
    without = invent.experiment("skin", trials=2)
    results = [
        make(with_test, invent.typical(with_test, test=True)),
        make(without, invent.typical(without)),
    ]
    assert len(auc_boxplot(results).axes) == 2
    (axes,) = drawn(results, "auc_test_boxplot").axes
    dots = next(line for line in axes.get_lines() if line.get_marker() == "o")
    cells = results[0].cells
    expected = cells[(cells.solver == "qsg_s2auc") & (cells["size"] == 59_335)]["test_auc"]
    assert list(dots.get_xdata()) == expected.tolist()  # wide names stand at the left


def test_wide_names_stand_at_the_left_in_lines_and_values_go_to_the_right(invent, make):
    labels = {"qsg_s2auc": "QSG-S2AUC", "samult": "Labelled rows alone, exact, all centres"}
    experiment = invent.experiment("codrna", trials=2, solvers=(*labels, "pnu_auc"), labels=labels)
    aucs = {"qsg_s2auc": (0.7, 0.8), "samult": (0.9, 0.95)}
    records = [
        invent.record(experiment, key, trial, 500, auc=value)
        for key, values in aucs.items()
        for trial, value in enumerate(values)
    ]
    records += [invent.failure(experiment, "pnu_auc", t, 500, "indefinite") for t in range(2)]
    results = make(experiment, records)
    figure = auc_boxplot([results])
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["QSG-S2AUC", "Labelled rows alone,\nexact, all centres", "PNU-AUC"]
    assert axes.get_xlabel() == "AUC at 500 unlabelled rows"
    dots = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    for place, (line, values) in enumerate(zip(dots, aucs.values(), strict=True)):
        assert (list(line.get_xdata()), list(line.get_ydata())) == (list(values), [place] * 2)
    assert axes.yaxis_inverted()  # the first is at the top
    assert texts_of(axes) == ["indefinite"]
    figure.draw_without_rendering()
    frame = axes.get_window_extent()
    assert frame.height > 0.6 * figure.bbox.height
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    (drawing,) = (one for one in all_figures(summarise([results])) if one.name == "auc_boxplot")
    assert "a dot is a trial. A bar marks their median. " in drawing.caption
    assert "box" not in drawing.caption + note_of(figure)


@pytest.mark.parametrize(
    ("trials", "note", "caption"),
    [
        (2, "Dots: trials; bars: medians.", "A bar marks their median."),
        (
            5,
            "Dots: trials; boxes: quartiles and medians.",
            "A box has the quartiles and the median of 5 trials or more.",
        ),
    ],
)
def test_a_figure_says_what_dots_bars_and_boxes_are(invent, make, trials, note, caption):
    experiment = invent.experiment("codrna", trials=trials, solvers=("samult",))
    results = make(experiment, invent.typical(experiment, sizes=(500,)))
    (drawing,) = (one for one in all_figures(summarise([results])) if one.name == "auc_boxplot")
    assert caption in drawing.caption
    assert note_of(drawing.draw()) == note


@pytest.mark.slow
@pytest.mark.parametrize("draw", [time_curve, auc_boxplot])
def test_eight_datasets_stand_in_two_rows_of_four(invent, make, draw):
    names = ["codrna", "covtype", "dota2", "higgs", "ijcnn1", "skin", "unclonable", "susy"]
    experiments = [invent.experiment(name, trials=2) for name in names]
    figure = draw([make(e, invent.typical(e, sizes=(500, 20_000))) for e in experiments])
    assert [axes.get_title() for axes in figure.axes] == names
    figure.draw_without_rendering()
    corners = [axes.get_window_extent() for axes in figure.axes]
    assert len({round(box.y0) for box in corners}) == 2
    assert len({round(box.x0 / 20) for box in corners}) == 4
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "QSG-S2AUC",
        "SAMULT",
        "PNU-AUC",
        "RFF-S2AUC",
    ]
    below = legend.get_window_extent()
    assert below.x0 >= 0
    assert below.y1 <= min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert below.x1 <= figure.bbox.x1


@pytest.mark.parametrize("draw", [time_curve, auc_boxplot])
def test_long_names_stay_inside_the_figure(invent, make, draw):
    labels = {
        "qsg_s2auc": "QSG-S2AUC with a very long name",
        "samult": "SAMULT, all rows as centres",
    }
    experiment = invent.experiment("codrna", trials=2, solvers=tuple(labels), labels=labels)
    figure = draw([make(experiment, invent.typical(experiment))])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    box = axes.get_tightbbox()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_a_panel_without_a_finished_fit_says_why(invent, make):
    good = invent.experiment("codrna", trials=1, solvers=("samult",))
    bad = invent.experiment("skin", trials=1, solvers=("samult",))
    results = [
        make(good, [invent.record(good, "samult", 0, 500)]),
        make(bad, [invent.failure(bad, "samult", 0, 500, "indefinite")]),
    ]
    assert texts_of(time_curve(results).axes[1]) == ["SAMULT: indefinite"]
    empty = auc_boxplot(results).axes[1]
    assert texts_of(empty) == ["indefinite"]
    assert len(empty.get_yticks()) == 0


@pytest.mark.slow
def test_files_are_written_the_same_twice_and_fit_for_print(results, tmp_path):
    first = draw_figures([results], tmp_path / "a")
    second = draw_figures([results], tmp_path / "b")
    assert [path.relative_to(tmp_path / "a").as_posix() for path in first] == [
        "figures/auc_boxplot.pdf",
        "figures/auc_boxplot.png",
        "figures/time_curve.pdf",
        "figures/time_curve.png",
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert len(list((tmp_path / "a" / "figures").iterdir())) == 4
    *_, pdf, png = first
    content = pdf.read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"CreationDate" not in content
    pixels = imread(png)
    assert pixels.shape[1] == 650
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 50


def test_only_what_is_asked_for_is_drawn(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, outputs=("auc_table",))
    results = make(experiment, invent.typical(experiment, sizes=(500,)))
    assert draw_figures([results], tmp_path) == []
    assert not (tmp_path / "figures").exists()
    with pytest.raises(ResultsError, match="there is no figure 'error_boxplot'"):
        draw_figures([results], tmp_path, ["error_boxplot"])
    for name in ("auc_test_boxplot", "auc_test_curve"):
        with pytest.raises(ResultsError, match=f"no finished fit has a value for {name}"):
            draw_figures([results], tmp_path, [name])


def test_nothing_finished_is_nothing_to_draw(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    results = make(experiment, [invent.failure(experiment, "samult", 0, 500, "failed")])
    with pytest.raises(ResultsError, match="no fit has finished"):
        draw_figures([results], tmp_path)


def test_a_report_without_a_finished_fit_is_tables_of_statuses(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    results = make(experiment, [invent.failure(experiment, "samult", 0, 500, "failed")])
    paths = write_report([results], tmp_path)
    assert {path.parent.name for path in paths} == {"tables"}
    assert "failed" in (tmp_path / "tables" / "auc_table.md").read_text()


def test_a_report_has_the_figures_that_the_config_asks_for(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=1, outputs=("auc_boxplot",))
    write_report([make(experiment, invent.typical(experiment))], tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "auc_boxplot.pdf",
        "auc_boxplot.png",
    }


def test_a_single_size_makes_no_curve(invent, make, tmp_path):
    experiment = invent.experiment("codrna", trials=2)
    write_report([make(experiment, invent.typical(experiment, sizes=(500,)))], tmp_path)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"auc_boxplot"}


def test_a_folder_that_cannot_be_written_is_named(results, tmp_path):
    (tmp_path / "figures").write_text("")
    with pytest.raises(ResultsError, match="cannot be written"):
        draw_figures([results], tmp_path, ["time_curve"])


def test_the_look_of_a_solver_is_its_own_whatever_else_is_drawn():
    kinds = {"SAMULT": "samult", "FRS3VM": "frs3vm", "Mine": "my:Mine", "Yours": "your:Own"}
    together = solver_styles(kinds)
    for name in ("SAMULT", "FRS3VM"):
        assert solver_styles({name: kinds[name]}) == {name: together[name]}
        assert solver_styles(dict(reversed(kinds.items())))[name] == together[name]
    assert together["SAMULT"] == LOOKS[1]
    assert places()["qsg_s2auc"] == 0


def test_the_first_solvers_of_ones_own_are_seen_best():
    own = {f"Mine {i}": f"my:Mine{i}" for i in range(20)}
    styles = list(solver_styles(own).values())
    assert styles[:8] == list(LOOKS[:8])
    assert styles[:15].index(FAINT_LOOK) == 14
    # beside the methods of a paper, they take the first looks that these leave
    beside = solver_styles({"Mine": "my:Mine", "QSG-S2AUC": "qsg_s2auc", "SAMULT": "samult"})
    assert beside["Mine"] == LOOKS[2]
    variants = solver_styles({"QSG-S2AUC": "qsg_s2auc", "QSG, a variant": "qsg_s2auc"})
    assert variants["QSG, a variant"] == LOOKS[7]


def test_a_solver_keeps_its_look_beside_others_of_its_kind():
    kinds = {"SAMULT": "samult", "Labelled rows alone, exact": "samult", "A variant": "samult"}
    together = solver_styles(kinds)
    assert together["SAMULT"] == LOOKS[places()["samult"]]
    for name in list(kinds)[:2]:
        assert solver_styles({name: "samult"})[name] == together[name]


def test_a_solver_keeps_its_look_where_only_some_are_drawn(invent, make):
    solvers = {f"s{i}": invent.solver("samult", f"Variant {i}") for i in range(20)}
    experiment = invent.experiment("codrna", trials=1, solvers=solvers)
    results = make(experiment, invent.typical(experiment, sizes=(500,)))
    (whole,) = summarise([results])
    for key, name in whole.names.items():
        alone = Summary(results, whole.title, {key: name})
        assert styles_of([alone])[name] == styles_of([whole])[name]
        assert styles_of(summarise([results.of([key])]))[name] == styles_of([whole])[name]


@pytest.mark.parametrize(("width", "inches"), [("column", COLUMN_WIDTH), ("page", PAGE_WIDTH)])
def test_figures_have_the_width_that_is_asked_for(invent, make, tmp_path, width, inches):
    experiment = invent.experiment("codrna", trials=1, outputs=("auc_boxplot", "time_curve"))
    results = make(experiment, invent.typical(experiment))
    figures = [one.draw() for one in wanted_figures(summarise([results]), width=width)]
    assert [figure.get_size_inches()[0] for figure in figures] == [inches] * 2
    paths = draw_figures([results], tmp_path, ["auc_boxplot"], ["svg"], width)
    assert [path.name for path in paths] == ["auc_boxplot.svg"]


def test_no_two_solvers_share_a_look():
    kinds = {f"QSG {i}": "qsg_s2auc" for i in range(9)} | {f"Mine {i}": "my:Mine" for i in range(9)}
    owners = {place: kind for kind, place in reversed(places().items())}
    kinds |= {kind.upper(): kind for place, kind in owners.items() if place}
    styles = solver_styles(kinds)
    assert len(set(styles.values())) == len(kinds)
    assert styles["QSG 0"] == LOOKS[0]
    assert all(styles[kind.upper()] == LOOKS[place] for place, kind in owners.items() if place)


def test_kinds_of_two_papers_share_a_look_unless_they_are_drawn_together():
    assert places()["tsgsu"] == places()["qsg_s2auc"]
    assert solver_styles({"TSGSU": "tsgsu"})["TSGSU"] == LOOKS[0]
    together = solver_styles({"TSGSU": "tsgsu", "QSG": "qsg_s2auc"})
    assert together["TSGSU"] == LOOKS[0] != together["QSG"]


def test_every_look_differs_in_colour_marker_line_and_hatch():
    for one, other in combinations(LOOKS, 2):
        assert not same_color(one.color, other.color)
        assert one.marker != other.marker
        assert one.linestyle != other.linestyle
        assert one.hatch != other.hatch
    assert all(len(to_rgb(look.color)) == 3 for look in LOOKS)


def test_a_key_of_two_solvers_draws_each_under_its_own_name(invent, make):
    labels = {"one": ("First", "samult"), "two": ("Second", "pnu_auc")}
    results = []
    for name, keys in (("codrna", ("one", "two")), ("skin", ("two", "one"))):
        # the keys change places from folder to folder
        solvers = {
            key: invent.solver(labels[meant][1], labels[meant][0])
            for key, meant in zip(labels, keys, strict=True)
        }
        experiment = invent.experiment(name, trials=1, solvers=solvers)
        times = {"First": 1.0, "Second": 100.0}
        records = [
            invent.record(experiment, key, 0, n, times={"fit": times[solver.label]})
            for key, solver in solvers.items()
            for n in (500, 900)
        ]
        results.append(make(experiment, records))
    figure = time_curve(results)
    for axes in figure.axes:
        found = {name: set(line.get_ydata()) for name, line in lines_of(axes).items()}
        assert found == {"First": {1.0}, "Second": {100.0}}
    colors = [{n: line.get_color() for n, line in lines_of(a).items()} for a in figure.axes]
    assert colors[0] == colors[1]


def test_percents_are_drawn_as_percents(invent, make):
    solvers = {"tsgs3vm": invent.solver("tsgs3vm", "TSGS3VM")}
    experiment = invent.experiment("w8a", trials=2, solvers=solvers, task=CLASSES)
    records = [
        invent.record(experiment, "tsgs3vm", t, n, error=0.05 + 0.01 * t, positive=0.5)
        for t in range(2)
        for n in (500, 900)
    ]
    results = make(experiment, records, CLASSES)
    (axes,) = drawn([results], "error_boxplot").axes
    assert axes.get_ylabel() == "Error (%)"
    (dots,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert list(dots.get_ydata()) == pytest.approx([5, 6])
    (axes,) = drawn([results], "error_curve").axes
    (line,) = lines_of(axes).values()
    assert list(line.get_ydata()) == pytest.approx([5.5, 5.5])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_ylabel() == "Error (%)"
    low, high = axes.collections[0].get_datalim(axes.transData).intervaly
    assert (low, high) == pytest.approx((5, 6))


def test_a_time_of_zero_is_drawn_as_the_shortest(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    records = [
        invent.record(experiment, "samult", 0, n, times={"fit": seconds})
        for n, seconds in ((500, 0.0), (900, 1.0))
    ]
    (axes,) = time_curve([make(experiment, records)]).axes
    (line,) = lines_of(axes).values()
    assert list(line.get_ydata()) == [1e-6, 1.0]


def test_disturbed_times_have_a_ring_that_the_caption_explains(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    timing = {"range": {"fit": (1.0, 4.0)}, "threads": 2, "slowdown": 3.0}
    records = [
        invent.record(
            experiment, "samult", 0, n, times={"fit": 2.0}, timing=timing | {"disturbed": n == 600}
        )
        for n in (500, 600)
    ]
    for kept, rings in ((records, [[600]]), (records[:1], [])):
        results = make(experiment, kept)
        (axes,) = time_curve([results]).axes
        hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
        assert [list(line.get_xdata()) for line in hollow] == rings
        (drawing,) = (d for d in all_figures(summarise([results])) if d.name == "time_curve")
        assert ("A ring: disturbed by other processes." in drawing.caption) is bool(rings)
        # of one trial, the band is the range of its repeats
        (band,) = [c for c in axes.collections if len(c.get_paths())]
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == (1.0, 4.0)


def test_without_a_sweep_boxes_have_no_size_and_there_are_no_curves(regression, tmp_path):
    results = regression({"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, 4.0]})
    assert [one.name for one in all_figures(summarise([results]))] == ["rmse_boxplot"]
    (axes,) = drawn([results], "rmse_boxplot").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Ridge", "Lasso"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("", "RMSE")
    paths = write_report([results], tmp_path)
    assert {path.stem for path in paths if path.parent.name == "figures"} == {"rmse_boxplot"}


def test_tables_need_no_matplotlib():
    code = "import sys, dsgkit.report, dsgkit.report.tables; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("task", "name", "sign"), [(RANKING, "auc", 1), (CLASSES, "error", -1)])
def test_a_box_far_worse_than_the_others_is_an_arrow(invent, make, task, name, sign):
    solvers = {key: invent.solver(f"mine:{key}", key) for key in "abcd"}
    experiment = invent.experiment("codrna", trials=3, solvers=solvers, task=task)
    levels = dict(zip(solvers, (0.9, 0.91, 0.92, 0.5), strict=True))

    def results(levels):
        fits = [
            (key, trial, 0.5 + sign * (level - 0.5) + 0.001 * trial)
            for key, level in levels.items()
            for trial in range(3)
        ]
        return make(
            experiment,
            [invent.record(experiment, key, t, 500, **{name: value}) for key, t, value in fits],
            task,
        )

    (axes,) = drawn([results(levels)], f"{name}_boxplot").axes
    low, high = axes.get_ylim()
    assert high - low < (0.05 if task is RANKING else 5)
    arrow = r"$\leftarrow$ 0.501" if task is RANKING else r"50.10 $\rightarrow$"
    assert texts_of(axes) == [arrow]
    # as near as the others are to each other it is a box like them
    (axes,) = drawn([results({**levels, "d": 0.89})], f"{name}_boxplot").axes
    assert texts_of(axes) == []


def test_an_axis_shows_at_least_the_range_of_its_measure(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult", "pnu_auc"))
    aucs = {"qsg_s2auc": 0.73, "samult": 0.731, "pnu_auc": 0.732}
    records = [invent.record(experiment, key, 0, 500, auc=auc) for key, auc in aucs.items()]
    wide = AUC.model_copy(update={"least_range": 0.05})
    task = RANKING.model_copy(update={"measures": (wide, *STANDARD)})
    low, high = auc_boxplot([make(experiment, records, task)]).axes[0].get_ylim()
    assert high - low == pytest.approx(0.05) and low < 0.73 < 0.732 < high
