"""Figures and tables of the papers: their files, and what is drawn of made-up results."""

import csv
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dsgkit import cli
from dsgkit.config.load import read_config
from dsgkit.data.catalogue import DATASETS
from dsgkit.errors import ConfigError, DsgError, ResultsError
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.figures import (
    Clusters,
    Complexities,
    DatasetTable,
    OfMethods,
    all_papers,
    read_figures,
)
from dsgkit.papers.figures_written import Look, output_of, written
from dsgkit.report.boxplots import BETWEEN_GROUPS
from dsgkit.report.terminal import plain
from dsgkit.tasks import base as tasks
from dsgkit.tasks.measures import STANDARD
from tests.experiment.runs import keep_artefact

CONFIGS = Path(__file__).parents[2] / "configs"
EVERY = [(paper, figure) for paper in all_papers() for figure in paper.figures]
IDS = [f"{paper.key}-{figure.number}" for paper, figure in EVERY]


@cache
def config_of(name):
    return read_config(CONFIGS / f"{name}.yaml").data


@pytest.mark.parametrize(("paper", "figure"), EVERY, ids=IDS)
def test_a_figure_names_datasets_and_solvers_that_configs_have(paper, figure):
    for dataset in figure.datasets:
        config = config_of(paper.config(dataset))
        methods = figure.methods if isinstance(figure, OfMethods | Clusters) else []
        if isinstance(figure, Complexities):
            grown = (g for g in figure.growths if g.config is None)
            methods = [name for g in grown for name in (g.a, g.minus) if name]
        assert set(methods) <= set(config["solvers"])
        if measure := getattr(figure, "measure", None):
            task = tasks.get(config["protocol"]["kind"])
            names = {one.name for one in (*task.measures, *STANDARD)}
            flag = getattr(figure, "flag", None)
            assert {measure, *([flag.measure] if flag else [])} <= names
    if isinstance(figure, Complexities):
        with files("dsgkit.published").joinpath("complexities.csv").open() as lines:
            stated = {row["method"] for row in csv.DictReader(lines) if row["paper"] == paper.key}
        assert set(figure.measured) <= stated
    if isinstance(figure, DatasetTable):
        with files("dsgkit.published").joinpath(figure.published).open() as lines:
            assert {row["dataset"] for row in csv.DictReader(lines)} <= set(DATASETS)


def test_the_costs_that_tables_measure_have_configs():
    for _, figure in EVERY:
        for name in figure.configs:
            solvers = read_config(CONFIGS / "claims" / f"{name}.yaml").data["solvers"]
            grown = (g for g in figure.growths if g.config == name)
            assert {key for g in grown for key in g.a} <= set(solvers)


PAPER = """
key: s2auc
figures:
- number: "1"
  title: Time
  kind: time_by_size
  columns: 2
  methods: [fast, slow]
  panels:
  - {title: CodRNA, dataset: codrna}
  - {title: Covtype, dataset: covtype, stand_in: covtype_20k}
  - {title: another}
  further: [{title: IJCNN1, dataset: ijcnn1}]
- number: "2"
  title: AUC
  kind: boxplots
  measure: auc
  methods: [fast, slow]
  panels: [{title: CodRNA, dataset: codrna}]
- number: "3"
  title: AUC along training
  kind: along_training
  measure: auc
  size: 2000
  flag: {measure: error, label: a mistake, means: A mistake is an error above 0}
  methods: [fast, slow, far, exact]
  panels: [{title: CodRNA, dataset: codrna}]
- number: "4"
  title: Clusters
  kind: clusters
  columns: 2
  methods: [fast, slow]
  panels: [{title: CodRNA, dataset: codrna}]
- number: table-1
  title: Orders
  kind: complexities
  panels: [{title: CodRNA, dataset: codrna}]
  measured:
    PNU-AUC: [{symbol: n, a: fast}]
    SAMULT: [{symbol: n, a: slow}]
    QSG-S2AUC: [{symbol: T, a: [a, b], axis: T, config: costs}]
- number: table-2
  title: AUC in numbers
  kind: measure
  measure: auc
  size: 1000
  methods: [slow, fast]
  panels: [{title: CodRNA, dataset: codrna}, {title: Skin, dataset: skin}]
- number: table-3
  title: Datasets
  kind: datasets
  published: s2auc_datasets.csv
- number: table-4
  title: Losses
  kind: stated
  header: [Name, Loss]
  rows: [[hinge, "max(0, 1 - r)"]]
"""


def paper_of(folder, old="", new=""):
    """Return the figures of the made-up paper, whose file says something else in a place."""
    path = folder / "mine.yaml"
    assert old in PAPER
    path.write_text(PAPER.replace(old, new, 1) if old else PAPER)
    return read_figures(path)


@pytest.fixture
def paper(tmp_path):
    return paper_of(tmp_path)


def output(paper, number, *results, **look):
    (figure,) = (one for one in paper.figures if one.number == number)
    evidence = Evidence({one.experiment.name: one for one in results})
    return output_of(paper, figure, evidence, Look(**look))


def timed(seconds, auc=0.9, **fields):
    return {"times": {"fit": seconds}, "scores": {"auc": auc}} | fields


def texts_of(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.fixture
def sizes(made):
    """Return a function that makes results: slow is refused at 4,000 rows, other is not shown."""

    def make(dataset, profile="reference"):
        fits = {
            "slow": {n: [timed(1e-9 * n**3, 0.8)] * 3 for n in (1000, 2000)},
            "fast": {n: [timed(1e-4 * n, 0.9 + n / 1e6)] * 3 for n in (1000, 2000, 4000)},
            "other": {n: [timed(1.0)] * 3 for n in (1000, 2000, 4000)},
        }
        fits["slow"][4000] = ["refused"] * 3
        return made(fits, dataset=dataset, name=f"{dataset}_s2auc-{profile}")

    return make


def test_panels_stand_as_in_the_paper_and_say_what_is_missing(paper, sizes):
    figure = output(paper, "1", sizes("codrna"), sizes("covtype_20k", "quick")).draw()
    first, second, absent = figure.axes
    assert first.get_title() == "(a) CodRNA"
    assert second.get_title() == "(b) Covtype (here covtype_20k, quick)"
    assert absent.get_title() == "(c) another"
    assert texts_of(absent) == ["the text does not name it"]
    lines = {one.get_label(): one for one in first.get_lines()}
    assert list(lines["slow"].get_xdata()) == [1000, 2000]
    assert list(lines["fast"].get_ydata()) == pytest.approx([0.1, 0.2, 0.4])
    assert "other" not in lines
    assert legend_of(figure) == ["fast", "slow", "could not go on"]
    places = [one.get_subplotspec() for one in figure.axes]
    assert [(p.rowspan.start, p.colspan.start) for p in places] == [(0, 0), (0, 1), (1, 0)]


def test_what_is_not_here_has_its_address(tmp_path, sizes, monkeypatch):
    paper = paper_of(tmp_path, "  - {title: another}\n")
    monkeypatch.setattr("dsgkit.papers.figures_drawn.state", lambda info: "to download")
    drawn = output(paper, "1", sizes("covtype_20k")).draw()
    (text,) = texts_of(drawn.axes[0])
    told, address = text.split("\n", 1)
    assert told == "no data here:"
    assert address.replace("\n", "") == DATASETS["codrna"].homepage


def titles_of(made):
    return [one.get_title() for one in made.draw().axes]


def test_other_datasets_stand_beside_few_of_the_papers(paper, sizes):
    made = output(paper, "1", sizes("covtype_20k"), sizes("ijcnn1"))
    assert titles_of(made) == ["(b) Covtype (here covtype_20k)", "IJCNN1 (not in the paper)"]
    assert "Left out: CodRNA (no " in made.caption
    assert "another (the text does not name it)." in made.caption


def test_a_dataset_of_another_figure_is_one_of_the_paper(sizes, tmp_path):
    paper = paper_of(tmp_path, "{title: Skin, dataset: skin}", "{title: I, dataset: ijcnn1}")
    assert titles_of(output(paper, "1", sizes("ijcnn1"))) == ["IJCNN1 (not in this figure)"]


@pytest.mark.parametrize("more", [[], ["IJCNN1 (not in the paper)"]])
def test_other_datasets_are_asked_for_beside_most_of_the_papers(paper, sizes, more):
    results = sizes("codrna"), sizes("covtype_20k"), sizes("ijcnn1")
    titles = titles_of(output(paper, "1", *results, everything=bool(more)))
    assert [title[:3] for title in titles[:3]] == ["(a)", "(b)", "(c)"]
    assert titles[3:] == more


@pytest.mark.parametrize(("width", "inches"), [("column", 3.25), ("page", 6.75)])
def test_the_width_is_that_of_a_column_or_a_page(paper, sizes, width, inches):
    assert output(paper, "1", sizes("codrna"), width=width).draw().get_figwidth() == inches


def test_everything_shows_other_solvers_too(paper, sizes):
    figure = output(paper, "1", sizes("codrna"), everything=True).draw()
    assert legend_of(figure) == ["could not go on"]
    (axes,) = figure.axes
    assert {text.split("\n")[0] for text in texts_of(axes)} == {"fast", "slow", "other"}


def test_a_single_size_is_no_line(paper, made, sizes):
    fits = {"fast": {1000: [timed(1.0)] * 2}}
    single = made(fits, name="codrna_s2auc-reference")
    with pytest.raises(ResultsError, match=r"s2auc/1: nothing to draw: .*CodRNA .*a single size"):
        output(paper, "1", single)
    figure = output(paper, "1", single, sizes("covtype_20k")).draw()
    assert texts_of(figure.axes[0]) == ["results at a single size"]


def test_boxes_are_at_the_same_sizes(paper, sizes):
    (axes,) = output(paper, "2", sizes("codrna")).draw().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2,000", "all (4,000)"]
    # of two trials there is a bar at the median
    ends = [line.get_ydata() for line in axes.get_lines() if line.get_marker() == "None"]
    heights = [low for low, high in ends if low == high]
    assert heights == pytest.approx([0.902, 0.8, 0.904])
    assert len(texts_of(axes)) == 1  # why slow has no box at 4,000
    assert axes.get_xticks() == pytest.approx([0.5, 2 + BETWEEN_GROUPS + 0.5])  # between two boxes


def courses(values, final_error=0.0, seconds=1.0):
    steps = [
        {"iteration": t + 1, "seconds": seconds * (t + 1) / len(values), "auc": value}
        for t, value in enumerate(values)
    ]
    scores = {"auc": values[-1], "error": final_error}
    return {"trace": steps, "times": {"fit": seconds}, "scores": scores}


def test_a_race_has_its_axis_and_marks_at_the_edge(paper, made):
    fits = {
        "fast": {2000: [courses([0.5, 0.88, 0.90])] * 2, 4000: [courses([0.5, 0.88, 0.95])] * 2},
        "slow": {2000: [courses([0.6, 0.80, 0.89], seconds=10.0)] * 2},
        "exact": {2000: [timed(3.0, 0.91)] * 2},
        "far": {2000: [courses([0.5, 0.5, 0.5], final_error=1.0)] * 2},
    }
    made_output = output(paper, "3", made(fits, name="codrna_s2auc-reference"))
    figure = made_output.draw()
    (axes,) = figure.axes
    assert axes.get_title() == "(a) CodRNA, 2,000 unlabelled"
    low, high = axes.get_ylim()
    assert 0.85 < low < 0.89 and high > 0.91
    assert axes.get_xscale() == "log"
    assert texts_of(axes) == [r"$\downarrow$0.500"]
    assert legend_of(figure) == ["fast", "slow", "far", "exact", "a mistake"]
    assert "A mistake is an error above 0." in made_output.caption
    rings = [one for one in axes.get_lines() if one.get_markerfacecolor() == "none"]
    assert len(rings) == 1  # of the far one, whose trials are flagged


@pytest.mark.parametrize(
    ("methods", "titles"),
    [
        ("fast", ["(a) CodRNA", "(b) Skin"]),
        (
            "fast, slow",
            ["(a) fast, CodRNA", "(b) slow, CodRNA", "(c) fast, Skin", "(d) slow, Skin"],
        ),
    ],
)
def test_pictures_are_called_by_what_differs(tmp_path, made, methods, titles):
    one, _, _ = PAPER.partition('- number: "4"')[2].partition("- number: table-1")
    two = one.replace("fast, slow", methods)
    two = two.replace("dataset: codrna}", "dataset: codrna}, {title: Skin, dataset: skin}")
    arrays = {"rows": np.eye(4)[:, :2], "labels": np.arange(4) % 2}
    folders = []
    for name in ("codrna", "skin"):
        fits = {key: {1000: [timed(1.0)]} for key in methods.split(", ")}
        results = made(fits, dataset=name, name=f"{name}_s2auc-reference")
        for record in results.records:
            record |= keep_artefact(results.folder, record | {"artefact": arrays})
        folders.append(results)
    drawn = titles_of(output(paper_of(tmp_path, one, two), "4", *folders))
    assert [title.replace("\n", " ") for title in drawn] == titles


def test_orders_stand_beside_measured_exponents(paper, sizes, made):
    costs = made(
        {"a": {4000: [timed(2.0)] * 3}, "b": {4000: [timed(4.0)] * 3}},
        name="costs",
        params={"a": {"T": 100}, "b": {"T": 400}},
    )
    (layout,) = output(paper, "table-1", sizes("codrna"), costs).make().layouts
    measured = {row[0].text: (row[1].text, row[2].text) for row in layout.rows}
    assert measured == {
        "SSRankBoost": ("O(n^2)", "not here"),
        "OptAG": ("O(n^2)", "not here"),
        "PNU-AUC": ("O(n^3)", "n^1.0 [1.0, 1.0]"),
        "SAMULT": ("O(n^3)", "n^3.0 [3.0, 3.0]"),
        "QSG-S2AUC": ("O(D t^2)", "T^0.5 [0.5, 0.5]"),
    }
    (layout,) = output(paper, "table-1").make().layouts
    assert [row[2].text for row in layout.rows][2:] == ["not measured"] * 3


def test_a_table_is_at_one_size_in_the_papers_order(paper, sizes):
    table = output(paper, "table-2", sizes("codrna")).make()
    (layout,) = table.layouts
    assert layout.header == ["Dataset", "slow", "fast"]
    assert [cell.text for cell in layout.rows[0]][1:] == ["0.800 ± 0.000", "0.901 ± 0.000"]
    assert [cell.text for cell in layout.rows[1]] == ["Skin", "–", "–"]
    assert set(table.frame["size"]) == {1000}
    assert any(note.startswith("Without results: Skin (no ") for note in layout.footnotes)


def test_published_sizes_stand_beside_those_here(paper):
    (layout,) = output(paper, "table-3").make().layouts
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in layout.rows}
    assert rows["Higgs"] == ["1,100,000", "11,000,000", "28", "28"]
    assert "max(0, 1 - r)" in plain(output(paper, "table-4").make().layouts[0], 80)


def test_published_numbers_stand_without_results(made):
    svc = next(one for one in all_papers() if one.key == "svc")
    (layout,) = output(svc, "table-2").make().layouts
    assert layout.header == ["Dataset", "SVC", "SGD", "FSVC", "BSGD-R", "BSGD-PNN", "BSGD-PRN"]
    rows = {row[0].text: [f"{cell.text} {cell.note}" for cell in row[1:]] for row in layout.rows}
    assert len(rows) == 15
    assert rows["Compound"] == ["– (0.66)", "– (0.62)", "– (0.13!)", *rows["Compound"][3:]]
    assert "Purity, in parentheses as published" in layout.caption
    fits = {"fsvc": {399: [timed(1.0)]}}
    results = made(fits, dataset="compound", name="compound_clustering-reference")
    (layout,) = output(svc, "table-7", results).make().layouts
    rows = {row[0].text: row[1:] for row in layout.rows}
    assert [cell.note for cell in rows["Flame"]] == ["(15.16)"]


def test_figures_of_an_unknown_paper_are_told(tmp_path):
    with pytest.raises(DsgError, match=r"unknown paper 's2au' \(did you mean 's2auc'\?\)"):
        _ = paper_of(tmp_path, "key: s2auc", "key: s2au").profiles


def test_what_has_no_results_is_left_out_of_all(paper, tmp_path):
    wanted = [(paper, one) for one in paper.figures if one.number in ("2", "table-4")]
    lines = list(written(wanted, [], tmp_path, ["svg"], Look()))
    assert lines[-1].startswith("s2auc/2: no results")
    names = sorted(path.name for path in (tmp_path / "s2auc").iterdir())
    assert names == ["table-4.csv", "table-4.md", "table-4.tex"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("kind: boxplots", "kind: pie", "Input tag 'pie'"),
        ("measure: auc\n  methods", "mesure: auc\n  methods", "mesure: Extra inputs"),
        ("dataset: covtype,", "dataset: covtyp,", "unknown name 'covtyp' (did you mean"),
        ('number: "2"', 'number: "1"', "two are called 1"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, told):
    with pytest.raises(ConfigError) as error:
        paper_of(tmp_path, old, new)
    assert told in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}:")
    assert "\n" not in str(error.value)


@pytest.fixture
def dsg(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", "figure", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    return run


def test_the_command_lists_and_writes(dsg, tmp_path):
    code, out, _ = dsg()
    assert code == 0
    assert sum(not line.startswith(" ") for line in out.splitlines()) == len(EVERY)
    assert out.startswith("s2auc/table-1  ")
    (tmp_path / "kept").mkdir()
    code, out, _ = dsg("s3vm/table-2", "kept", "--out", "there")
    assert code == 0
    assert out.splitlines()[-1] == "there/s3vm/table-2.tex"
    assert (tmp_path / "there/s3vm/table-2.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["s2au/1"], "unknown paper 's2au' (did you mean 's2auc'?)"),
        (["s2auc/9"], "s2auc has no figure or table '9'; known: "),
        (["s2auc/1"], "results/reference: no such folder; the repository of dsgkit has it"),
        (["s2auc/1", "nowhere"], "nowhere: no such folder"),
        (["s2auc/1", ".", "--format", "gif"], "choose from pdf, png, svg"),
        (["s2auc/1", "."], "s2auc/1: no results of its datasets; it shows those of codrna_s2auc"),
        (["s2auc/1", ".", "--profile", "quick,wide"], "susy_10k_s2auc (profile quick or wide)"),
        (["s3vm/1", "."], "s3vm/1: An illustration; nothing is measured in it"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_command_is_one_line(dsg, arguments, told):
    code, out, err = dsg(*arguments)
    assert code != 0
    assert not out
    (line,) = [line for line in err.splitlines() if not line.startswith(("Usage", "Try"))]
    assert told in line
