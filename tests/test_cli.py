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

from dsgkit import cli
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.catalogue import SOLVERS

BARE = ("run", "toy.yaml", "--set", "outputs=[]")
"""A run that draws nothing."""

FEW = (*BARE, "--solvers", "samult")


@pytest.fixture
def dsg(monkeypatch, capsys, toy, in_process):
    """Run ``dsg`` in this process, in the toy's folder; returns (exit code, output, errors)."""
    monkeypatch.chdir(toy.parent)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    yield run
    for number, handler in handlers.items():  # a process that was told to end ignores signals
        signal.signal(number, handler)


def told(outcome, code, *texts):
    """Check the exit code, and that some texts are printed or told, whatever the line ends."""
    words = " ".join((outcome[1] + outcome[2]).split())
    assert outcome[0] == code, words
    for text in texts:
        assert text in words
    return words


def test_the_help_names_every_command_and_a_group_alone_prints_it():
    for group in ([], ["list"], ["data"]):
        text = CliRunner().invoke(cli.cli, group).output
        assert text == CliRunner().invoke(cli.cli, [*group, "--help"]).output
        assert max(map(len, text.splitlines())) <= 80 and not re.search(r"[^\]]\.\.\.", text)
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", CliRunner().invoke(cli.cli, []).output, re.M)
    assert sorted(listed) == sorted(cli.cli.commands)


def test_what_is_quick_imports_nothing_heavy():
    program = "import sys; sys.argv = ['dsg', '--help']\nfrom dsgkit import cli\ntry: cli.main()"
    heavy = "numpy numba scipy sklearn pandas matplotlib pydantic yaml jinja2 rich"
    shown = f"except SystemExit: print({{*sys.modules}} & {{*{heavy.split()}}})"
    command = [sys.executable, "-c", f"{program}\n{shown}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
def test_run_writes_all_that_is_drawn_again_without_computing(dsg, toy, monkeypatch):
    done = dsg("run", "toy.yaml")
    told(done, 0, "QSG-S2AUC", "24 cells computed, 0 reused", "Findings on toy.csv: - AUC on the ")
    assert done[2] == ""
    folder = toy.parent / "results" / "toy"
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    tables = {f"tables/{t}_table.{x}" for t in ("auc", "time") for x in ("csv", "md", "tex")}
    figures = {f"figures/{f}.{x}" for f in ("auc_boxplot", "time_curve") for x in ("pdf", "png")}
    assert names >= tables | figures | {"config.yaml", "environment.json", "cells.jsonl"}
    trials = [line for line in done[1].splitlines() if line.startswith("trial ")]
    assert trials[:2] == [f"trial 1 of 2, {n} unlabelled rows:" for n in (40, 120)]
    assert [line.partition(":")[0] for line in trials[2:]] == ["trial 2 of 2"]
    before = {p: p.read_bytes() for x in ("tables", "figures") for p in (folder / x).iterdir()}
    for path in before:
        path.unlink()
    monkeypatch.setattr("dsgkit.experiment.cell.run_job", None)
    assert dsg("table", folder)[0] == dsg("plot", folder)[0] == 0
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.slow
def test_stored_results_are_shown_drawn_and_compared(dsg, toy, finished):
    only = ("plot", finished, "--only", "time_curve")
    for options, formats in (
        ((), ["pdf", "png"]),
        (("--format", "svg", "--width", "page"), ["svg"]),
    ):
        paths = [Path(line).name for line in dsg(*only, *options)[1].splitlines()]
        assert paths == [f"time_curve.{x}" for x in formats]
    out = told(dsg("table", finished, "--only", "time_table,params_table"), 0, "Peak memory")
    assert out.endswith("/tables: time_table, params_table (csv, md, tex)") and "AUC on" not in out
    told(dsg("plot", finished, "--only", "time_curv"), 1, "did you mean 'time_curve'")
    part = dsg("table", "results/toy", "--at", "40", "--solvers", "samult")
    assert "/tables" not in told(part, 0, "SAMULT")
    told(dsg("plot", "results/toy", "--at", "40"), 2, "a part of the results needs --out")
    told(dsg("table", "results/toy", "--solvers", "svc"), 2, "no solver is called 'svc'")
    out = told(dsg("compare", "results/toy", "other/toy", "--out", "diff"), 0, "B agrees with A: ")
    assert "diff/tables/compare_auc.csv" in out
    assert dsg("report", "results/toy") == (0, "results/toy/report.html\n", "")
    both = ("results/toy", "other/toy")
    assert dsg("report", *both, "--out", "pages/both.html")[:2] == (0, "pages/both.html\n")
    told(dsg("report", *both), 2, "several results folders need --out, the place to write to")
    assert dsg("export", *both)[1].count("\n") == 1 + 2 * 16
    assert dsg("export", *both, "-o", "fits.csv")[1] == "fits.csv\n"


def test_resume_fresh_profiles_and_solvers(dsg, toy, finished):
    toy.write_text(toy.read_text() + "profiles: {short: {protocol: {trials: 1}}}\n")
    told(dsg(*BARE), 0, "0 cells computed, 24 reused")
    told(dsg(*BARE, "--profile", "short"), 0, "0 cells computed, 12 reused")
    assert (toy.parent / "results" / "toy-short" / "cells.jsonl").exists()
    told(dsg(*FEW, "--fresh"), 0, "6 cells computed, 0 reused")
    with (finished / "cells.jsonl").open("a") as file:
        file.write("no record\n")
    told(dsg("table", "results/toy"), 0, "unreadable lines of records, left out: 1 (the first is ")
    told(dsg(*BARE), 0, "unreadable lines of records: 1, the first is line")


def test_a_dry_run_tells_the_cost_and_writes_nothing(dsg, toy, tmp_path, monkeypatch):
    code, out, _ = dsg("run", "toy.yaml", "--dry-run")
    assert code == 0 and "toy: 24 cells" in out and "GiB" in out
    assert re.search(r"^SAMULT +search +2 ", out, re.M)
    assert "SAMULT" not in dsg(*BARE, "--solvers", "pnu_auc", "--dry-run")[1]
    assert not (toy.parent / "results").exists()
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "none"))
    missing = dsg("run", "skin_s2auc", "skin_s3vm", "--dry-run")
    told(missing, 1, ": get from https:", "skin_s3vm: ", "2 experiments: about ")


def test_sizes_beyond_the_data_are_told_before_a_run(dsg):
    done = dsg(*FEW, "--set", "sweep.unlabeled=[40, 5000]", "--name", "beyond")
    text = "unlabeled: 5,000 left out: the data leave 120 unlabelled rows; `all` takes them"
    words = told(done, 0, text)
    assert words.index(text) < words.index("trial 1 of 2")
    told(dsg("status", "results/beyond"), 0, text)


@pytest.mark.slow
def test_failures_are_told_at_the_end_in_the_exit_code_and_by_status(dsg, monkeypatch):
    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    monkeypatch.setattr(SAMULT, "fit", explode)
    code, out, err = dsg(*BARE, "--set", "outputs=[auc_table]")
    cause = "SAMULT fit, trials 1..2, 40..120 unlabelled (4 cells): failed: RuntimeError: boom"
    assert code == 1 and " ".join(err.split()).startswith(cause) and "Findings on " in out
    code, out, _ = dsg("status", "results/toy")
    assert code == 0
    assert "results/toy: 20 of 24 cells have a result; not running" in out
    assert "RuntimeError" in out and "Traceback" not in out
    assert "Traceback" in dsg("status", "results/toy", "-v")[1]
    none = told(dsg(*FEW, "--name", "none"), 1, "no fit has a result; `dsg status -v results/none`")
    assert "tables and figures" not in none


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "interrupted; "), (signal.SIGTERM, "stopped by SIGTERM; ")],
)
def test_an_interrupt_says_how_to_go_on(dsg, monkeypatch, number, words):
    def interrupt(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(10)

    with monkeypatch.context() as patch:
        patch.setattr("dsgkit.experiment.cell.run_job", interrupt)
        code, _, err = dsg("run", "toy.yaml", "--set", "seed=1", "--fresh")
    assert code == 128 + number
    (line,) = err.splitlines()
    assert line.startswith(words)
    assert line.endswith("continue with: dsg run toy.yaml --set seed=1")
    assert dsg(*FEW, "--set", "protocol.trials=1")[0] == 0


@pytest.mark.slow
def test_one_config_that_cannot_run_does_not_stop_the_others_and_is_on_the_page(dsg, toy):
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))
    both = ("gone.yaml", *FEW[1:])
    told(dsg("run", *both, "--fail-fast"), 1, "gone.csv")
    assert not (toy.parent / "results" / "toy").exists()
    out = told(dsg("run", *both, "--report", "all.html"), 1, "gone.csv", "6 cells computed")
    assert "all.html" in out
    assert "1 experiment not run." in (toy.parent / "all.html").read_text()
    code, out, err = dsg("run", "gone.yaml", "--report", "none.html")
    assert (code, out) == (1, "none.html\n")
    page = html.unescape((toy.parent / "none.html").read_text())
    assert f"not run: {err.removeprefix('Error: ').strip()}" in page


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("list datasets", "ijcnn1"),
        ("list tasks", "semi_supervised_svm  Learning a classifier from labelled and"),
        ("list solvers", 'kind: "my_module:MySolver"'),
        ("list configs", "A first run, of about"),
        ("list kernels", "exp(-sigma ||x - x'||^2)"),
        ("data info codrna", "cjlin"),
        ("figure", "s2auc/table-1"),
    ],
)
def test_lists_fit_the_terminal(words, text, monkeypatch, toy):
    texts = []
    for columns in (80, 100, 120, 1000):
        monkeypatch.setenv("COLUMNS", str(columns))
        output = CliRunner().invoke(cli.cli, words.split()).output
        lines = {line: line.removeprefix("homepage:").split() for line in output.splitlines()}
        assert all(len(line) <= columns or len(of) == 1 for line, of in lines.items())
        texts.append(output.split())
    assert all(one == texts[0] for one in texts)
    assert " ".join(text.split()) in " ".join(texts[0])
    if words == "list solvers":
        assert {*texts[0]} > {*SOLVERS}


def test_data_commands_and_env(dsg, toy):
    told(dsg("data", "prepare", "digits"), 0, "1,797 rows, 64 features")
    told(dsg("data", "fetch", "digits"), 0, "nothing to fetch")
    told(dsg("data", "info", "digits"), 0, "content hash")
    assert "WRONG" not in told(dsg("data", "verify", "digits"), 0)
    environment = json.loads(dsg("env")[1])
    assert environment["libraries"].keys() >= {"numpy", "numba", "scikit-learn"}
    assert environment["threads"] >= 1
