"""The HTML page of runs: what it says, and that it needs nothing else."""

from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from dsgkit.errors import ResultsError
from dsgkit.report.page import page_text
from dsgkit.report.tables import wanted_tables
from tests.report.runs import make_run

HOSTILE = "<script>alert('x')</script> & \"more\""
A = {500: [0.8, 0.82, 0.81], 1000: [0.82, 0.85, 0.83]}
B = {500: [0.9, 0.93, 0.91], 1000: [0.92, 0.93, 0.9]}
LOST = {
    ("b", 500, 0): {"status": "failed", "message": "no 1", "traceback": "in fit", "scores": {}},
    ("b", 500, 1): {"status": "failed", "message": "no 2", "traceback": "in fit", "scores": {}},
    ("b", 1000, 0): {"status": "timeout", "message": "stopped after 9 s", "scores": {}},
}


class Page(HTMLParser):
    """Tags with attributes, rows of tables, and the texts by tag."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.open.pop() != tag:
            pass

    def handle_data(self, data):
        for tag in {*self.open}:
            self.texts[tag][-1] += data


@pytest.fixture(scope="module")
def text():
    return page_text([make_run(a=A, b=B, records=LOST, solvers={"b": {"against": "a"}})])


def test_findings_figures_tables_and_causes_are_there(text):
    page = Page(text)
    assert [t for t in page.texts["h2"] if t != "Environment"] == [
        "Findings", "Figures", "Tables", "Failures", "Limits met", "What was run",
    ]  # fmt: skip
    assert "12 planned, 9 finished, 1 limits met, 2 failed" in text
    assert "no 1" in text and "and others like it" in text and "in fit" in text
    assert "stopped after 9 s" in text
    (solvers,) = (row for row in page.texts["table"] if "Fixed" in row)
    assert "A" in solvers and "B" in solvers


def test_tables_are_those_of_the_command(text):
    run = make_run(a=A, b=B, records=LOST, solvers={"b": {"against": "a"}})
    cells = [" ".join(t.split()) for tag in ("td", "th") for t in Page(text).texts[tag]]
    for table in wanted_tables([run]):
        for layout in table.layouts:
            for row in layout.rows:
                for cell in row:
                    assert any(cell.text in one for one in cells), cell.text


def test_it_needs_nothing_else_and_figures_are_images_of_text(text):
    page = Page(text)
    for tag, attributes in page.tags:
        for name in {"src", "href", "srcset", "action", "data"} & {*attributes}:
            assert attributes[name].startswith(("data:image/svg+xml,", "#")), (tag, name)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert images and all("Solvers: A; B" in one["alt"] for one in images)
    for one in images:
        root = ElementTree.fromstring(unquote(one["src"].partition(",")[2]))
        assert root.tag.endswith("svg")


def test_equal_runs_give_equal_text(text):
    assert text == page_text([make_run(a=A, b=B, records=LOST, solvers={"b": {"against": "a"}})])


def test_whatever_records_hold_is_text():
    lost = {
        ("a", 0, 0): {"status": "failed", "message": HOSTILE, "traceback": HOSTILE, "scores": {}}
    }
    run = make_run(a=[0.5, 0.6], records=lost, solvers={"a": {"label": HOSTILE}})
    scripts = [attributes for tag, attributes in Page(page_text([run])).tags if tag == "script"]
    assert len(scripts) == 1


def test_without_a_finished_fit_it_says_so():
    lost = {("a", 0, 0): {"status": "failed", "message": "no", "scores": {}}}
    text = page_text([make_run(a=[0.5], records=lost)])
    assert "No fit has finished yet" in text and "<img" not in text
    assert "No cell is recorded yet" in page_text([], [("mine", "no data")])
    with pytest.raises(ResultsError, match="no results were named"):
        page_text([])


def test_several_runs_have_an_overview_and_a_section_each():
    runs = [make_run(name, a=A, b=B) for name in ("one", "two")]
    page = Page(page_text(runs, missing=[("three", "no data here")]))
    assert [t.split(" ")[0] for t in page.texts["h2"]] == [
        "Contents",
        "All",
        "one",
        "two",
        "Environment",
    ]
    assert any("not run: no data here" in row for row in page.texts["tr"])
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    anchors = {f"#{attributes['id']}" for _, attributes in page.tags if "id" in attributes}
    assert links <= anchors
