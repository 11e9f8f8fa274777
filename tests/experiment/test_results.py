"""Results folders: sealed records, one writer, what is read back and what is said of it."""

import lzma
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from dsgkit.config.schema import read_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment import frames
from dsgkit.experiment.folder import copy_records, describe, keep_environment, load_artefact
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.runs import distinct, load
from dsgkit.experiment.status import describe_endings, describe_status, duration
from dsgkit.experiment.store import CELLS, Store, check_writable, read_records, seal, unseal
from dsgkit.tasks.base import Axis
from tests.experiment.runs import keep_artefact, key_of, plan_text

A, B, C, D = map(key_of, "abcd")


SOLVERS = {key: {"params": {"sigma": 1.0}} for key in ("qsg_s2auc", "samult")}
PROTOCOL = {"kind": "semi_supervised_auc", "trials": 2}
CONFIG = {"name": "mine", "dataset": {"name": "digits"}, "protocol": PROTOCOL, "solvers": SOLVERS}
EXPERIMENT = read_experiment(CONFIG)
AT = {"unlabeled": 100}


def fit(key, **fields):
    return {
        **{"key": key_of(key), "kind": "fit", "solver": "qsg_s2auc", "label": "QSG-S2AUC"},
        **{"trial": 0, "at": AT, "status": "ok", "message": "", "full": True, "params": {}},
        **{"scores": {"auc": 0.75}, "times": {"load": 1.0, "fit": 2.5}},
    } | fields


def write(folder, plan, *records):
    """Write a results folder with a plan of fits, each a key with what is not as in the others."""
    (folder / "config.yaml").write_text(EXPERIMENT.to_yaml())
    (folder / "task.json").write_text(describe(EXPERIMENT).model_dump_json())
    (folder / "cells.jsonl").write_bytes(b"".join(map(seal, records)))
    common = {"kind": "fit", "solver": "qsg_s2auc", "trial": 0, "at": AT, "flops": 1}
    entries = [common | entry | {"key": key_of(entry["key"])} for entry in plan]
    (folder / "plan.json").write_text(plan_text(entries))


def fill(folder, *records, **options):
    with Store(folder, **options) as store:
        for each in records:
            store.append(each)
    return store


def test_a_seal_is_what_it_was_and_any_change_of_a_byte_breaks_it():
    line = seal({"key": "ä", "n": 1, "values": [0.5, None]})
    assert line == '{"key": "ä", "n": 1, "values": [0.5, null], "check": "b21e2ede03fc"}\n'.encode()
    assert unseal(line) == {"key": "ä", "n": 1, "values": [0.5, None]}
    for place in range(len(line)):
        assert unseal(line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]) is None
        assert unseal(line[:place]) is None
    with pytest.raises(ValueError, match="Out of range"):
        seal({"key": float("nan")})


def test_the_last_record_of_a_key_counts_and_is_on_disk_or_removed(tmp_path, monkeypatch):
    """Unreadable lines but a torn last one stay until they are set aside."""
    synced = []
    lines = [seal(fit("a", n=1)), b"no record\n", seal(fit("b")), seal(fit("a", n=2))]
    (tmp_path / CELLS).write_bytes(b"".join(lines) + seal(fit("d"))[:-9])
    assert read_records(tmp_path)[1] == [2]
    with Store(tmp_path) as store:
        assert store.records == {A: fit("a", n=2), B: fit("b")} and store.bad == [2]
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
            store.append(fit("c"))
            patch.setattr(os, "fsync", lambda fd: exit(1))
            with pytest.raises(SystemExit):
                store.append(fit("d"))
    whole = b"".join([*lines, seal(fit("c"))])
    assert (tmp_path / CELLS).read_bytes() == whole and synced == [len(whole)]
    assert fill(tmp_path, fresh=True).records == {}
    assert [p.read_bytes() for p in tmp_path.glob("cells-*.jsonl")] == [whole]


def test_a_folder_that_cannot_be_written_has_a_writer_or_is_kept_is_one_line(tmp_path):
    check_writable(tmp_path / "not" / "yet")
    assert not [*tmp_path.iterdir()]
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"^[^\n]*cannot write[^\n]*$"):
        Store(tmp_path / "file" / "results")
    match = rf"another run \(process {os.getpid()} on .*\) is writing"
    with Store(tmp_path), pytest.raises(ResultsError, match=match):
        Store(tmp_path)
    (tmp_path / CELLS).unlink()
    (tmp_path / "fits.csv.xz").write_bytes(b"")
    with pytest.raises(ResultsError, match=r"kept results; .*--unpack"):
        Store(tmp_path)


def test_finished_cells_of_neighbouring_folders_are_taken_over_with_their_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    environment = keep_environment(one, {"threads": 2})
    picture = keep_artefact(one, fit("a", artefact={"rows": [1]}, environment=environment))
    lost = fit("d", artefact="artefacts/lost.npz")
    fill(one, picture, fit("b"), fit("c", status="failed"), lost)
    shutil.copytree(one, tmp_path / "a_third")
    with Store(other) as store:
        store.append(fit("b", own=True))
        copy_records(store, [A, B, C, D])
    assert (other / CELLS).read_bytes() == seal(fit("b", own=True)) + seal(picture)
    for name in (picture["artefact"], f"environments/{environment}.json"):
        assert (other / name).read_bytes() == (one / name).read_bytes()


def test_what_a_record_is_of_is_for_the_plan_to_say(tmp_path, monkeypatch):
    """One may be of two solvers, each with its label; a solver not in the config has its own."""
    entries = [("a", "qsg_s2auc"), ("a", "samult"), ("a", "gone"), ("not yet", "samult")]
    plan = [{"key": key, "solver": solver, "trial": 2} for key, solver in entries]
    recorded = fit("a", solver="old name", label="recorded", environment="lost")
    write(tmp_path, plan, recorded, fit("b"))
    for name in ("estimators.catalogue.get", "tasks.base.get"):  # neither need be here
        monkeypatch.setattr(f"dsgkit.{name}", None)
    (run,) = load(tmp_path)
    fits = run.fits[run.fits["status"] != ""]
    assert [*fits["solver"], *fits["trial"].unique()] == [*SOLVERS, "gone", 2]
    assert fits["label"].tolist() == ["QSG-S2AUC", "SAMULT", "recorded"]
    assert (run.dataset, run.title, run.environments) == ("digits", "digits", {"lost": {}})
    assert run.names == {"qsg_s2auc": "QSG-S2AUC", "samult": "SAMULT", "gone": "recorded"}
    some = run.of(["samult", "unknown"])
    assert (len(some.fits), list(some.names)) == (2, ["samult"])
    assert run.fits["ending"].tolist() == ["ok"] * 3 + ["not yet run"]


def test_a_fit_stands_at_every_size_at_which_it_holds(tmp_path):
    plan = [{"key": "a", "also_at": [10, 20]}, {"key": "b"}, {"key": "c", "at": {"unlabeled": 50}}]
    search = fit("s", kind="search", times={"search": 3.0}, points=[{"lam": 1}], fold_scores=[[1]])
    write(tmp_path, plan, fit("a"), fit("b", full=False), fit("c"), search)
    (run,) = load(tmp_path)
    columns = run.sized[["key", "size", "level", "full"]].values.tolist()
    assert columns[:3] == [[A, 100, True, True], *[[A, n, True, False] for n in (10, 20)]]
    below = run.at(20)
    assert below.fits["size"].tolist() == below.sized["size"].tolist() == [20]
    with pytest.raises(ResultsError, match="no fit at 5 unlabelled or below; the least is 10"):
        run.at(5)


def test_runs_that_are_loaded_together_have_distinct_names(tmp_path):
    """Of one dataset they are named by configs; equal labels of other kinds by these."""
    for name, kind in (("one", "qsg_s2auc"), ("two", "samult")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, [{"key": "a", "solver": "x"}], fit("a", solver="x"))
        solvers = {"x": {"kind": kind, "label": "X"}}
        text = read_experiment(CONFIG | {"name": name, "solvers": solvers}).to_yaml()
        (tmp_path / name / "config.yaml").write_text(text)
    one, two = load(tmp_path / "one", tmp_path / "two")
    assert (one.title, two.title) == ("one", "two")
    assert [*one.names.values(), *two.names.values()] == ["X (qsg_s2auc)", "X (samult)"]
    assert distinct(["a", "a", "a-2", "a", "b"]) == ["a", "a-2", "a-2-2", "a-3", "b"]
    (alone,) = load(tmp_path / "one")
    assert (alone.title, alone.names) == ("digits", {"x": "X"})


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
PARAMS = st.dictionaries(
    st.sampled_from(["lam", "kernel"]),
    st.one_of(
        st.none(), st.integers(), st.floats(allow_nan=False), st.text(), st.lists(st.floats(0, 1))
    ),
)
RECORDS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["ok", "failed", "out_of_memory"]),
        "message": st.text(),
        "params": PARAMS,
        "scores": st.dictionaries(st.sampled_from(["auc", "error"]), NUMBERS),
        "times": st.dictionaries(st.sampled_from(["fit", "load"]), st.floats(0, 1e9)),
        "timing": st.fixed_dictionaries(
            {"threads": st.integers(1, 9), "disturbed": st.booleans(), "slowdown": st.floats(1, 2),
             "range": st.dictionaries(st.just("fit"), st.lists(st.floats(0, 1), min_size=2))}
        ),
        "full": st.booleans(),
        "needed": st.integers(0, 2**50),
        "warnings": st.lists(st.text(), min_size=1),
        "trace": st.lists(
            st.fixed_dictionaries({"iteration": st.integers(1, 9), "seconds": st.floats(0, 9)}),
            unique_by=lambda step: step["iteration"], min_size=1),
    }
)  # fmt: skip


@given(st.lists(RECORDS, max_size=4))
@settings(max_examples=30)
def test_records_come_back_from_frames_and_frames_from_their_files(parts):
    cells = []
    for n, part in enumerate(parts):
        cell = Cell(str(n), "fit", "x", n, {"rows": 10 * n})
        about = {"key": cell.key, "kind": "fit", "solver": "x", "trial": n, "at": dict(cell.at)}
        cells.append((cell, {**about, "label": "X", **part}))
    made = frames.Frames(
        frames.fits_of(cells, []), frames.traces_of(cells), frames.searches_of(cells)
    )
    for (_, record), back in zip(cells, frames.records_of(made), strict=True):
        expected = {k: v for k, v in record.items() if v != "" and v is not False}
        expected["scores"] = {k: v for k, v in record["scores"].items() if v is not None}
        expected["timing"] = {k: v for k, v in record["timing"].items() if v not in ({}, False)}
        expected = {k: v for k, v in expected.items() if v != {} or k == "params"}
        assert {k: v for k, v in back.items() if k != "also_at"} == expected
    with tempfile.TemporaryDirectory() as folder:
        for name, table in zip(frames.FILES, made, strict=True):
            (Path(folder) / name).write_bytes(frames.packed(table))
            if len(table):
                assert_frame_equal(frames.read_frame(Path(folder) / name), table, check_exact=True)


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("task.json", lambda _: b"{", "cannot be read"),
        ("task.json", lambda _: b'{"kind": 5}', "written by another release; run the experiment"),
        ("plan.json.xz", lambda data: data[:40] + bytes(9) + data[49:], "cannot be read"),
        ("fits.csv.xz", lambda data: data[: len(data) // 2], "cannot be read.*; restore the file"),
        ("fits.csv.xz", lambda _: b"no archive", "cannot be read"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_one_line(tmp_path, name, wrong, told):
    """Folders that are none of results are in ``wrong_commands.txt``."""
    numbers = [str(n) for n in range(9)]
    write(tmp_path, [{"key": number} for number in numbers], *map(fit, numbers))
    whole = tmp_path / name.removesuffix(".xz")
    content = wrong(lzma.compress(whole.read_bytes() if whole.exists() else b"key,solver\na,b\n"))
    whole.unlink(missing_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ResultsError, match=rf"^[^\n]*{told}[^\n]*$"):
        load(tmp_path)


def test_arrays_of_pictures_are_read_back_and_never_unpickled(tmp_path):
    arrays = {"rows": np.arange(6, dtype=np.float32).reshape(3, 2), "labels": np.array([0, -1])}
    kept = keep_artefact(tmp_path, {"key": A, "artefact": arrays})
    found = load_artefact(tmp_path, kept)
    assert all((found[name] == array).all() for name, array in arrays.items())
    assert load_artefact(tmp_path, {"key": A}) == load_artefact(tmp_path / "no", kept) == {}
    (tmp_path / kept["artefact"]).write_bytes(b"PK\x03\x04 cut off")
    objects = {"rows": np.array([{"a": 1}], dtype=object)}
    for one in (kept, keep_artefact(tmp_path, {"key": B, "artefact": objects})):
        with pytest.raises(ResultsError, match=r"\.npz: cannot be read"):
            load_artefact(tmp_path, one)


LEFT = """3 of 6 cells (50%) have a result; not running, 3 cells left, about 6 s of work
  fast      search      1 of 1
  fast      fit         2 of 3 (1 left)
  slow_one  fit         0 of 2 (2 left)"""
WRONG = """4 of 6 cells (67%) have a result; not running, 1 cell left, about 1 s of work
  fast      search      1 of 1
  fast      fit         3 of 3
  slow_one  fit         0 of 2 (1 crashed, 1 refused)
  slow_one fit, trial 1, 50 unlabelled: crashed: killed by SIGSEGV
    in fit
  slow_one fit, trial 1, 60 unlabelled: refused: needs more
unreadable lines of cells.jsonl: 1, the first is line 8; their cells run again"""


def test_a_status_is_what_has_a_result_and_what_is_left_or_went_wrong(tmp_path):
    """A search of 10 and fits of 20 and 30 operations took a second per 10."""
    plan, cells = [], []
    for n in range(10, 70, 10):
        what = {"kind": "fit" if n > 10 else "search", "solver": "fast" if n < 50 else "slow_one"}
        plan.append(what | {"key": str(n), "at": {"unlabeled": n}, "flops": n})
        cells.append(fit(**plan[-1], label=what["solver"], times={"fit": n / 10}))
    write(tmp_path, plan, *cells[:3])
    text = describe_status(tmp_path).replace("; the same `dsg run` resumes it", "")
    assert text == f"{tmp_path}: {LEFT}"
    with Store(tmp_path):
        assert "have a result; running (process" in describe_status(tmp_path)
    crashed = {"status": "crashed", "message": "killed by SIGSEGV", "traceback": "in fit"}
    refused = {"status": "out_of_memory", "message": "needs more", "needed": 10**12}
    old = cells[5] | {"key": key_of("of an older plan")}
    fill(tmp_path, cells[3], cells[4] | crashed, cells[5] | refused, old)
    with (tmp_path / CELLS).open("a") as file:
        file.write("{}\n")
    text = describe_status(tmp_path, tracebacks=True).replace("; the same `dsg run` resumes it", "")
    assert text == f"{tmp_path}: {WRONG}"
    assert "in fit" not in describe_status(tmp_path)
    fill(tmp_path, cells[4])  # and a limit that was met is an end
    assert "5 of 6 cells (83%) have a result; finished\n" in describe_status(tmp_path)
    (tmp_path / "plan.json").unlink()
    assert "6 of 7 cells (86%) have a result; finished\n" in describe_status(tmp_path)


def test_what_ended_in_the_same_way_is_one_line():
    def ended(status, message, *, label="A", kind="fit", trial=0, n=100, **more):
        what = {"label": label, "kind": kind, "trial": trial, "at": {"rows": n}}
        return what | {"status": status, "message": message, **more}

    causes = {n: f"ValueError: no {n} (mine.py:3)\nmore" for n in (100, 2000, 3000)}
    records = [ended("failed", cause, trial=n % 3, n=n) for n, cause in causes.items()]
    records += [ended("ok", "", trial=t, warnings=[f"prior 0.{t} is poor"]) for t in (1, 2)]
    records += [ended("timeout", "stopped after 5 s", kind="search", trial=1)]
    records += [ended("out_of_memory", "out of memory limit: needs 9.0 GiB, limit 1.0 GiB")]
    records += [ended("ok", ""), ended("failed", "", label="\x1b[1mC", warnings=["of a failure"])]
    assert describe_endings(records, Axis(name="rows", title="Rows", noun="rows")) == [
        "  A fit, trials 1..3, 100..3,000 rows (3 cells): failed: ValueError: no 100 (mine.py:3)",
        "  A fit, trials 2..3, 100 rows (2 cells): warning: prior 0.1 is poor",
        "  A search, trial 2, 100 rows: timeout: stopped after 5 s",
        "  A fit, trial 1, 100 rows: out of memory limit: needs 9.0 GiB, limit 1.0 GiB",
        "  \\x1b[1mC fit, trial 1, 100 rows: failed",
    ]
    without_axis = [ended("failed", "no", trial=t) | {"at": {}} for t in range(2)]
    assert describe_endings(without_axis, None) == ["  A fit, trials 1..2 (2 cells): failed: no"]
    words = {0.4: "0 s", 119: "119 s", 120: "2 min", 7200: "2 h", 377_827_200: "4,373 d"}
    assert {seconds: duration(seconds) for seconds in words} == words
