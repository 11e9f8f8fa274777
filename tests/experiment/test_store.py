"""Records on disk: sealed, one writer, nothing half-written."""

import errno
import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

A, B, C = map(key_of, "abc")


def record(key, **more):
    return {"key": key, "kind": "fit", "status": "ok", **more}


def test_a_seal_is_what_it_was():
    """Kept results have it."""
    line = seal({"key": "ä", "n": 1, "values": [0.5, None]})
    assert line == '{"key": "ä", "n": 1, "values": [0.5, null], "check": "b21e2ede03fc"}\n'.encode()
    assert unseal(line) == {"key": "ä", "n": 1, "values": [0.5, None]}
    with pytest.raises(ValueError, match="Out of range"):
        seal({"key": float("nan")})


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_record_is_removed(tmp_path, cut):
    with Store(tmp_path) as store:
        store.append(record(A))
        store.append(record(B))
    path = tmp_path / CELLS
    os.truncate(path, path.stat().st_size - cut)
    with Store(tmp_path) as store:
        assert (store.records, store.bad) == ({A: record(A)}, [])
        store.append(record(C))
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
        survivors, bad = read_records(folder)
        # a lost line end joins two records
        assert len(survivors) >= (1 if before[place] == ord("\n") else 2)
        assert len(bad) == (0 if place == len(before) - 1 else len(bad)) <= 2
        assert all(survivors[key] == record(key, scores={"auc": 0.25}) for key in survivors)


def test_the_last_record_of_a_key_counts_and_unreadable_lines_stay_until_set_aside(tmp_path):
    lines = [seal(record(A, n=1)), b"no record\n", seal(record(B)), seal(record(A, n=2))]
    (tmp_path / CELLS).write_bytes(b"".join(lines))
    with Store(tmp_path) as store:
        assert store.records == {A: record(A, n=2), B: record(B)}
        assert store.bad == [2]
        store.append(record(C))
    lines.append(seal(record(C)))
    assert (tmp_path / CELLS).read_bytes() == b"".join(lines)
    with Store(tmp_path, fresh=True) as store:
        assert store.records == {}
    assert [p.read_bytes() for p in tmp_path.glob("cells-*.jsonl")] == [b"".join(lines)]


def test_a_second_run_on_the_same_folder_is_refused_and_told_who_writes(tmp_path):
    assert running(tmp_path) is None
    match = rf"another run \(process {os.getpid()} on .*\) is writing"
    with Store(tmp_path), pytest.raises(ResultsError, match=match):
        assert running(tmp_path).startswith(f"process {os.getpid()} on ")
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
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / f"{CELLS}.xz").touch()
    with pytest.raises(ResultsError, match=r"cells\.jsonl\.xz: kept results; run into another"):
        Store(tmp_path / "kept")
    assert not (tmp_path / "kept" / CELLS).exists()


class Disk:
    """A file on a disk with room for some more bytes: a write takes what fits, then fails."""

    def __init__(self, file, room, error):
        self.file, self.room, self.error = file, room, error

    def write(self, data):
        if not self.room:
            raise self.error
        taken, self.room = self.file.write(data[: self.room]), max(0, self.room - len(data))
        return taken

    def __getattr__(self, name):
        return getattr(self.file, name)


class Stop(BaseException):
    """As a signal raises it."""


@pytest.mark.parametrize("room", [0, 1, 50])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Stop("now")])
def test_a_record_is_written_completely_or_not_at_all(tmp_path, monkeypatch, room, error):
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size) or sync(fd))
    with Store(tmp_path) as store:
        store.append(record(A))
        assert synced[-1] == (tmp_path / CELLS).stat().st_size  # on disk when append returns
        whole, file = (tmp_path / CELLS).read_bytes(), store._file
        store._file = Disk(file, room, error)
        expected = (ResultsError, "No space left") if isinstance(error, OSError) else (Stop, "now")
        with pytest.raises(expected[0], match=expected[1]):
            store.append(record(B))
        assert (tmp_path / CELLS).read_bytes() == whole
        store._file = file
        store.append(record(C))
    assert list(read_records(tmp_path)[0]) == [A, C]


def test_finished_cells_of_neighbouring_folders_are_taken_over_with_their_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    with Store(one) as store:
        environment = keep_environment(one, {"threads": 2})
        picture = keep_artefact(one, record(A, artefact={"rows": [1]}))
        lost = record(key_of("d"), artefact="artefacts/lost.npz")
        for each in (picture, record(B, environment=environment), record(C, status="failed"), lost):
            store.append(each)
    with Store(other) as store:
        store.append(record(B, own=True))
        copy_records(store, [A, B, C, key_of("d")])
        assert store.records == {B: record(B, own=True), A: picture}
        copy_records(store, [A])
    assert (other / picture["artefact"]).read_bytes() == (one / picture["artefact"]).read_bytes()
    assert list(read_records(other)[0]) == [B, A]
    shutil.rmtree(other)
    with Store(other) as store:
        copy_records(store, [B])
    assert (other / "environments" / f"{environment}.json").is_file()
