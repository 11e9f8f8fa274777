"""Figures and tables of the papers: what they name, and what is made of invented runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from dsgkit.data.catalogue import DATASETS
from dsgkit.errors import DsgError, ResultsError
from dsgkit.papers.figures import (
    Shown,
    chosen,
    config_of,
    figures_of,
    fill,
    listing,
    read_needed,
)
from dsgkit.papers.judge import Kept
from dsgkit.papers.printed_figures import make, written
from dsgkit.papers.schema import papers
from dsgkit.published import rows_of as csv_rows
from dsgkit.report.formats import Table, markdown
from dsgkit.tasks import base as tasks
from dsgkit.tasks.measures import STANDARD, Published, PublishedFigure
from tests.papers.judged import config_named, run_of, write_kept
from tests.report.runs import lines

ROOT = Path(__file__).parents[2]
EVERY = [(paper, shown) for paper in papers() for shown in figures_of(paper.key).values()]
IDS = [f"{paper.key}-{shown.number}" for paper, shown in EVERY]
VALUES = [0.9, 0.8, 0.7, 0.6, 0.95]


@pytest.mark.parametrize(("paper", "shown"), EVERY, ids=IDS)
def test_a_figure_names_solvers_and_measures_that_its_configs_have(paper, shown):
    grown = [one for several in shown.measured.values() for one in several]
    own = {name for one in grown if not one.config for name in (one.a, one.minus) if name}
    solvers = {*shown.methods, *shown.leave_out, *own}
    known = {one.name for one in (*tasks.get(paper.task).measures, *STANDARD)}
    assert {shown.measure, *([shown.flag] if shown.flag else [])} <= known
    named = {
        config_of(paper, shown, panel, dataset): solvers
        for panel in shown.panels
        for dataset in filter(None, (panel.dataset, panel.stand_in))
        if solvers
    }
    named |= {one.config: {*one.a} for one in grown if one.config}
    for name, keys in named.items():
        assert keys <= {*config_named(name)["solvers"]}
    stated = {row["method"] for row in csv_rows("complexities.csv") if row["paper"] == paper.key}
    assert {*shown.measured} <= stated
    if shown.kind == "datasets":
        assert {row["dataset"] for row in csv_rows(shown.published)} <= {*DATASETS}


@pytest.fixture(scope="module")
def kept():
    return read_needed(EVERY, [ROOT / "results" / "reference"], ())


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "shown"), EVERY, ids=IDS)
def test_every_figure_is_made_of_the_kept_results_or_says_why_not(kept, paper, shown):
    if not shown.rows and shown.kind == "stated":
        with pytest.raises(ResultsError, match=r"^s3vm/1: An illustration"):
            make(fill(paper, shown, kept))
        return
    made = make(fill(paper, shown, kept))
    if isinstance(made, Table):
        (layout,) = made.layouts
        assert layout.rows and markdown(layout)
    else:
        assert made.draw().axes
        assert made.caption.startswith(f"{paper.key}, {shown.name}: {shown.title}.")


ONE = {"title": "CodRNA", "dataset": "codrna"}
COVTYPE = {"title": "Covtype", "dataset": "covtype", "stand_in": "covtype_20k"}
OF_AUC = {"title": "AUC", "measure": "auc", "flag": "error", "methods": ["slow", "fast"]}
FIGURES = [
    {
        **{"number": "1", "title": "Time", "kind": "by_size", "methods": ["fast", "slow"]},
        **{"leave_out": {"slow": {"gamma": 1}}, "panels": [ONE, COVTYPE, {"title": "another"}]},
    },
    OF_AUC | {"number": "2", "kind": "boxplots", "panels": [ONE]},
    OF_AUC | {"number": "3", "kind": "along_training", "panels": [ONE], "size": 1500},
    OF_AUC
    | {"number": "table-1", "kind": "measure", "size": 1500}
    | {"panels": [ONE, {"title": "Skin", "dataset": "skin"}]},
    {
        **{"number": "table-2", "title": "The datasets", "kind": "datasets"},
        **{"published": "s2auc_datasets.csv", "panels": [COVTYPE]},
    },
]


PAPER = next(paper for paper in papers() if paper.key == "s2auc")


def fit(auc, seconds, **more):
    return {"scores": {"auc": auc, "error": 0.0}, "times": {"fit": seconds}, **more}


def invented(dataset="codrna", fits=None, **data):
    """Return a run of a fast solver, and of one that needs no time where it chooses gamma = 1."""
    if fits is None:
        fast = {n: [fit(auc, n / 1000) for auc in VALUES] for n in (1000, 2000)}
        slow = {1000: [fit(auc, 7.0) for auc in VALUES[:4]], 2000: ["refused"] * 4}
        for n, auc in ((1000, 0.95), (2000, 0.5)):
            slow[n].append(fit(auc, 0.001, params={"gamma": 1}, remark="gamma = 1"))
        fits = {"fast": fast, "slow": slow}
    run = run_of(fits, name=dataset, data=data)
    experiment = run.experiment.model_copy(update={"name": f"{dataset}_s2auc-reference"})
    return replace(run, experiment=experiment)


def made(number, *runs, **changes):
    figure = next(one for one in FIGURES if one["number"] == number) | changes
    kept = Kept({run.experiment.name: run for run in runs})
    return make(fill(PAPER, Shown.model_validate(figure), kept))


def test_panels_leave_out_trials_of_another_problem_and_name_stand_ins():
    figure = made("1", invented(), invented("covtype_20k"))
    assert "Left out: another (the text does not name it)." in figure.caption
    axes, second = figure.draw().axes
    titles = axes.get_title(), second.get_title()
    assert titles == ("(a) CodRNA", "(b) Covtype\n(here covtype_20k)")
    crosses = [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_marker() == "x"]
    assert lines(axes) == {"FAST": [(1000, 1), (2000, 2)], "SLOW": [(1000, 7)]}
    assert crosses == [(1000, 7)]


def test_boxes_are_at_the_largest_size_of_all_and_of_any_with_marked_trials():
    fits = {"fast": dict.fromkeys((1000, 2000), VALUES), "slow": {1000: VALUES, 2000: ["timeout"]}}
    fits["slow"][1000] = [fit(auc, 1.0, remark="gamma = 1") for auc in VALUES]
    run = invented(fits=fits)
    wrong = run.fits["trial"].eq(0) & run.fits["solver"].eq("fast")
    run = replace(run, fits=run.fits.assign(**{"scores.error": wrong * 0.5}))
    figure = made("2", run)
    (axes,) = figure.draw().axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["SLOW", "FAST", "SLOW", "FAST"]
    assert [text.get_text() for text in axes.texts] == ["at 1,000", "at 2,000", "timeout"]
    rings = [line for line in axes.lines if line.get_label() == "collapsed trial"]
    assert [tuple(line.get_xydata()[0]) for line in rings] == [(0.9, 2), (0.9, 5)]
    assert "Rings mark collapsed trials: error." in figure.caption
    assert "In some trials of SLOW, gamma = 1." in figure.caption


def test_traces_are_those_at_the_largest_size_up_to_the_papers():
    steps = [{"iteration": 1, "seconds": 0.1, "auc": 0.5}, {"iteration": 9, "seconds": 1, "auc": 1}]
    fits = {n: [fit(1.0, 1.0, trace=steps)] * 2 for n in (1000, 2000)}
    slow = {n: [fit(0.7, 3.0, **{"scores": {"auc": 0.7, "error": 1.0}})] for n in (1000, 2000)}
    run = invented(fits={"fast": fits, "slow": slow})
    (axes,) = made("3", run).draw().axes
    assert axes.get_title() == "(a) CodRNA\n1,000 unlabelled"
    rings = {"collapsed trial": [(3, 0.7)]}
    assert lines(axes) == {"FAST": [(0.1, 0.5), (1, 1)], "SLOW": [(3, 0.7)], **rings}
    with pytest.raises(ResultsError, match=r"CodRNA \(too few rows or sizes\)"):
        made("3", run, least=3000)


def rows_of(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.layouts[0].rows}


def test_tables_have_measured_values_beside_published_ones():
    values = {"solver": "fast", "measure": "auc", "value": 0.8, "flag": "impossible"}
    told = Published(source="A paper", figures=(PublishedFigure(**values),))
    run = invented()
    plain = made("table-1", run)
    table = made("table-1", replace(run, task=run.task.model_copy(update={"published": told})))
    assert rows_of(table) == {"CodRNA, 1,000": ["0.790 ± 0.143"] * 2, "Skin": ["–", "–"]}
    assert table.frame["value"].tolist() == pytest.approx([sum(VALUES) / 5] * 2)
    (layout,) = table.layouts
    assert [cell.note for cell in layout.rows[0]] == ["", "", "(0.80!)"]
    assert {"CodRNA, 1,000; FAST: impossible.", "Without results: Skin."} <= {*layout.footnotes}
    assert "published" in layout.caption and "published" not in plain.layouts[0].caption


def test_tables_of_datasets_have_the_rows_that_ran():
    rows = rows_of(made("table-2", invented("covtype_20k", n_rows=20_000, n_features=54)))
    assert rows["Covtype (here covtype_20k)"] == ["581,012", "20,000", "54", "54"]
    assert rows["Skin"] == ["245,057", "–", "3", "–"]


def test_exponents_are_measured_where_they_are_known_well_enough():
    seconds = {n: [n / 1000] * 5 for n in (1000, 2000, 4000)}
    loose = {n: [0.1, 0.1, 1.0, 10.0, 10.0] for n in (1000, 2000)}
    run = run_of({"fast": seconds, "slow": loose}, "fit")
    known, least = {"symbol": "n", "a": "fast"}, {"symbol": "n", "a": "fast", "least": 3000}
    measured = {"PNU-AUC": [known], "SAMULT": [known | {"a": "slow"}], "QSG-S2AUC": [least]}
    shown = {"number": "table-1", "title": "Orders", "kind": "complexities", "panels": [ONE]}
    orders = Shown.model_validate(shown | {"measured": measured})
    table = make(fill(PAPER, orders, Kept({"codrna_s2auc": run})))
    rows = rows_of(table)
    assert rows["PNU-AUC"] == ["O(n^3)", "n^1.0 [1.0, 1.0]", "O(n^2)", "not measured"]
    assert rows["SAMULT"] == ["O(n^3)", "not measured", "O(n^2)", "not measured"]
    assert rows["QSG-S2AUC"][1] == "not measured" and rows["OptAG"][1] == "not here"
    assert table.frame[["method", "exponent"]].values.tolist() == [["PNU-AUC", pytest.approx(1)]]


def test_what_is_written_is_said_and_what_has_no_results(tmp_path):
    run = run_of({"qsg_s2auc": {500: [fit(0.9, 1.0)], 1000: [fit(0.9, 3.0)]}})
    write_kept(tmp_path / "kept" / "codrna_s2auc-reference", run)
    wanted = [pair for name in ("s2auc/1", "s2auc/2", "s3vm/2") for pair in chosen(name)]
    lines_ = [*written(wanted, [tmp_path / "kept"], tmp_path / "out", ["pdf"])]
    files_ = sorted(path.name for path in (tmp_path / "out" / "s2auc").iterdir())
    assert files_ == ["figure-1.pdf", "figure-2.pdf"]
    assert lines_[-1].startswith("s3vm/2: no results of its datasets")
    with pytest.raises(
        ResultsError, match=r"codrna_s3vm, w6a_s3vm.*\(full or reference or quick\)"
    ):
        [*written(chosen("s3vm/2"), [tmp_path / "kept"], tmp_path, ["pdf"])]


def test_names_are_listed_and_others_refused():
    assert ("s2auc/1", "Training time against the number of unlabelled rows") in [*listing()]
    for name, hint in {"s2au": "s2auc", "s2auc/table-9": "table-2", "svm/1": "s3vm"}.items():
        with pytest.raises(DsgError, match=hint):
            chosen(name)
