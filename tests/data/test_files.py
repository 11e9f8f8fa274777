"""Files are found in every container, or downloaded whole, or missed with where to put them."""

import hashlib
import io
import lzma
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.response import addinfourl

import pytest

from dsgkit.data import files
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo
from dsgkit.data.dataset import load_dataset
from dsgkit.data.files import find, obtain
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError, MissingDataError


def made(*files, **settings):
    return DatasetInfo("made", "", "libsvm", files, folder="folder", **settings)


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["plain", "plain.xz", "plain.bz2", "plain.gz", "alias.gz"])
@pytest.mark.parametrize("official", ["plain", "plain.bz2"])
def test_any_container_of_the_content_is_found(data, tmp_path, name, official):
    """And one in the user's folder before one in the cache."""
    file = DataFile(official, aliases=("alias",))
    cached = touch(tmp_path / "cache/downloads/folder/plain.xz")
    assert find(made(file))[0] == cached
    for folder in ("made", "folder"):
        path = touch(data / folder / name)
        assert find(made(file))[0] == path


def test_an_archive_its_member_or_nothing_is_found(data):
    file = DataFile("made.zip", member="train.csv")
    (data / "folder/train.csv").mkdir(parents=True)
    assert find(made(file))[0] is None
    member = touch(data / "folder/train.csv.xz")
    assert find(made(file))[0] == member
    archive = touch(data / "folder/made.zip")
    assert find(made(file))[0] == archive


@pytest.mark.parametrize(
    "file", [f for d in DATASETS.values() for f in d.files], ids=lambda f: f.name
)
def test_every_registered_file_says_where_it_belongs(data, file):
    info = next(d for d in DATASETS.values() if file in d.files)
    with pytest.raises(MissingDataError) as caught:
        obtain(replace(info, files=(file,)))
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"dataset {info.name}: missing {file.name}")
    assert (file.url or info.homepage) in message
    # following the advice must help
    place = Path(message.split("put into ")[1])
    assert place == data / info.folder and find(info)[info.files.index(file)] is None
    touch(place / file.name)
    assert find(info)[info.files.index(file)] == place / file.name


def test_all_missing_files_are_named_and_what_is_there_instead(data, monkeypatch):
    by_hand = DataFile("a"), DataFile("b", url="https://example.org/b"), DataFile("there")
    for name in ("there", "a.scale", ".hidden"):
        touch(data / "folder" / name)
    info = made(*by_hand, homepage="page", note="why")
    monkeypatch.setitem(DATASETS, "made", info)
    for load in (lambda: obtain(info), lambda: obtain(info, download=False)):
        with pytest.raises(MissingDataError) as caught:
            load()
        assert str(caught.value).startswith("dataset made: missing a")
    assert str(caught.value) == (
        "dataset made: missing a, b: get from page (why), https://example.org/b and put into "
        f"{data}/folder (a.scale there: scaled or other rows, which `dataset.path` reads)"
    )
    monkeypatch.delenv("DSGKIT_DATA")
    with pytest.raises(MissingDataError, match=r"missing dota2\+games.*, or set DSGKIT_DATA"):
        obtain(DATASETS["dota2"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.txt", r"no such file: .*/none\.txt"),
        ("whine.csv", r"whine\.csv \(did you mean 'wine\.csv'\?\)"),
        ("nowhere/wine.csv", "there is no folder .*/nowhere"),
        (".", "is a folder, not a file"),
    ],
)
def test_a_missing_local_file_is_named(tmp_path, name, said):
    (tmp_path / "wine.csv").write_text("1,2\n")
    with pytest.raises(MissingDataError, match=said):
        load_dataset(DatasetSpec(path=str(tmp_path / name), loader="libsvm"))


def test_one_file_of_an_archive_is_read(tmp_path):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/rows.csv", "")
        archive.writestr("folder/rows.csv", "1,2\n")
        archive.writestr("folder/more.csv", "3,4\n")
    with files.open_content(path, "rows.csv") as content:
        assert content.read() == b"1,2\n"
    for member, said in ((None, "holds 2 files; unpack it"), ("none.csv", "no file none.csv")):
        with pytest.raises(DataError, match=said), files.open_content(path, member):
            pass
    path.write_bytes(b"PK")
    with pytest.raises(DataError, match="cannot be read"), files.open_content(path):
        pass


TEXT = b"1 1:2\n-1 1:3\n" * 1000
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A dataset whose file has an address."""
    monkeypatch.delenv("DSGKIT_OFFLINE")
    path = tmp_path / "server/made.xz"
    touch(path).write_bytes(lzma.compress(TEXT))
    return made(DataFile("made.xz", n_rows=2000, sha256=SHA256, url=path.as_uri()), n_features=1)


def cached(tmp_path):
    return [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_missing_file_is_downloaded_once(remote, tmp_path, capfd):
    assert load_dataset(remote).X[:, 0].tolist() == [2, 3] * 1000
    assert capfd.readouterr() == ("", "")  # a bar shows on a terminal alone
    (tmp_path / "server/made.xz").unlink()
    assert obtain(remote) == [tmp_path / "cache/downloads/folder/made.xz"]


@pytest.mark.parametrize(
    ("content", "sha256", "said"),
    [
        (None, SHA256, "No such file"),
        (lzma.compress(TEXT), "0" * 64, f"{SHA256}, but {'0' * 64}"),
        (lzma.compress(TEXT)[:-40], SHA256, "cannot be read"),
        (b"<html>moved</html>", None, "cannot be read"),
    ],
)
def test_a_file_that_is_another_is_not_kept(remote, tmp_path, content, sha256, said):
    path = tmp_path / "server/made.xz"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(MissingDataError, match=rf"\(download failed: .*{said}") as caught:
        obtain(replace(remote, files=(replace(remote.files[0], sha256=sha256),)))
    assert "\n" not in str(caught.value) and path.as_uri() in str(caught.value)
    assert cached(tmp_path) == []


def test_a_download_that_ends_early_is_not_kept(remote, tmp_path, monkeypatch):
    answer = addinfourl(io.BytesIO(TEXT[:50]), {"Content-Length": len(TEXT)}, "")
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: answer)
    with pytest.raises(MissingDataError, match=r"\(download failed: the connection ended early\)"):
        obtain(replace(remote, files=(replace(remote.files[0], sha256=None),)))
    assert cached(tmp_path) == []


def test_no_network_and_a_cache_that_cannot_be_written(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    with pytest.raises(MissingDataError, match=r"missing made\.xz: get from file:"):
        obtain(remote)
    monkeypatch.setenv("DSGKIT_OFFLINE", "0")
    (tmp_path / "no").touch()
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "no"))
    with pytest.raises(DataError, match=r"cannot write to .*DSGKIT_CACHE"):
        obtain(remote)
