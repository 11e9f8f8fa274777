"""How far a run is, from a folder that holds what it should, or does not."""

import pytest

from dsgkit.experiment.status import describe_status, duration, read_status
from dsgkit.experiment.store import Store
from dsgkit.tasks.measures import Axis, Description
from tests.experiment.runs import key_of, plan_text

PLAN = [
    {
        "key": key_of(f"{kind}{n}"),
        "kind": kind,
        "solver": solver,
        "trial": 0,
        "at": {"rows": n},
        "flops": n,
    }
    for kind, solver, sizes in (
        ("search", "fast", (10,)),
        ("fit", "fast", (20, 30, 40)),
        ("fit", "slow_one", (50, 60)),
    )
    for n in sizes
]


def record(entry, status="ok", seconds=None, **more):
    seconds = entry["flops"] / 10 if seconds is None else seconds
    what = {name: value for name, value in entry.items() if name != "flops"}
    if entry["kind"] == "search":
        what |= {"points": [{"lam": 1}], "fold_scores": [[0.5]]}
    return what | {"label": entry["solver"], "status": status, "times": {"fit": seconds}, **more}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.json").write_text(plan_text(PLAN))
    axis = Axis(name="rows", title="Rows", noun="rows")
    task = Description(kind="sorting", axis=axis, measures=())
    (tmp_path / "task.json").write_text(task.model_dump_json())
    return tmp_path


def fill(folder, *records):
    with Store(folder) as store:
        for each in records:
            store.append(each)


def test_before_the_first_record(folder, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.paces.product_speed", lambda: 2.0)
    status = read_status(folder)
    assert describe_status(status).splitlines() == [
        f"{folder}: 0 of 6 cells have a result; not running, 6 cells left, about 105 s of work "
        "(most of it a guess: no cell of these sizes has ended); the same `dsg run` resumes "
        "it",
        "  fast      search      0 of 1 (1 left)",
        "  fast      fit         0 of 3 (3 left)",
        "  slow_one  fit         0 of 2 (2 left)",
    ]


def test_without_a_plan_the_cells_that_have_ended_are_told(folder):
    fill(folder, *map(record, PLAN[:2]))
    (folder / "plan.json").unlink()
    assert describe_status(read_status(folder)).splitlines() == [
        f"{folder}: 2 of 2 cells have a result; there is no plan.json, so cells that have not run "
        "are not counted",
        "  fast  search      1 of 1",
        "  fast  fit         1 of 1",
    ]


def test_while_it_runs_the_time_left_is_told_by_solver(folder):
    with Store(folder) as store:
        for entry in (PLAN[0], PLAN[1], PLAN[4]):
            store.append(record(entry))
        status = read_status(folder)
        # by hand: 30 + 40 of the fast fits and 60 of the slow, at 10 a second
        assert status.seconds_left == pytest.approx(13)
        first = describe_status(status).splitlines()[0]
    assert "3 of 6 cells have a result; running (process" in first
    assert first.endswith(
        "3 cells left, about 13 s of work (most of it a guess: no cell of these sizes has ended)"
    )


def test_of_a_solver_without_results_the_time_left_is_that_of_its_operations(folder, monkeypatch):
    monkeypatch.setattr("dsgkit.experiment.paces.product_speed", lambda: 2.0)
    fill(folder, *map(record, PLAN[:2]))
    # by hand: 30 + 40 of the fast fits, at 10 a second, and 50 + 60 of the slow at 2
    assert read_status(folder).seconds_left == pytest.approx(7 + 55)


def sized(kind, n, trial):
    """An entry of the plan: cells of a trial whose operations grow with the square of the size."""
    return PLAN[0] | {
        "key": key_of(f"{kind}{n}{trial}"),
        "kind": kind,
        "trial": trial,
        "at": {"rows": n},
        "flops": n**2,
    }


def left_after(folder, plan, *records):
    (folder / "plan.json").write_text(plan_text(plan))
    fill(folder, *records)
    return read_status(folder).seconds_left


def test_cells_of_a_size_take_as_long_as_those_that_ended_there(folder):
    """A size that was stopped or refused costs what that took, not what its operations say."""
    plan = [sized("fit", n, trial) for trial in (0, 1) for n in (10, 100, 1000, 2000)]
    stopped = {"message": "stopped after 90 s", "timeout": 90.0}
    missed = {"message": "not begun: a smaller fit was stopped after 90 s", "timeout": 90.0}
    left = left_after(
        folder,
        plan,
        record(plan[0], seconds=1.0),
        record(plan[1], "out_of_memory", seconds=0.002, message="needs more", needed=10**12),
        {k: v for k, v in record(plan[2], "timeout", **stopped).items() if k != "times"},
        {k: v for k, v in record(plan[3], "timeout", **missed).items() if k != "times"},
    )
    assert left == pytest.approx(1.0 + 0.002 + 90.0 + 0.0)
    assert not read_status(folder).is_guess


def test_the_time_limit_that_a_cell_met_bounds_sizes_that_none_ended_at(folder):
    plan = [sized("fit", n, 0) for n in (10, 100, 1000)]
    stopped = record(plan[1], "timeout", message="stopped after 50 s", timeout=50.0)
    del stopped["times"]
    # by its operations, 10^4 times as long as the smallest one
    assert left_after(folder, plan, record(plan[0], seconds=2.0), stopped) == pytest.approx(50)


def test_a_fit_after_a_search_that_was_stopped_took_no_time(folder):
    plan = [sized("fit", 10, trial) for trial in (0, 1)]
    message = "while searching: stopped after 50 s"
    ended = record(plan[0], "timeout", message=message, timeout=50.0)
    del ended["times"]
    assert left_after(folder, plan, ended) == 0


def test_the_end_with_what_went_wrong(folder):
    crash = {"message": "worker process killed by SIGSEGV", "traceback": "in fit"}
    fill(
        folder,
        *(record(entry) for entry in PLAN[:4]),
        record(PLAN[4], "crashed", **crash),
        record(PLAN[5], "timeout", message="stopped after 5 s", timeout=5),
        record({**PLAN[5], "key": key_of("of an older plan")}),
    )
    lines = describe_status(read_status(folder)).splitlines()
    assert lines[0].endswith(
        "4 of 6 cells have a result; not running; the same `dsg run` resumes it"
    )
    assert lines[3] == "  slow_one  fit         0 of 2 (1 crashed, 1 timeout)"
    assert lines[4] == "1 cell failed:"
    assert "in fit" not in "\n".join(lines)
    assert "    in fit" in describe_status(read_status(folder), tracebacks=True).splitlines()
    fill(folder, record(PLAN[4]))  # and a limit that was met is an end
    assert "5 of 6 cells have a result; finished" in describe_status(read_status(folder))


def test_durations_are_in_words():
    seconds = {0.4: "0 s", 119: "119 s", 120: "2 min", 7200: "2 h", 172_800: "2 d"}
    assert {number: duration(number) for number in seconds} == seconds
