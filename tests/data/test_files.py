"""The catalogue, and its files: found in every container, downloaded whole, or missed."""

import hashlib
import io
import lzma
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.response import addinfourl

import pytest

from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, read_catalogue
from dsgkit.data.dataset import load_dataset
from dsgkit.data.files import find, obtain, open_content
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError
from tests.data.conftest import refusal

ENTRY = """
[shared]
site = "https://example.org"
terms = "free of charge"

[made]
title = "Made"
loader = "delimited"
target = { positive = [1, "yes"] }
address = "{site}/files"
licence = "{terms}, see {site}"
values.3 = { a = 1 }
files = [{ name = "a", n_rows = 3 }, { name = "b", n_rows = 4, aliases = ["c"] },
         { name = "d", n_rows = 5, part = "test" }]
"""


def made(*files, **settings):
    return DatasetInfo("made", "", "libsvm", files, folder="folder", **settings)


def touch(path, content=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_an_entry_is_completed_or_refused():
    at = "https://example.org/files/"
    files = DataFile("a", n_rows=3, url=f"{at}a"), DataFile("b", "train", 4, None, f"{at}b")
    files = files[0], replace(files[1], aliases=("c",)), DataFile("d", "test", 5, None, f"{at}d")
    facts = {"n_rows": 7, "folder": "made", "licence": "free of charge, see https://example.org"}
    expected = DatasetInfo(
        "made", "Made", "delimited", files, Target("binary", (1, "yes")), **facts
    )
    assert read_catalogue(ENTRY) == {"made": replace(expected, values={3: {"a": 1}})}
    for old, new in (("licence", "license"), ('title = "Made"', ""), ("positive", "positives")):
        with pytest.raises(TypeError, match="argument"):
            read_catalogue(ENTRY.replace(old, new))
    with pytest.raises(DataError, match=r"unknown dataset 'cod-rna' \(did you mean 'codrna'\?\)"):
        DATASETS["cod-rna"]
    with pytest.raises(DataError, match="unknown dataset 'qqq'; `dsg list datasets` lists all 67"):
        DATASETS["qqq"]


def test_registered_datasets_are_complete_and_say_where_their_files_belong(data):
    for name, info in DATASETS.items():
        assert info.homepage.startswith("https://") and info.licence and info.citation, name
        positive, negative = info.target.positive, info.target.negative
        if info.target.kind == "binary":
            assert positive and negative and not set(positive) & set(negative), name
        assert (info.loader == "bundled") == (info.function is not None) == (not info.files), name
        assert info.name == name and info.n_rows and info.n_features and info.folder, name
        for text in (info.title, info.homepage, info.licence, info.citation, info.note):
            assert text == " ".join(text.split()) and not set("{}") & set(text), name
        for file in info.files:
            assert file.n_rows and (file.url is None or file.url.endswith("/" + file.name)), name
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32, name
            alone = replace(info, files=(file,))
            with pytest.raises(MissingDataError) as caught:
                obtain(alone)
            message = str(caught.value)
            assert message.startswith(f"dataset {name}: missing {file.name}: get from ")
            assert (file.url or info.homepage) in message and "\n" not in message
            path = touch(Path(message.split("put into ")[1]) / file.name)  # the advice must help
            assert path.parent == data / info.folder and obtain(alone) == [path]
            path.unlink()


def test_any_container_of_the_content_is_found(data, tmp_path):
    """In the user's folder before the cache; a zip archive or its member."""
    cached = touch(tmp_path / "cache/downloads/folder/plain.xz")
    for official in ("plain", "plain.bz2"):
        info = made(DataFile(official, aliases=("alias",)))
        for name in ("plain", "plain.xz", "plain.bz2", "plain.gz", "alias.gz"):
            assert find(info) == [cached]
            paths = [touch(data / folder / name) for folder in ("folder", "made")]
            assert find(info) == paths[:1]
            paths[0].unlink()
            assert find(info) == paths[1:]
            paths[1].unlink()
    info = made(DataFile("made.zip", member="train.csv"))
    (data / "folder/train.csv").mkdir(parents=True)
    assert find(info) == [None]
    for name in ("train.csv.xz", "made.zip"):
        path = touch(data / "folder" / name)
        assert find(replace(info, files=info.files * 2)) == [path, path]


def test_all_missing_files_are_named_and_what_is_there_instead(data, monkeypatch):
    for name in ("there", "a.scale", ".hidden"):
        touch(data / "folder" / name)
    by_hand = DataFile("a"), DataFile("b", url="https://example.org/b"), DataFile("there")
    info = made(*by_hand, homepage="page", note="why")
    said = (
        f"dataset made: missing a, b: get from page (why), https://example.org/b and put into "
        f"{data}/folder (a.scale there: scaled or other rows, which `dataset.path` reads)"
    )
    cases = [(True, "0", "missing a:"), (False, "", said), (True, "1", said)]
    for download, offline, told in cases:
        monkeypatch.setenv("DSGKIT_OFFLINE", offline)
        with pytest.raises(MissingDataError) as caught:
            obtain(info, download=download)
        assert told in str(caught.value)
    monkeypatch.delenv("DSGKIT_DATA")
    with pytest.raises(
        MissingDataError, match=r"missing dota2\+games.*/dota2, or set DSGKIT_DATA$"
    ):
        obtain(DATASETS["dota2"])


def test_a_missing_local_file_is_named(tmp_path):
    said = refusal(tmp_path, None, name="nowhere/wine.csv")
    assert said.endswith(f"(there is no folder {tmp_path}/nowhere)")


def test_one_file_of_an_archive_is_read(tmp_path):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (("__MACOSX/rows.csv", ""), ("to/rows.csv", "1,2\n"), ("more.csv", "3")):
            archive.writestr(name, text)
    with open_content(path, "rows.csv") as content:
        assert content.read() == b"1,2\n"
    for member, said in ((None, "holds 2 files; unpack it"), ("none.csv", "no file none.csv")):
        with pytest.raises(DataError, match=said), open_content(path, member):
            pass
    path.write_bytes(b"PK")
    with pytest.raises(DataError, match="cannot be read"), open_content(path):
        pass


TEXT = b"1 1:2\n-1 1:3\n" * 1000
SHA256 = hashlib.sha256(TEXT).hexdigest()
PACKED = lzma.compress(TEXT)


@pytest.fixture
def remote(tmp_path, monkeypatch):
    monkeypatch.delenv("DSGKIT_OFFLINE")
    path = touch(tmp_path / "server/made.xz", PACKED)
    return made(DataFile("made.xz", n_rows=2000, sha256=SHA256, url=path.as_uri()), n_features=1)


def test_a_missing_file_is_downloaded_once(remote, tmp_path, capfd, monkeypatch):
    assert load_dataset(remote).X[:, 0].tolist() == [2, 3] * 1000
    assert capfd.readouterr() == ("", "")  # a bar shows on a terminal alone
    (tmp_path / "server/made.xz").unlink()
    assert obtain(remote) == [tmp_path / "cache/downloads/folder/made.xz"]
    monkeypatch.setenv("DSGKIT_CACHE", str(touch(tmp_path / "no")))
    with pytest.raises(DataError, match=r"cannot write to .*/no/.*DSGKIT_CACHE"):
        obtain(remote)


@pytest.mark.parametrize(
    ("content", "sha256", "said"),
    [
        (None, SHA256, "No such file"),
        (PACKED, "0" * 64, f"{SHA256}, but {'0' * 64}"),
        (b"<html>moved</html>", None, "cannot be read"),
        (b"early", None, "the connection ended early"),
    ],
)
def test_a_file_that_is_another_is_not_kept(remote, tmp_path, monkeypatch, content, sha256, said):
    path = tmp_path / "server/made.xz"
    path.unlink() if content is None else path.write_bytes(content)
    if content == b"early":
        answer = addinfourl(io.BytesIO(PACKED), {"Content-Length": len(PACKED) + 1}, "")
        monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: answer)
    with pytest.raises(MissingDataError, match=rf"\(download failed: .*{said}") as caught:
        obtain(replace(remote, files=(replace(remote.files[0], sha256=sha256),)))
    assert "\n" not in str(caught.value) and path.as_uri() in str(caught.value)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
