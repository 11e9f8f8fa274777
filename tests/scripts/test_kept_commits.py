"""Kept results name commits that everybody has."""

import json
import subprocess

import pytest

from dsgkit.commit import CHANGED
from tests.scripts.conftest import SCRIPTS

ROOT = SCRIPTS.parent
KEPT = ROOT / "results" / "reference"

ELSEWHERE = {f"studies/{name}.json" for name in ("big_s3vm", "priors")}
"""Studies of minutes that were run at commits of a branch, until they are run again."""


def git(*arguments):
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def history():
    """The commits that lead to this one."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    try:
        if git("rev-parse", "--is-shallow-repository").strip() == "true":
            pytest.skip("the history is cut off")
        return git("rev-list", "HEAD").split()
    except OSError:
        pytest.skip("git is not installed")


def commits():
    """Yield every file that says which code made it, with the commit."""
    for file in sorted(KEPT.rglob("*.json")):
        content = json.loads(file.read_text())
        environment = content.get("environment", content) if isinstance(content, dict) else {}
        if "commit" in environment:
            yield file.relative_to(KEPT).as_posix(), environment["commit"]


def test_the_commits_of_kept_results_are_in_the_history(history):
    known = {commit[:12] for commit in history}
    found = dict(commits())
    assert len(found) > 50
    unknown = {name for name, commit in found.items() if commit.removesuffix(CHANGED) not in known}
    assert unknown == ELSEWHERE
