import inspect
import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
SCRIPTS, KEPT = ROOT / "scripts", ROOT / "results" / "reference"


@pytest.fixture
def script(monkeypatch):
    """Return a function from a script's name to its names, which a test may change."""
    monkeypatch.syspath_prepend(SCRIPTS)  # its neighbours

    def run(name):
        names = runpy.run_path(str(SCRIPTS / f"{name}.py"))
        main = names.get("main")
        return inspect.unwrap(main.callback).__globals__ if main else names

    return run


def invoke(main, *arguments, code=0):
    """Run a command, which ends with the exit code; None stands for any of a study's own."""
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code in ((0, 1) if code is None else (code,)), done.output
    assert code or done.exception is None or isinstance(done.exception, SystemExit)
    return done


def numbers_of(file):
    """Return the numbers that a study kept."""
    return json.loads(file.read_text())["numbers"]
