"""The commit is known of a checkout, of an export, and of what is built from either."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from dsgkit.experiment.environment import describe_environment
from dsgkit.system.commit import CHANGED_SUFFIX, FILE, commit_of

ROOT = Path(__file__).parents[1]

FILTERED = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and later


def git(folder, *arguments):
    """Run git as a user without settings; returns what it prints."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    done = subprocess.run(
        ["git", *names, *arguments],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with the files of this one that tell a commit, and a package of one module."""
    folder = tmp_path / "checkout"
    (folder / "dsgkit" / "system").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", ".gitattributes", "README.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("system/commit.py", FILE):
        shutil.copy(ROOT / "dsgkit" / name, folder / "dsgkit" / name)
    (folder / "dsgkit" / "__init__.py").write_text("")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


@pytest.fixture
def commit(checkout):
    return git(checkout, "rev-parse", "HEAD")[:12]


def test_a_checkout_is_at_its_commit(checkout, commit, tmp_path, monkeypatch):
    assert commit_of(checkout / "dsgkit") == commit
    git(checkout, "tag", "--annotate", "v1", "--message", "One")  # does not take its place
    assert commit_of(checkout / "dsgkit") == commit
    git(checkout, "worktree", "add", "--quiet", "--detach", tmp_path / "beside")
    assert commit_of(tmp_path / "beside" / "dsgkit") == commit
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert commit_of(checkout / "dsgkit") == commit
    (checkout / "dsgkit" / "__init__.py").write_text("changed = True\n")
    assert commit_of(checkout / "dsgkit") == commit + CHANGED_SUFFIX


@pytest.mark.parametrize("packed", [False, True])
def test_without_git_the_commit_is_that_of_the_branch(checkout, commit, packed, monkeypatch):
    if packed:
        git(checkout, "pack-refs", "--all")
    monkeypatch.setenv("PATH", "")
    assert commit_of(checkout / "dsgkit") == commit


def test_an_exported_copy_knows_its_commit(checkout, commit, tmp_path):
    git(checkout, "archive", "--output", tmp_path / "export.tar", "HEAD")
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", **FILTERED)
    assert commit_of(tmp_path / "export" / "dsgkit") == commit


def test_a_plain_copy_without_its_repository_knows_none(checkout, tmp_path):
    shutil.copytree(checkout / "dsgkit", tmp_path / "copy" / "dsgkit")
    assert commit_of(tmp_path / "copy" / "dsgkit") is None


def build(folder, target, into):
    """Build a wheel or an sdist with hatchling; returns its folder, unpacked."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run([*command, "--directory", into], cwd=folder, check=True, capture_output=True)
    (file,) = into.iterdir()
    unpacked = into / "unpacked"
    if target == "wheel":
        with zipfile.ZipFile(file) as archive:
            assert archive.namelist().count(f"dsgkit/{FILE}") == 1
            archive.extractall(unpacked)
        return unpacked
    with tarfile.open(file) as archive:
        archive.extractall(unpacked, **FILTERED)
    (inner,) = unpacked.iterdir()
    return inner


@pytest.mark.slow
def test_what_is_built_of_a_checkout_knows_its_commit(checkout, commit, tmp_path):
    sdist = build(checkout, "sdist", tmp_path / "sdist")
    assert commit_of(sdist / "dsgkit") == commit
    again = build(sdist, "wheel", tmp_path / "again")
    assert commit_of(again / "dsgkit") == commit
    assert "checkout" not in (again / "dsgkit" / FILE).read_text()
    (checkout / "dsgkit" / "__init__.py").write_text("changed = True\n")
    wheel = build(checkout, "wheel", tmp_path / "wheel")
    assert commit_of(wheel / "dsgkit") == commit + CHANGED_SUFFIX


def test_the_environment_of_results_has_it():
    assert describe_environment()["commit"] == commit_of()
