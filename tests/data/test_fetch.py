import hashlib
import http.server
import lzma
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from dsgkit.data import fetch
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.datasets import obtain, open_dataset
from dsgkit.errors import DataError, MissingDataError

TEXT = b"1 1:2\n-1 1:3\n" * 1000
BODY = lzma.compress(TEXT)
SHA256 = hashlib.sha256(TEXT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    body = BODY
    failures = 0
    cut = 0
    requests = 0


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
    monkeypatch.setattr(fetch.time, "sleep", lambda _: None)
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def made(server):
    url = f"http://127.0.0.1:{server.server_port}/made.xz"
    file = DataFile("made.xz", n_rows=2000, sha256=SHA256, url=url)
    return DatasetInfo("made", "", "libsvm", (file,), n_rows=2000, n_features=1, folder="made")


def cached(tmp_path):
    return [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_missing_file_is_downloaded_once(server, made, tmp_path):
    dataset = open_dataset(made)
    np.testing.assert_array_equal(np.ravel(dataset.X), [2, 3] * 1000)
    (source,) = obtain(made)
    assert source.path == tmp_path / "cache/downloads/made/made.xz"
    assert source.path.read_bytes() == BODY
    assert server.requests == 1


def test_what_a_killed_download_left_is_removed_in_time(server, made, tmp_path):
    folder = tmp_path / "cache/downloads/made"
    for name, age in ((".incoming-old", 2 * 24 * 3600), (".incoming-new", 60)):
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (time.time() - age,) * 2)
    obtain(made)
    assert sorted(path.name for path in folder.iterdir()) == [".incoming-new", "made.xz"]


@pytest.mark.parametrize("failures", [0, 2, 99])
def test_a_server_that_fails_is_asked_again(server, made, tmp_path, failures):
    server.failures = failures
    if failures < fetch.RETRIES:
        (source,) = obtain(made)
        assert source.path.read_bytes() == BODY and server.requests == failures + 1
        return
    with pytest.raises(MissingDataError) as caught:
        obtain(made)
    message = str(caught.value)
    assert made.files[0].url in message and "downloads/made/made.xz" in message
    assert "the server answers 503" in message and "\n" not in message
    assert server.requests == 1 + fetch.RETRIES
    assert cached(tmp_path) == []


def test_an_interrupted_transfer_leaves_no_file(server, made, tmp_path):
    server.cut = 10
    with pytest.raises(
        MissingDataError, match=f"download failed: {len(BODY) - 10} of {len(BODY)} bytes"
    ):
        obtain(made)
    assert cached(tmp_path) == []
    server.cut = 0
    assert len(open_dataset(made).X) == 2000


@pytest.mark.parametrize(
    ("body", "sha256", "said"),
    [
        (BODY, "0" * 64, f"{SHA256}, but {'0' * 64}"),
        (b"<html>moved</html>", None, "cannot be read"),
    ],
)
def test_a_file_that_is_another_is_not_kept(server, made, tmp_path, body, sha256, said):
    server.body = body
    with pytest.raises(DataError, match=f"download of http.* failed: .*{said}"):
        obtain(replace(made, files=(replace(made.files[0], sha256=sha256),)))
    assert cached(tmp_path) == []


def test_no_server(server, made, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        MissingDataError, match=r"put it at .*\(download failed: Connection refused\)"
    ):
        obtain(made)
    assert cached(tmp_path) == []


@pytest.mark.parametrize("value", ["1", "yes"])
def test_offline_asks_nobody(server, made, monkeypatch, value):
    monkeypatch.setenv("DSGKIT_OFFLINE", value)
    with pytest.raises(MissingDataError, match=r"file made\.xz is missing; get it from http"):
        obtain(made)
    assert server.requests == 0


def test_a_cache_that_cannot_be_written(made, tmp_path):
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match=r"cannot write to .*DSGKIT_CACHE"):
        obtain(made)
