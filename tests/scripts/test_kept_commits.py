"""Kept results name commits that everybody has, and targets as runs name them today."""

import json
import subprocess

import pytest

from dsgkit.config.schema import load_stored
from dsgkit.data.catalogue import DATASETS
from dsgkit.experiment.folder import read_task
from dsgkit.system.files import CHANGED_SUFFIX
from tests.scripts.conftest import KEPT, ROOT

BEFORE = "before the first commit of this repository"


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


def test_the_commits_of_kept_runs_and_the_programs_of_studies_are_in_the_history(history):
    known = {commit[:12] for commit in history} | {"", BEFORE}
    files = [*KEPT.glob("environments/*.json"), *KEPT.glob("studies/*.json")]
    assert len(files) > 30
    for file in files:
        content = json.loads(file.read_text())
        made_by = content.get("made_by", content)
        commit, script = made_by.get("commit", ""), made_by.get("script")
        assert commit.removesuffix(CHANGED_SUFFIX) in known, file
        if script and commit == BEFORE:
            assert git("log", "--format=%h", "-1", "--", script)
        elif script and not commit.endswith(CHANGED_SUFFIX):
            git("cat-file", "-e", f"{commit}:{script}")


def test_kept_targets_are_worded_as_a_run_words_them():
    """Those of the catalogue's own targets of two classes; others have numbers of rows."""
    compared = 0
    for file in sorted(KEPT.glob("*/config.yaml")):
        spec = load_stored(file).dataset
        target = DATASETS[spec.name].target if spec.name in DATASETS else None
        if target is not None and target.kind == "binary" and not (spec.target or spec.positive):
            _, data = read_task(file.parent)
            assert data["target"] == target.words, file
            compared += 1
    assert compared > 30
