"""The machine: compiled code, commit and sources, files, memory, threads, progress."""

import math
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import numba
import psutil
import pytest
from threadpoolctl import threadpool_info

import dsgkit
from dsgkit.system import machine
from dsgkit.system.files import (
    CHANGED_SUFFIX,
    COMMIT_FILE,
    commit_of,
    folder_name,
    source_hash,
    write_atomically,
)
from dsgkit.system.machine import kept_threads, set_threads
from dsgkit.system.progress import listening, part, report

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
HASH = "from pkg.system.files import source_hash; print('result', source_hash())"


@pytest.fixture
def package(tmp_path):
    """A package whose kernel calls a function, and that uses a constant, of other files."""
    folder = tmp_path / "pkg"
    (folder / "system").mkdir(parents=True)
    (folder / "report").mkdir()
    for name in ("jit", "files"):
        text = (PACKAGE / "system" / f"{name}.py").read_text()
        (folder / "system" / f"{name}.py").write_text(text.replace("dsgkit.system", "pkg.system"))
    (folder / "numbers.py").write_text("FACTOR = 2\n")
    (folder / "helper.py").write_text(HELPER)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def run(package, code=CALL, **environment):
    """Return the result that is printed and whether compiled code was stored."""
    own = {
        "NUMBA_CACHE_DIR": str(package.parent / "cache"),
        "NUMBA_DEBUG_CACHE": "1",
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second would not be noticed
    }
    command, variables = [sys.executable, "-c", code], {**os.environ, **own, **environment}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("result"))
    return line.removeprefix("result "), "data saved" in done.stdout


@pytest.mark.slow
def test_an_edit_in_another_file_is_noticed_and_otherwise_nothing_compiled_twice(package):
    assert run(package) == ("21", True)
    before, _ = run(package, HASH)
    (package / "report" / "page.py").write_text("SIZE = 1\n")  # shows results only
    assert run(package) == ("21", False) and run(package, HASH)[0] == before
    (package / "numbers.py").write_text("FACTOR = 3\n")
    assert run(package) == ("31", True) and run(package, HASH)[0] != before
    (package / "helper.py").write_text(HELPER.replace("FACTOR * x", "FACTOR * x * 10"))
    assert run(package) == ("301", True)
    copy = package.parent / "elsewhere" / "pkg"
    shutil.copytree(package, copy)
    cache = str(package.parent / "cache")
    assert run(copy, NUMBA_CACHE_DIR=cache) == ("301", False)
    assert len(source_hash()) == len(before) == 16


def test_a_folder_that_cannot_be_written_costs_time_only(package):
    (package.parent / "cache").write_text("a file")
    assert run(package) == ("21", False)
    assert run(package, NUMBA_DISABLE_JIT="1") == ("21", False)


# --- commit -----------------------------------------------------------------------------------

FILTERED = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and later


def git(folder, *arguments):
    """Run git as a user without settings; returns what it prints."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    environment = {**os.environ, **settings}
    return subprocess.run(
        ["git", *names, *arguments], cwd=folder, env=environment, stdout=-1, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with the files of this one that tell a commit, and a package of one module."""
    folder = tmp_path / "checkout"
    (folder / "dsgkit" / "system").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", ".gitattributes", "README.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("system/files.py", COMMIT_FILE):
        shutil.copy(PACKAGE / name, folder / "dsgkit" / name)
    (folder / "dsgkit" / "__init__.py").write_text("")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


def test_a_checkout_and_an_export_of_it_are_at_its_commit(checkout, tmp_path, monkeypatch):
    commit = git(checkout, "rev-parse", "HEAD")[:12]
    git(checkout, "archive", "--output", tmp_path / "export.tar", "HEAD")
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", **FILTERED)
    git(checkout, "tag", "--annotate", "v1", "--message", "One")  # does not take its place
    git(checkout, "worktree", "add", "--quiet", "--detach", tmp_path / "beside")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    places = (tmp_path / "export", checkout, tmp_path / "beside")
    assert [commit_of(place / "dsgkit") for place in places] == [commit] * 3
    (checkout / "dsgkit" / "__init__.py").write_text("changed = True\n")
    assert commit_of(checkout / "dsgkit") == commit + CHANGED_SUFFIX


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
    shutil.unpack_archive(file, into / "unpacked", "zip" if target == "wheel" else "gztar")
    return into / "unpacked" if target == "wheel" else next((into / "unpacked").iterdir())


@pytest.mark.slow
def test_what_is_built_of_a_checkout_knows_its_commit(checkout, tmp_path):
    commit = commit_of(checkout / "dsgkit")
    sdist = build(checkout, "sdist", tmp_path / "sdist")
    assert commit_of(sdist / "dsgkit") == commit
    again = build(sdist, "wheel", tmp_path / "again")
    assert commit_of(again / "dsgkit") == commit
    (checkout / "dsgkit" / "__init__.py").write_text("changed = True\n")
    wheel = build(checkout, "wheel", tmp_path / "wheel")
    assert commit_of(wheel / "dsgkit") == commit + CHANGED_SUFFIX


# --- files ------------------------------------------------------------------------------------


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_content_is_on_disk_before_the_name_and_then_the_folder(tmp_path, monkeypatch):
    path, synced, original = tmp_path / "file", [], os.fsync

    def watch(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, path.exists() and path.read_bytes()))
        original(descriptor)

    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", watch)
    write_atomically(path, lambda file: file.write(b"new"))
    assert synced == [(False, b"old"), (True, b"new")]
    assert names(tmp_path) == ["file"]
    with pytest.raises(OSError, match="no regular file"):
        write_atomically(tmp_path, lambda file: file.write(b"new"))


@pytest.mark.parametrize("place", ["write", "fsync", "replace"])
def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, place):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if place != "write":
            patch.setattr(*((os, "fsync") if place == "fsync" else (Path, "replace")), fail)
        with pytest.raises(KeyboardInterrupt):
            write_atomically(path, fail if place == "write" else lambda file: file.write(b"new"))
    assert names(tmp_path) == ["file"] and path.read_bytes() == b"old"


def test_folder_names_stay_in_their_folder(tmp_path):
    known = {"codrna": "codrna", "Été 1.csv": "Été 1.csv", "..": "_.", "../up": "_._up"}
    for name, expected in (known | {"/root": "_root", "a\\b\x00c\nd": "a_b_c_d"}).items():
        assert folder_name(name) == expected
        assert (tmp_path / expected).resolve().parent == tmp_path.resolve()


# --- memory, threads, progress ----------------------------------------------------------------


def test_the_limit_is_a_share_of_what_is_available(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(machine, "_processes", 1)
    monkeypatch.setattr(machine, "_most", math.inf)
    available = psutil.virtual_memory().available
    assert 0.7 * available < machine.memory_limit() < 0.9 * available
    machine.constrain_memory(4, None)
    assert 1000 < machine.memory_limit() < 0.25 * available
    machine.constrain_memory(4, 1000)
    assert machine.memory_limit() == 1000
    machine.constrain_memory(1, None)
    for limit, expected in (("1000", 480), ("300", 0)):  # of a container
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text("400\n")
        assert machine.memory_limit() == expected


def test_threads_are_as_before_a_block():
    def counts():
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return numba.get_num_threads(), max(blas)

    before = counts()
    with kept_threads():
        set_threads(1, 1)
        assert counts() == (1, 1)
    assert counts() == before


def test_parts_of_parts_add_up_to_the_whole():
    seen = []
    report(0.5)
    with listening(seen.append):
        with part(0, 0.5):
            report(0.5)
            with part(0.5, 1):
                report(0.5)
        with part(0.5, 1):
            report(0.2)
    report(0.3)
    assert seen == [0.25, 0.375, 0.5, 0.5, 0.6, 1.0]
