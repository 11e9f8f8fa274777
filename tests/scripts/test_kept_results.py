"""Results that are kept are read as they are, and computed again."""

import contextlib
import itertools
import lzma
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dsgkit.cli import cli
from dsgkit.experiment.results import load_results
from dsgkit.experiment.store import seal, unseal
from tests.conftest import cells_in_this_process, write_toy
from tests.scripts.conftest import SCRIPTS, invoke

ROOT = SCRIPTS.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two trials, and its copy, which no test changes."""
    place = tmp_path_factory.mktemp("run")
    toy, out = write_toy(place), place / "results"
    with cells_in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_CACHE", str(place / "cache"))
        patch.syspath_prepend(SCRIPTS)
        less = ("--set=solvers.qsg_s2auc=null", "--set=solvers.pnu_auc=null", "--name=toy")
        invoke(cli, "run", toy, "--once", "--out", out, *less)
        main = runpy.run_path(str(SCRIPTS / "keep_results.py"))["main"]
        invoke(main, out / toy.stem, "--out", place / "kept")
    return out / toy.stem, place / "kept" / toy.stem


@pytest.fixture
def copy(run, tmp_path):
    """The kept results of the run, to be changed."""
    return Path(shutil.copytree(run[1], tmp_path / "kept" / "toy"))


@pytest.mark.slow
def test_kept_results_are_the_same(run):
    folder, copy = run
    assert load_results(copy).cells.equals(load_results(folder).cells)
    assert {path.suffix for path in (copy / "figures").iterdir()} == {".png"}
    for table in (copy / "tables").iterdir():
        assert table.read_bytes() == (folder / "tables" / table.name).read_bytes()


@pytest.mark.slow
def test_reports_of_kept_results_are_written_again(copy, script):
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    (copy / "tables" / "old_table.md").write_text("of an earlier release")
    (copy / "figures" / "auc_curve.png").write_bytes(b"")
    no_run = copy.parent / "studies"
    (no_run / "tables").mkdir(parents=True)
    done = invoke(script("keep_results")["main"], "--again", copy, no_run)
    assert done.output == f"{copy}\n"
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert (no_run / "tables").exists()


@pytest.mark.slow
def test_git_ignores_what_commands_write_into_kept_folders(run):
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a checkout, or no git")

    def files(folder):
        found = (path for part in ("tables", "figures") for path in (folder / part).iterdir())
        return {f"results/reference/x/{path.relative_to(folder)}" for path in found}

    written, copied = map(files, run)
    left_out = {*(written - copied), "results/reference/x/report.html"}
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "check-ignore"]
    done = subprocess.run([*command, *left_out, *copied], capture_output=True, text=True)
    assert {*done.stdout.splitlines()} == left_out


class Killed(BaseException):
    """Stands for a process that is killed."""


def killed_at(moment):
    """Return how to wrap a function: the call of all wrapped ones before which there is an end."""
    calls = itertools.count()

    def wrapped(function):
        def call(*arguments, **settings):
            if next(calls) == moment:
                raise Killed
            return function(*arguments, **settings)

        return call

    return wrapped


def write(folder, text):
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / name).write_text(text)


def text_in(folder):
    """Return what is in both files of a folder; None of one that is not complete."""
    files = [folder / name for name in ("a", "b")]
    texts = {file.read_text() if file.is_file() else None for file in files}
    return texts.pop() if len(texts) == 1 else None


@pytest.mark.parametrize("moment", range(8))
def test_a_kill_leaves_a_complete_folder(script, tmp_path, monkeypatch, moment):
    replace, new, old = (script("keep_results")[name] for name in ("replace", "NEW", "OLD"))
    target, there = tmp_path / "kept", [tmp_path / "kept", tmp_path / old / "kept"]
    write(target, "old")
    write(tmp_path / new / "kept", "new")
    wrapped = killed_at(moment)
    with monkeypatch.context() as patched, contextlib.suppress(Killed):
        for owner, name in ((Path, "rename"), (Path, "rmdir"), (shutil, "rmtree")):
            patched.setattr(owner, name, wrapped(getattr(owner, name)))
        replace(target, tmp_path / new / "kept")
    assert {text_in(one) for one in there if one.exists()} & {"old", "new"}
    if not (tmp_path / new / "kept").exists():
        write(tmp_path / new / "kept", "new")
    replace(target, tmp_path / new / "kept")
    assert text_in(target) == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_copy_that_fails_leaves_the_kept_folder_as_it_was(script, tmp_path):
    write(tmp_path / "run", "no results")
    write(tmp_path / "kept" / "run", "old")
    main = script("keep_results")["main"]
    invoke(main, tmp_path / "run", "--out", tmp_path / "kept", code=1)
    assert text_in(tmp_path / "kept" / "run") == "old"


@pytest.mark.slow
def test_cells_are_computed_again_and_a_wrong_number_is_found(copy, script, in_process):
    main = script("check_reference")["main"]
    done = invoke(main, copy, "--cells", 100)
    number = len(load_results(copy).records)
    assert f"{number} cells of 1 folders computed again, {number} identical" in done.output
    packed = copy / "cells.jsonl.xz"
    lines = lzma.decompress(packed.read_bytes()).splitlines(keepends=True)
    record = unseal(lines[-1])
    record.pop("check", None)
    record["scores"]["auc"] -= 0.01
    packed.write_bytes(lzma.compress(b"".join([*lines[:-1], seal(record)])))
    done = invoke(main, copy, "--cells", 100, code=1)
    assert re.search(r"1 different\n.*fit, trial 2.*: differs by 0\.01\n", done.output)


@pytest.mark.slow
def test_a_listed_cell_that_is_not_identical_any_more_is_told(copy, study, in_process, tmp_path):
    main, names = study("check_reference")
    names["LISTED"] = tmp_path / "listed.txt"
    invoke(main, copy, "--every", "--write")
    lines = names["LISTED"].read_text().splitlines()
    solvers = {record["solver"] for record in load_results(copy).records}
    assert len(solvers) < len(lines) <= 2 * len(solvers)
    assert {line.split()[0] for line in lines} == {"0"}
    assert f"{len(lines)} cells computed again, 0 changed" in invoke(main, copy, "--every").output
    fit = next(line for line in lines if " fit, " in line).split()[2]
    packed = copy / "cells.jsonl.xz"
    records = lzma.decompress(packed.read_bytes()).splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(records) if fit in line.decode())
    record = unseal(records[place])
    record.pop("check", None)
    record["scores"]["auc"] -= 1e-9
    packed.write_bytes(lzma.compress(b"".join([*records, seal(record)])))
    done = invoke(main, copy, "--every", code=1)
    assert re.search(r"^1e-09 .*, 0 when listed$", done.output, re.MULTILINE)


@pytest.mark.slow
def test_some_of_the_kept_cells_are_what_they_were(script, in_process):
    kept = SCRIPTS.parent / "results" / "reference" / "layers_5_ordinal_labels"  # generated rows
    done = invoke(script("check_reference")["main"], kept, "--cells", 3)
    assert "3 cells of 1 folders computed again" in done.output


@pytest.mark.parametrize("level", [0, 100, -100], ids=["a boundary", "all inside", "all outside"])
def test_what_is_kept_of_a_domain_draws_the_same(script, level):
    """Its region and its contour, as matplotlib finds them in both."""
    x = np.linspace(-3, 3, 40)
    f = (np.sin(2 * x)[:, None] * np.cos(x) - 0.2 + level).astype(np.float32)
    kept = script("keep_results")["contour_of"](f)
    assert ((kept >= 0) == (f >= 0)).all()
    if level == 0:  # else there is no contour, and matplotlib warns
        axes = plt.figure().subplots()
        expected, found = (axes.contour(one, levels=[0]) for one in (f.astype(np.float16), kept))
        assert len(expected.get_paths()[0].vertices) > 20
        np.testing.assert_array_equal(
            found.get_paths()[0].vertices, expected.get_paths()[0].vertices
        )
        plt.close("all")
