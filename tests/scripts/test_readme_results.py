"""The results in the README are those that are kept."""

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
