"""The machine: compiled code, commit and sources, memory maps, files, memory, threads, progress."""

import math
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numba
import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_info

import dsgkit
from dsgkit.numerics import rows as rows_module
from dsgkit.numerics.rows import read_rows
from dsgkit.system import memory
from dsgkit.system.commit import CHANGED_SUFFIX, FILE, commit_of, source_hash
from dsgkit.system.files import (
    folder_name,
    read_arrays,
    temporary_folder,
    write_atomically,
)
from dsgkit.system.progress import Bar, listening, part, report
from dsgkit.system.threads import kept_threads, set_threads

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


def test_a_checkout_and_an_export_of_it_are_at_its_commit(checkout, tmp_path, monkeypatch):
    commit = git(checkout, "rev-parse", "HEAD")[:12]
    git(checkout, "archive", "--output", tmp_path / "export.tar", "HEAD")
    with tarfile.open(tmp_path / "export.tar") as archive:
        archive.extractall(tmp_path / "export", **FILTERED)
    assert commit_of(tmp_path / "export" / "dsgkit") == commit
    assert commit_of(checkout / "dsgkit") == commit
    git(checkout, "tag", "--annotate", "v1", "--message", "One")  # does not take its place
    assert commit_of(checkout / "dsgkit") == commit
    git(checkout, "worktree", "add", "--quiet", "--detach", tmp_path / "beside")
    assert commit_of(tmp_path / "beside" / "dsgkit") == commit
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert commit_of(checkout / "dsgkit") == commit
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
    if target == "wheel":
        shutil.unpack_archive(file, into / "unpacked", "zip")
        return into / "unpacked"
    with tarfile.open(file) as archive:
        archive.extractall(into / "unpacked", **FILTERED)
    return next((into / "unpacked").iterdir())


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


def test_the_hash_of_the_sources_changes_with_all_but_what_shows_results(package):
    code = "from pkg.system.commit import source_hash; print('result', source_hash())"
    before, _ = run(package, code)
    (package / "report" / "page.py").write_text("SIZE = 1\n")
    assert run(package, code)[0] == before
    (package / "helper.py").write_text(HELPER + "# a comment\n")
    assert run(package, code)[0] != before
    assert len(source_hash()) == len(before) == 16


# --- memory maps ------------------------------------------------------------------------------

INDICES = {
    "slice": slice(3, 700),
    "all": slice(None),
    "steps": slice(900, 10, -7),
    "backwards": slice(None, None, -1),
    "empty": slice(5, 5),
    "positions": np.array([5, 999, 5, 0, 17] * 9),
    "none": np.array([], np.int64),
    "from the end": np.array([-1, 3, -5]),
}


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file whose map counts as large, and its rows."""
    monkeypatch.setattr(rows_module, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(rows_module, "_BLOCK_BYTES", 20_000)
    rows = np.random.default_rng(0).random((20_000, 5), dtype=np.float32)
    np.save(tmp_path / "X.npy", rows)
    return tmp_path / "X.npy", rows


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("kind", ["array", "float64", "map", "part of a map", "copy on write"])
def test_rows_are_those_of_plain_indexing(large, name, kind):
    path, rows = large
    table = {
        "array": rows,
        "float64": rows.astype(np.float64),
        "part of a map": np.load(path, mmap_mode="r")[1000:],
        "copy on write": np.load(path, mmap_mode="c"),
    }.get(kind, np.load(path, mmap_mode="r"))
    if kind == "copy on write":
        table[7] = 5
    expected = np.array(table[INDICES[name]], np.float32)
    read = read_rows(table, INDICES[name])
    np.testing.assert_array_equal(read, expected)
    assert type(read) is np.ndarray and read.dtype == np.float32
    assert read.flags.c_contiguous and read.flags.owndata
    assert kind != "copy on write" or (table[7] == 5).all()


def resident(path):
    """Bytes of a file's mapping that are in this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(str(path)))
    return 1024 * int(next(line for line in lines if line.startswith("Rss:")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux only")
@pytest.mark.parametrize("index", [slice(None), np.arange(19_999, -1, -3)])
def test_a_read_leaves_nothing_of_a_map_in_memory(large, index):
    path, _ = large
    table = np.load(path, mmap_mode="r")
    read_rows(table[:], index)
    assert resident(path) == 0
    table[index].sum()
    assert resident(path) > 100_000


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


def test_only_temporary_folders_that_nobody_touches_any_more_are_removed(tmp_path):
    long_ago = (time.time() - 2 * 24 * 3600,) * 2
    for name in (".part-dead", ".part-alive", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        if name != ".part-alive":
            os.utime(tmp_path / name / "file", long_ago)
        os.utime(tmp_path / name, long_ago)  # the folder of a living one may be as old
    with temporary_folder(tmp_path, ".part-") as folder:
        assert names(tmp_path) == sorted([".part-alive", "other", folder.name])
    assert names(tmp_path) == [".part-alive", "other"]


def test_arrays_are_read_and_anything_else_is_one_line(tmp_path):
    written = {"a": np.arange(6).reshape(2, 3).T, "b": np.array("text"), "c": np.zeros((0, 4))}
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **written)
    for name, array in read_arrays(path).items():
        np.testing.assert_array_equal(written.pop(name), array)
    assert not written
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    (tmp_path / "cut.npz").write_bytes(path.read_bytes()[:-40])
    (tmp_path / "empty.npz").touch()
    for name in ("objects.npz", "cut.npz", "empty.npz", "."):
        with pytest.raises(ValueError, match=r"^.+$"):
            read_arrays(tmp_path / name)


# --- memory, threads, progress ----------------------------------------------------------------


def test_the_limit_is_a_share_of_what_is_available(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory, "_processes", 1)
    monkeypatch.setattr(memory, "_most", math.inf)
    available = psutil.virtual_memory().available
    assert 0.7 * available < memory.memory_limit() < 0.9 * available
    memory.constrain_memory(4, None)
    assert 1000 < memory.memory_limit() < 0.25 * available
    memory.constrain_memory(4, 1000)
    assert memory.memory_limit() == 1000
    memory.constrain_memory(1, None)
    for limit, expected in (("1000", 480), ("300", 0)):  # of a container
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text("400\n")
        assert memory.memory_limit() == expected


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


@pytest.mark.parametrize("terminal", [False, True])
def test_a_bar_shows_on_a_terminal_alone(monkeypatch, capsys, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    with Bar("rows [3]", 4) as bar:
        bar.update(1)
        bar.show(2)
    shown = capsys.readouterr()
    assert ("rows [3]" in shown.err) is terminal
    assert ("50%" in shown.err) is terminal
    assert shown.out == "" and (terminal or shown.err == "")
