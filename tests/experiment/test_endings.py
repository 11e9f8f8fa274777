"""What is said of cells without a result."""

from dsgkit.experiment.status import MAX_CAUSES, describe_endings
from dsgkit.tasks.measures import Axis

AXIS = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")


def ended(status, message, *, label="A", kind="fit", trial=0, n=100, **more):
    return {
        "label": label,
        "kind": kind,
        "trial": trial,
        "at": {"unlabeled": n},
        "status": status,
        "message": message,
        **more,
    }


def test_what_ended_in_the_same_way_is_one_line():
    records = [
        ended("failed", "ValueError: no (mine.py:3)", trial=t, n=n)
        for t in range(3)
        for n in (100, 2000)
    ]
    records += [ended("crashed", "worker process killed by SIGSEGV", label="B", trial=4)]
    records += [ended("timeout", "stopped after 5 s", kind="search", trial=1)]
    records += [ended("out_of_memory", "out of memory limit: needs 9.0 GiB, limit 1.0 GiB")]
    assert describe_endings(records, AXIS) == [
        "7 cells failed:",
        "  A fit, trials 1..3, 100..2,000 unlabelled (6 cells): ValueError: no (mine.py:3)",
        "  B fit, trial 5, 100 unlabelled: crashed: worker process killed by SIGSEGV",
        "2 cells ended at a limit or without a solution:",
        "  A search, trial 2, 100 unlabelled: timeout: stopped after 5 s",
        "  A fit, trial 1, 100 unlabelled: out of memory limit: needs 9.0 GiB, limit 1.0 GiB",
    ]


def test_a_long_story_is_one_line_and_a_traceback_is_for_who_asks():
    record = ended("failed", "E: first\nsecond", traceback="Traceback\n  line\nE: first")
    assert describe_endings([record], AXIS)[1:] == ["  A fit, trial 1, 100 unlabelled: E: first"]
    assert describe_endings([record, record], AXIS, tracebacks=True)[2:] == [
        "    Traceback",
        "      line",
        "    E: first",
    ]


def test_very_many_causes_are_counted():
    records = [ended("failed", f"E: {'x' * number}") for number in range(MAX_CAUSES + 3)]
    lines = describe_endings(records, AXIS)
    assert len(lines) == 1 + MAX_CAUSES + 1
    assert lines[-1] == "  and 3 more causes"


def test_a_cause_without_words_is_its_status_and_without_a_size_only_trials_are_told():
    assert describe_endings([], AXIS) == []
    assert describe_endings([ended("failed", "")], AXIS)[1].endswith("unlabelled: failed")
    records = [ended("failed", "no", trial=t) | {"at": {}} for t in range(2)]
    assert describe_endings(records, None)[1] == "  A fit, trials 1..2 (2 cells): no"


def test_warnings_of_cells_with_a_result_are_told_once():
    warned = [
        ended("ok", "", trial=trial, warnings=[f"prior 0.{trial} is poor"]) for trial in (1, 2)
    ]
    records = [*warned, ended("ok", ""), ended("failed", "no", warnings=["of a failure"])]
    assert describe_endings(records, AXIS)[2:] == [
        "warnings:",
        "  A fit, trials 2..3, 100 unlabelled (2 cells): prior 0.1 is poor",
    ]
    assert describe_endings([ended("ok", "")], AXIS) == []
