import hashlib
import os
from dataclasses import replace

import numpy as np
import pytest

from dsgkit.data import commands
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo
from dsgkit.data.prepare import prepared_folder
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError

TEXT = b"1,2,0\n3,4,1\n5,6,1\n"


@pytest.fixture
def made(monkeypatch, tmp_path):
    (tmp_path / "data/made").mkdir(parents=True)
    (tmp_path / "data/made/made.csv").write_bytes(TEXT)
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "data"))
    file = DataFile("made.csv", n_rows=3, sha256=hashlib.sha256(TEXT).hexdigest())
    info = DatasetInfo(
        "made", "Made", "delimited", (file,), Target("binary", (1,), (0,)), 3, 2, folder="made"
    )
    monkeypatch.setitem(DATASETS, "made", info)
    return info


def test_states(made, tmp_path):
    states = {name: state for name, _, state, _ in commands.overview()}
    assert states["made"] == "found"
    assert states["digits"] == "bundled"
    assert states["susy"] == "to download"
    assert states["susy_10k"] == "missing"
    commands.prepare("made")
    assert commands.state(made) == "prepared"


def test_fetching_what_is_there_names_it(made, tmp_path):
    assert commands.fetch("made") == [tmp_path / "data/made/made.csv"]
    with pytest.raises(MissingDataError):
        commands.fetch("susy_10k")


@pytest.mark.parametrize("name", DATASETS)
def test_information_is_in_single_lines(name):
    pairs = dict(commands.info(name))
    assert {"name", "rows x features", "target", "homepage", "licence", "citation"} <= set(pairs)
    assert all(text and "\n" not in text for text in pairs.values())


@pytest.mark.parametrize(
    ("text", "target", "told"),
    [
        (
            TEXT,
            Target("binary", (1,), (0,)),
            ["positive class: 1; negative: 0", "3 (0: 1, 1: 2)", None],
        ),
        (
            "".join(f"1,2,{i / 2}\n" for i in range(-3, 37)).encode(),
            Target("binary", (5,)),
            ["positive class: 5; negative: the rest", "40, of 40 kinds from -1.5 to 18", None],
        ),
        (
            TEXT,
            Target("ordered", bins=3),
            ["3 bins of equal frequency", "3 (0: 1, 1: 2)", "2 bins of equal fre"],
        ),
    ],
)
def test_information_after_preparing(made, tmp_path, text, target, told):
    assert dict(commands.info("made"))["prepared"] == "not yet"
    (tmp_path / "data/made/made.csv").write_bytes(text)
    n_rows = text.count(b"\n")
    file = DataFile("made.csv", n_rows=n_rows)
    info = replace(made, files=(file,), n_rows=n_rows, target=target)
    DATASETS["made"] = info
    commands.prepare("made")
    pairs = dict(commands.info("made"))
    assert [pairs["target"], pairs["train labels"]] == told[:2]
    assert (pairs.get("prepared target") or "None").startswith(str(told[2]))
    assert pairs["prepared"] == str(prepared_folder(info))


def findings(name="made"):
    return {check.subject.rpartition("/")[2]: check for check in commands.verify(name)}


def test_verify_compares_files_with_what_is_registered(made, tmp_path, monkeypatch):
    path = tmp_path / "data/made/made.csv"
    assert findings()["made.csv"].ok is True
    assert findings()["prepared"].ok is None
    commands.prepare("made")
    assert [check.ok for check in commands.verify("made")] == [True] * 4
    path.write_bytes(TEXT.replace(b"5", b"7"))
    assert findings()["made.csv"].ok is False
    assert findings()["prepared from"].ok is False
    with pytest.raises(DataError, match="is registered"):
        commands.prepare("made")
    path.unlink()
    assert findings()["made.csv"].ok is False
    assert "is missing" in findings()["made.csv"].detail
    path.write_bytes(TEXT)
    file = replace(made.files[0], sha256=None)
    monkeypatch.setitem(DATASETS, "made", replace(made, files=(file,)))
    check = findings()["made.csv"]
    assert check.ok is None and hashlib.sha256(TEXT).hexdigest() in check.detail


@pytest.mark.parametrize("name", ["X.npy", "y.npy"])
def test_verify_finds_changed_rows_and_labels(made, monkeypatch, name):
    commands.prepare("made")
    path = prepared_folder(made) / name
    before = path.stat().st_mtime_ns
    array = np.load(path)
    array[0] += 2
    np.save(path, array)
    assert findings()["prepared train"].ok is False
    assert f"{name} is damaged" in findings()["prepared train"].detail
    monkeypatch.setattr("dsgkit.data.prepare.MAX_CHECKED_BYTES", 0)
    os.utime(path, ns=(before, before))
    assert findings()["prepared train"].ok is False
    assert "content_hash" in findings()["prepared train"].detail
    path.write_bytes(b"x")
    assert findings()["prepared train"].ok is False
