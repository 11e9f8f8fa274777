"""What mypy says of programs that use the package, which has its types (PEP 561)."""

import subprocess
import sys
from pathlib import Path

import pytest

CASES = {
    'reveal_type(QSGS2AUC(0.5, "scale").fit([[0.0]], [1], [[0.0]]).lam)': 'type is "float"',
    'QS3ORAO(gamma=(0.5, 0.25), thresholds="hinge", n_iterations=None).classes_[0]': None,
    'QSGS2AUC(lam="x")': 'Argument "lam" to "QSGS2AUC" has incompatible type "str"',
    "QSGS2AUC(foo=3)": 'Unexpected keyword argument "foo" for "QSGS2AUC"',
    'BSGDLMOC(strategy="any").fit_predict([[0.0]])': 'Argument "strategy" to "BSGDLMOC" has incom',
}


@pytest.mark.slow
def test_mypy_knows_the_parameters_of_estimators(tmp_path):
    program, found = tmp_path / "program.py", [*filter(None, CASES.values())]
    program.write_text("\n".join(["from dsgkit import BSGDLMOC, QS3ORAO, QSGS2AUC", *CASES]))
    settings = Path(__file__).parents[1] / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path]
    done = subprocess.run([*command, program], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "defined in" not in line]
    assert done.returncode == 1 and len(lines) == len(found) + 1, done.stdout
    for line, expected in zip(lines, found, strict=False):
        assert expected in line
