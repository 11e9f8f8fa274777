"""The results in the README are those that are kept."""

import functools
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.scripts.conftest import SCRIPTS

pytestmark = pytest.mark.slow


KEPT = SCRIPTS.parent / "results" / "reference"
FOUND = {}
"""What `once` has found."""


def once(function, *arguments):
    """Return what a function returned when it was first called: kept results take long to read."""
    if function.__name__ not in FOUND:
        FOUND[function.__name__] = function(*arguments)
    return FOUND[function.__name__]


@pytest.fixture
def run(script):
    """A function that runs the script on the kept results, whatever folder it is given."""
    main = script("readme_results")["main"]
    scope = main.callback.__globals__
    read, judge = scope["read_evidence"], scope["judge"]
    scope["read_evidence"] = lambda _: once(read, [KEPT])
    scope["judge"] = functools.partial(once, judge)
    return lambda *arguments: CliRunner().invoke(main, [str(one) for one in arguments])


def test_the_readme_says_what_the_kept_results_say(run):
    done = run("--check")
    assert done.exit_code == 0, done.output


def test_a_number_that_is_changed_is_found_and_put_right(run, tmp_path):
    before = (SCRIPTS.parent / "README.md").read_text()
    readme = tmp_path / "README.md"
    begin = before.index("<!-- results: begin -->")
    readme.write_text(before[:begin] + before[begin:].replace(" claims ", " claims 99 ", 1))
    shutil.copy(KEPT / "readme.svg", tmp_path)
    here = ("--readme", readme, "--results", tmp_path)
    done = run("--check", *here)
    assert done.exit_code == 1
    assert "run this script" in done.output
    assert run(*here).exit_code == 0
    assert readme.read_text() == before


def test_a_picture_that_is_old_is_found_and_drawn_again(run, tmp_path):
    readme = Path(shutil.copy(SCRIPTS.parent / "README.md", tmp_path))
    picture = tmp_path / "readme.svg"
    picture.write_text("<svg/>")
    here = ("--readme", readme, "--results", tmp_path)
    done = run("--check", *here)
    assert done.exit_code == 1
    assert str(picture) in done.output
    assert run(*here).exit_code == 0
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
