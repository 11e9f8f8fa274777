"""Results that are kept: what is read of them, going on with them, and computing cells again."""

import re
import runpy
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from dsgkit.cli import cli
from dsgkit.errors import ResultsError
from dsgkit.experiment import frames
from dsgkit.experiment.runs import load
from tests.conftest import cells_in_this_process, write_toy
from tests.scripts.conftest import KEPT, SCRIPTS, invoke


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two trials, and its kept form, which no test changes."""
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
    shutil.copytree(run[1].parent, tmp_path / "kept")
    return tmp_path / "kept" / "toy"


@pytest.mark.slow
def test_kept_results_are_the_same_are_kept_again_and_gone_on_with(
    run, copy, script, tmp_path, in_process
):
    """Unpacked, every record comes back with its key: only further trials are computed."""
    scope, before = script("keep_results"), {path: path.read_bytes() for path in copy.iterdir()}
    done = scope["unpacked"](copy, tmp_path)
    invoke(scope["main"], copy, "--out", copy.parent)
    assert {path: path.read_bytes() for path in copy.iterdir()} == before
    whole, kept, unpacked = (load(folder)[0] for folder in (*run, done))
    for one in (kept, unpacked):
        assert_frame_equal(one.fits, whole.fits)
        assert one.data == whole.data and one.task == whole.task
        assert {*one.environments} == {*whole.environments} and all(one.environments.values())
    names = ["key", "points", "fold_scores"]
    assert_frame_equal(unpacked.searches[names], whole.searches[names])
    again = ("run", run[0] / "config.yaml", "--once", "--out", tmp_path)
    assert "0 cells computed" in invoke(cli, *again).output
    more = invoke(cli, *again, "--set=protocol.trials=3").output
    assert f"{len(whole.recorded)} reused" in more and "0 cells computed" not in more
    with pytest.raises(ResultsError, match="has records already"):
        scope["unpacked"](copy, tmp_path)


@pytest.mark.parametrize("profile", ["-reference", "-full", ""])
def test_more_trials_replace_the_kept_ones(run, script, tmp_path, profile):
    shutil.copytree(run[0], tmp_path / f"toy{profile}")
    invoke(script("keep_results")["main"], tmp_path / f"toy{profile}", "--out", tmp_path / "kept")
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"environments", "toy"}


def test_a_copy_that_fails_leaves_the_kept_folder_as_it_was(script, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "kept" / "run").mkdir(parents=True)
    (tmp_path / "kept" / "run" / "old").write_text("old")
    invoke(script("keep_results")["main"], tmp_path / "run", "--out", tmp_path / "kept", code=1)
    assert (tmp_path / "kept" / "run" / "old").read_text() == "old"


@pytest.mark.slow
def test_cells_are_computed_again_and_a_wrong_number_is_found(copy, script, in_process):
    file = copy.parent / "listed.txt"

    def check(*options, code=0):
        scope = script("check_reference")
        scope["LISTED"] = file
        return invoke(scope["main"], copy, *options, code=code).output

    check("--write")
    lines = file.read_text().splitlines()
    (run,) = load(copy)
    assert len(run.names) < len(lines) <= 2 * len(run.names)
    assert {line.split()[0] for line in lines} == {"0"}
    key = next(line for line in lines if " fit, " in line).split()[2]
    # what a score is off by, and if drawn and listed cells are wrong then
    for by, drawn, listed in [(0, 0, 0), (-1e-9, 0, 1), (-0.01, 1, 1), (np.nan, 1, 1)]:
        table = run.fits.drop(columns=["name", "size", "level", "disturbed", "ending"])
        table.loc[table["key"] == key, "scores.auc"] += by
        (copy / frames.FILES.fits).write_bytes(frames.packed(table))
        every = {"--cells=100": (len(run.recorded), drawn), "--every": (len(lines), listed)}
        for option, (n, wrong) in every.items():
            done = check(option, code=wrong)
            assert f"{n} cells computed again, {n - (by != 0)} identical, {wrong} wrong" in done
            assert len(re.findall(rf"toy {key} .*: more than", done)) == wrong
    file.write_text(f"0 toy {32 * 'a'} A solver fit, trial 1\n")
    assert "not planned any more" in check("--every", code=1)


@pytest.mark.slow
def test_a_kept_run_is_what_it_was(script, in_process, tmp_path):
    """On generated rows; with searches whose points were not known when they were planned."""
    kept = KEPT / "layers_5_ordinal_labels"
    done = invoke(script("check_reference")["main"], kept, "--cells", 3)
    assert "3 cells computed again" in done.output
    config = script("keep_results")["unpacked"](kept, tmp_path) / "config.yaml"
    plan = " ".join(invoke(cli, "run", config, "--dry-run", "--out", tmp_path).output.split())
    assert re.search(r": (\d+) cells, each a search or a fit; \1 of them finished", plan)


def test_kept_folders_have_what_they_should_have_and_no_more():
    files = {"config.yaml", "task.json.xz", *frames.FILES, "pictures.npz.xz", "figures"}
    for config in KEPT.glob("*/config.yaml"):
        found = {path.name for path in config.parent.iterdir()}
        assert {"config.yaml", "task.json.xz", frames.FILES.fits} <= found <= files, config


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
