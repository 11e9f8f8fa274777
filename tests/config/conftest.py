"""Small configs in a folder of their own."""

import pytest

from dsgkit.config import load_experiment
from dsgkit.text.errors import ConfigError

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


@pytest.fixture
def message(folder):
    """A function that returns the one line that is wrong with a config's text of some task."""

    def of(text, *, overrides=(), kind="semi_supervised_auc", **options):
        stated = [f"protocol.kind={kind}"] if kind else []
        with pytest.raises(ConfigError) as error:
            load_experiment(folder(text), overrides=[*stated, *overrides], **options)
        assert "\n" not in str(error.value)
        return str(error.value)

    return of
