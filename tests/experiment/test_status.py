"""How far a run is, how its cells ended, and what is said of it."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.folder import describe
from dsgkit.experiment.status import describe_endings, describe_status, duration
from dsgkit.experiment.store import Store
from dsgkit.tasks.base import Axis
from tests.experiment.runs import plan_text

AXIS = Axis(name="rows", title="Rows", noun="rows")
PLAN = [
    {"key": f"{kind}{solver}{n}", "kind": kind, "solver": solver, "trial": 0, "flops": n}
    | {"at": {"unlabeled": n}}
    for kind, solver, sizes in (
        ("search", "fast", (10,)),
        ("fit", "fast", (20, 30, 40)),
        ("fit", "slow_one", (50, 60)),
    )
    for n in sizes
]


def record(entry, status="ok", **more):
    what = {name: value for name, value in entry.items() if name != "flops"}
    return what | {"status": status, "times": {"fit": entry["flops"] / 10}, **more}


@pytest.fixture
def folder(toy, tmp_path):
    experiment = load_experiment(toy)
    (tmp_path / "plan.json").write_text(plan_text(PLAN))
    (tmp_path / "task.json").write_text(describe(experiment).model_dump_json())
    (tmp_path / "config.yaml").write_text(experiment.to_yaml())
    return tmp_path


def fill(folder, *records):
    with Store(folder) as store:
        for each in records:
            store.append(each)


def test_a_status_is_what_has_a_result_and_what_is_left_or_went_wrong(folder):
    # 20 operations of the search and 20 + 30 of the fast fits took a second per 10; the slow
    # solver has no result, and a fit takes a second at least
    fill(folder, *map(record, PLAN[:3]))
    head, *lines = describe_status(folder).splitlines()
    assert "3 of 6 cells have a result; not running, 3 cells left, about 6 s of work" in head
    assert [line.split(maxsplit=2) for line in lines] == [
        ["fast", "search", "1 of 1"],
        ["fast", "fit", "2 of 3 (1 left)"],
        ["slow_one", "fit", "0 of 2 (2 left)"],
    ]
    with Store(folder):
        assert "have a result; running (process" in describe_status(folder)
    crashed = {"message": "killed by SIGSEGV", "traceback": "in fit"}
    refused = record(PLAN[5], "out_of_memory", message="needs more", needed=10**12)
    old = record({**PLAN[5], "key": "of an older plan"})
    fill(folder, record(PLAN[3]), record(PLAN[4], "crashed", **crashed), refused, old)
    with (folder / "cells.jsonl").open("a") as file:
        file.write("{}\n")
    text = describe_status(folder)
    for told in (
        "4 of 6 cells have a result; not running, 1 cell left, about",
        "  slow_one  fit         0 of 2 (1 crashed, 1 refused)",
        "  slow_one fit, trial 1, 50 unlabelled: crashed: killed by SIGSEGV",
        "  slow_one fit, trial 1, 60 unlabelled: refused: needs more",
        "unreadable lines of cells.jsonl: 1, the first is line 8",
    ):
        assert told in text
    assert "in fit" in describe_status(folder, tracebacks=True) and "in fit" not in text
    fill(folder, record(PLAN[4]))  # and a limit that was met is an end
    assert "5 of 6 cells have a result; finished" in describe_status(folder)
    (folder / "plan.json").unlink()
    assert "6 of 7 cells have a result; finished" in describe_status(folder)


def ended(status, message, *, label="A", kind="fit", trial=0, n=100, **more):
    what = {"label": label, "kind": kind, "trial": trial, "at": {"rows": n}}
    return what | {"status": status, "message": message, **more}


def test_what_ended_in_the_same_way_is_one_line():
    records = [
        ended("failed", f"ValueError: no {n} (mine.py:3)\nmore", trial=t, n=n)
        for t in range(2)
        for n in (100, 2000)
    ]
    records += [ended("ok", "", trial=t, warnings=[f"prior 0.{t} is poor"]) for t in (1, 2)]
    records += [ended("timeout", "stopped after 5 s", kind="search", trial=1)]
    records += [ended("out_of_memory", "out of memory limit: needs 9.0 GiB, limit 1.0 GiB")]
    records += [ended("ok", ""), ended("failed", "", label="\x1b[1mC", warnings=["of a failure"])]
    assert describe_endings(records, AXIS) == [
        "  A fit, trials 1..2, 100..2,000 rows (4 cells): failed: ValueError: no 100 (mine.py:3)",
        "  A fit, trials 2..3, 100 rows (2 cells): warning: prior 0.1 is poor",
        "  A search, trial 2, 100 rows: timeout: stopped after 5 s",
        "  A fit, trial 1, 100 rows: out of memory limit: needs 9.0 GiB, limit 1.0 GiB",
        "  \\x1b[1mC fit, trial 1, 100 rows: failed",
    ]
    without_axis = [ended("failed", "no", trial=t) | {"at": {}} for t in range(2)]
    assert describe_endings(without_axis, None) == ["  A fit, trials 1..2 (2 cells): failed: no"]


def test_durations_are_in_words():
    seconds = {0.4: "0 s", 119: "119 s", 120: "2 min", 7200: "2 h", 377_827_200: "4,373 d"}
    assert {number: duration(number) for number in seconds} == seconds
