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
CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.fixture
def signals():
    """Put back what signals do: a process that was told to end ignores them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def dsg(monkeypatch, capsys, toy, in_process, signals):
    """Run ``dsg`` in this process, in the toy's folder; returns (exit code, output, errors)."""
    monkeypatch.chdir(toy.parent)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return run


@pytest.fixture
def gone(toy):
    """A config next to the toy's whose data are not there."""
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))


@pytest.fixture
def exploding(monkeypatch):
    """Every fit of SAMULT fails."""

    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit", explode)
        yield patch


def one_error_line(outcome, *texts):
    """A user's mistake: one line on the error stream, exit code 1, no traceback."""
    code, _, err = outcome
    (line,) = err.splitlines()
    assert code == 1
    assert line.startswith("Error: ")
    assert all(text in line for text in texts), line


def test_the_help_names_every_command_and_a_group_alone_prints_it():
    for group in ([], ["list"], ["data"]):
        text = CliRunner().invoke(cli.cli, group).output
        assert text == CliRunner().invoke(cli.cli, [*group, "--help"]).output
        assert max(map(len, text.splitlines())) <= 80
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
    code, out, err = dsg("run", "toy.yaml")
    assert code == 0, err
    folder = toy.parent / "results" / "toy"
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    tables = {f"tables/{t}_table.{x}" for t in ("auc", "time") for x in ("csv", "md", "tex")}
    figures = {f"figures/{f}.{x}" for f in ("auc_boxplot", "time_curve") for x in ("pdf", "png")}
    assert names >= tables | figures | {"config.yaml", "environment.json", "cells.jsonl"}
    assert "QSG-S2AUC" in out
    assert "24 cells computed, 0 reused" in out
    assert "Findings on toy.csv:\n- AUC on the unlabelled rows: " in out
    trials = [line for line in out.splitlines() if line.startswith("trial ")]
    assert trials[:2] == [f"trial 1 of 2, {n} unlabelled rows:" for n in (40, 120)]
    assert [line.partition(":")[0] for line in trials[2:]] == ["trial 2 of 2"]
    assert [line.split()[:2] for line in out.splitlines()[-3:]] == [
        ["dsg", name] for name in ("table", "plot", "report")
    ]
    assert err == ""
    before = {
        p: p.read_bytes() for part in ("tables", "figures") for p in (folder / part).iterdir()
    }
    for path in before:
        path.unlink()
    monkeypatch.setattr("dsgkit.experiment.cell.run_job", None)
    assert dsg("table", folder)[0] == 0
    assert dsg("plot", folder)[0] == 0
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.slow
def test_two_results_compared(dsg, toy, finished):
    code, out, err = dsg("compare", "results/toy", "other/toy", "--out", "diff")
    assert (code, err) == (0, "")
    assert out.startswith("B agrees with A: ")
    assert "Trials are not paired: seed is 0 in A and 1 in B." in out
    assert "diff/tables/compare_auc.csv" in out
    assert (toy.parent / "diff/figures/compare.pdf").stat().st_size > 1000
    code, out, _ = dsg("compare", "results/toy", "results/toy")
    assert code == 0
    assert out.startswith("B reproduces A: all 16 fits that both have are identical but for times.")
    one_error_line(dsg("compare", "results/toy", "other/toy", "--out", "toy.csv/diff"), "toy.csv")


def test_only_what_is_named_is_made(dsg, finished):
    code, out, _ = dsg("plot", finished, "--only", "time_curve")
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["time_curve.pdf", "time_curve.png"]
    look = ("--format", "svg", "--width", "page")
    code, out, _ = dsg("plot", finished, "--only", "time_curve", *look)
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["time_curve.svg"]
    code, out, _ = dsg("table", finished, "--only", "time_table,params_table")
    assert dsg("table", finished, "--only", "time_table", "--only", "params_table")[1] == out
    assert code == 0
    assert "AUC on" not in out
    assert "Peak memory" in out
    assert "Chosen hyper-parameters" in out
    assert " ".join(out.split()).endswith("/tables: time_table, params_table (csv, md, tex)")
    one_error_line(dsg("plot", finished, "--only", "time_curv"), "did you mean 'time_curve'")
    one_error_line(dsg("table", finished, "--only", "pie"), "no table 'pie'; ", "auc_table")


@pytest.mark.slow
def test_a_page_on_one_and_on_several_results(dsg, toy, finished):
    code, out, err = dsg("report", "results/toy")
    assert (code, out, err) == (0, "results/toy/report.html\n", "")
    page = (finished / "report.html").read_text()
    assert "All 24 cells finished." in page
    assert "dsg plot results/toy --only time_curve" in page
    both = ("results/toy", "other/toy")
    assert dsg("report", *both, "--out", "pages/both.html")[:2] == (0, "pages/both.html\n")
    page = (toy.parent / "pages/both.html").read_text()
    assert "dsg plot results/toy other/toy --out pages --only time_curve" in page
    for options, text in (
        (both, "several results folders need --out, the place to write"),
        (("results/toy", "--out", "pages"), "pages"),
    ):
        code, _, err = dsg("report", *options)
        assert (code, err.count("\n")) == (2, 1)
        assert text in err


def test_resume_fresh_and_profiles(dsg, toy, finished):
    toy.write_text(toy.read_text() + "profiles: {short: {protocol: {trials: 1}}}\n")
    assert "0 cells computed, 24 reused" in dsg(*BARE)[1]
    assert "0 cells computed, 12 reused" in dsg(*BARE, "--profile", "short")[1]
    assert (toy.parent / "results" / "toy-short" / "cells.jsonl").exists()
    assert "6 cells computed, 0 reused" in dsg(*FEW, "--fresh")[1]


def test_a_dry_run_tells_the_cost_and_writes_nothing(dsg, toy):
    code, out, _ = dsg("run", "toy.yaml", "--dry-run")
    assert code == 0
    assert "toy: 24 cells" in out
    assert re.search(r"^SAMULT +search +2 ", out, re.M)
    assert "GiB" in out
    assert not (toy.parent / "results").exists()


def test_a_dry_run_without_data_prints_what_is_known_and_fails(dsg, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    code, out, _ = dsg("run", "skin_s2auc", "skin_s3vm", "--dry-run")
    assert code == 1
    told = " ".join(out.split())
    assert ": get from https:" in told and "skin_s3vm: " in told
    assert "2 experiments: about" in told


def test_sizes_beyond_the_data_are_told_before_and_after_a_run(dsg):
    _, out, _ = dsg(*FEW, "--set", "sweep.unlabeled=[40, 5000]", "--name", "beyond")
    told = "unlabeled: 5,000 left out: the data leave 120 unlabelled rows; `all` takes them"
    lines = " ".join(out.split())
    assert lines.count(told) == 2
    assert lines.index(told) < lines.index("trial 1 of 2")
    assert told in " ".join(dsg("status", "results/beyond")[1].split())


@pytest.mark.slow
def test_failures_are_told_at_the_end_in_the_exit_code_and_by_status(dsg, exploding):
    code, out, err = dsg(*BARE, "--set", "outputs=[auc_table]")
    assert code == 1
    cause = "SAMULT fit, trials 1..2, 40..120 unlabelled (4 cells): failed: RuntimeError: boom"
    assert " ".join(err.split()).startswith(cause)
    assert "Findings on " in out
    code, out, _ = dsg("status", "results/toy")
    assert code == 0
    assert "results/toy: 20 of 24 cells have a result; not running" in out
    assert "samult     fit         0 of 4 (4 failed)" in out
    assert "RuntimeError" in out and "Traceback" not in out
    assert "Traceback" in dsg("status", "results/toy", "-v")[1]
    out = " ".join(dsg(*FEW, "--name", "none")[1].split())
    assert "tables and figures" not in out
    assert "no fit has a result; `dsg status -v results/none`" in out


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
def test_one_config_that_cannot_run_does_not_stop_the_others_and_is_on_the_page(dsg, toy, gone):
    both = ("gone.yaml", *FEW[1:])
    code, _, err = dsg("run", *both, "--fail-fast")
    assert code == 1
    assert "gone.csv" in err
    assert not (toy.parent / "results" / "toy").exists()
    code, out, err = dsg("run", *both, "--report", "all.html")
    assert code == 1
    assert "gone.csv" in err
    assert "6 cells computed" in out
    assert out.endswith("all.html\n")
    assert "1 experiment not run." in (toy.parent / "all.html").read_text()
    code, out, err = dsg("run", "gone.yaml", "--report", "none.html")
    assert (code, out) == (1, "none.html\n")
    page = html.unescape((toy.parent / "none.html").read_text())
    assert f"not run: {err.removeprefix('Error: ').strip()}" in page


@pytest.mark.slow
def test_some_solvers_now_and_the_others_later(dsg, toy):
    code, out, _ = dsg(*BARE, "--solvers", "samult,rff_s2auc")
    assert code == 0
    path = toy.parent / "results" / "toy" / "cells.jsonl"
    first = path.read_text()
    solvers = [json.loads(line)["solver"] for line in first.splitlines()]
    assert set(solvers) == {"samult", "rff_s2auc"}
    assert "So far" not in out and "Findings on" in out, "the chosen solvers have run"
    assert not dsg(*BARE, "--solvers", "samult")[1].startswith("\n"), "nothing to compare"
    assert f"{len(solvers)} of 24 cells have a result" in dsg("status", "results/toy")[1]
    assert "samult" not in dsg(*BARE, "--solvers", "pnu_auc", "--dry-run")[1].lower()
    code, out, _ = dsg(*BARE)
    assert f"{24 - len(solvers)} cells computed, {len(solvers)} reused" in out
    assert path.read_text().startswith(first)


@pytest.mark.slow
def test_settings_that_change_results_have_a_folder_of_their_own(dsg, toy):
    assert dsg(*FEW)[0] == 0
    results = toy.parent / "results"
    kept = {path: path.read_bytes() for path in (results / "toy").rglob("*") if path.is_file()}
    few = "sweep.unlabeled=[40]"
    code, out, _ = dsg(*FEW, "--set", few)
    assert code == 0
    (other,) = set(results.iterdir()) - {results / "toy"}
    assert out.startswith(f"--set changes results: they go to results/{other.name} (--name ")
    assert dsg(*FEW, "--set", few, "--timeout", "60")[0] == 0
    assert {path.name for path in results.iterdir()} == {"toy", other.name}
    assert {path: path.read_bytes() for path in kept} == kept
    named = (*BARE, "--name", "toy", "--set", "seed=2")  # the name of a folder of another seed
    one_error_line(dsg(*named), "results/toy", "seed is 0 there and 2 here", "--name")
    assert dsg(*named, "--fresh")[0] == 0


def test_lists(dsg):
    *registered, _, own = dsg("list", "solvers")[1].splitlines()
    assert [line.split()[0] for line in registered if line[0] != " "] == list(SOLVERS)
    assert "QSG-S2AUC" in registered[0]
    assert 'kind: "my_module:MySolver"' in own
    assert "quickstart" in dsg("list", "configs", CONFIGS)[1]
    assert "A first run, of about" in " ".join(dsg("list", "configs")[1].split())
    assert "s2auc/table-1" in dsg("figure")[1]
    for what, text in {
        "datasets": "ijcnn1",
        "tasks": "semi_supervised_svm  Learning a classifier from labelled and",
        "kernels": "exp(-sigma ||x - x'||^2)",
        "configs": "quickstart",
    }.items():
        assert text in dsg("list", what)[1]


@pytest.mark.parametrize(
    "listed",
    ["datasets", "tasks", "solvers", "configs", "kernels", "data info codrna", "figure"],
)
def test_lists_fit_the_terminal(listed, monkeypatch, toy):
    words = listed.split() if " " in listed or listed == "figure" else ["list", listed]
    texts = {}
    for columns in (80, 100, 120, 1000):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = texts[columns] = CliRunner().invoke(cli.cli, words).output
        lines = {line: line.removeprefix("homepage:").split() for line in text.splitlines()}
        assert all(len(line) <= columns or len(of) == 1 for line, of in lines.items())
    words = {" ".join(sorted(text.replace("-", "").split())) for text in texts.values()}
    assert len(words) == 1


def test_data_commands(dsg, toy):
    assert "1,797 rows, 64 features" in dsg("data", "prepare", "digits")[1]
    assert "nothing to fetch" in dsg("data", "fetch", "digits")[1]
    assert "content hash" in dsg("data", "info", "digits")[1]
    code, out, _ = dsg("data", "verify", "digits")
    assert code == 0
    assert "WRONG" not in out


def test_env_is_json_with_the_versions(dsg):
    environment = json.loads(dsg("env")[1])
    assert environment["libraries"].keys() >= {"numpy", "numba", "scikit-learn"}
    assert environment["threads"] >= 1
