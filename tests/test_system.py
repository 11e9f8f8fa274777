"""The machine: compiled code and its cache, the commit and the hash of the sources."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import dsgkit
from dsgkit.experiment.environment import describe_environment
from dsgkit.system.commit import CHANGED_SUFFIX, FILE, commit_of, source_hash

PACKAGE = Path(dsgkit.__file__).parent
ROOT = PACKAGE.parent

# --- compiled code ----------------------------------------------------------------------------

HELPER = """
from pkg.system.jit import fast
from pkg import numbers

@fast
def helper(x):
    return numbers.FACTOR * x
"""
KERNEL = """
from pkg.system.jit import fast
from pkg.helper import helper

@fast
def kernel(x):
    return helper(x) + 1
"""
CALL = "from pkg.kernel import kernel; print('result', kernel(10))"


@pytest.fixture
def package(tmp_path):
    """A package whose kernel calls a function, and that uses a constant, of other files."""
    folder = tmp_path / "pkg"
    (folder / "system").mkdir(parents=True)
    (folder / "report").mkdir()
    for name in ("jit", "commit"):
        text = (PACKAGE / "system" / f"{name}.py").read_text()
        (folder / "system" / f"{name}.py").write_text(text.replace("dsgkit.system", "pkg.system"))
    (folder / "numbers.py").write_text("FACTOR = 2\n")
    (folder / "helper.py").write_text(HELPER)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def start(package, code, **environment):
    own = {
        "NUMBA_CACHE_DIR": str(package.parent / "cache"),
        "NUMBA_DEBUG_CACHE": "1",
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second would not be noticed
    }
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **own, **environment},
        cwd=package.parent,
    )


def run(package, code=CALL, **environment):
    """Return the result that is printed and whether compiled code was stored."""
    process = start(package, code, **environment)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    (line,) = (line for line in output.splitlines() if line.startswith("result"))
    return line.removeprefix("result "), "data saved" in output


@pytest.mark.slow
def test_an_edit_in_another_file_is_noticed_and_otherwise_nothing_compiled_twice(package):
    assert run(package) == ("21", True)
    (package / "report" / "page.py").write_text("SIZE = 1\n")  # shows results only
    assert run(package) == ("21", False)
    (package / "numbers.py").write_text("FACTOR = 3\n")
    assert run(package) == ("31", True)
    (package / "helper.py").write_text(HELPER.replace("FACTOR * x", "FACTOR * x * 10"))
    assert run(package) == ("301", True)
    copy = package.parent / "elsewhere" / "pkg"
    shutil.copytree(package, copy)
    cache = str(package.parent / "cache")
    assert run(copy, NUMBA_CACHE_DIR=cache) == ("301", False)


@pytest.mark.slow
def test_of_processes_that_begin_at_once_one_compiles(package):
    code = "import sys; from pkg.kernel import kernel; sys.stdin.readline(); kernel(10)"
    processes = [start(package, code) for _ in range(3)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    output = "".join(process.communicate(timeout=120)[0] for process in processes)
    assert output.count("data saved") == 2, output  # kernel and helper
    assert output.count("data loaded") == 2, output  # by the two others, with the helper in it


def test_a_folder_that_cannot_be_written_costs_time_only(package):
    (package.parent / "cache").write_text("a file")
    assert run(package) == ("21", False)


FIT = """
import numpy as np
from dsgkit import QSGS2AUC
X = np.random.default_rng(0).random((30, 2))
model = QSGS2AUC(n_features=4, batch_size=4, n_iterations=3).fit(X[:9], [0, 1, 1] * 3, X[9:])
print('result', [f"{value:.5f}" for value in model.decision_function(X)])
"""


@pytest.mark.slow
def test_uncompiled_functions_give_the_same_results(package):
    compiled, _ = run(package, FIT, NUMBA_CACHE_DIR=os.environ.get("NUMBA_CACHE_DIR", ""))
    uncompiled, _ = run(
        package, "import warnings; warnings.simplefilter('error')\n" + FIT, NUMBA_DISABLE_JIT="1"
    )
    assert uncompiled == compiled


# --- commit and hash of the sources -----------------------------------------------------------

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
        shutil.copy(PACKAGE / name, folder / "dsgkit" / name)
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


def test_an_exported_copy_knows_its_commit(checkout, commit, tmp_path):
    git(checkout, "archive", "--output", tmp_path / "export.tar", "HEAD")
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", **FILTERED)
    assert commit_of(tmp_path / "export" / "dsgkit") == commit


@pytest.mark.parametrize("place", ["no repository", "its root", "a folder in it"])
def test_a_plain_copy_has_no_commit_even_in_a_repository_of_the_user(checkout, tmp_path, place):
    parent = tmp_path / "copy"
    root = parent.parent if place == "a folder in it" else parent
    shutil.copytree(checkout / "dsgkit", parent / "dsgkit")
    if place != "no repository":
        git(root, "init", "--quiet")
        (root / "own.py").write_text("x = 1\n")
        git(root, "add", "own.py")
        git(root, "commit", "--quiet", "--message", "Own")
    assert commit_of(parent / "dsgkit") is None


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
    (checkout / "dsgkit" / "__init__.py").write_text("changed = True\n")
    wheel = build(checkout, "wheel", tmp_path / "wheel")
    assert commit_of(wheel / "dsgkit") == commit + CHANGED_SUFFIX


def test_the_environment_of_results_has_it():
    assert describe_environment()["commit"] == commit_of()


def test_the_hash_of_the_sources_changes_with_all_but_what_shows_results(package):
    code = "from pkg.system.commit import source_hash; print('result', source_hash())"
    before, _ = run(package, code)
    (package / "report" / "page.py").write_text("SIZE = 1\n")
    assert run(package, code)[0] == before
    (package / "helper.py").write_text(HELPER + "# a comment\n")
    assert run(package, code)[0] != before
    assert len(source_hash()) == len(before) == 16
