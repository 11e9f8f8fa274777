"""What a terminal of 80 columns shows: read through a pseudo-terminal."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def shown(data):
    """Return the lines that a terminal shows: carriage returns, erased lines, moves upwards."""
    rows, row, column = [""], 0, 0
    for text, arguments, code in re.findall(r"([^\x1b]+)|\x1b\[([?\d;]*)([A-Za-z])", data):
        if code == "A":
            row = max(0, row - int(arguments or 1))
        elif code == "K":
            rows[row] = "" if arguments == "2" else rows[row][:column]
        for letter in text:
            if letter == "\n":
                row += 1
                rows += [""] * (row == len(rows))
            elif letter == "\r":
                column = 0
            else:
                rows[row] = f"{rows[row]:<{column}}"[:column] + letter + rows[row][column + 1 :]
                column += 1
    return [line.rstrip() for line in rows]


def on_a_terminal(folder, *arguments):
    """Run ``dsg`` on a pseudo-terminal; return what it writes, and the exit code."""
    spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    settings = {"COLUMNS": "80", "LINES": "50", "TERM": "xterm", "DSGKIT_ONCE": "1"}
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **settings}
    command = [sys.executable, "-c", spawn, sys.executable, "-m", "dsgkit", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, timeout=60)
    return done.stdout.decode(), done.returncode


@pytest.mark.slow
def test_tables_of_a_run_stand_above_the_progress_line_and_a_plan_of_days_needs_yes(toy):
    assert shown("ab\r\x1b[2Kc\r\n\x1b[?25ldef\r\x1b[2K\x1b[1A\x1b[2K\x1b[2KX\n") == ["X", ""]
    data, code = on_a_terminal(toy.parent, "run", "toy.yaml", "--solvers", "samult")
    assert code == 0, data
    assert re.search(r"\d of 6 cells, \d+ s so far", data), "the progress was shown"
    lines = shown(data)
    assert not [line for line in lines if "so far" in line or len(line) > 80]
    for size in (40, 120):
        place = lines.index(f"trial 1 of 2, {size} unlabelled rows:")
        assert lines[place + 1].split() == ["Solver", "AUC", "Training", "time"]
        assert lines[place + 3].split()[0] == "SAMULT"
    (line,) = (line for line in lines if line.startswith("trial 2 of 2"))
    assert re.fullmatch(r"trial 2 of 2: AUC SAMULT \d\.\d+", line)
    days = "solvers.qsg_s2auc.params.n_iterations=1000000000000"
    data, code = on_a_terminal(toy.parent, "run", "toy.yaml", "--set", days)
    told = re.search(
        r"toy-\w+: about ([\d,]+ [dh]) of .*; QSG-S2AUC takes ([\d,]+ [dh]) of it; "
        "--yes starts it, --solvers or --profile run less",
        " ".join(data.split()),
    )
    assert code == 1 and told and told[1] == told[2]
    assert [path.parent.name for path in (toy.parent / "results").rglob("*.jsonl")] == ["toy"]
