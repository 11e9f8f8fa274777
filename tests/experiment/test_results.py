"""Reading results folders back, whole and damaged."""

import json
import lzma
import math

import pytest

from dsgkit.config.schema import read_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment.description import describe
from dsgkit.experiment.records import sealed
from dsgkit.experiment.results import load_results
from dsgkit.experiment.status import describe_status, read_status
from dsgkit.experiment.store import Store
from tests.experiment.runs import key_of, plan_text

EXPERIMENT = read_experiment(
    {
        "name": "digits_s2auc",
        "dataset": {"name": "digits"},
        "protocol": {"kind": "semi_supervised_auc", "trials": 2},
        "solvers": {"qsg_s2auc": {"params": {"sigma": 1.0}}, "samult": {"params": {"sigma": 1.0}}},
    }
)


def fit(key, auc=0.75, **fields):
    return {
        "key": key_of(key),
        "kind": "fit",
        "solver": "qsg_s2auc",
        "label": "QSG-S2AUC",
        "trial": 0,
        "at": {"unlabeled": 100},
        "status": "ok",
        "message": "",
        "params": {"lam": 0.5},
        "full": True,
        "scores": {"auc": auc, "test_auc": None},
        "times": {"load": 1.0, "fit": 2.5},
        "peak_memory": 1024,
    } | fields


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.yaml").write_text(EXPERIMENT.to_yaml())
    (tmp_path / "environment.json").write_text('{"threads": 2}')
    (tmp_path / "task.json").write_text(describe(EXPERIMENT).model_dump_json())
    return tmp_path


def write(folder, *lines):
    texts = [line.encode() if isinstance(line, str) else sealed(line) for line in lines]
    (folder / "cells.jsonl").write_bytes(b"".join(texts))


def plan(folder, *entries):
    """Write a plan of fits, each with a key and what is not as in the others."""
    common = {
        "kind": "fit",
        "solver": "qsg_s2auc",
        "trial": 0,
        "at": {"unlabeled": 100},
        "flops": 1,
    }
    planned = [common | entry | {"key": key_of(entry["key"])} for entry in entries]
    (folder / "plan.json").write_text(plan_text(planned))


def test_reads_what_a_run_wrote(folder):
    search = fit("s", kind="search", times={"search": 3.0}, points=[{"lam": 1}], fold_scores=[[1]])
    write(folder, fit("a"), search)
    results = load_results(folder)
    assert results.experiment.model_dump(mode="json") == EXPERIMENT.model_dump(mode="json")
    assert results.task == describe(EXPERIMENT)
    assert results.trials == 2
    assert results.environment == {"threads": 2}
    assert results.dataset == "digits"
    assert results.solvers == ["qsg_s2auc", "samult"]
    (row,) = results.cells.to_dict("records")
    assert (row["auc"], row["size"]) == (0.75, 100)
    assert row["fit_seconds"] == 2.5
    assert row["peak_memory"] == 1024
    assert row["params"] == {"lam": 0.5}
    assert row["full"] is True
    assert math.isnan(row["test_auc"])
    (share,) = results.search.to_dict("records")
    assert share["search_seconds"] == 3.0
    assert share["points"] == [{"lam": 1}]


def test_a_failed_fit_has_no_numbers(folder):
    failed = fit("a", status="indefinite", message="saddle")
    for name in ("scores", "full", "params", "times"):
        del failed[name]
    write(folder, failed)
    (row,) = load_results(folder).cells.to_dict("records")
    assert (row["status"], row["message"], row["full"]) == ("indefinite", "saddle", False)
    assert math.isnan(row["auc"])
    assert math.isnan(row["fit_seconds"])


def test_what_a_record_is_of_is_for_the_plan_to_say(folder):
    """One may be of two solvers, each with its label; a solver not in the config has its own."""
    write(folder, fit("a", solver="old name", label="recorded", auc=0.1), fit("b", auc=0.3))
    entries = [("a", "qsg_s2auc"), ("a", "samult"), ("a", "gone"), ("not yet", "samult")]
    plan(folder, *({"key": key, "solver": solver, "trial": 2} for key, solver in entries))
    cells = load_results(folder).cells
    assert cells["solver"].tolist() == ["qsg_s2auc", "samult", "gone"]
    assert cells["label"].tolist() == ["QSG-S2AUC", "SAMULT", "recorded"]
    assert cells["trial"].tolist() == [2, 2, 2]
    assert cells["auc"].tolist() == [0.1, 0.1, 0.1]


def test_a_refusal_says_what_it_needed(folder):
    refused = fit("a", status="out_of_memory", auc=None, needed=3 * 2**30)
    write(folder, refused, fit("b", trial=1))
    needed = load_results(folder).cells["needed"].tolist()
    assert needed[0] == 3 * 2**30
    assert math.isnan(needed[1])


def test_the_environments_are_those_that_the_records_name(folder):
    one, two, lost, unused = (letter * 12 for letter in "1205")
    records = [fit(name, environment=name) for name in (one, two, lost)]
    write(folder, *records, fit("again", environment=one), fit("old"), fit("x", environment=None))
    (folder / "environments").mkdir()
    for name in (two, one, unused):
        (folder / "environments" / f"{name}.json").write_text(json.dumps({"name": name}))
    assert load_results(folder).environments == {one: {"name": one}, two: {"name": two}, lost: {}}


def test_a_folder_without_its_task_is_told_in_one_line(folder):
    (folder / "task.json").unlink()
    told = r"task\.json: missing; .*run the experiment again[^\n]*$"
    with pytest.raises(ResultsError, match=told):
        load_results(folder)


def test_neither_solvers_nor_tasks_are_imported_for_reading(folder, monkeypatch):
    text = EXPERIMENT.to_yaml().replace("kind: semi_supervised_auc", "kind: 'gone:TASK'")
    (folder / "config.yaml").write_text(text.replace("kind: samult", "kind: 'gone:Solver'"))
    write(folder, fit("a"))
    assert load_results(folder).cells["auc"].tolist() == [0.75]


def pack(folder, *names):
    for name in names:
        (folder / f"{name}.xz").write_bytes(lzma.compress((folder / name).read_bytes()))
        (folder / name).unlink()


def test_packed_records_and_plans_are_read_as_they_are(folder):
    write(folder, fit("a", auc=0.1), fit("b", auc=0.3))
    plan(folder, {"key": "b"}, {"key": "a"}, {"key": "c"})
    before = load_results(folder)
    pack(folder, "cells.jsonl", "plan.json")
    after = load_results(folder)
    assert after.cells.equals(before.cells)
    assert after.cells["auc"].tolist() == [0.3, 0.1]
    assert after.planned == before.planned == 3
    assert "2 of 3 cells" in describe_status(read_status(folder))


def test_records_that_are_not_packed_come_first(folder):
    write(folder, fit("a", auc=0.1))
    pack(folder, "cells.jsonl")
    write(folder, fit("a", auc=0.2))
    assert load_results(folder).cells["auc"].tolist() == [0.2]


@pytest.mark.parametrize("name", ["cells.jsonl", "plan.json"])
def test_a_damaged_packed_file_is_told_in_one_line(folder, name):
    write(folder, *(fit(str(number), trial=number) for number in range(9)))
    plan(folder, *({"key": str(number)} for number in range(9)))
    pack(folder, name)
    packed = folder / f"{name}.xz"
    data = packed.read_bytes()
    for damaged in (data[: len(data) // 2], data[:40] + bytes(9) + data[49:], b"?" * 90):
        packed.write_bytes(damaged)
        with pytest.raises(ResultsError, match=f"{name}.*damaged xz file[^\n]*$"):
            load_results(folder)


def test_a_run_does_not_hide_packed_records_behind_its_own(folder):
    write(folder, fit("a"))
    pack(folder, "cells.jsonl")
    with pytest.raises(
        ResultsError, match=r"cells\.jsonl\.xz: kept results; run into another --out"
    ):
        Store(folder)
    assert not (folder / "cells.jsonl").exists()
