"""What mypy says of programs that use the package, which has its types (PEP 561)."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from dsgkit import BSGDLMOC, QS3ORAO, QSGS2AUC
reveal_type(QSGS2AUC(0.5, "scale", gamma=0.25, n_iterations=None).fit([[0.0]], [1], [[0.0]]).lam)
QS3ORAO(gamma=(0.5, 0.25), thresholds="hinge").classes_[0]
QSGS2AUC(lam="x")
QSGS2AUC(foo=3)
BSGDLMOC(budget=10, strategy="any").fit_predict([[0.0]])
"""
FOUND = [
    'note: Revealed type is "float"',
    'error: Argument "lam" to "QSGS2AUC" has incompatible type "str"',
    'error: Unexpected keyword argument "foo" for "QSGS2AUC"',
    'error: Argument "strategy" to "BSGDLMOC" has incompatible type',
]


@pytest.mark.slow
def test_mypy_knows_the_parameters_of_estimators(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = Path(__file__).parents[1] / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path]
    done = subprocess.run([*command, program], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "defined in" not in line]
    assert done.returncode == 1 and len(lines) == len(FOUND) + 1, done.stdout
    for line, found in zip(lines, FOUND, strict=False):
        assert found in line
