"""Whole files or none, whatever happens in between."""

import os
import stat
import time

import pytest

from dsgkit.system.files import folder_name, remove_abandoned, write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda file: file.write(b"one"))
    write_atomically(path, lambda file: file.write(b"two"))
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_atomically(tmp_path / "file", lambda file: file.write(b""))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_the_longest_name_has_room_for_its_temporary_file(tmp_path):
    write_atomically(tmp_path / ("x" * 255), lambda file: file.write(b"1"))
    assert names(tmp_path) == ["x" * 255]


def test_the_content_is_on_disk_before_the_name_and_then_the_folder(tmp_path, monkeypatch):
    synced = []
    original = os.fsync

    def watch(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        size = None if is_folder else os.fstat(descriptor).st_size
        synced.append((is_folder, size, (tmp_path / "file").exists()))
        original(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    write_atomically(tmp_path / "file", lambda file: file.write(b"abc"))
    assert synced == [(False, 3, False), (True, None, True)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
@pytest.mark.parametrize("place", ["write", "fsync", "replace"])
@pytest.mark.parametrize("before", [True, False])
def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, error, place, before):
    path = tmp_path / "file"
    if before:
        path.write_bytes(b"old")

    def fail(*_):
        raise error

    def write(file):
        file.write(b"half of it")
        if place == "write":
            fail()

    with monkeypatch.context() as patch:
        if place == "fsync":
            patch.setattr(os, "fsync", fail)
        if place == "replace":
            patch.setattr("pathlib.Path.replace", fail)
        with pytest.raises(error):
            write_atomically(path, write)
    assert names(tmp_path) == ["file"] * before
    assert not before or path.read_bytes() == b"old"


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_or_a_device_is_never_replaced(tmp_path, linked):
    """Who may, could have replaced ``/dev/null`` by a page."""
    pipe, path = tmp_path / "pipe", tmp_path / "path"
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe)
    with pytest.raises(OSError, match="no regular file"):
        write_atomically(path if linked else pipe, lambda file: file.write(b"new"))
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_that_is_missing_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", lambda file: file.write(b""))


def test_folder_names_stay_in_their_folder(tmp_path):
    names = {"codrna": "codrna", "Été 1.csv": "Été 1.csv", "..": "_.", "../up": "_._up"}
    for name, expected in (names | {"/root": "_root", "a\\b\x00c\nd": "a_b_c_d"}).items():
        assert folder_name(name) == expected
        assert (tmp_path / expected).resolve().parent == tmp_path.resolve()


def test_only_what_nobody_touches_any_more_is_removed(tmp_path):
    long_ago = (time.time() - 2 * 24 * 3600,) * 2
    for name in (".part-dead", ".part-alive", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        if name != ".part-alive":
            os.utime(tmp_path / name / "file", long_ago)
        os.utime(tmp_path / name, long_ago)  # the folder of a living one may be as old
    remove_abandoned(tmp_path, ".part-*")
    assert names(tmp_path) == [".part-alive", "other"]
