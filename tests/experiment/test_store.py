"""Records on disk: sealed, one writer, nothing half-written."""

import os
import shutil

import pytest

from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import copy_records, keep_environment
from dsgkit.experiment.store import (
    CELLS,
    Store,
    check_writable,
    read_records,
    running,
    seal,
    unseal,
)
from tests.experiment.runs import keep_artefact, key_of

A, B, C, D = map(key_of, "abcd")


def record(key, **more):
    return {"key": key, "kind": "fit", "status": "ok", **more}


def test_a_seal_is_what_it_was_and_any_change_of_a_byte_breaks_it():
    """Kept results have it."""
    line = seal({"key": "ä", "n": 1, "values": [0.5, None]})
    assert line == '{"key": "ä", "n": 1, "values": [0.5, null], "check": "b21e2ede03fc"}\n'.encode()
    assert unseal(line) == {"key": "ä", "n": 1, "values": [0.5, None]}
    for place in range(len(line)):
        assert unseal(line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]) is None
        assert unseal(line[:place]) is None
    with pytest.raises(ValueError, match="Out of range"):
        seal({"key": float("nan")})


def test_the_last_record_of_a_key_counts_and_a_torn_one_is_removed(tmp_path):
    """Other unreadable lines stay until they are set aside."""
    lines = [seal(record(A, n=1)), b"no record\n", seal(record(B)), seal(record(A, n=2))]
    (tmp_path / CELLS).write_bytes(b"".join(lines) + seal(record(D))[:-9])
    assert read_records(tmp_path)[1] == [2]
    with Store(tmp_path) as store:
        assert store.records == {A: record(A, n=2), B: record(B)} and store.bad == [2]
        store.append(record(C))
    lines.append(seal(record(C)))
    assert (tmp_path / CELLS).read_bytes() == b"".join(lines)
    with Store(tmp_path, fresh=True) as store:
        assert store.records == {}
    assert [p.read_bytes() for p in tmp_path.glob("cells-*.jsonl")] == [b"".join(lines)]


def test_a_second_run_on_the_same_folder_is_refused_and_told_who_writes(tmp_path):
    match = rf"another run \(process {os.getpid()} on .*\) is writing"
    with Store(tmp_path), pytest.raises(ResultsError, match=match):
        Store(tmp_path)
    assert running(tmp_path) is None
    with Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for attempt in (Store, check_writable):
        with pytest.raises(ResultsError, match="cannot write") as error:
            attempt(tmp_path / "file" / "results")
        assert "\n" not in str(error.value)
    check_writable(tmp_path / "not" / "yet")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    (tmp_path / f"{CELLS}.xz").touch()
    with pytest.raises(ResultsError, match=r"cells\.jsonl\.xz: kept results; run into another"):
        Store(tmp_path)


def test_a_record_is_on_disk_when_append_returns_or_not_at_all(tmp_path, monkeypatch):
    """What a full disk leaves is in ``test_workers``."""
    synced = []
    with Store(tmp_path) as store:
        monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
        store.append(record(A))
        assert synced == [len(seal(record(A)))]
        monkeypatch.setattr(os, "fsync", lambda fd: exit(1))
        with pytest.raises(SystemExit):
            store.append(record(B))
    assert read_records(tmp_path) == ({A: record(A)}, [])


def test_finished_cells_of_neighbouring_folders_are_taken_over_with_their_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    with Store(one) as store:
        environment = keep_environment(one, {"threads": 2})
        picture = keep_artefact(one, record(A, artefact={"rows": [1]}, environment=environment))
        lost = record(D, artefact="artefacts/lost.npz")
        for each in (picture, record(B), record(C, status="failed"), lost):
            store.append(each)
    shutil.copytree(one, tmp_path / "a_third")
    with Store(other) as store:
        store.append(record(B, own=True))
        copy_records(store, [A, B, C, D])
        assert store.records == {B: record(B, own=True), A: picture}
    for name in (picture["artefact"], f"environments/{environment}.json"):
        assert (other / name).read_bytes() == (one / name).read_bytes()
