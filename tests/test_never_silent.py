"""Faults that once gave wrong results without a word; no rewrite may bring one back.

One test per fault. They use estimators, the command line and `load_results`, so that they hold
whatever the files inside are called.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import dsgkit
from dsgkit import load_results
from dsgkit.errors import DataError, DsgError, DsgWarning

PACKAGE = Path(dsgkit.__file__).parent

# --- estimators -------------------------------------------------------------------------------

OF_PAIRS = ["SUSL", "SUDH", "CUU", "TSGSU", "RFFSUSL"]
EXACT = ["SAMULT", "PNUAUC", "SupervisedSVM", "S3VMLight", "KernelRidgeOrdinal", "SVORIM"]
EXACT += ["NystromS2AUC", "BGS3VM", "ExactS2OR"]
OF_FEATURES = ["RFFS2AUC", "QSGS2AUC", "QSGS2AUCP", "TSGS3VM", "FRS3VM", "RFFS2OR", "QS3ORAO"]
SMALL = {"n_features": 64, "batch_size": 16, "prior": 0.8, "n_iterations": 20, "n_blocks": 2}

near_half = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")


def small(name):
    """Return an estimator that trains fast."""
    model = getattr(dsgkit, name)()
    known = model.get_params()
    return model.set_params(**{key: value for key, value in SMALL.items() if key in known})


def fitted(model, X, y, U):
    """Fit an estimator of any setting; similar pairs are rows of one class."""
    name = type(model).__name__
    if name in OF_PAIRS:
        order = np.argsort(y, kind="stable")
        first, second = order[0::2], order[1::2]
        pairs = np.stack([X[first], X[second]], axis=1)
        return model.fit(pairs[y[first] == y[second]], U)
    return model.fit(X, y) if name == "SupervisedSVM" else model.fit(X, y, U)


def few_rows():
    """Return rows of multiples of 2^-10, whose differences are exact with an offset, too."""
    rng = np.random.default_rng(1)
    X, U = (np.round(rng.random((n, 3)) * 1024) / 1024 for n in (40, 60))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0.5, 1, -1), U


@near_half
@pytest.mark.parametrize("name", [*EXACT, *OF_FEATURES, *OF_PAIRS])
def test_an_offset_of_rows_or_of_a_column_changes_nothing_or_is_refused(name):
    X, y, U = few_rows()
    expected = fitted(small(name), X, y, U).decision_function(U)
    assert np.ptp(expected) > 0
    for offset in (1e3, 1e5, 1e8):
        for moved in (np.full(3, offset), np.array([0, offset, 0])):
            try:
                model = fitted(small(name), X + moved, y, U + moved)
                got = model.decision_function(U + moved)
            except DataError as error:
                assert "too large" in str(error) and name not in EXACT
            else:
                np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(expected).max())


@near_half
@pytest.mark.parametrize("far", [1e5, 1e8, 1e14])
@pytest.mark.parametrize("name", ["SAMULT", "SupervisedSVM", "SUDH", *OF_FEATURES, "RFFSUSL"])
def test_a_far_row_has_the_value_of_rows_without_neighbours_or_is_refused(name, far):
    """Exact solvers know this value; random features of such a row are only noise."""
    model = fitted(small(name), *few_rows())
    if name in OF_FEATURES or name == "RFFSUSL":
        with pytest.raises(DataError, match="too large"):
            model.decision_function(np.array([[0.5, far, 0.5]]))
    else:
        values = model.decision_function(np.array([[0.5, far, 0.5], [50.0, 50.0, 50.0]]))
        assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.fixture(scope="module")
def digits():
    """Rows of 3s and 5s in three scalings; their class; which 50 are labelled."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 5))
    X, y = X[kept], np.where(y[kept] == 3, 1, -1)
    labeled, others = np.split(np.random.default_rng(0).permutation(len(y)), [50])
    return {"raw": X, "standardised": scale(X), "unit": X / 16}, y, labeled, others


@pytest.mark.parametrize("scaling", ["raw", "standardised", "unit"])
@pytest.mark.parametrize("name", ["SAMULT", "QSGS2AUC", "SupervisedSVM", "TSGS3VM", "SVORIM"])
def test_the_default_width_suits_digits_in_any_scaling(digits, name, scaling):
    rows, y, labeled, others = digits
    X = rows[scaling]
    model = fitted(getattr(dsgkit, name)(), X[labeled], y[labeled], X[others])
    peer = SVC().fit(X[labeled], y[labeled])
    auc, of_peer = (
        roc_auc_score(y[others], one.decision_function(X[others])) for one in (model, peer)
    )
    assert auc > of_peer - 0.01


@pytest.mark.parametrize("name", OF_PAIRS)
def test_a_prior_of_one_half_is_refused_and_one_near_it_warned_of(name):
    rng = np.random.default_rng(0)
    of_pairs, of_rows = rng.random((100, 1, 1)) < 0.63, rng.random((200, 1)) < 0.63
    pairs = rng.normal(size=(100, 2, 3)) + 2.5 * of_pairs
    rows = rng.normal(size=(200, 3)) + 2.5 * of_rows
    for prior in (0.5, 0.5 + 9e-7, 0.5 - 9e-7):
        with pytest.raises(DataError, match="prior must differ from 1/2"):
            small(name).set_params(prior=prior).fit(pairs, rows)
    for prior in (0.5 + 2e-6, 0.499, 0.51):
        with pytest.warns(DsgWarning, match=f"prior {prior:g} is so close to 1/2"):
            try:
                small(name).set_params(prior=prior).fit(pairs, rows)
            except DsgError as error:
                assert "diverged" in str(error)


def test_pairs_that_say_nothing_of_the_prior_are_not_learnt_from_in_silence():
    rng = np.random.default_rng(0)
    pairs, rows = rng.normal(size=(40, 2, 3)), rng.normal(size=(99, 3))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            dsgkit.SUSL(prior="estimate").fit(pairs, rows)
        except DsgError as error:
            assert "prior" in str(error)
        else:
            assert any("prior" in str(one.message) for one in said)


# --- processes --------------------------------------------------------------------------------


def python(folder, *arguments, **environment):
    """Run Python in a folder, with modules of this project and of the folder; its output."""
    own = {
        "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGE.parent)]),
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second would not be noticed
        "DSGKIT_CACHE": str(folder / "cache"),
        "DSGKIT_OFFLINE": "1",
        "DSGKIT_ONCE": "1",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    return done.stdout + done.stderr


COMPILED = "from pkg.system.jit import fast\n\n@fast\ndef kernel(x):\n    return 2 * x + 1\n"
VALUES = ["10", "0.5", "np.float32(0.5)", "np.int8(10)"]
COMPUTED = """
import time
from pathlib import Path
import numpy as np
from numba.core.caching import IndexDataCacheFile
from pkg.kernel import kernel

def meet(where, most):
    Path(where + "{me}").touch()
    deadline = time.monotonic() + most
    while not Path(where + "{other}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)

def slowed(save, seconds):
    def meet_and_save(*arguments):
        meet("saving", 2)
        time.sleep(seconds)
        save(*arguments)
    return meet_and_save

# of two that save at once, the second has the last word in the index, the first in the code
IndexDataCacheFile._save_index = slowed(IndexDataCacheFile._save_index, 0.3 * {me})
IndexDataCacheFile._save_data = slowed(IndexDataCacheFile._save_data, 0.6 * (1 - {me}))
meet("ready", 60)
print([kernel(x) == 2 * x + 1 for x in ({values})].count(True), "are right")
"""


def test_processes_that_compile_at_once_leave_right_code(tmp_path):
    """Each compiles for other types first; numba numbers the files of a function by them."""
    shutil.copytree(PACKAGE / "system", tmp_path / "pkg" / "system")
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "kernel.py").write_text(COMPILED)

    def compute(me):
        values = ", ".join(VALUES[2 * me :] + VALUES[: 2 * me])
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
        code = COMPUTED.format(values=values, me=me, other=1 - me)
        return python(tmp_path, "-c", code, **cache)

    with ThreadPoolExecutor(2) as pool:
        assert [text.splitlines()[0] for text in pool.map(compute, (0, 1))] == ["4 are right"] * 2
    assert len(list((tmp_path / "compiled").rglob("*kernel*.nbc"))) == 4
    assert compute(1) == "4 are right\n"


# --- runs of tiny experiments -----------------------------------------------------------------

OWN = """
import hashlib, json, warnings
from pathlib import Path
import numpy as np
from dsgkit.bases import PairwiseAUCEstimator

class Own(PairwiseAUCEstimator):
    def __init__(self, code="pass"):
        self.code = code

    def fit(self, X, y, X_unlabeled):
        arrays = [np.asarray(rows[:]) for rows in (X, y, X_unlabeled)]
        given = hashlib.sha256(b"".join(rows.tobytes() for rows in arrays)).hexdigest()
        seen = [len(X_unlabeled), given, np.geterr(), repr(warnings.filters)]
        with open(Path(__file__).with_name("log"), "a") as log:
            log.write(json.dumps([self.code, *seen]) + "\\n")
        if len(X_unlabeled) > 64:  # not in the rehearsal on a few rows
            exec(self.code)
        return self

    def decision_function(self, X):
        return np.asarray(X[:])[:, 0]
"""
WRITES = ("y *= -1", "y.sort()", "X[:] = 0", "X_unlabeled[:] = 0", "X_unlabeled.index[:] = 0")
RESET = "np.seterr(all='raise'); warnings.simplefilter('error')"

TASK = """
import json, warnings
from pathlib import Path
import numpy as np
from tests.experiment import own_task

class Leaving(own_task.Ridge):
    def fit(self, X, target):
        with open(Path(__file__).with_name("log"), "a") as log:
            log.write(json.dumps([np.geterr(), repr(warnings.filters)]) + "\\n")
        return super().fit(X, target)

def leave_behind(judge):
    def judged(*args, **kwargs):
        np.seterr(all="raise")
        warnings.simplefilter("error")
        return judge(*args, **kwargs)
    return judged

own_task.RidgeTask.judge = leave_behind(own_task.RidgeTask.judge)
"""

SIGNED = """
import numpy as np
from dsgkit.bases import PairwiseAUCEstimator
from of_{name} import SIGN

class Signed(PairwiseAUCEstimator):
    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return 1 * SIGN * np.asarray(X[:])[:, {column}]
"""


def run(folder, solvers=None, *options, **protocol):
    """Run an experiment, the same again without solvers: its fits by solver, and its output."""
    if solvers:
        rng = np.random.default_rng(0)
        X = np.round(rng.random((150, 3)), 5)
        y = np.where(X[:, 0] + 0.3 * rng.normal(size=150) > 0.5, 1, -1)
        seconds = 1_700_000_000 + np.argsort(np.argsort(X[:, 0]))  # the order of column 0
        rows = np.column_stack([X, seconds, y])
        np.savetxt(folder / "rows.csv", rows, "%.5f,%.5f,%.5f,%d,%d")
        config = {"dataset": {"path": "rows.csv", "loader": "delimited"}, "solvers": solvers}
        config |= {"protocol": protocol, "outputs": [], "threads": 2}
        (folder / "c.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    out = python(folder, "-m", "dsgkit", "run", "c.yaml", *options)
    results = folder / "results" / "c"
    assert results.exists(), out
    return load_results(results).set_index("solver"), out


AUC = {"kind": "semi_supervised_auc", "labeled": 30, "scale": [0, 1]}


def run_of_rude_solvers(folder):
    """Run solvers that write into their arrays or change settings, and one that does neither."""
    (folder / "own.py").write_text(OWN)
    codes = [*WRITES, RESET, "pass"]
    solvers = {f"s{n}": {"kind": "own:Own", "params": {"code": c}} for n, c in enumerate(codes)}
    return run(folder, solvers, trials=2, **AUC)[0], logged(folder)


def run_of_a_task(folder):
    """Run a setting of one's own that changes settings whenever it judges."""
    (folder / "leaving.py").write_text(TASK)
    solvers = {f"s{n}": {"kind": "leaving:Leaving", "params": {"lam": 1.0 + n}} for n in (0, 1)}
    fits, _ = run(folder, solvers, kind="tests.experiment.own_task:RidgeTask", trials=2)
    return fits, logged(folder)


def runs_between_edits(folder):
    """Run one experiment as written, after edits of code, and after an edit of the data."""
    columns = {"first": 0, "second": 0, "third": 0, "late": 3}
    for name, column in columns.items():
        (folder / f"{name}.py").write_text(SIGNED.format(name=name, column=column))
        (folder / f"of_{name}.py").write_text("SIGN = 1\n")
    solvers = {name: {"kind": f"{name}:Signed", "label": name} for name in columns}
    written = run(folder, solvers, trials=1, **AUC)
    disturb(folder / "results" / "c" / "cells.jsonl")
    edit(folder / "first.py", "return 1 *", "return -1 *")
    edit(folder / "of_second.py", "1", "-1")
    code = run(folder)
    rows = folder / "rows.csv"
    times = rows.stat()
    edit(rows, ",-1\n", ",+2\n")
    edit(rows, ",1\n", ",0\n")
    os.utime(rows, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert rows.stat().st_size == times.st_size
    return {"as written": written, "other code": code, "other data": run(folder, None, "--fresh")}


def logged(folder):
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def disturb(cells):
    """Write into every stored fit that other processes disturbed it."""
    lines = []
    for line in cells.read_text().splitlines():
        record = json.loads(line)
        del record["check"]
        record["timing"] |= {"slowdown": 3.0, "disturbed": True}
        body = json.dumps(record, ensure_ascii=False)
        check = hashlib.sha256(body.encode()).hexdigest()[:12]
        lines.append(f'{body[:-1]}, "check": "{check}"}}\n')
    cells.write_text("".join(lines))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All runs, two at a time; each is waited for where it is used."""
    made = (runs_between_edits, run_of_rude_solvers, run_of_a_task)
    with ThreadPoolExecutor(2) as pool:
        yield {one.__name__: pool.submit(one, tmp_path_factory.mktemp("run")) for one in made}


def assert_no_settings_left(seen):
    assert {errors[name] for errors, _ in seen for name in ("divide", "invalid")} == {"warn"}
    assert len({filters for _, filters in seen}) == 1


def test_what_a_solver_writes_into_its_arrays_reaches_no_other_cell(runs):
    fits, log = runs["run_of_rude_solvers"].result()
    assert fits.loc[f"s{len(WRITES) + 1}", "status"].eq("ok").all()
    given = {}
    for _, n_rows, arrays, *_ in log:
        given.setdefault(n_rows, []).append(arrays)
    in_trials = given[max(given)]  # fits for warming up have fewer rows
    assert len(in_trials) == 2 * (len(WRITES) + 2)
    assert len(set(in_trials)) == 2


def test_settings_that_a_solver_leaves_behind_are_gone_in_the_next_cell(runs):
    _, log = runs["run_of_rude_solvers"].result()
    codes = [code for code, *_ in log]
    assert "pass" in codes[codes.index(RESET) :]
    assert_no_settings_left([settings for *_, settings in [(*one[:3], one[3:]) for one in log]])


def test_settings_that_a_task_leaves_behind_are_gone_in_the_next_cell(runs):
    fits, log = runs["run_of_a_task"].result()
    assert fits["status"].eq("ok").all()
    assert len(log) >= len(fits) == 4
    assert_no_settings_left(log)


def test_cells_are_computed_again_after_an_edit_of_code(runs):
    """Of a solver's own file, and of what this imports next to it; others are kept."""
    found = runs["runs_between_edits"].result()
    before, after = (found[name][0] for name in ("as written", "other code"))
    assert before.loc["third", "auc"] > 0.8
    for edited in ("first", "second"):
        assert after.loc[edited, "auc"] == pytest.approx(1 - before.loc[edited, "auc"])
    for column in ("auc", "key", "cell_seconds"):
        assert after.loc["third", column] == before.loc["third", column]


def test_an_edit_of_data_that_keeps_size_and_time_is_noticed(runs):
    """It exchanged the labels of the two classes."""
    found = runs["runs_between_edits"].result()
    before, after = (found[name][0].loc["third", "auc"] for name in ("other code", "other data"))
    assert after < 0.2 < 0.8 < before


def test_disturbed_times_are_said_and_nothing_is_claimed_of_them(runs):
    _, out = runs["runs_between_edits"].result()["other code"]
    assert "disturbed" in out
    claims = r"times as (fast|slow)|[Ff]astest|faster than|more slowly than"
    assert not re.search(claims, " ".join(out.split()))


def test_differences_that_single_precision_loses_are_kept_or_said(runs):
    """Seconds since 1970, in the order of column 0."""
    fits, out = runs["runs_between_edits"].result()["as written"]
    kept = fits.loc["late", "auc"] == pytest.approx(fits.loc["third", "auc"], abs=1e-3)
    assert kept or "difference" in out
