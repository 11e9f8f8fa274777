"""The results in the README are those that are kept."""

import pytest

from tests.scripts.conftest import SCRIPTS, invoke


@pytest.mark.slow
def test_what_is_old_is_found_and_put_right(script, tmp_path):
    before = (SCRIPTS.parent / "README.md").read_text()
    main, readme = script("readme_results")["main"], tmp_path / "README.md"
    begin = before.index("<!-- results: begin -->")
    readme.write_text(before[:begin] + before[begin:].replace("holds", "99", 1))
    done = invoke(main, "--check", "--readme", readme, code=1)
    assert "run this script" in done.output
    invoke(main, "--readme", readme)
    assert readme.read_text() == before
