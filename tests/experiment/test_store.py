import json
import os

import pytest

from dsgkit.errors import ResultsError
from dsgkit.experiment.store import CELLS, Store, check_writable, write_file


def record(key, status="ok", **more):
    return more | {
        "key": key,
        "kind": "fit",
        "solver": "s",
        "trial": 0,
        "n_unlabeled": 10,
        "status": status,
    }


def test_records_are_kept_and_only_failures_run_again(tmp_path):
    with Store(tmp_path / "new" / "results") as store:
        for key, status in [("a", "ok"), ("b", "failed"), ("c", "indefinite")]:
            store.append(record(key, status))
    with Store(tmp_path / "new" / "results") as store:
        assert [store.finished(key) for key in "abcd"] == [True, False, True, False]


def test_a_refusal_for_lack_of_memory_counts_until_there_is_enough(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.append(record("a", "out_of_memory", needed=100))
        store.append(record("b", "out_of_memory"))
        monkeypatch.setattr("dsgkit.experiment.store.memory_limit", lambda: 99)
        assert [store.finished(key) for key in "ab"] == [True, False]
        monkeypatch.setattr("dsgkit.experiment.store.memory_limit", lambda: 100)
        assert [store.finished(key) for key in "ab"] == [False, False]


def test_records_say_in_which_environment_they_were_made(tmp_path):
    with Store(tmp_path) as store:
        store.append(record("a"))
        store.environment = "e1"
        store.append(record("b"))
    with Store(tmp_path) as store:
        assert [store.records[key]["environment"] for key in "ab"] == [None, "e1"]


def test_the_last_record_of_a_key_counts(tmp_path):
    with Store(tmp_path) as store:
        store.append(record("a", "failed"))
        store.append(record("a", "ok"))
    with Store(tmp_path) as store:
        assert store.finished("a")


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_record_is_removed(tmp_path, cut):
    with Store(tmp_path) as store:
        store.append(record("a"))
        store.append(record("b"))
    path = tmp_path / CELLS
    os.truncate(path, path.stat().st_size - cut)
    with Store(tmp_path) as store:
        assert list(store.records) == ["a"]
        store.append(record("c"))
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_a_corrupt_record_in_the_middle_is_named(tmp_path):
    lines = [json.dumps(record("a")), "rubbish", json.dumps(record("b"))]
    (tmp_path / CELLS).write_text("\n".join(lines) + "\n")
    with pytest.raises(ResultsError, match=r"cells\.jsonl:2: not a record"):
        Store(tmp_path)


def test_fresh_sets_earlier_records_aside(tmp_path):
    with Store(tmp_path) as store:
        store.append(record("a"))
    before = (tmp_path / CELLS).read_bytes()
    with Store(tmp_path, fresh=True) as store:
        assert not store.finished("a")
    assert [p.read_bytes() for p in tmp_path.glob("cells-*.jsonl")] == [before]


def test_a_second_run_on_the_same_folder_is_refused(tmp_path):
    with Store(tmp_path), pytest.raises(ResultsError, match="another run is writing"):
        Store(tmp_path)
    Store(tmp_path).close()


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
        store.append(record("a"))
        assert synced == [(tmp_path / CELLS).stat().st_size]


def test_a_full_disk_is_one_line_and_earlier_records_stay(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.append(record("a"))

        def full(fd):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResultsError, match="No space left on device"):
            store.append(record("b"))
        monkeypatch.undo()
    with Store(tmp_path) as store:
        assert store.finished("a")


def test_write_file_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "config.yaml"
    write_file(path, "one")
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(ResultsError, match="full"):
        write_file(path, "two")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["config.yaml"]
