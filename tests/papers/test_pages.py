"""The papers' pages: Markdown with verdicts, evidence, and pictures that do not change."""

import csv
import re

import pytest

from dsgkit.papers.figures import figures_of
from dsgkit.papers.judge import judge, read_kept
from dsgkit.papers.pages import write_pages
from dsgkit.papers.schema import papers
from tests.papers.judged import run_of, write_kept

FITS = {"qsg_s2auc": {500: [0.9] * 5, 2000: [0.92] * 5}, "samult": {500: [0.8, 0.81] * 2 + [0.8]}}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages by two datasets of the first paper, the folder, and how to write them again."""
    place = tmp_path_factory.mktemp("pages")
    for name in ("codrna", "ijcnn1"):
        write_kept(place / "kept" / f"{name}_s2auc-reference", run_of(FITS, "auc", name))
    kept = read_kept([place / "kept"])

    def write(folder):
        write_pages(judge(papers(), kept), kept, folder)
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}

    return write(place / "pages"), write, place


def test_a_page_has_every_claim_with_its_verdict(written):
    pages, *_ = written
    for paper in papers():
        text = pages[f"{paper.key}.md"].decode()
        for claim in paper.claims:
            (verdict,) = re.findall(rf"\*\*{claim.id}\*\*: \*\*([a-z ]+)\*\*", text)
            assert verdict in ("holds", "holds in part", "does not hold", "not testable here")
        assert text.count("<details>") == text.count("</details>") >= len(paper.claims)


def test_links_lead_to_something(written):
    pages, *_ = written
    for name, content in pages.items():
        if name.endswith(".md"):
            for target in re.findall(r"\]\(([^)]+)\)", content.decode()):
                file, _, anchor = target.partition("#")
                assert (file or name) in pages, (name, target)
                if anchor:
                    assert f'<a id="{anchor}">' in pages[file or name].decode(), target


def test_the_table_of_verdicts_has_a_row_for_each(written):
    pages, *_ = written
    rows = list(csv.DictReader(pages["index.csv"].decode().splitlines()))
    expected = {claim.id for paper in papers() for claim in paper.claims}
    assert {row["claim"] for row in rows} == expected
    assert {row["settings"] for row in rows} <= {"protocol", "useful"}


def test_every_figure_and_table_is_there_or_says_why_not(written):
    pages, *_ = written
    for paper in papers():
        text = pages[f"{paper.key}.md"].decode()
        assert all(
            f'<a id="{shown.file_name}">' in text for shown in figures_of(paper.key).values()
        )
    assert any(name.startswith("figures/s2auc-") for name in pages)


def test_nothing_changes_if_nothing_has_changed(written):
    pages, write, place = written
    assert write(place / "again") == pages
