import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.errors import ResultsError
from dsgkit.experiment.records import read_records
from dsgkit.experiment.store import (
    CELLS,
    Store,
    check_writable,
    find_records,
    running,
)
from tests.experiment.runs import key_of

A, B, C, D = map(key_of, "abcd")


def record(key, status="ok", **more):
    return more | {
        "key": key,
        "kind": "fit",
        "solver": "s",
        "trial": 0,
        "at": {"rows": 10},
        "status": status,
    }


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_record_is_removed(tmp_path, cut):
    with Store(tmp_path) as store:
        store.append(record(A))
        store.append(record(B))
    path = tmp_path / CELLS
    os.truncate(path, path.stat().st_size - cut)
    with Store(tmp_path) as store:
        assert store.set_aside is None
        assert store.records == {A: record(A)}
        store.append(record(C))
        assert store.records == {A: record(A), C: record(C)}
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == [A, C]


@given(st.data())
def test_any_change_of_a_byte_is_found_and_costs_one_record(data):
    with TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder) as store:
            for key in (A, B, C):
                store.append(record(key, scores={"auc": 0.25}))
        path = folder / CELLS
        before = path.read_bytes()
        place = data.draw(st.integers(0, len(before) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != before[place]))
        path.write_bytes(before[:place] + bytes([byte]) + before[place + 1 :])
        survivors, _ = read_records(path)
        with Store(folder) as store:
            # a lost line end joins two records
            assert len(survivors) >= (1 if before[place] == ord("\n") else 2)
            assert store.records == survivors
            for key in survivors:
                assert survivors[key].items() >= record(key, scores={"auc": 0.25}).items()


def test_fresh_sets_earlier_records_aside(tmp_path):
    with Store(tmp_path) as store:
        store.append(record(A))
    before = (tmp_path / CELLS).read_bytes()
    with Store(tmp_path, fresh=True) as store:
        assert store.records == {}
    assert [p.read_bytes() for p in tmp_path.glob("cells-*.jsonl")] == [before]


def test_a_second_run_on_the_same_folder_is_refused_and_told_who_writes(tmp_path):
    assert running(tmp_path) is None
    match = rf"another run \(process {os.getpid()} on .*\) is writing"
    with Store(tmp_path), pytest.raises(ResultsError, match=match):
        assert running(tmp_path).startswith(f"process {os.getpid()} on ")
        Store(tmp_path)
    assert running(tmp_path) is None
    Store(tmp_path).close()


def test_of_records_of_the_same_key_the_last_is_found_first(tmp_path):
    """It supersedes the others, which are of a failure, or of other code."""
    trials = [record(A, trial=1), record(B), record(A, trial=2)]
    with Store(tmp_path) as store:
        for one in trials:
            store.append(one)
    wanted = {A}
    found = find_records(tmp_path / CELLS, wanted)
    assert list(found) == [trials[2], trials[0]]
    for one in find_records(tmp_path / CELLS, wanted):
        wanted.clear()
        assert one == trials[2]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for attempt in (Store, check_writable):
        with pytest.raises(ResultsError, match="cannot write results there") as error:
            attempt(tmp_path / "file" / "results")
        assert "\n" not in str(error.value)
    check_writable(tmp_path / "not" / "yet")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_record_is_on_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    with Store(tmp_path) as store:
        synced.clear()
        store.append(record(A))
        assert synced == [(tmp_path / CELLS).stat().st_size]


def test_a_full_disk_is_one_line_and_earlier_records_stay(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.append(record(A))

        def full(fd):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResultsError, match="No space left on device"):
            store.append(record(B))
        monkeypatch.undo()
        store.append(record(C))
    with Store(tmp_path) as store:
        assert list(store.records) == [A, C]


class Stop(BaseException):
    """As a signal raises it."""


@pytest.mark.parametrize(("moment", "kept"), [("before", [A]), ("within", [A]), ("after", [A, B])])
def test_a_signal_while_a_record_is_written_is_what_ends_a_run(tmp_path, monkeypatch, moment, kept):
    write = os.write

    def stopped(file, data):
        if moment != "before":
            write(file, data[:20] if moment == "within" else data)
        raise Stop

    with pytest.raises(Stop), Store(tmp_path) as store:
        store.append(record(A))
        monkeypatch.setattr(os, "write", stopped)
        store.append(record(B))
    monkeypatch.undo()
    assert (tmp_path / CELLS).read_bytes().count(b"\n") == len(kept)
    assert list(read_records(tmp_path / CELLS)[0]) == kept
    assert not list(tmp_path.glob("rescued*"))
