"""The HTML page: what it says, that it needs nothing else, and what a browser makes of it."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from statistics import mean, median
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from matplotlib.image import imread

from dsgkit import cli
from dsgkit.config.schema import Stage
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import cell_of
from dsgkit.experiment.plan import Cell, Plan
from dsgkit.report.html import page_text, write_page
from dsgkit.report.html.sections import SVG_DATA
from dsgkit.report.old_names import run_of
from dsgkit.report.summary import Summary, summarise
from tests.report.conftest import (
    CLASSES,
    Invented,
    experiment_of,
    results_of,
    solver_of,
    typical_records,
)

SIZES = (500, 2000, 30_000)
HOSTILE = "<script>alert('x')</script> & \"more\""
VOID = {"meta", "img"}
ADDRESSES = {"src", "href", "srcset", "action", "data", "poster", "background", "cite"}


class Page(HTMLParser):
    """What a page holds, as plain data.

    Attributes
    ----------
    elements : list of (str, dict)
        Every tag with its attributes.
    tables : list of dict
        ``caption``, and ``rows`` of texts, each a list.
    texts : dict
        By tag, the texts inside of it.
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.tables, self.texts, self._open = [], [], {}, []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in VOID:
            return
        self._open.append((tag, []))
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        if tag == "tr":
            self.tables[-1]["rows"].append([])

    def handle_endtag(self, tag):
        opened, parts = self._open.pop()
        assert opened == tag
        text = " ".join("".join(parts).split())
        self.texts.setdefault(tag, []).append("".join(parts) if tag == "pre" else text)
        if tag == "caption":
            self.tables[-1]["caption"] = text
        if tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append(text)

    def handle_data(self, data):
        for _, parts in self._open:
            parts.append(data)

    def table(self, start):
        (found,) = [table for table in self.tables if table["caption"].startswith(start)]
        return found["rows"]

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return self.texts["html"][0]


CODRNA = {"name": "codrna", "title": "cod-rna", "n_rows": 59_535, "n_features": 8}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Typical results, which no test changes."""
    experiment = experiment_of("codrna", trials=3)
    records = typical_records(experiment, sizes=SIZES, test=True)
    folder = tmp_path_factory.mktemp("results") / experiment.name
    return results_of(folder, experiment, records, data=CODRNA)


def with_left(results, left):
    """The same with a plan that has some searches more than there are records."""
    searches = [Cell("", "search", "samult", 0, {"unlabeled": 0})] * left
    return replace(results, plan=Plan([*map(cell_of, results.records), *searches], [], []))


@pytest.fixture(scope="module")
def text(results):
    """The page on them, while 12 of their cells have not run yet."""
    return page_text([with_left(results, 12)], "out")


@pytest.fixture(scope="module")
def page(text):
    """What that page holds."""
    return Page(text)


@pytest.fixture(scope="module")
def two(results):
    experiment = experiment_of("skin", trials=2, solvers=("qsg_s2auc", "samult"))
    records = typical_records(experiment, sizes=(500, 8000), seed=1)
    return [results, results_of(results.folder.parent / experiment.name, experiment, records)]


@pytest.fixture(scope="module")
def page_of_two(two):
    """The text of the page on both, and the names of the entries that were summed up for it."""
    made = []
    make_entry = Summary._entry

    def counted(self, name, size, rows, measure):
        made.append((self.title, name, size, measure.name))
        return make_entry(self, name, size, rows, measure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Summary, "_entry", counted)
        return page_text(two, "some where"), made


def read(*results, folder="out"):
    return Page(page_text(results, folder))


def facts(page):
    return dict(zip(page.texts["dt"], page.texts["dd"], strict=True))


def cells_table(page):
    """The tables of cells that did not finish."""
    return [table["rows"] for table in page.tables if table["rows"][0][:2] == ["Solver", "Cell"]]


def test_it_says_what_was_run(page, results):
    assert page.texts["title"] == ["cod-rna – dsgkit report"]
    assert page.texts["h1"] == ["cod-rna"]
    assert page.texts["p"][0] == "codrna_s2auc"
    found = facts(page)
    assert found["Dataset"] == "cod-rna, 59,535 rows, 8 features codrna"
    assert "200 labelled rows, features scaled to [0, 1]" in found["Protocol"]
    assert found["Trials"] == "3, seed 0"
    assert found["Hyper-parameters"] == "5-fold cross-validation by AUC"
    assert found["Folder"] == str(results.folder)
    header, *rows = page.table("Solvers")
    samult = dict(zip(header, rows[1], strict=True))
    assert samult["Grid"] == "lam 2^-3..2^3 (3); sigma 2^-3..2^3 (3)"
    assert samult["Points"] == "9"
    # 4 solvers x 3 sizes x 3 trials, of which the two exact ones have no memory for the largest
    counts = "30 of 48 cells finished, 6 refused, 12 not run yet."
    assert counts in page.texts["p"]


def test_a_file_of_ones_own_is_named_with_its_rows(fits):
    results = fits({"samult": {900: [0.9]}}, dataset="mine", stored={"data": {"n_rows": 1100}})
    results.experiment.dataset.path = "/data/rows.csv"
    assert "/data/rows.csv, 1,100 rows mine" in read(results).texts["dd"]


def test_times_of_day_are_those_of_the_records(fits):
    times = ["2026-03-01T10:00:00+0000", "2026-03-01T09:30:00+0000", "2026-03-01T10:30:00+0100"]
    page = read(fits({"samult": {500: [{"started": one} for one in times]}}, outputs=()))
    assert "2026-03-01 09:30 UTC to 2026-03-01 10:00 UTC" in page.texts["dd"]


def test_entries_are_sorted_by_what_plain_python_finds(page, results):
    cells = results.cells
    values = [round(float(a["data-value"]), 12) for a in page.all("td") if "data-value" in a]
    for column, centre in (("auc", mean), ("fit_seconds", median)):
        chosen = cells[(cells.solver == "qsg_s2auc") & (cells["size"] == 2000)][column]
        assert round(centre(chosen.tolist()), 12) in values


def svg_of(image):
    assert image["src"].startswith(SVG_DATA)
    return unquote(image["src"].removeprefix(SVG_DATA))


def test_figures_are_inline_and_described(page):
    images = page.all("img")
    assert len(images) == 3
    for image in images:
        assert ElementTree.fromstring(svg_of(image)).tag.endswith("svg")
        assert "cod-rna" in image["alt"] and "PNU-AUC" in image["alt"]
        assert float(image["width"]) > 300


@pytest.mark.slow
def test_commands_redraw_exactly_one_figure_each(page, results, monkeypatch):
    (summary,) = summarise([results])
    monkeypatch.setattr("dsgkit.experiment.runs.load", lambda _: [run_of(summary)])
    commands = [text for text in page.texts["pre"] if text.startswith("dsg plot")]
    names = ["auc_boxplot", "auc_test_boxplot", "time_curve"]
    folder = results.folder / "figures"
    for command, name in zip(commands, names, strict=True):
        done = CliRunner().invoke(cli.cli, shlex.split(command)[1:])
        assert (done.exit_code, done.stderr) == (0, "")
        assert sorted(path.name for path in folder.iterdir()) == [f"{name}.pdf", f"{name}.png"]
        shutil.rmtree(folder)


def test_names_of_folders_are_quoted_in_commands(typical):
    page = read(typical(name="my runs; rm", solvers=("samult",), sizes=(500,)))
    commands = [shlex.split(text) for text in page.texts["pre"] if text.startswith("dsg ")]
    assert {len(command) for command in commands} == {3, 5}
    assert all("my runs; rm" in command[2] for command in commands)


def test_the_config_on_the_page_loads_as_the_experiment(page, results):
    (text,) = [text for text in page.texts["pre"] if text.startswith("name:")]
    assert Invented.model_validate(yaml.safe_load(text)) == results.experiment
    assert f"dsg run {results.folder}/config.yaml" in page.texts["pre"]


def test_whatever_records_hold_is_text(fits):
    failed = {"status": "failed", "message": HOSTILE, "traceback": f"Traceback\n{HOSTILE}"}
    results = fits(
        {"qsg_s2auc": {500: [0.9]}, "samult": {500: [failed | {"environment": HOSTILE[:9]}]}},
        solvers={"qsg_s2auc": solver_of("qsg_s2auc", HOSTILE)},
        stored={"files": {"": {HOSTILE: HOSTILE}}},
    )
    text = page_text([results], results.folder, [(HOSTILE, HOSTILE)])
    page = Page(text)
    assert "<script>alert" not in text
    assert len(page.all("script")) == 1
    assert page.text.count("alert('x')") >= 5
    assert f"Traceback\n{HOSTILE}" in page.texts["pre"]
    assert any(HOSTILE in image["alt"] for image in page.all("img"))


def assert_self_contained(text):
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ADDRESSES & attributes.keys():
            assert attributes[name].startswith(("#", SVG_DATA))
    assert not re.search(r"url\(|@import", page.texts["style"][0])
    assert not re.search(r"fetch|XMLHttp|import\b|WebSocket|https?:", page.texts["script"][0])
    for image in page.all("img"):
        drawing = svg_of(image)
        assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)', drawing))
    anchors = [a["href"][1:] for a in page.all("a")]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert set(anchors) <= set(ids)


def test_it_needs_nothing_else(text, page_of_two):
    assert_self_contained(text)
    assert_self_contained(page_of_two[0])


@pytest.mark.slow
def test_it_is_the_same_twice_and_sums_up_trials_once_per_measure(two, page_of_two):
    text, made = page_of_two
    assert page_text([replace(one) for one in two], "some where") == text
    assert len(made) == len(set(made)) > 0


# --- what did not finish ----------------------------------------------------------------------


def test_failures_and_limits_are_grouped_by_cause(fits):
    frames = 'Traceback\n  File "a.py", line {}, in fit\nValueError: no {}\n'

    def failed(trial, line):
        told = {"message": f"ValueError: no {trial}", "traceback": frames.format(line, trial)}
        return {"status": "failed"} | told

    def needs(size):
        return {"status": "out_of_memory", "message": f"needs {size} GiB"}

    crash = {"status": "crashed", "message": "worker killed by SIGSEGV"}
    late = {"status": "timeout", "message": "60 s"}
    results = fits(
        {
            "qsg_s2auc": {500: [needs(5.0), late], 900: [needs(9.0)]},
            "samult": {
                500: [failed(0, 7), failed(1, 7), None, failed(3, 7)],
                900: [failed(0, 8), crash],
            },
        }
    )
    page = read(with_left(results, 2))
    sentence = "0 of 10 cells finished, 1 crashed, 4 failed, 2 out of memory, 1 timeout, 2 not run"
    assert f"{sentence} yet." in page.texts["p"]
    kinds = ("failed", "crashed", "out of memory", "timeout")
    assert [text for text in page.texts["p"] if text.startswith(kinds)] == [
        "failed ValueError: no 0 and others like it",
        "crashed worker killed by SIGSEGV",
        "out of memory needs 5.0 GiB and others like it",
        "timeout 60 s",
    ]
    first, _, memory, _ = cells_table(page)
    told = "ValueError: no 0 (and 2 like it)"
    assert first[1] == ["SAMULT", "fit", "500", "1–2, 4", "3", told]
    assert memory[1:] == [
        ["QSG-S2AUC", "fit", "500", "1", "1", "needs 5.0 GiB"],
        ["QSG-S2AUC", "fit", "900", "1", "1", "needs 9.0 GiB"],
    ]
    tracebacks = [text for text in page.texts["pre"] if text.startswith("Traceback")]
    assert tracebacks == [frames.format(7, 0)]


@pytest.mark.parametrize("status", ["failed", None])
def test_without_a_finished_fit_it_says_so(fits, status):
    values = [{"status": status, "message": "no luck"} if status else None]
    results = fits({"samult": {500: values}})
    page = read(with_left(results, 3))
    told = "No fit has finished yet: there are no figures, and no numbers in the tables."
    assert told in page.texts["p"]
    assert page.all("img") == []
    assert ("no luck" in page.text) == bool(status)
    assert any("not run yet" in text for text in page.texts["p"])
    assert ("Environment" in page.texts["h2"]) == bool(status)


# --- clocks and environments ------------------------------------------------------------------


def test_clocks_are_summed_by_solver_and_phase(fits, make):
    results = fits(
        {
            "qsg_s2auc": {500: [{"status": "failed", "times": {"fit": 0.01}}]},
            "samult": {500: [{"times": {"load": 0.5, "fit": 10.0 + t}} for t in range(2)]},
        },
        outputs=(),
    )
    times = {"load": 0.25, "compile": 2.0, "search": 1000.0}
    search = results.records[-1] | {"key": "s", "kind": "search", "times": times}
    page = read(make(results.experiment, [search, *results.records]))
    assert page.table("Seconds spent") == [
        ["Solver", "Load", "Compile", "Search", "Fit", "Total"],
        ["QSG-S2AUC", "0.0", "0.0", "0.0", "<0.1", "<0.1"],
        ["SAMULT", "1.2", "2.0", "1,000.0", "21.0", "1,024.2"],
        ["Total", "1.2", "2.0", "1,000.0", "21.0", "1,024.3"],
    ]
    widths = [float(a["style"][6:-1]) for a in page.all("i") if "style" in a]
    assert sum(widths[4:]) == pytest.approx(100, abs=0.05)


def test_a_cell_that_stands_for_two_is_clocked_once_and_a_minute_not_at_all(fits):
    plan = [{"key": "samult-0-500", "solver": solver} for solver in ("qsg_s2auc", "samult")]
    parts = {"solvers": {"qsg_s2auc": solver_of("qsg_s2auc")}, "outputs": ()}
    values = {"qsg_s2auc": {500: [None]}, "samult": {500: [61.0]}}
    long = read(fits(values, "fit", stored={"plan": plan}, **parts))
    assert long.table("Seconds spent")[-1] == ["Total", "61.0", "61.0"]
    short = read(fits({"samult": {500: [59.0]}}, "fit", outputs=()))
    found = ["Where the time went" in page.texts["h2"] for page in (long, short)]
    assert found == [True, False]


def environment_table(page):
    (table,) = [table["rows"] for table in page.tables if not table["rows"][0][0]]
    return {row[0]: row[1:] for row in table}


def test_all_environments_are_there_and_their_differences_marked(fits):
    names = {"aa": "X", "bb": "Y"}
    files = {n: {"processor": p, "libraries": {"numpy": "2.4"}} for n, p in names.items()}
    results = [
        fits(
            {"samult": {500: [{"environment": name} for name in used]}},
            dataset=dataset,
            outputs=(),
            stored={"files": files},
        )
        for dataset, used in (("codrna", ["aa", "aa", "bb", "bb", "bb"]), ("skin", ["bb", "bb"]))
    ]
    page, alone = read(*results), read(results[1])
    assert environment_table(page) == {
        "": ["aa", "bb"],
        "processor differs": ["X", "Y"],
        "numpy": ["2.4", "2.4"],
        "cells": ["codrna: 2", "codrna: 3, skin: 2"],
    }
    assert "computed in 2 environments" in page.text
    assert "computed in" not in alone.text
    assert environment_table(alone)["processor"] == ["Y"]


def test_records_without_an_environment_show_that_of_the_last_run(fits):
    files = {"": {"python": "3.11", "commit": None}}
    page = read(fits({"samult": {500: [0.9]}}, outputs=(), stored={"files": files}))
    table = environment_table(page)
    assert table[""] == ["not recorded"]
    assert (table["python"], table["commit"]) == (["3.11"], ["unknown"])


# --- several folders --------------------------------------------------------------------------


def test_several_folders_have_an_overview_and_a_section_each(two, page_of_two):
    page = Page(page_of_two[0])
    assert page.texts["h1"] == ["2 experiments"]
    header, *rows = page.table("What was run")
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert first["Dataset"] == "cod-rna"
    assert (first["Planned"], first["Finished"], first["Limits met"]) == ("36", "30", "6")
    assert second["Experiment"] == "skin_s2auc"
    assert [a["href"] for a in page.all("a")][:2] == ["#1-codrna", "#2-skin"]
    assert [a["id"] for a in page.all("article")] == ["1-codrna", "2-skin"]
    overview = page.tables[1]
    assert "at the largest number of unlabelled rows" in overview["caption"]
    assert [row[0] for row in overview["rows"]] == ["Dataset", "cod-rna", "skin"]
    # three of both, three of codrna, which has test rows, and two of skin
    commands = [shlex.split(t) for t in page.texts["pre"] if t.startswith("dsg plot")]
    folders = [str(one.folder) for one in two]
    both, first, second = [*folders, "--out", "some where"], folders[:1], folders[1:]
    assert [command[2:-2] for command in commands] == [*[both] * 3, *[first] * 3, *[second] * 2]


def test_a_folder_without_any_fit_has_a_section_only(fits):
    one, two, empty = (
        fits({"samult": {500: values}}, dataset=name, outputs=("auc_table", "auc_boxplot"))
        for name, values in (("codrna", [0.9]), ("skin", [0.9]), ("ijcnn1", [None]))
    )
    page = read(one, two, empty)
    assert "0" in page.table("What was run")[3]
    assert [row[0] for row in page.tables[1]["rows"]] == ["Dataset", "codrna", "skin"]
    assert all("ijcnn1" not in image["alt"] for image in page.all("img"))
    assert sum("No fit has finished" in text for text in page.texts["p"]) == 1
    assert "No fit is recorded yet" in read(empty, empty).text


def test_experiments_without_results_are_listed_with_the_reason(typical):
    results = typical(trials=1, outputs=(), sizes=SIZES)
    page = Page(page_text([results], "out", [("mine", "no file")]))
    assert page.texts["h1"] == ["2 experiments"]
    assert page.table("What was run")[2] == ["–", "mine not run: no file", *["–"] * 5]
    assert any(text.endswith("2 refused. 1 experiment not run.") for text in page.texts["p"])
    assert page.all("a")[0]["href"] == "#1-codrna"
    alone = page_text([], "out", [("mine", "no file"), ("yours", "no rows")])
    assert_self_contained(alone)
    assert "No cell is recorded yet. 2 experiments not run." in Page(alone).texts["p"]
    assert Page(alone).table("What was run")[2][1] == "yours not run: no rows"


def test_results_of_two_tasks_have_a_table_for_each(fits, regression):
    rankings = [fits({"samult": {500: [0.9]}}, dataset=n, outputs=("time_table",)) for n in "xy"]
    regressions = [regression({"ridge": [1.5]}, name=name, dataset=name) for name in "ab"]
    page = read(*rankings, *regressions)
    assert "All datasets: semi supervised auc" in page.texts["h2"]
    assert "All datasets: tests:RIDGE" in page.texts["h2"]
    times = [t for t in page.tables if t["caption"].startswith("Training time")][:2]
    assert [(t["rows"][0][0], len(t["rows"])) for t in times] == [("Dataset", 3)] * 2
    assert "All datasets: tests:RIDGE" not in read(*rankings, regressions[0]).texts["h2"]


# --- tasks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "grid", "points"),
    [
        (Stage(grid={"step": [1, 2]}), "step 1..2 (2)", "2, then 2"),
        (
            Stage(coordinates={"weight": [1, 2, 3]}),
            "weight 1..3 (3), one number after the other",
            "2, then 3 per number",
        ),
    ],
)
def test_choosing_is_described_by_the_task_and_its_stages(fits, stage, grid, points):
    solver = solver_of("tsgs3vm", "TSGS3VM", {"C": [1.0, 2.0]})
    solver = solver.model_copy(update={"search": (*solver.search, stage)})
    results = fits({"tsgs3vm": {500: [{}]}}, task=CLASSES, solvers={"tsgs3vm": solver}, outputs=())
    page = read(results)
    choosing = facts(page)["Hyper-parameters"]
    assert choosing == "trained on one of 5 parts, tested on the others, by error"
    assert "ross-validation" not in page.text
    (row,) = page.table("Solvers")[1:]
    assert row[2:] == [f"C 1..2 (2); then {grid}", points, "all"]


def test_a_task_that_sweeps_nothing_has_a_page_without_sizes(regression):
    values = {"ridge": [1.5, 2.5], "lasso": [3.0, float("nan")]}
    results = [regression(values, name=name, dataset=name) for name in ("bikes", "rides")]
    alone, both = read(results[0]), read(*results)
    assert facts(alone)["Protocol"] == "rows in two halves tests:RIDGE"
    assert "Hyper-parameters" not in facts(alone)
    assert alone.table("RMSE on the held-out rows: mean") == [
        ["Solver", "RMSE"],
        ["Ridge", "2.000 ± 0.707"],
        ["Lasso", "3.000 (1/2)"],
    ]
    assert alone.table("Solvers")[0] == ["Solver", "Fixed", "Grid", "Points"]
    assert len(alone.all("img")) == 1
    (cells,) = cells_table(alone)
    assert cells == [["Solver", "Cell", "Trials", "Cells"], ["Lasso", "fit", "2", "1"]]
    overview = both.tables[1]
    assert overview["caption"].startswith("RMSE on the held-out rows: mean ± standard deviation")
    assert [row[1] for row in overview["rows"]] == ["Ridge", "2.000 ± 0.707", "2.000 ± 0.707"]


# --- the order of a page ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "beside"),
    [(("auc_boxplot",), True), (("auc_boxplot", "time_curve"), False)],
)
def test_a_figure_without_another_stands_beside_the_findings(typical, tmp_path, outputs, beside):
    results = typical(solvers=("samult",), outputs=outputs, sizes=(500, 900))
    page = page_text([results], tmp_path)
    assert page.count("<figure") == len(outputs)
    assert (">Figures</h2>" not in page) is beside


def test_findings_and_the_main_figure_stand_first(typical):
    outputs = ("auc_table", "time_table", "auc_curve", "time_curve")
    text = page_text([typical(outputs=outputs, sizes=(500, 900))], "out")
    page = Page(text)
    assert page.texts["h2"][:2] == ["Findings", "Figures"]
    assert page.all("img")[0]["alt"].startswith("AUC on the unlabelled rows against the number")
    assert text.index("<img") < text.index(">Tables</h2>")


def test_gains_at_smaller_sizes_are_folded(fits):
    base = [0.8, 0.81, 0.82]
    values = {"base": base, "one": [value + 0.05 for value in base]}
    results = fits(
        {key: dict.fromkeys((500, 900), one) for key, one in values.items()},
        solvers={"one": solver_of("pnu_auc", "ONE", against="base")},
        outputs=("auc_table", "gain_table"),
    )
    text = page_text([results], "out")
    gains = [t for t in Page(text).tables if "ains over" in t["caption"]]
    assert [len(table["rows"]) - 1 for table in gains] == [1, 1]
    assert all("ains over" in part for part in text.split("<details>", 1))


def test_a_file_that_cannot_be_written_is_named_in_one_line(fits, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"page\.html: cannot be written") as caught:
        write_page([fits({"samult": {500: [None]}})], tmp_path / "file" / "page.html")
    assert "\n" not in str(caught.value)
    with pytest.raises(ResultsError, match="at least one results folder"):
        page_text([], tmp_path)


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

# Clicks headers as a user does and writes what came of it into the page.
DRIVER = """
<script>
const table = [...document.querySelectorAll("table")].find(
  (one) => one.caption?.textContent.startsWith("Training time"));
const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());
const found = {before: names()};
for (const column of [2, 0]) {
  const header = table.tHead.rows[0].cells[column];
  const button = header.querySelector("button");
  for (const click of [1, 2, 3]) {
    button.focus();
    found.focused = document.activeElement === button;
    button.click();
    found[`${column} ${click}`] = [header.ariaSort, ...names()];
  }
}
found.buttons = table.querySelectorAll("th button").length;
const output = document.createElement("output");
output.textContent = JSON.stringify(found);
document.body.append(output);
console.error("the driver is done");
</script>
"""


@pytest.fixture
def browse(tmp_path):
    """Return a function that opens a file in a browser: (its output, what its console says)."""
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome to open the page with")

    def open_page(path, *options):
        flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-sync "
        flags += "disable-background-networking disable-component-update enable-logging=stderr"
        command = [BROWSER, *(f"--{flag}" for flag in flags.split())]
        command += [f"--user-data-dir={tmp_path / 'profile'}", *options, path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return open_page


@pytest.mark.slow
def test_a_browser_shows_it(text, tmp_path, browse):
    path = tmp_path / "page.html"
    path.write_text(text)
    image = tmp_path / "page.png"
    _, console = browse(path, f"--screenshot={image}", "--window-size=1200,2400")
    assert console == []
    pixels = imread(image)[..., :3]
    assert pixels.shape[:2] == (2400, 1200)
    colors = (255 * pixels).astype(int) @ [1, 256, 256**2]
    assert len(set(colors.ravel().tolist())) > 100
    # text and figures all the way down
    assert all(part.std() > 0.01 for part in np.array_split(pixels, 6))


def test_a_browser_sorts_by_means_with_statuses_last(fits, tmp_path, browse):
    # as text, 100 would come before 20, and that before 9.5
    times = {"qsg_s2auc": "indefinite", "samult": 100.0, "pnu_auc": 9.5, "rff_s2auc": 20.0}
    results = fits({key: {1: [one], 2: [one]} for key, one in times.items()}, "fit")
    text = page_text([results], tmp_path)
    page = tmp_path / "page.html"
    # the page itself allows no script but its own
    page.write_text(
        re.sub(r"<meta http-equiv=[^>]*>", "", text).replace("</body>", f"{DRIVER}</body>")
    )
    output, console = browse(page, "--dump-dom")
    found = json.loads(Page(output).texts["output"][0])
    qsg, samult, pnu, rff = (results.label(key) for key in times)
    assert found == {
        "before": [qsg, samult, pnu, rff],
        "2 1": ["ascending", pnu, rff, samult, qsg],
        "2 2": ["descending", samult, rff, pnu, qsg],
        "2 3": ["none", qsg, samult, pnu, rff],
        "0 1": ["ascending", pnu, qsg, rff, samult],
        "0 2": ["descending", samult, rff, qsg, pnu],
        "0 3": ["none", qsg, samult, pnu, rff],
        "focused": True,
        "buttons": 3,
    }
    assert len(console) == 1
    assert "the driver is done" in console[0]
