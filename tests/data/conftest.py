import bz2
import gzip
import lzma
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit.data.datasets import Dataset
from dsgkit.data.targets import Binary

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


def make_spec(**settings):
    defaults = dict.fromkeys(
        (
            *("name", "loader", "path", "test_path", "positive", "target", "n_features"),
            *("delimiter", "label_columns", "categorical", "ignored"),
            *("components", "rows", "double"),
        )
    )
    if "target" in settings:
        settings["target"] = SimpleNamespace(settings=settings["target"])
    return SimpleNamespace(
        **(defaults | {"decimal": ".", "header": False, "label_column": -1} | settings)
    )


def make_dataset(X, y, X_test=None, y_test=None):
    X, y = np.asarray(X, np.float32), np.asarray(y, np.int8)
    return Dataset(
        name="made",
        title="Made",
        X=X,
        X_test=X_test,
        labels=y,
        labels_test=y_test,
        target=Binary(),
        minimum=X.min(axis=0).astype(float),
        maximum=X.max(axis=0).astype(float),
        mean_square=float(np.square(X, dtype=float).sum(axis=1).mean()),
        made="",
        content_hash="",
    )
