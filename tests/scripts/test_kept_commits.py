"""Kept results name commits that everybody has, and targets as runs name them today."""

import json
import subprocess

import pytest

from dsgkit.config.schema import load_stored
from dsgkit.data.catalogue import DATASETS
from dsgkit.system.files import CHANGED_SUFFIX
from tests.scripts.conftest import SCRIPTS

ROOT = SCRIPTS.parent
KEPT = ROOT / "results" / "reference"

STUDIES = (
    "big_s3vm",
    "budget",
    "gradient_norm_su_uncorrected",
    "priors",
    "published_clusters",
    "ranking",
)
CONFIGS = ("covtype_20k_su", "ordinal_cost", "s2auc_cost", "s3vm_cost", "sgemm_ordinal", "usps_su")
ELSEWHERE = {f"studies/{name}.json" for name in STUDIES} | set(CONFIGS)
"""Run at commits of a branch that has become one commit here, until they are run again."""


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
    unknown = {
        name for name, commit in found.items() if commit.removesuffix(CHANGED_SUFFIX) not in known
    }
    assert {name if "studies/" in name else name.split("/")[0] for name in unknown} == ELSEWHERE


def test_kept_targets_are_worded_as_a_run_words_them():
    """Those of the catalogue's own targets of two classes; others have numbers of rows."""
    compared = 0
    for file in sorted(KEPT.glob("*/dataset.json")):
        spec = load_stored(file.with_name("config.yaml")).dataset
        target = DATASETS[spec.name].target if spec.name in DATASETS else None
        if target is not None and target.kind == "binary" and not (spec.target or spec.positive):
            assert json.loads(file.read_text())["target"] == target.words, file
            compared += 1
    assert compared > 30
