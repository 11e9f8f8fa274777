"""The results in the README are those that are kept."""

import re
from functools import partial
from xml.etree import ElementTree

import pytest

from dsgkit.papers.judge import judge, read_kept
from dsgkit.papers.schema import papers
from tests.scripts.conftest import SCRIPTS, invoke

pytestmark = pytest.mark.slow


KEPT = SCRIPTS.parent / "results" / "reference"


@pytest.fixture(scope="module")
def judged():
    """What the kept results say of the papers, which takes long."""
    return judge(papers(), read_kept([KEPT]))


@pytest.fixture
def run(study, judged):
    """A function that runs the script on the kept results, whatever folder it is given."""
    main, scope = study("readme_results")
    scope.update(read_kept=lambda _: None, judge=lambda *_: judged)
    return partial(invoke, main)


def test_the_readme_says_what_the_kept_results_say(run):
    run("--check")


@pytest.mark.parametrize("old", ["readme", "picture"])
def test_what_is_old_is_found_and_put_right(run, tmp_path, old):
    before = (SCRIPTS.parent / "README.md").read_text()
    readme, picture = tmp_path / "README.md", tmp_path / "readme.svg"
    begin = before.index("<!-- results: begin -->")
    changed = before[:begin] + before[begin:].replace(" claims ", " claims 99 ", 1)
    readme.write_text(changed if old == "readme" else before)
    picture.write_text("<svg/>" if old == "picture" else (KEPT / "readme.svg").read_text())
    here = ("--readme", readme, "--results", tmp_path)
    done = run("--check", *here, code=1)
    assert "run this script" in done.output
    assert (str(picture) in done.output) == (old == "picture")
    run(*here)
    assert readme.read_text() == before
    assert picture.read_text() == (KEPT / "readme.svg").read_text()


def test_the_picture_has_the_numbers_of_the_paragraphs():
    root = SCRIPTS.parent
    readme = " ".join((root / "README.md").read_text().split())
    begin, end = (readme.index(f"<!-- results: {where} -->") for where in ("begin", "end"))
    told = re.findall(r"Of (\d+) claims (.*?)\. [A-Z]", readme[begin:end])
    drawn = ElementTree.parse(KEPT / "readme.svg").getroot()
    texts = [one.text for one in drawn.iterfind("{*}text")]
    assert len(told) == 5
    numbers = [n for _, counts in told for n in re.findall(r"\d+", counts)]
    assert [text for text in texts if text.isdigit()] == numbers
    assert [int(of) for of, _ in told] == [
        sum(map(int, re.findall(r"\d+", counts))) for _, counts in told
    ]
