"""The command line as a user meets it: what it prints, what it writes, how it exits."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from dsgkit import SAMULT, cli
from dsgkit.cli.explain import _keys, explanations
from dsgkit.data.catalogue import DATASETS
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.tasks.base import TASKS
from tests.test_wrong_inputs import RIGHT, cases

BARE = ("run", "toy.yaml", "--set", "outputs=[]")  # draws nothing
FEW = (*BARE, "--solvers", "samult")
LABELS = ["PNU-AUC", "QSG-S2AUC", "RFF-S2AUC", "SAMULT"]
OWN = """
from dsgkit.bases import PairwiseAUCEstimator
from dsgkit.tasks.semi_supervised import SemiSupervisedAUC
class Mine(PairwiseAUCEstimator):
    '''A method of my own.'''
    lam: float = 0.25
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
class Sorting(SemiSupervisedAUC):
    '''Sorting of numbers.'''
"""


@pytest.fixture
def dsg(monkeypatch, capsys, toy, in_process):
    """Run ``dsg`` in the toy's folder: check its exit code, and its output for texts in order."""
    monkeypatch.chdir(toy.parent)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(line, code=0, *texts):
        words = line if isinstance(line, tuple) else line.split()
        monkeypatch.setattr(sys, "argv", ["dsg", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        told = " ".join((out + err).split())
        assert stop.value.code == code, told
        assert re.search(".*".join(map(re.escape, texts)), told), told
        return out, err

    yield run
    for number, handler in handlers.items():  # a process that was told to end ignores signals
        signal.signal(number, handler)


def test_the_help_names_every_command_and_imports_nothing_heavy():
    for group in ([], ["list"], ["data"]):
        text = CliRunner().invoke(cli.cli, [*group, "--help"]).output
        assert max(map(len, text.splitlines())) <= 80 and not re.search(r"[^\]]\.\.\.", text)
        if group:
            assert CliRunner().invoke(cli.cli, group).output == text
    heavy = "numpy numba scipy sklearn pandas matplotlib pydantic yaml jinja2 rich"
    program = "import sys; sys.argv = ['dsg']\nfrom dsgkit import cli\ntry: cli.main()\n"
    program += f"except SystemExit: print({{*sys.modules}} & {{*{heavy.split()}}})"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", done.stdout, re.M)
    assert sorted(listed) == sorted(cli.cli.commands)


@pytest.mark.slow
def test_stored_results_are_shown_drawn_compared_and_extended(dsg, toy, finished):
    toy.write_text(toy.read_text() + "profiles: {short: {protocol: {trials: 1}}}\n")
    for line, answer in (case.values for case in cases("commands on stored results", RIGHT)):
        code, _, texts = answer.partition(" ")
        out, _ = dsg(line, int(code), *texts.split(" .. "))
        assert "AUC on" not in out or "--only" not in line
        assert "/tables" not in out or "--out" in line
    assert Path("fits.csv").read_text().count("\n") == 1 + 2 * 4
    assert dsg("export results/toy-short")[0].count("\n") == 1 + 8
    with (finished / "cells.jsonl").open("a") as file:
        file.write("no record\n")
    dsg("table results/toy", 0, "unreadable lines of records, left out: 1 (the first is ")
    dsg(BARE, 0, "unreadable lines of records: 1, the first is line")


def test_a_dry_run_tells_the_cost_and_writes_nothing(dsg, toy, tmp_path, monkeypatch):
    out, _ = dsg("run toy.yaml --dry-run --report no/page.html", 0, "toy: 24 cells", "GiB")
    assert re.search(r"^SAMULT +search +2 ", out, re.M) and "experiments" not in out
    assert "SAMULT" not in dsg((*BARE, "--solvers", "pnu_auc", "--dry-run"))[0]
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "none"))
    two = "run skin_s2auc skin_s3vm --dry-run --fail-fast"
    dsg(two, 1, ": get from https:", "skin_s3vm: ", "2 experiments: about ")
    assert not [*toy.parent.rglob("*.html"), *toy.parent.rglob("results")]


def test_a_full_copy_of_a_config_needs_no_base(dsg):
    dsg("init quickstart full.yaml --full", 0, "full.yaml: edit it, then: dsg run full.yaml")
    text = Path("full.yaml").read_text()
    assert "extends" not in text and "n_features: 256" in text


@pytest.mark.slow
def test_failures_are_told_at_the_end_in_the_exit_code_and_by_status(dsg, monkeypatch):
    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    monkeypatch.setattr(SAMULT, "fit", explode)
    out, err = dsg((*BARE, "--set", "outputs=[auc_table]"), 1, "Findings on ")
    cause = "SAMULT fit, trials 1..2, 40..120 unlabelled (4 cells): failed: RuntimeError: boom"
    assert " ".join(err.split()).startswith(cause)
    out, _ = dsg("status results/toy", 0, "20 of 24 cells (83%) have a result; not running", "boom")
    assert "Traceback" not in out and "Traceback" in dsg("status results/toy -v")[0]
    none = dsg((*FEW, "--name", "none"), 1, "no fit has a result; `dsg status -v results/none`")
    assert "tables and figures" not in none[0]
    dsg((*FEW, "--name", "first", "--fail-fast"), 1, "stopped at a failure, with ")


STOPS = [
    (signal.SIGINT, "interrupted", "--set seed=1 --fresh", "--set seed=1"),
    # the results that were to be replaced are still there: without --fresh they would count
    (signal.SIGTERM, "stopped by SIGTERM", *["--solvers samult --fresh"] * 2),
]


@pytest.mark.parametrize(("number", "why", "options", "again"), STOPS)
def test_an_interrupt_says_how_to_go_on(dsg, monkeypatch, number, why, options, again):
    def interrupt(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(10)

    monkeypatch.setattr("dsgkit.experiment.cell.run_job", interrupt)
    (line,) = dsg(f"run toy.yaml {options}", 128 + number)[1].splitlines()
    assert re.fullmatch(f"{why}; .*continue with: dsg run toy.yaml {again}", line)


@pytest.mark.slow
def test_one_config_that_cannot_run_does_not_stop_the_others_and_is_on_the_page(dsg, toy):
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))
    both = ("run", "gone.yaml", *FEW[1:])
    dsg((*both, "--fail-fast", "--report", "all.html"), 1, "gone.csv")
    assert not (toy.parent / "results" / "toy").exists()
    assert "an earlier failure stopped the run" in (toy.parent / "all.html").read_text()
    dsg((*both, "--report", "all.html"), 1, "6 cells computed", "all.html", "gone.csv")
    assert "1 experiment not run." in (toy.parent / "all.html").read_text()
    out, err = dsg("run gone.yaml --report none.html", 1)
    page = html.unescape((toy.parent / "none.html").read_text())
    assert out == "none.html\n" and f"not run: {err.removeprefix('Error: ').strip()}" in page


def test_everything_has_an_explanation():
    for name in (*SOLVERS, *TASKS, *DATASETS):
        assert len(next(explanations(name)).split()) > 8, name
    keys = dict(_keys())
    assert [path for path, text in keys.items() if len(text.split()) < 2] == []
    assert {"extends", "protocol.labeled", "sweep.unlabeled", "dataset.target.bins"} <= {*keys}
    assert {f"solvers.{s.name}.{name}" for s in SOLVERS.values() for name in s.params} <= {*keys}
    for solver in SOLVERS.values():  # also what its docstring leaves to that of another one
        (text,) = explanations(solver.name)
        assert [name for name in solver.params if f"\n{name} : " not in text] == []
    texts = [list(explanations(name)) for name in ("QSGS2AUC", "solvers.qsg_s2auc", "qsg_s2auc")]
    assert texts[0] == texts[1] == texts[2] and len(texts[0]) == 1
    (lam,) = explanations("solvers.qsg_s2auc.lam")
    assert [*explanations("qsg_s2auc.lam")] == [lam] and lam in explanations("lam")


@pytest.mark.parametrize(("line", "answer"), cases("commands", RIGHT))
def test_lists_and_explanations_fit_the_terminal(line, answer, dsg, own_modules, monkeypatch):
    own_modules("explained", OWN)
    printed = []
    for columns in (80, 1000):
        monkeypatch.setenv("COLUMNS", str(columns))
        out, _ = dsg(line, int(answer[0]), *answer[2:].split(" .. "))
        long = [row for row in out.splitlines() if len(row) > columns and "http" not in row]
        assert all(len(row.split()) == 1 for row in long)
        assert not [markup for markup in ("``", "]_", "---", ">>>") if markup in out]
        printed.append(out.split())
    assert printed[0] == printed[1]
    assert line != "list solvers" or {*printed[0]} > {*SOLVERS}


def test_init_verify_and_env(dsg):
    dsg("init quickstart mine.yaml", 0, "mine.yaml: edit it, then: dsg run mine")
    dsg("init claims/layers_2_s2auc_labels", 0, "layers_2_s2auc_labels.yaml: edit it, ")
    copy = dsg("run layers_2_s2auc_labels.yaml --dry-run")
    assert copy == dsg("run claims/layers_2_s2auc_labels --dry-run")
    dsg("data prepare digits")
    dsg("data info digits", 0, "content hash: ")
    assert dsg("data verify digits") == ("", "")
    environment = json.loads(dsg("env")[0])
    assert environment["libraries"].keys() >= {"numpy", "numba", "scikit-learn"}
    assert environment["threads"] >= 1


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
def test_a_run_on_a_terminal_writes_what_is_drawn_again_without_computing(dsg, toy, monkeypatch):
    assert shown("ab\r\x1b[2Kc\r\n\x1b[?25ldef\r\x1b[2K\x1b[1A\x1b[2K\x1b[2KX\n") == ["X", ""]
    data, code = on_a_terminal(toy.parent, "run", "toy.yaml")
    assert code == 0, data
    assert re.search(r"\d of 24 cells, \d+ s so far", data), "the progress was shown"
    lines = shown(data)
    assert not [line for line in lines if "so far" in line or len(line) > 80]
    place = lines.index("trial 1 of 2:")
    assert lines[place + 2].split()[-3:] == ["AUC", "Training", "time"]
    assert [row.split()[:2] for row in lines[place + 4 : place + 8]] == [[x, "120"] for x in LABELS]
    told = " ".join(" ".join(lines).split())
    assert re.search("; ".join(rf"{name} \d\.\d+" for name in LABELS), told.split("trial 2 of ")[1])
    assert "Findings on toy.csv: - No significant difference in AUC" in told
    assert "24 cells computed, 0 reused" in told
    folder = toy.parent / "results" / "toy"
    before = {p: p.read_bytes() for x in ("tables", "figures") for p in (folder / x).iterdir()}
    tables = {f"{t}_table.{x}" for t in ("auc", "time") for x in ("csv", "md", "tex")}
    figures = {f"{f}.{x}" for f in ("auc_boxplot", "time_curve") for x in ("pdf", "png")}
    assert {path.name for path in before} >= tables | figures
    for path in before:
        path.unlink()
    monkeypatch.setattr("dsgkit.experiment.cell.run_job", None)
    dsg("table results/toy --out results/toy")
    dsg("plot results/toy")
    assert {p: p.read_bytes() for p in before} == before


def test_a_plan_of_days_is_started_by_yes_alone(toy):
    days = "solvers.qsg_s2auc.params.n_iterations=1000000000000"
    data, code = on_a_terminal(toy.parent, "run", "toy.yaml", "--set", days)
    expected = r"toy-\w+: about (\S+ [dh]) of .*; QSG-S2AUC takes (\S+ [dh]) of it; --yes starts it"
    told = re.search(expected + ", --solvers or --profile run less", " ".join(data.split()))
    assert code == 1 and told and told[1] == told[2]
    assert not list((toy.parent / "results").rglob("*.jsonl"))
