import ast
import os
from pathlib import Path

import numpy as np
import pytest

from dsgkit.data.dataset import Dataset, load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target
from dsgkit.errors import DataError


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """No test sees the user's files, fills the user's cache or reaches the network."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)


def check_answers(name, answer):
    """Compare the answers to all inputs of a table; DSGKIT_RECORD_GOLDEN=1 writes them."""
    path = Path(__file__).with_name(name)
    rows = path.read_text(encoding="utf-8").splitlines()
    inputs = [row.partition(" => ")[0] for row in rows]
    found = [f"{one} => {answer(*ast.literal_eval(f'({one},)'))}" for one in inputs]
    if os.environ.get("DSGKIT_RECORD_GOLDEN"):
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
    assert [pair for pair in zip(found, rows, strict=True) if pair[0] != pair[1]] == []


def load(folder, content, loader="delimited", name="data", **options):
    """Open what is written into a file; None is none."""
    path = folder / name
    if content is not None:
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
    extremes = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    return Dataset("made", "Made", X, X_test, y, y_test, Target(), *extremes, content_hash="")
