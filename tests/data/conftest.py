import bz2
import gzip
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from dsgkit.data import lines
from dsgkit.data.catalogue import get
from dsgkit.data.datasets import Dataset, load_dataset
from dsgkit.data.find import find_all
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target
from dsgkit.errors import DataError

REAL_DATA = os.environ.get("DSGKIT_DATA")
COMPRESS = {"": bytes, ".xz": lzma.compress, ".bz2": bz2.compress, ".gz": gzip.compress}


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No test sees the user's files, fills the user's cache or reaches the network."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)


@pytest.fixture
def real_data(monkeypatch):
    if not REAL_DATA:
        pytest.skip("needs DSGKIT_DATA")
    monkeypatch.setenv("DSGKIT_DATA", REAL_DATA)
    return Path(REAL_DATA)


@pytest.fixture(params=["careful", "compiled"])
def parser(request, monkeypatch):
    """Read every file line by line, or all that can be by compiled code."""
    least = {"careful": 2**40, "compiled": 0}[request.param]
    monkeypatch.setattr(lines, "MIN_COMPILED_BYTES", least)


def changed(spec, **settings):
    return DatasetSpec(**(spec.model_dump(exclude_unset=True) | settings))


def opened(name, **settings):
    """Open a registered dataset; skip the test if its files are not at hand."""
    if find_all(get(name))[1]:
        pytest.skip(f"{name} is not in DSGKIT_DATA")
    return load_dataset(DatasetSpec(name=name, **settings))


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


def make_dataset(X, y, X_test=None, y_test=None):
    X, y = np.asarray(X, np.float32), np.asarray(y, np.int8)
    return Dataset(
        name="made",
        title="Made",
        X=X,
        X_test=X_test,
        labels=y,
        labels_test=y_test,
        target=Target(),
        minimum=X.min(axis=0).astype(float),
        maximum=X.max(axis=0).astype(float),
        mean_square=float(np.square(X, dtype=float).sum(axis=1).mean()),
        made="",
        content_hash="",
    )
