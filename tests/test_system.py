"""The machine: compiled code, commit and sources, files, memory, threads, progress."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import psutil
import pytest
from threadpoolctl import threadpool_info

import dsgkit
from dsgkit.system import files, machine
from dsgkit.system.progress import listening, part, report

PACKAGE = Path(dsgkit.__file__).parent
ROOT = PACKAGE.parent

KERNEL = """
from dsgkit import numbers
from dsgkit.system.jit import fast

@fast
def kernel(x):
    return numbers.FACTOR * x + 1
"""
CALL = "from dsgkit.kernel import kernel; print(kernel(10))"
IN_A_WORKER = f"""
from multiprocessing import get_context
worker = get_context("spawn").Process(target=exec, args=({CALL!r},))
worker.start(); worker.join()
"""
HASH = "from dsgkit.system.files import source_hash; print(source_hash())"


@pytest.mark.slow
def test_an_edit_in_another_file_is_noticed_and_otherwise_nothing_compiled_twice(tmp_path):
    package, cache = tmp_path / "here" / "dsgkit", tmp_path / "cache"
    shutil.copytree(PACKAGE / "system", package / "system")
    (package / "report").mkdir()

    def run(code=CALL, package=package, **more):
        """Return the printed result, whether code was stored, and how often this was said."""
        more |= {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DEBUG_CACHE": "1"}
        more |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        command, environment = [sys.executable, "-c", code], {**os.environ, **more}
        ended = subprocess.run(
            command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        said = ended.stderr.count("compiles its numerical code")
        return ended.stdout.splitlines()[-1], "data saved" in ended.stdout, said

    for name, text in {"__init__": "", "kernel": KERNEL, "numbers": "FACTOR = 2\n"}.items():
        (package / f"{name}.py").write_text(text)
    assert run() == ("21", True, 1)
    before, *_ = run(HASH)
    (package / "report" / "page.py").write_text("SIZE = 1\n")  # shows results only
    assert run() == ("21", False, 0) and run(HASH)[0] == before
    (package / "numbers.py").write_text("FACTOR = 3\n")
    assert run(IN_A_WORKER) == ("31", True, 0) and run(HASH)[0] != before
    copy = tmp_path / "elsewhere" / "dsgkit"
    shutil.copytree(package, copy)
    assert run(package=copy) == ("31", False, 0)
    assert len(files.source_hash()) == len(before) == 16
    shutil.rmtree(cache)
    cache.write_text("a file")  # a folder that cannot be written costs time only
    assert run() == ("31", False, 0) == run(NUMBA_DISABLE_JIT="1")


FORKS = """
import multiprocessing
import numpy as np
from sklearn.base import clone
import dsgkit

X = np.random.default_rng(0).random((400, 4))
y = (X[:, 0] + X[:, 1] > 1).astype(int)
models = [dsgkit.QSGS2AUC(n_iterations=40, n_features=24, batch_size=16), dsgkit.BSGDLMOC()]

def values(model):
    return model.decision_function(X)

def refit(model):
    return values(clone(model).fit(X, y))

fitted = [clone(model).fit(X, y) for model in models]
expected = [values(model) for model in fitted]
with multiprocessing.get_context("fork").Pool(2) as pool:
    for made in (pool.map(values, fitted), pool.map(refit, models)):
        np.testing.assert_allclose(made, expected, rtol=1e-12)
print("equal")
"""


@pytest.mark.slow
def test_processes_forked_after_a_fit_predict_and_fit_as_their_parent():
    command = [sys.executable, "-W", "error", "-c", FORKS]
    assert subprocess.check_output(command, text=True, timeout=300) == "equal\n"


def git(folder, *arguments):
    """Run git as a user without settings; returns what it prints."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    command, environment = ["git", *names, *arguments], {**os.environ, **settings}
    return subprocess.check_output(command, cwd=folder, env=environment, text=True).strip()


def build(folder, target):
    """Build a wheel or an sdist with hatchling; returns its folder, unpacked."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", "out"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (file,) = (folder / "out").iterdir()
    shutil.unpack_archive(file, folder / "in", "zip" if target == "wheel" else "gztar")
    return folder / "in" if target == "wheel" else next((folder / "in").iterdir())


@pytest.mark.slow
def test_checkouts_and_what_is_made_of_them_know_their_commit_and_a_plain_copy_has_none(
    tmp_path, monkeypatch
):
    checkout = tmp_path / "checkout"
    package = checkout / "dsgkit"
    (package / "system").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", ".gitattributes", "README.md"):
        shutil.copy(ROOT / name, checkout)
    for name in ("system/files.py", files.COMMIT_FILE):
        shutil.copy(PACKAGE / name, package / name)
    (package / "__init__.py").write_text("")
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "All")
    commit = git(checkout, "rev-parse", "HEAD")[:12]
    git(checkout, "archive", "--format", "zip", "--output", tmp_path / "export.zip", "HEAD")
    shutil.unpack_archive(tmp_path / "export.zip", tmp_path / "export")
    git(checkout, "tag", "--annotate", "v1", "--message", "One")  # does not take its place
    git(checkout, "worktree", "add", "--quiet", "--detach", tmp_path / "beside")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        places = (tmp_path / "export", checkout, tmp_path / "beside")
        assert [files.commit_of(place / "dsgkit") for place in places] == [commit] * 3
        (package / "__init__.py").write_text("changed = True\n")
        assert files.commit_of(package) == commit + files.CHANGED_SUFFIX
    copy = tmp_path / "users" / "copy"
    shutil.copytree(package, copy / "dsgkit")
    assert files.commit_of(copy / "dsgkit") is None
    for root in (copy.parent, copy):  # inside of a repository of the user, and at its root
        git(root, "init", "--quiet")
        (root / "own.py").write_text("x = 1\n")
        git(root, "add", "own.py")
        git(root, "commit", "--quiet", "--message", "Own")
        assert files.commit_of(copy / "dsgkit") is None
    pytest.importorskip("hatchling")
    sdist = build(checkout, "sdist")
    wheel = build(sdist, "wheel")
    assert [files.commit_of(one / "dsgkit") for one in (sdist, wheel)] == [
        commit + files.CHANGED_SUFFIX
    ] * 2


def test_a_file_is_whole_on_disk_before_its_name_and_a_failure_leaves_the_old_one(
    tmp_path, monkeypatch
):
    path, synced, original = tmp_path / "file", [], os.fsync

    def watch(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append((is_folder, path.read_bytes()))
        original(descriptor)

    def fail(*_):
        raise KeyboardInterrupt

    path.write_bytes(b"old")
    for owner, name in ((None, ""), (os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            if owner is not None:
                patch.setattr(owner, name, fail)
            files.write_atomically(path, fail if owner is None else lambda file: file.write(b"new"))
        assert [file.name for file in tmp_path.iterdir()] == ["file"]
        assert path.read_bytes() == b"old"
    monkeypatch.setattr(os, "fsync", watch)
    files.write_atomically(path, lambda file: file.write(b"new"))
    assert synced == [(False, b"old"), (True, b"new")]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    with pytest.raises(OSError, match="no regular file"):
        files.write_atomically(tmp_path, lambda file: file.write(b"new"))


def test_folder_names_stay_in_their_folder():
    known = {"codrna": "codrna", "Été 1.csv": "Été 1.csv", "..": "_.", "../up": "_._up"}
    for name, expected in (known | {"/root": "_root", "a\\b\x00c\nd": "a_b_c_d"}).items():
        assert files.folder_name(name) == expected


def test_the_limit_is_a_share_of_what_is_available(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))

    def limit(processes=1, most=None):
        machine.constrain_memory(processes, most)
        return machine.memory_limit()

    assert (limit(), limit(4), limit(4, 1000), limit()) == (8000, 2000, 1000, 8000)
    for of_container, expected in (("1000", 480), ("300", 0), ("max", 8000)):
        (tmp_path / "memory.max").write_text(f"{of_container}\n")
        (tmp_path / "memory.current").write_text("400\n")
        assert machine.memory_limit() == expected


def test_threads_are_those_of_the_process_and_as_before_a_block(monkeypatch):
    def counts():
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return numba.get_num_threads(), max(blas)

    before = counts()
    with machine.kept_threads():
        machine.set_threads(1, 1)
        assert counts() == (1, 1)
    assert counts() == before
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    found = {}
    for most in ("", "2", "8", "0", "two"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", most)
        found[most] = machine.available_threads()
    assert found == {"": 3, "2": 2, "8": 3, "0": 3, "two": 3}


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
