import runpy
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Run a script's file, as ``python scripts/<name>.py`` would find its neighbours."""
    monkeypatch.syspath_prepend(SCRIPTS)
    return lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"))
