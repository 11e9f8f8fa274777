import runpy
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Run a script's file as ``python scripts/<name>.py`` finds its neighbours, without pauses."""
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.setattr("timing.PAUSE_SECONDS", 0.0)
    return lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"))
