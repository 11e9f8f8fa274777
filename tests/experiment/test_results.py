"""Reading results folders back, whole and damaged; kept ones are in ``tests/test_golden.py``."""

import json
import lzma
import math

import numpy as np
import pytest

from dsgkit.config.schema import read_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import describe, load_artefact
from dsgkit.experiment.results import load_results
from dsgkit.experiment.status import describe_status
from dsgkit.experiment.store import seal
from tests.experiment.runs import keep_artefact, key_of, plan_text

SOLVERS = {key: {"params": {"sigma": 1.0}} for key in ("qsg_s2auc", "samult")}
PROTOCOL = {"kind": "semi_supervised_auc", "trials": 2}
CONFIG = {"name": "mine", "dataset": {"name": "digits"}, "protocol": PROTOCOL, "solvers": SOLVERS}
EXPERIMENT = read_experiment(CONFIG)


def fit(key, auc=0.75, **fields):
    return {
        **{"key": key_of(key), "kind": "fit", "solver": "qsg_s2auc", "label": "QSG-S2AUC"},
        **{"trial": 0, "at": {"unlabeled": 100}, "status": "ok", "message": "", "full": True},
        **{"params": {"lam": 0.5}, "scores": {"auc": auc, "test_auc": None}},
        **{"times": {"load": 1.0, "fit": 2.5}, "peak_memory": 1024},
    } | fields


SEARCH = fit("s", kind="search", times={"search": 3.0}, points=[{"lam": 1}], fold_scores=[[1]])


def write(folder, *records, plan=None):
    """Write a results folder with a plan of fits, each a key with what is not as in the others."""
    (folder / "config.yaml").write_text(EXPERIMENT.to_yaml())
    (folder / "task.json").write_text(describe(EXPERIMENT).model_dump_json())
    (folder / "cells.jsonl").write_bytes(b"".join(map(seal, records)))
    common = {"kind": "fit", "solver": "qsg_s2auc", "trial": 0, "at": {"unlabeled": 100}}
    if plan is not None:
        entries = [common | entry | {"key": key_of(entry["key"]), "flops": 1} for entry in plan]
        (folder / "plan.json").write_text(plan_text(entries))


def test_reads_what_a_run_wrote_without_importing_solvers_and_tasks(tmp_path, monkeypatch):
    failed = fit("f", status="indefinite", message="saddle", trial=1, environment="gone")
    for name in ("scores", "full", "params", "times"):
        del failed[name]
    refused = fit("r", trial=2, status="out_of_memory", auc=None, needed=3 * 2**30)
    write(tmp_path, fit("a", environment="1"), SEARCH, failed, refused)
    (tmp_path / "environments").mkdir()
    for name in "12":
        (tmp_path / "environments" / f"{name}.json").write_text(json.dumps({"name": name}))
    task = describe(EXPERIMENT)
    monkeypatch.setattr("dsgkit.solvers.catalogue.get", None)
    monkeypatch.setattr("dsgkit.tasks.base.get", None)
    results = load_results(tmp_path)
    assert results.experiment.model_dump(mode="json") == EXPERIMENT.model_dump(mode="json")
    assert (results.task, results.dataset, results.plan) == (task, "digits", None)
    assert results.environments == {"1": {"name": "1"}, "gone": {}}
    assert results.solvers == ["qsg_s2auc", "samult"]
    row, failed, refused = results.cells.to_dict("records")
    expected = {"auc": 0.75, "size": 100, "fit_seconds": 2.5, "peak_memory": 1024, "full": True}
    assert {name: row[name] for name in expected} == expected
    assert row["params"] == {"lam": 0.5} and math.isnan(row["test_auc"])
    assert (failed["status"], failed["message"], failed["full"]) == ("indefinite", "saddle", False)
    assert all(math.isnan(failed[name]) for name in ("auc", "fit_seconds", "needed"))
    assert (refused["status"], refused["needed"]) == ("refused", 3 * 2**30)
    (share,) = results.search.to_dict("records")
    assert (share["search_seconds"], share["points"]) == (3.0, [{"lam": 1}])


def test_what_a_record_is_of_is_for_the_plan_to_say(tmp_path):
    """One may be of two solvers, each with its label; a solver not in the config has its own."""
    entries = [("a", "qsg_s2auc"), ("a", "samult"), ("a", "gone"), ("not yet", "samult")]
    plan = [{"key": key, "solver": solver, "trial": 2} for key, solver in entries]
    recorded = fit("a", solver="old name", label="recorded", auc=0.1)
    write(tmp_path, recorded, fit("b", auc=0.3), plan=plan)
    results = load_results(tmp_path)
    assert results.cells[["solver", "label", "trial"]].values.tolist() == [
        ["qsg_s2auc", "QSG-S2AUC", 2],
        ["samult", "SAMULT", 2],
        ["gone", "recorded", 2],
    ]
    assert [results.label(key) for key in ("samult", "gone")] == ["SAMULT", "recorded"]
    some = results.of(["samult"])
    assert (len(some.plan.cells), len(some.cells), len(some.records)) == (2, 1, 1)
    assert [*some.experiment.solvers, *some.every_solver] == ["samult", "qsg_s2auc", "samult"]


def test_a_fit_stands_at_every_size_at_which_it_holds(tmp_path):
    at = {"at": {"unlabeled": 50}}
    entries = {"a": {"also_at": [10, 20]}, "b": {}, "c": at}
    plan = [{"key": key, **more} for key, more in entries.items()]
    write(tmp_path, fit("a"), fit("b", full=False), fit("c", **at), SEARCH, plan=plan)
    results = load_results(tmp_path)
    columns = results.cells[["key", "size", "level", "full"]].values.tolist()
    first = key_of("a")
    assert columns[:3] == [[first, 100, True, True], *[[first, n, True, False] for n in (10, 20)]]
    assert dict(results.fits_at) == {("qsg_s2auc", n): 1 + (n == 100) for n in (10, 20, 50, 100)}
    below = results.at(30)
    assert (below.cells["size"].tolist(), len(below.records)) == ([20], 1)
    assert dict(below.fits_at) == {("qsg_s2auc", 20): 1}
    with pytest.raises(ResultsError, match="no fit at 5 unlabelled or below; the least is 10"):
        results.at(5)


WRONG = {
    "no json": ("task.json", b"{", "cannot be read"),
    "another task": ("task.json", b'{"kind": 5}', "written by another release; run the experiment"),
    "no folder": ("", None, "no such folder"),
    "no results": ("task.json", None, "not a results folder"),
    "cut off": ("plan.json", b"[\n", "cannot be read"),
    "packed plan": (
        "plan.json.xz",
        lambda data: data[:40] + bytes(9) + data[49:],
        "cannot be read",
    ),
    "packed cells": ("cells.jsonl.xz", lambda data: data[: len(data) // 2], "cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_not_what_it_should_be_is_one_line(tmp_path, case):
    name, content, told = WRONG[case]
    numbers = range(9)
    write(tmp_path, *(fit(str(n)) for n in numbers), plan=[{"key": str(n)} for n in numbers])
    whole = tmp_path / name.removesuffix(".xz")
    if callable(content):
        content = content(lzma.compress(whole.read_bytes()))
    whole.rename(tmp_path.with_name(f"{tmp_path.name}-aside"))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for read in (load_results, describe_status):
        with pytest.raises(ResultsError, match=rf"^[^\n]*{told}[^\n]*$"):
            read(tmp_path)


ARRAYS = {"rows": np.arange(6, dtype=np.float32).reshape(3, 2), "labels": np.array([0, 1, -1])}


def test_arrays_of_pictures_are_read_back_and_never_unpickled(tmp_path):
    record = keep_artefact(tmp_path, {"key": key_of("a"), "artefact": ARRAYS})
    found = load_artefact(tmp_path, record)
    assert all((found[name] == array).all() for name, array in ARRAYS.items())
    assert load_artefact(tmp_path, {"key": key_of("a")}) == {}
    assert load_artefact(tmp_path / "elsewhere", record) == {}
    (tmp_path / record["artefact"]).write_bytes(b"PK\x03\x04 cut off")
    objects = {"rows": np.array([{"a": 1}], dtype=object)}
    for one in (record, keep_artefact(tmp_path, {"key": key_of("b"), "artefact": objects})):
        with pytest.raises(ResultsError, match=r"\.npz: cannot be read"):
            load_artefact(tmp_path, one)
