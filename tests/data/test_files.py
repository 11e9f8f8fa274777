"""Files are found in every container, or downloaded whole, or missed with where to put them."""

import hashlib
import http.server
import lzma
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from dsgkit.data import files
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, get
from dsgkit.data.dataset import check_present, load_dataset, open_dataset
from dsgkit.data.files import find, missing, obtain
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError, MissingDataError

SUFFIXED = ["plain", "plain.xz", "plain.bz2", "plain.gz"]


def made(*files):
    return DatasetInfo("made", "", "libsvm", files, folder="folder")


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize("name", [*SUFFIXED, "alias", "alias.gz"])
@pytest.mark.parametrize("official", ["plain", "plain.bz2"])
def test_any_container_of_the_content_is_found(data, tmp_path, name, official):
    """And one in the user's folder before one in the cache."""
    file = DataFile(official, aliases=("alias",))
    cached = touch(tmp_path / "cache/downloads/folder/plain.xz")
    assert find(made(file), file) == cached
    for folder in ("made", "folder"):
        path = touch(data / folder / name)
        assert find(made(file), file) == path


def test_an_archive_or_its_member_is_found_but_no_folder(data):
    file = DataFile("made.zip", member="train.csv")
    archive = touch(data / "folder/made.zip")
    assert find(made(file), file) == archive
    archive.unlink()
    assert find(made(file), file) is None
    member = touch(data / "folder/train.csv.xz")
    assert find(made(file), file) == member
    (data / "folder/plain").mkdir(parents=True)
    touch(data / "plain")
    assert find(made(DataFile("plain")), DataFile("plain")) is None


@pytest.mark.parametrize(
    "file", [f for d in DATASETS.values() for f in d.files], ids=lambda f: f.name
)
def test_every_registered_file_says_where_it_belongs(data, file):
    info = next(d for d in DATASETS.values() if file in d.files)
    with pytest.raises(MissingDataError) as caught:
        obtain(replace(info, files=(file,)))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"dataset {info.name}: ")
    assert (file.url or info.homepage) in message
    # following the advice must help
    place = message.split("put it at ")[1].split(" (or")[0].split(", or set")[0]
    assert Path(place).parent == data / info.folder
    assert find(info, file) is None
    touch(Path(place))
    assert find(info, file) == Path(place)


def test_all_missing_files_are_named_and_no_others(data):
    info = get("dota2")
    archive = info.files[0].url
    for load in (lambda: obtain(info), lambda: check_present(DatasetSpec(name="dota2"))):
        with pytest.raises(MissingDataError) as caught:
            load()
        assert str(caught.value) == (
            "dataset dota2: files dota2Train.csv, dota2Test.csv are missing; "
            f"get them from {archive} and put them in {data}/dota2"
        )
    touch(data / "dota2/dota2Test.csv")
    with pytest.raises(
        MissingDataError, match=f"file dota2Train.csv is missing; .* {data}/dota2/dota2"
    ):
        obtain(info)
    by_hand = (DataFile("a"), DataFile("b", url="https://example.org/b"), DataFile("c"))
    one = DatasetInfo("made", "", "libsvm", by_hand, folder="x", homepage="page", note="why")
    assert missing(one, *by_hand) == (
        "dataset made: files a.xz (or plain), b, c.xz (or plain) are missing; get them from "
        f"https://example.org/b, see page (why) and put them in {data}/x"
    )


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


def test_the_cache_is_the_platforms_unless_set(monkeypatch, tmp_path):
    assert files.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("DSGKIT_CACHE")
    assert files.cache_folder() == Path(platformdirs.user_cache_dir("dsgkit"))


TEXT = b"1 1:2\n-1 1:3\n" * 1000
BODY = lzma.compress(TEXT)
SHA256 = hashlib.sha256(TEXT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    body, failures, cut, requests = BODY, 0, 0, 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests += 1
        if self.server.failures:
            self.server.failures -= 1
            return self.send_error(503)
        self.send_response(200)
        body = self.server.body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - self.server.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("DSGKIT_OFFLINE")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(files.time, "sleep", lambda _: None)
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def remote(server):
    url = f"http://127.0.0.1:{server.server_port}/made.xz"
    file = DataFile("made.xz", n_rows=2000, sha256=SHA256, url=url)
    return DatasetInfo("made", "", "libsvm", (file,), n_rows=2000, n_features=1, folder="made")


def cached(tmp_path):
    return [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_missing_file_is_downloaded_once(server, remote, tmp_path):
    dataset = open_dataset(remote)
    np.testing.assert_array_equal(np.ravel(dataset.X), [2, 3] * 1000)
    assert obtain(remote) == [tmp_path / "cache/downloads/made/made.xz"]
    assert obtain(remote)[0].read_bytes() == BODY and server.requests == 1


@pytest.mark.parametrize("failures", [2, 99])
def test_a_server_that_fails_is_asked_again(server, remote, tmp_path, failures):
    server.failures = failures
    if failures < files.RETRIES:
        assert obtain(remote)[0].read_bytes() == BODY and server.requests == failures + 1
        return
    with pytest.raises(MissingDataError) as caught:
        obtain(remote)
    message = str(caught.value)
    assert remote.files[0].url in message and "downloads/made/made.xz" in message
    assert "the server answers 503" in message and "\n" not in message
    assert server.requests == 1 + files.RETRIES and cached(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "sha256", "said"),
    [
        ({"cut": 10}, SHA256, f"download failed: {len(BODY) - 10} of {len(BODY)} bytes"),
        ({}, "0" * 64, f"{SHA256}, but {'0' * 64}"),
        ({"body": b"<html>moved</html>"}, None, "cannot be read"),
    ],
)
def test_a_file_that_is_another_is_not_kept(server, remote, tmp_path, change, sha256, said):
    vars(server).update(change)
    with pytest.raises(DataError, match=said):
        obtain(replace(remote, files=(replace(remote.files[0], sha256=sha256),)))
    assert cached(tmp_path) == []


def test_no_server_and_no_network(server, remote, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    with pytest.raises(MissingDataError, match=r"file made\.xz is missing; get it from http"):
        obtain(remote)
    assert server.requests == 0
    monkeypatch.delenv("DSGKIT_OFFLINE")
    server.shutdown()
    server.server_close()
    with pytest.raises(MissingDataError, match=r"put it at .*\(download failed: .*refused"):
        obtain(remote)
    assert cached(tmp_path) == []


def test_a_cache_that_cannot_be_written(remote, tmp_path):
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match=r"cannot write to .*DSGKIT_CACHE"):
        obtain(remote)
