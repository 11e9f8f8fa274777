"""The index and the pages of papers."""

from html.parser import HTMLParser

import pytest

from dsgkit.data.catalogue import DATASETS
from dsgkit.papers import evidence
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.judge import Kept
from dsgkit.papers.pages import content
from dsgkit.papers.pages.verdicts import CLASSES
from dsgkit.papers.schema import papers
from dsgkit.report.html.sections import SVG_DATA
from tests.papers.judged import run_of

MORE = """
- id: mine-03
  claim: A is never perfect.
  place: sect. 2
  kind: accuracy
  judged:
  - {by: protocol, test: within, a: own, measure: auc, interval: [null, 0.99]}
headlines: {mine-01: Ours is as good., mine-02: It converges., mine-03: It is never perfect.}
"""
CATALOGUE = DATASETS["higgs"].homepage
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A page's text, ids and links; an element that is closed out of turn is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.words, self.verdicts = [], [], [], [], {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        if "data-verdict" in given:
            self.verdicts[given["id"]] = given["data-verdict"]
        self.links += [given[name] for name in ("href", "src") if name in given]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words += data.split()
        elif self.open:
            self.style = data

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture
def pages(run_dsg, folders, tmp_path, monkeypatch, made):
    """Return the pages of the made-up paper by name."""
    monkeypatch.setattr(content, "all_papers", lambda: ())
    name = "codrna_s2auc-reference"
    results = made({"own": {2000: [0.8] * 5}}, dataset="codrna", name=name)
    monkeypatch.setattr(evidence, "read_evidence", lambda _: Evidence({name: results}))
    with (tmp_path / "mine.yaml").open("a") as file:
        file.write(MORE)
    out = tmp_path / "pages"
    code, printed, err = run_dsg("pages", folders, "--out", out)
    assert (code, err) == (0, "")
    assert printed.split() == [str(out / "index.html"), str(out / "mine.html")]
    return {path.name: Page(path.read_text(encoding="utf-8")) for path in out.iterdir()}


def test_links_lead_somewhere_and_need_no_network(pages):
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            file, _, anchor = link.partition("#")
            if link == CATALOGUE:  # where the data are to be had
                continue
            assert (file or name) in pages
            assert not anchor or anchor in pages[file or name].ids


def test_the_index_counts_verdicts_and_has_the_main_claims(pages):
    text = pages["index.html"].text
    assert "A paper Somebody, 2020 2 hold 1 does not hold" in text
    assert "Ours is as good. protocol does not hold 0 of 4 useful holds 4 of 4" in text


def test_a_claim_has_its_verdicts_its_explanation_and_its_evidence(pages):
    text = pages["mine.html"].text
    assert "mine-01 protocol does not hold 0 of 4 useful holds 4 of 4 A is as good as b." in text
    assert "Holds if on all datasets the mean AUC of OWN is at most 0.99. Judged: " in text
    assert (
        "Why: The grid is too coarse. (shown by grids , which is not among these results)" in text
    )
    assert (
        "Where Size OWN OTHER Difference Agrees codrna 2,000 0.8 0.9 -0.1 [-0.1, -0.1] no" in text
    )


def test_claims_are_picked_by_verdict(pages):
    page = pages["mine.html"]
    assert page.verdicts == {"mine-01": "fails", "mine-02": "holds", "mine-03": "holds"}
    assert "a comparison needs 5 finished trials of each method" in page.text
    assert "Show all 3 2 hold 1 does not hold" in page.text
    assert {f"show-{one}" for one in ("all", *page.verdicts.values())} <= set(page.ids)
    assert all(
        f'#show-{one}:checked) .claim:not([data-verdict="{one}"' in page.style
        for one in CLASSES.values()
    )


def test_what_was_run_and_what_is_missing_is_said(pages):
    text = pages["mine.html"].text
    assert "codrna_s2auc-reference" in text
    assert f"higgs: {CATALOGUE}" in text


def test_every_figure_and_table_has_a_place_or_a_reason():
    run = run_of({"qsg_s2auc": {500: [0.9] * 5, 2000: [0.9] * 5}})
    paper = next(one for one in papers() if one.key == "s2auc")
    found = content.printed(paper, Kept({"codrna_s2auc-reference": run}))
    anchors = ["table-1", "figure-1", "table-2", "figure-2"]
    assert [one["anchor"] for one in found] == anchors
    assert all(
        bool(one["picture"]) + bool(one["tables"]) + bool(one["missing"]) == 1 for one in found
    )
    assert found[3]["picture"]["source"].startswith(SVG_DATA)
    assert found[3]["picture"]["command"] == "dsg figure s2auc/2"
