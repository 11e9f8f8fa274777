"""The HTML page: what it says, that it needs nothing else, and what a browser makes of it."""

import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from statistics import mean, median
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from matplotlib.image import imread

from dsgkit import cli
from dsgkit.config.solvers import Stage
from dsgkit.experiment import results as stored
from dsgkit.report.html import page_text, write_page
from dsgkit.report.html.sections import SVG_DATA
from dsgkit.report.summary import Summary
from dsgkit.report.tables import write_tables
from dsgkit.text.errors import ResultsError
from tests.report.conftest import CLASSES, Invented, experiment_of, results_of, typical_records

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


@pytest.fixture(scope="module")
def text(results):
    """The page on them, while 12 of their cells have not run yet."""
    return page_text(
        [replace(results, planned_by_solver={"samult": len(results.records) + 12})], "out"
    )


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
def text_of_two(two):
    """The page on both."""
    return page_text(two, "some where")


def read(results, folder="out"):
    return Page(page_text(results, folder))


def test_it_says_what_was_run(page, results):
    assert page.texts["title"] == ["cod-rna – dsgkit report"]
    assert page.texts["h1"] == ["cod-rna"]
    assert page.texts["p"][0] == "codrna_s2auc"
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert facts["Dataset"] == "cod-rna, 59,535 rows, 8 features codrna"
    assert "200 labelled rows, features scaled to [0, 1]" in facts["Protocol"]
    assert facts["Trials"] == "3, seed 0"
    assert facts["Hyper-parameters"] == "5-fold cross-validation by AUC"
    assert facts["Folder"] == str(results.folder)
    header, *rows = page.table("Solvers")
    samult = dict(zip(header, rows[1], strict=True))
    assert samult["Grid"] == "lam 2^-3..2^3 (3); sigma 2^-3..2^3 (3)"
    assert samult["Points"] == "9"
    # 4 solvers x 3 sizes x 3 trials, of which the two exact ones have no memory for the largest
    counts = "30 of 48 cells finished, 6 refused, 12 not run yet."
    assert counts in page.texts["p"]


def test_a_file_of_ones_own_is_named_with_its_rows(invent, make):
    experiment = invent.experiment("mine", trials=1, solvers=("samult",), outputs=())
    experiment.dataset.path = "/data/rows.csv"
    records = [invent.record(experiment, "samult", 0, 900, full=True)]
    page = read([make(experiment, records, data={"n_rows": 1100})])
    assert "/data/rows.csv, 1,100 rows mine" in page.texts["dd"]


def test_times_of_day_are_those_of_the_records(invent, make):
    experiment = invent.experiment("codrna", trials=3, solvers=("samult",), outputs=())
    times = ["2026-03-01T10:00:00+0000", "2026-03-01T09:30:00+0000", "2026-03-01T10:30:00+0100"]
    records = [
        invent.record(experiment, "samult", trial, 500, started=started)
        for trial, started in enumerate(times)
    ]
    page = read([make(experiment, records)])
    assert "2026-03-01 09:30 UTC to 2026-03-01 10:00 UTC" in page.texts["dd"]


def test_tables_are_those_that_are_written(page, results, tmp_path):
    write_tables([results], tmp_path)
    for path in (tmp_path / "tables").glob("*.md"):
        blocks = path.read_text().split("\n\n")
        for caption, block in itertools.pairwise(blocks):
            if not block.startswith("|"):
                continue
            lines = [line.replace("**", "").split("|")[1:-1] for line in block.splitlines()]
            rows = [[cell.strip() for cell in line] for line in lines]
            caption = caption.splitlines()[-1]
            assert page.table(caption) == [rows[0], *rows[2:]]


def test_entries_are_sorted_by_what_plain_python_finds(page, results):
    cells = results.cells
    for column, centre in (("auc", mean), ("fit_seconds", median)):
        chosen = cells[(cells.solver == "qsg_s2auc") & (cells["size"] == 2000)][column]
        expected = centre(chosen.tolist())
        values = [float(a["data-value"]) for a in page.all("td") if "data-value" in a]
        assert round(expected, 12) in [round(value, 12) for value in values]


def svg_of(image):
    assert image["src"].startswith(SVG_DATA)
    return unquote(image["src"].removeprefix(SVG_DATA))


def test_figures_are_inline_and_described(page):
    images = page.all("img")
    assert len(images) == 3
    for image in images:
        root = ElementTree.fromstring(svg_of(image))
        assert root.tag.endswith("svg")
        assert "cod-rna" in image["alt"]
        assert "PNU-AUC" in image["alt"]
        assert float(image["width"]) > 300


@pytest.mark.slow
def test_commands_redraw_exactly_one_figure_each(page, results, monkeypatch, capsys):
    monkeypatch.setattr(stored, "load_results", lambda _: results)
    commands = [text for text in page.texts["pre"] if text.startswith("dsg plot")]
    names = ["auc_boxplot", "auc_test_boxplot", "time_curve"]
    folder = results.folder / "figures"
    for command, name in zip(commands, names, strict=True):
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        assert sorted(path.name for path in folder.iterdir()) == [f"{name}.pdf", f"{name}.png"]
        shutil.rmtree(folder)
    assert capsys.readouterr().err == ""


def test_names_of_folders_are_quoted_in_commands(invent, make):
    experiment = invent.experiment("codrna", name="my runs; rm", trials=1, solvers=("samult",))
    page = read([make(experiment, invent.typical(experiment, sizes=(500,)))])
    commands = [shlex.split(text) for text in page.texts["pre"] if text.startswith("dsg ")]
    assert {len(command) for command in commands} == {3, 5}
    assert all("my runs; rm" in command[2] for command in commands)


def test_the_config_on_the_page_loads_as_the_experiment(page, results):
    (text,) = [text for text in page.texts["pre"] if text.startswith("name:")]
    assert Invented.model_validate(yaml.safe_load(text)) == results.experiment
    assert f"dsg run {results.folder}/config.yaml" in page.texts["pre"]


def test_whatever_records_hold_is_text(invent, make):
    solvers = ("qsg_s2auc", "samult")
    labels = {"qsg_s2auc": HOSTILE, "samult": "SAMULT"}
    experiment = invent.experiment("codrna", trials=1, solvers=solvers, labels=labels)
    parts = {"message": HOSTILE, "traceback": f"Traceback\n{HOSTILE}", "environment": HOSTILE[:9]}
    failed = invent.failure(experiment, "samult", 0, 500, "failed", **parts)
    records = [invent.record(experiment, "qsg_s2auc", 0, 500), failed]
    results = make(experiment, records, files={"": {HOSTILE: HOSTILE}})
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


def test_it_needs_nothing_else(text, text_of_two):
    assert_self_contained(text)
    assert_self_contained(text_of_two)


def test_it_is_the_same_twice_and_sums_up_trials_once_per_measure(two, text_of_two, monkeypatch):
    made = []
    make_entry = Summary._entry

    def counted(self, name, size, rows, measure):
        made.append((self.title, name, size, measure.name))
        return make_entry(self, name, size, rows, measure)

    monkeypatch.setattr(Summary, "_entry", counted)
    assert page_text([replace(one) for one in two], "some where") == text_of_two
    assert len(made) == len(set(made)) > 0


def test_failures_and_limits_are_grouped_by_cause(invent, make):
    experiment = invent.experiment("codrna", trials=4, solvers=("qsg_s2auc", "samult"))
    frames = 'Traceback\n  File "a.py", line {}, in fit\nValueError: no {}\n'
    records = [
        invent.failure(
            experiment,
            "samult",
            trial,
            n,
            "failed",
            message=f"ValueError: no {trial}",
            traceback=frames.format(7 if n == 500 else 8, trial),
        )
        for n, trials in ((500, (0, 1, 3)), (900, (0,)))
        for trial in trials
    ]
    crash = {"message": "worker killed by SIGSEGV"}
    records.append(invent.failure(experiment, "samult", 1, 900, "crashed", **crash))
    records += [
        invent.failure(
            experiment, "qsg_s2auc", 0, n, "out_of_memory", message=f"needs {n / 100} GiB"
        )
        for n in (500, 900)
    ]
    records.append(invent.failure(experiment, "qsg_s2auc", 1, 500, "timeout", message="60 s"))
    results = make(experiment, records)
    page = read([replace(results, planned_by_solver={"samult": len(records) + 2})])
    sentence = "0 of 10 cells finished, 1 crashed, 4 failed, 2 out of memory, 1 timeout, 2 not run"
    assert f"{sentence} yet." in page.texts["p"]
    causes = [
        text
        for text in page.texts["p"]
        if text.startswith(("failed", "crashed", "out of memory", "timeout"))
    ]
    assert causes == [
        "failed ValueError: no 0 and others like it",
        "failed ValueError: no 0",
        "crashed worker killed by SIGSEGV",
        "out of memory needs 5.0 GiB and others like it",
        "timeout 60 s",
    ]
    cells = [table["rows"] for table in page.tables if table["rows"][0][:2] == ["Solver", "Cell"]]
    assert cells[0][1] == [
        "SAMULT",
        "fit",
        "500",
        "1–2, 4",
        "3",
        "ValueError: no 0 (and 2 like it)",
    ]
    assert cells[3][1:] == [
        ["QSG-S2AUC", "fit", "500", "1", "1", "needs 5.0 GiB"],
        ["QSG-S2AUC", "fit", "900", "1", "1", "needs 9.0 GiB"],
    ]
    tracebacks = [text for text in page.texts["pre"] if text.startswith("Traceback")]
    assert tracebacks == [frames.format(7, 0), frames.format(8, 0)]


def test_clocks_are_summed_by_solver_and_phase(invent, make):
    experiment = invent.experiment("codrna", trials=2, solvers=("qsg_s2auc", "samult"), outputs=())
    search = invent.record(experiment, "samult", 0, 400) | {
        "key": "s",
        "kind": "search",
        "times": {"load": 0.25, "compile": 2.0, "search": 1000.0},
    }
    fits = [
        invent.record(experiment, "samult", t, 500, times={"load": 0.5, "fit": 10.0 + t})
        for t in range(2)
    ]
    failed = invent.failure(experiment, "qsg_s2auc", 0, 500, "failed", times={"fit": 0.01})
    page = read([make(experiment, [search, *fits, failed])])
    assert page.table("Seconds spent") == [
        ["Solver", "Load", "Compile", "Search", "Fit", "Total"],
        ["QSG-S2AUC", "0.0", "0.0", "0.0", "<0.1", "<0.1"],
        ["SAMULT", "1.2", "2.0", "1,000.0", "21.0", "1,024.2"],
        ["Total", "1.2", "2.0", "1,000.0", "21.0", "1,024.3"],
    ]
    widths = [float(a["style"][6:-1]) for a in page.all("i") if "style" in a]
    assert sum(widths[4:]) == pytest.approx(100, abs=0.05)


def test_a_cell_that_stands_for_two_is_clocked_once(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("qsg_s2auc", "samult"), outputs=())
    plan = [{"key": "samult-0-500", "solver": solver} for solver in experiment.solvers]
    records = [invent.record(experiment, "samult", 0, 500, times={"fit": 61.0})]
    page = read([make(experiment, records, plan=plan)])
    assert page.table("Seconds spent")[-1] == ["Total", "61.0", "61.0"]


def test_less_than_a_minute_is_not_summed_up(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",), outputs=())
    short, long = (
        read([make(experiment, [invent.record(experiment, "samult", 0, 500, times={"fit": t})])])
        for t in (59.0, 61.0)
    )
    assert "Where the time went" not in short.texts["h2"]
    assert "Where the time went" in long.texts["h2"]


@pytest.mark.parametrize(
    ("outputs", "beside"),
    [(("auc_boxplot",), True), (("auc_boxplot", "time_curve"), False)],
)
def test_a_figure_without_another_stands_beside_the_findings(
    invent, make, tmp_path, outputs, beside
):
    experiment = invent.experiment("codrna", trials=2, solvers=("samult",), outputs=outputs)
    results = make(experiment, invent.typical(experiment, sizes=(500, 900)))
    page = page_text([results], tmp_path)
    assert page.count("<figure") == len(outputs)
    assert (">Figures</h2>" not in page) is beside


def environment_table(page):
    (table,) = [table["rows"] for table in page.tables if not table["rows"][0][0]]
    return {row[0]: row[1:] for row in table}


@pytest.mark.slow
def test_all_environments_are_there_and_their_differences_marked(invent, make):
    names = {"aa": "X", "bb": "Y"}
    files = {n: {"processor": p, "libraries": {"numpy": "2.4"}} for n, p in names.items()}
    results = []
    for dataset, used in (("codrna", "aabbb"), ("skin", "bb")):
        experiment = invent.experiment(dataset, trials=5, solvers=("samult",), outputs=())
        records = [
            invent.record(experiment, "samult", trial, 500, environment=2 * letter)
            for trial, letter in enumerate(used)
        ]
        results.append(make(experiment, records, files=files))
    page = read(results)
    assert environment_table(page) == {
        "": ["aa", "bb"],
        "processor differs": ["X", "Y"],
        "numpy": ["2.4", "2.4"],
        "cells": ["codrna: 2", "codrna: 3, skin: 2"],
    }
    assert "computed in 2 environments" in page.text
    alone = read(results[1:])
    assert "computed in" not in alone.text
    assert environment_table(alone)["processor"] == ["Y"]


def test_records_without_an_environment_show_that_of_the_last_run(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",), outputs=())
    files = {"": {"python": "3.11", "commit": None}}
    records = [invent.record(experiment, "samult", 0, 500)]
    table = environment_table(read([make(experiment, records, files=files)]))
    assert table[""] == ["not recorded"]
    assert (table["python"], table["commit"]) == (["3.11"], ["unknown"])


@pytest.mark.parametrize("recorded", [True, False])
def test_without_a_finished_fit_it_says_so(invent, make, recorded):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    failed = invent.failure(experiment, "samult", 0, 500, "failed", message="no luck")
    results = make(experiment, [failed] if recorded else [])
    page = read([replace(results, planned_by_solver={"samult": len(results.records) + 3})])
    assert (
        "No fit has finished yet: there are no figures, and no numbers in the tables."
        in (page.texts["p"])
    )
    assert page.all("img") == []
    assert ("no luck" in page.text) == recorded
    assert any("not run yet" in text for text in page.texts["p"])


def test_a_folder_with_nothing_but_a_config(invent, make):
    page = read([make(invent.experiment("codrna"), [])])
    assert "No cell is recorded yet." in page.texts["p"]
    assert "Environment" not in page.texts["h2"]


def test_all_cells_finished(invent, make):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",), outputs=())
    page = read([make(experiment, invent.typical(experiment, sizes=(500, 900)))])
    assert "All 2 cells finished." in page.texts["p"]
    assert not {"Failures", "Limits met"} & set(page.texts["h2"])


def test_several_folders_have_an_overview_and_a_section_each(two, text_of_two):
    page = Page(text_of_two)
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
    assert [command[2:-2] for command in commands] == [
        *[[*folders, "--out", "some where"]] * 3,
        *[folders[:1]] * 3,
        *[folders[1:]] * 2,
    ]


def test_a_folder_without_any_fit_has_a_section_only(invent, make):
    def results(dataset, sizes):
        outputs = ("auc_table", "auc_boxplot")
        experiment = invent.experiment(dataset, trials=1, solvers=("samult",), outputs=outputs)
        return make(experiment, invent.typical(experiment, sizes=sizes))

    empty = results("ijcnn1", ())
    page = read([results("codrna", (500,)), results("skin", (900,)), empty])
    assert "0" in page.table("What was run")[3]
    assert [row[0] for row in page.tables[1]["rows"]] == ["Dataset", "codrna", "skin"]
    assert all("ijcnn1" not in image["alt"] for image in page.all("img"))
    assert sum("No fit has finished" in text for text in page.texts["p"]) == 1
    assert "No fit is recorded yet" in read([empty] * 2).text


def test_experiments_without_results_are_listed_with_the_reason(invent, make):
    experiment = invent.experiment("codrna", trials=1, outputs=())
    results = make(experiment, invent.typical(experiment, sizes=SIZES))
    page = Page(page_text([results], "out", [("mine", "no file")]))
    assert page.texts["h1"] == ["2 experiments"]
    assert page.table("What was run")[2] == ["–", "mine not run: no file", *["–"] * 5]
    assert any(text.endswith("2 refused. 1 experiment not run.") for text in page.texts["p"])
    assert page.all("a")[0]["href"] == "#1-codrna"
    alone = page_text([], "out", [("mine", "no file"), ("yours", "no rows")])
    assert_self_contained(alone)
    assert "No cell is recorded yet. 2 experiments not run." in Page(alone).texts["p"]
    assert Page(alone).table("What was run")[2][1] == "yours not run: no rows"


def test_a_run_lists_experiments_whose_data_are_missing(tmp_path, monkeypatch, capsys):
    for name in ("mine", "yours"):
        dataset = {"path": str(tmp_path / f"{name}.csv"), "loader": "delimited"}
        protocol = {"kind": "semi_supervised_auc"}
        config = {"dataset": dataset, "protocol": protocol, "solvers": {"samult": {}}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(config))
    configs = [str(tmp_path / f"{name}.yaml") for name in ("mine", "yours")]
    page = tmp_path / "page.html"
    command = ["dsg", "run", *configs, "--out", str(tmp_path / "out"), "--report", str(page)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    errors = [line.removeprefix("Error: ") for line in capsys.readouterr().err.splitlines()]
    rows = Page(page.read_text()).table("What was run")[1:]
    assert [row[1] for row in rows] == [
        f"{name} not run: {error}" for name, error in zip(("mine", "yours"), errors, strict=True)
    ]


def test_choosing_is_described_by_the_task(invent, make):
    solvers = {"tsgs3vm": invent.solver("tsgs3vm", "TSGS3VM", {"C": [1.0, 2.0]}, {"step": [1, 2]})}
    experiment = invent.experiment("w8a", trials=1, solvers=solvers, task=CLASSES, outputs=())
    page = read([make(experiment, [invent.record(experiment, "tsgs3vm", 0, 500)], CLASSES)])
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert facts["Hyper-parameters"] == "trained on one of 5 parts, tested on the others, by error"
    assert "ross-validation" not in page.text
    (row,) = page.table("Solvers")[1:]
    assert row[2:] == ["C 1..2 (2); then step 1..2 (2)", "2, then 2", "all"]


def test_points_of_a_number_after_the_other_are_those_of_each(invent, make):
    solver = invent.solver("tsgs3vm", "TSGS3VM", {"C": [1.0, 2.0]})
    stages = (*solver.search, Stage(coordinates={"weight": [1, 2, 3]}))
    solvers = {"tsgs3vm": solver.model_copy(update={"search": stages})}
    experiment = invent.experiment("w8a", trials=1, solvers=solvers, task=CLASSES, outputs=())
    page = read([make(experiment, [invent.record(experiment, "tsgs3vm", 0, 500)], CLASSES)])
    (row,) = page.table("Solvers")[1:]
    assert row[3] == "2, then 3 per number"


def test_a_task_that_sweeps_nothing_has_a_page_without_sizes(regression):
    results = [
        regression({"ridge": [1.5, 2.5], "lasso": [3.0, float("nan")]}, name=name, dataset=name)
        for name in ("bikes", "rides")
    ]
    alone, both = read(results[:1]), read(results)
    facts = dict(zip(alone.texts["dt"], alone.texts["dd"], strict=True))
    assert facts["Protocol"] == "rows in two halves tests:RIDGE"
    assert "Hyper-parameters" not in facts
    assert alone.table("RMSE on the held-out rows, mean") == [
        ["Solver", "RMSE"],
        ["Ridge", "2.000 ± 0.707"],
        ["Lasso", "3.000 (1/2)"],
    ]
    assert alone.table("Solvers")[0] == ["Solver", "Fixed", "Grid", "Points"]
    assert len(alone.all("img")) == 1
    (cells,) = [t["rows"] for t in alone.tables if t["rows"][0][:2] == ["Solver", "Cell"]]
    assert cells == [["Solver", "Cell", "Trials", "Cells"], ["Lasso", "fit", "2", "1"]]
    overview = both.tables[1]
    assert overview["caption"].startswith("RMSE on the held-out rows, mean ± standard deviation")
    assert [row[1] for row in overview["rows"]] == ["Ridge", "2.000 ± 0.707", "2.000 ± 0.707"]


def test_a_file_that_cannot_be_written_is_named_in_one_line(invent, make, tmp_path):
    results = make(invent.experiment("codrna"), [])
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"page\.html: cannot be written") as caught:
        write_page([results], tmp_path / "file" / "page.html")
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


def test_a_browser_sorts_by_means_with_statuses_last(invent, make, tmp_path, browse):
    experiment = invent.experiment("codrna", trials=1)
    # as text, 100 would come before 20, and that before 9.5
    seconds = {"samult": 100.0, "pnu_auc": 9.5, "rff_s2auc": 20.0}
    records = [
        invent.record(experiment, key, 0, n, times={"fit": time})
        for key, time in seconds.items()
        for n in (1, 2)
    ]
    records += [invent.failure(experiment, "qsg_s2auc", 0, n, "indefinite") for n in (1, 2)]
    text = page_text([make(experiment, records)], tmp_path)
    page = tmp_path / "page.html"
    # the page itself allows no script but its own
    page.write_text(
        re.sub(r"<meta http-equiv=[^>]*>", "", text).replace("</body>", f"{DRIVER}</body>")
    )
    output, console = browse(page, "--dump-dom")
    found = json.loads(Page(output).texts["output"][0])
    qsg, samult, pnu, rff = (experiment.solvers[key].label for key in experiment.solvers)
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


def test_findings_and_the_main_figure_stand_first(invent, make):
    outputs = ("auc_table", "time_table", "auc_curve", "time_curve")
    experiment = invent.experiment("codrna", trials=3, outputs=outputs)
    text = page_text([make(experiment, invent.typical(experiment))], "out")
    page = Page(text)
    first, second, *_ = page.texts["h2"]
    assert (first, second) == ("Findings", "Figures")
    assert page.all("img")[0]["alt"].startswith("AUC on the unlabelled rows against the number")
    assert text.index("<img") < text.index(">Tables</h2>")


def test_gains_at_smaller_sizes_are_folded(invent, make):
    solvers = {
        "base": invent.solver("samult", "BASE"),
        "one": invent.solver("pnu_auc", "ONE", against="base"),
    }
    outputs = ("auc_table", "gain_table")
    experiment = invent.experiment("codrna", trials=3, solvers=solvers, outputs=outputs)
    records = [
        invent.record(experiment, key, trial, n, auc=0.8 + 0.01 * trial + bonus)
        for key, bonus in (("base", 0.0), ("one", 0.05))
        for trial in range(3)
        for n in (500, 900)
    ]
    text = page_text([make(experiment, records)], "out")
    gains = [t for t in Page(text).tables if t["caption"].startswith("Gain in AUC")]
    assert [len(table["rows"]) - 1 for table in gains] == [1, 2]
    shown, folded = text.split("<details>", 1)
    assert "Gain in AUC" in shown
    assert "Gain in AUC" in folded


def test_results_of_two_tasks_have_a_table_for_each(invent, make, regression):
    experiments = [invent.experiment(name, trials=2) for name in ("codrna", "skin")]
    rankings = [make(one, invent.typical(one, sizes=(500,))) for one in experiments]
    regressions = [regression({"ridge": [1.5]}, name=name, dataset=name) for name in ("a", "b")]
    page = read([*rankings, *regressions])
    assert "All datasets: semi supervised auc" in page.texts["h2"]
    assert "All datasets: tests:RIDGE" in page.texts["h2"]
    times = [t for t in page.tables if t["caption"].startswith("Training time")]
    assert [table["rows"][0][0] for table in times[:2]] == ["Dataset", "Dataset"]
    assert [len(table["rows"]) for table in times[:2]] == [3, 3]
    alone = read([*rankings, regressions[0]])
    assert "All datasets: tests:RIDGE" not in alone.texts["h2"]
