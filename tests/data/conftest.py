import bz2
import gzip
import lzma
import os

import numpy as np
import pytest

from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target
from dsgkit.errors import DataError

COMPRESS = {"": bytes, ".xz": lzma.compress, ".bz2": bz2.compress, ".gz": gzip.compress}


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No test sees the user's files, fills the user's cache or reaches the network."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)


def changed(spec, **settings):
    return DatasetSpec(**(spec.model_dump(exclude_unset=True) | settings))


def load(folder, content, loader="delimited", name="data", **options):
    """Open what is written into a file."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_dataset(DatasetSpec(path=str(path), loader=loader, **options))


def refusal(folder, content, loader="delimited", name="data", **options):
    """Return what is said of a file in one line, without its path."""
    with pytest.raises(DataError) as caught:
        _ = load(folder, content, loader, name, **options).y
    message, path = str(caught.value), str(folder / name)
    assert message.isprintable() and len(message) < len(path) + 250
    return message.removeprefix(path)


def edit_unseen(path, text):
    """Write text of the same size, and keep the time of the last change."""
    stat = path.stat()
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size


def make_dataset(X, y, X_test=None, y_test=None):
    X, y = np.asarray(X, np.float32), np.asarray(y, np.int8)
    return Dataset(
        *("made", "Made", X, X_test, y, y_test, Target()),
        minimum=X.min(axis=0).astype(float),
        maximum=X.max(axis=0).astype(float),
        content_hash="",
    )
