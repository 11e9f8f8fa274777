"""Small configs in a folder of their own."""

import pytest

MINIMAL = """\
dataset: {name: digits}
solvers:
  samult:
    grid: {lam: 2^-3..2^3, sigma: 1}
protocol: {kind: semi_supervised_auc}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder; the returned function writes a file there and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="c.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    return write
