"""The results in the README are those that are kept."""

import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.scripts.conftest import SCRIPTS

pytestmark = pytest.mark.slow


def run(script, *arguments):
    main = script("readme_results")["main"]
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_the_readme_says_what_the_kept_results_say(script):
    done = run(script, "--check")
    assert done.exit_code == 0, done.output


def test_a_number_that_is_changed_is_found_and_put_right(script, tmp_path):
    before = (SCRIPTS.parent / "README.md").read_text()
    readme = tmp_path / "README.md"
    begin = before.index("<!-- results: begin -->")
    readme.write_text(before[:begin] + before[begin:].replace(" claims ", " claims 99 ", 1))
    done = run(script, "--check", "--readme", readme)
    assert done.exit_code == 1
    assert "run this script" in done.output
    assert run(script, "--readme", readme).exit_code == 0
    assert readme.read_text() == before


def test_a_picture_that_is_old_is_found_and_drawn_again(script, tmp_path):
    kept = SCRIPTS.parent / "results" / "reference"
    for one in kept.iterdir():
        (tmp_path / one.name).symlink_to(one)
    picture = tmp_path / "readme.svg"
    picture.unlink()
    picture.write_text("<svg/>")
    done = run(script, "--check", "--results", tmp_path)
    assert done.exit_code == 1
    assert str(picture) in done.output
    assert run(script, "--results", tmp_path).exit_code == 0
    assert picture.read_text() == (kept / "readme.svg").read_text()


def test_the_picture_has_the_numbers_of_the_paragraphs():
    root = SCRIPTS.parent
    readme = " ".join((root / "README.md").read_text().split())
    begin, end = (readme.index(f"<!-- results: {where} -->") for where in ("begin", "end"))
    told = re.findall(r"Of (\d+) claims (.*?)\. [A-Z]", readme[begin:end])
    drawn = ElementTree.parse(root / "results" / "reference" / "readme.svg").getroot()
    texts = [one.text for one in drawn.iterfind("{*}text")]
    assert len(told) == 5
    numbers = [n for _, counts in told for n in re.findall(r"\d+", counts)]
    assert [text for text in texts if text.isdigit()] == numbers
    assert [int(of) for of, _ in told] == [
        sum(map(int, re.findall(r"\d+", counts))) for _, counts in told
    ]
