"""A further table or figure is a further value: every command and the page find it."""

import pandas as pd
from matplotlib.figure import Figure

from dsgkit.report import draw_figures, outputs, text_table, write_report, write_tables
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.html import page_text
from dsgkit.report.output import EVERY_REPORT, MeasureFigure, TableOutput


def counts(shown):
    def make():
        rows = [[Cell(one.title), Cell(str(len(one.results.cells)))] for one in shown]
        layout = Layout("How many fits there are.", ["Dataset", "Fits"], rows)
        return Table("count_table", [layout], pd.DataFrame({"fits": [len(rows)]}))

    yield TableOutput(
        name="count_table", output=EVERY_REPORT, shown=shown, has=lambda _: True, make=make
    )


def empty(shown, measure, width):
    figure = Figure()
    figure.subplots(len(shown)).set_title(measure.title)
    return figure


def says(shown, measure):
    return f"{measure.word} of {len(shown)} datasets."


def add(monkeypatch):
    # drawn where a config asks for boxes of a measure, beside these
    figure = MeasureFigure("boxplot", empty, says)
    monkeypatch.setattr(outputs, "TABLES", (*outputs.TABLES, counts))
    monkeypatch.setattr(outputs, "FIGURES", (figure,))


def test_every_command_and_the_page_have_a_further_output(typical, tmp_path, monkeypatch):
    add(monkeypatch)
    results = typical(sizes=(500, 2000))
    names = {path.name for path in write_report([results], tmp_path)}
    assert {"count_table.csv", "auc_table.csv", "auc_boxplot.pdf"} <= names
    assert "time_curve.pdf" not in names
    assert "How many fits" not in text_table([results])
    assert text_table([results], ["count_table"]).startswith("How many fits there are.\n")
    (one, *_) = write_tables([results], tmp_path / "one", ["count_table"])
    assert one.name == "count_table.csv"
    assert len(draw_figures([results], tmp_path / "one", ["auc_boxplot"])) == 2
    page = page_text([results], tmp_path)
    assert "How many fits there are." in page
    assert "AUC of 1 datasets. Setting: 200 labelled rows." in page


def test_several_results_have_it_together_and_each(typical, written, monkeypatch):
    add(monkeypatch)
    made = [typical(dataset, sizes=(500,)) for dataset in ("codrna", "skin")]
    paths = written(*made, only=["count_table"]).paths
    folders = [path.parent.name for path in paths if path.suffix == ".csv"]
    assert folders == ["tables", "codrna", "skin"]
