"""The command line as a user meets it: what it prints, what it writes, how it exits."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from dsgkit import cli
from dsgkit.config import load_experiment
from dsgkit.experiment import cells
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.solvers.auc.samult import SAMULT
from dsgkit.solvers.catalogue import SOLVERS
from tests.conftest import cells_in_this_process, write_toy

BARE = ("run", "toy.yaml", "--set", "outputs=[]")
"""A run that draws nothing."""

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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with what two runs of the toy's config, of different seeds, leave."""
    folder = tmp_path_factory.mktemp("made")
    config = write_toy(folder)
    with cells_in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_CACHE", str(folder / "cache"))
        for seed, name in enumerate(("results", "other")):
            experiment = load_experiment(config, overrides=[f"seed={seed}"])
            done = run_experiment(experiment, folder / name / "toy", Options(once=True))
            assert done.failures == []
    return folder


@pytest.fixture
def finished(toy, made):
    """The results of two runs of the toy's config in its folder."""
    for name in ("results", "other"):
        shutil.copytree(made / name, toy.parent / name)


def one_error_line(outcome, *texts):
    """A user's mistake: one line on the error stream, exit code 1, no traceback."""
    code, _, err = outcome
    lines = err.splitlines()
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    for text in texts:
        assert text in lines[0]


def test_help_needs_no_heavy_import():
    heavy = (
        "numpy",
        "numba",
        "scipy",
        "sklearn",
        "pandas",
        "matplotlib",
        "pydantic",
        "yaml",
        "jinja2",
        "filelock",
    )
    script = (
        "import sys; sys.argv = ['dsg', '--help']\n"
        "from dsgkit.cli import main\n"
        "try: main()\nexcept SystemExit as stop: assert stop.code == 0\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("group", [(), ("list",), ("data",)])
def test_a_group_of_commands_alone_prints_its_help(group, monkeypatch, capsys):
    def printed(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        return capsys.readouterr().out

    text = printed(*group)
    assert text == printed(*group, "--help")
    assert max(map(len, text.splitlines())) <= 80
    assert ".." not in text.replace("[ARGS]...", "")


def test_the_help_names_every_command_in_the_order_in_which_users_meet_them():
    text = CliRunner().invoke(cli.cli, []).output
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", text, re.M)
    assert sorted(listed) == sorted(cli.cli.commands)
    assert listed[:2] == ["run", "try"]
    assert listed[-3:] == ["claims", "figure", "pages"]


def completed(*arguments):
    """What a shell offers for the last argument."""
    *before, last = arguments
    shell = ShellComplete(cli.cli, {}, "dsg", "_DSG_COMPLETE")
    return [item.value for item in shell.get_completions(list(before), last)]


def test_a_shell_completes_solvers_and_outputs(toy, tmp_path):
    assert completed("run", str(toy), "--solvers", "samult,") == [
        f"samult,{name}" for name in ("pnu_auc", "qsg_s2auc", "rff_s2auc", "samult")
    ]
    folder = tmp_path / "results" / "toy"
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "params_table.csv").touch()
    (folder / "config.yaml").write_text(load_experiment(toy).to_yaml())
    assert completed("table", str(folder), "--only", "p") == ["params_table"]
    assert completed("plot", str(folder), "--only", "time_c") == ["time_curve"]
    assert completed("plot", str(folder), "--only", "time_curve,a") == ["time_curve,auc_boxplot"]
    assert completed("table", str(folder), "--only", "a") == ["auc_table"]
    assert completed("report", str(folder), "--solvers", "s") == ["samult"]
    assert completed("table", "nowhere", "--solvers", "s") == []
    assert completed("explain", "qs3orao_") == ["qs3orao_p"]
    assert completed("run", "codrna_s2auc", "--profile", "qui") == ["quick"]


def test_a_shell_completes_what_is_explained_and_drawn_of_papers():
    assert "protocol.labeled" in completed("explain", "protocol.")
    assert completed("explain", "quick") == ["quickstart"]
    assert completed("explain", "protocol.labele") == ["protocol.labeled"]
    assert completed("figure", "s2") == [
        "s2auc", "s2auc/table-1", "s2auc/1", "s2auc/table-2", "s2auc/2",
    ]  # fmt: skip
    assert completed("claims", "--paper", "s2auc,s") == [
        "s2auc,s2auc",
        "s2auc,s3vm",
        "s2auc,su",
        "s2auc,svc",
    ]
    assert completed("claims", "--id", "s2auc-0")[0] == "s2auc-01"


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
    assert err == ""
    before = {
        p: p.read_bytes() for part in ("tables", "figures") for p in (folder / part).iterdir()
    }
    for path in before:
        path.unlink()
    monkeypatch.setattr("dsgkit.experiment.cells.run_job", None)
    assert dsg("table", folder)[0] == 0
    assert dsg("plot", folder)[0] == 0
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.slow
def test_a_run_ends_with_what_can_be_done_next(dsg, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    few = ("--solvers", "supervised", "--set", "protocol.trials=1", "--set", "outputs=[]")
    code, out, _ = dsg("run", "quickstart", *few, "--name", "q")
    assert code == 0
    results = [
        "  dsg table results/q                     all numbers",
        "  dsg plot results/q                      the figures again",
        "  dsg report results/q                    one HTML page",
    ]
    others = [
        "  dsg try rows.csv --label NAME           methods compared on your own rows",
        "  dsg list configs                        shipped configs, run by their names",
        "  dsg run NAME --profile quick --dry-run  the time that one would take",
    ]
    assert out.splitlines()[-6:] == [*results, *others]
    assert dsg(*BARE, "--solvers", "samult")[1].splitlines()[-1].split()[:2] == ["dsg", "report"]


@pytest.mark.slow
def test_several_results_side_by_side(dsg, toy, finished):
    both = ("results/toy", "other/toy")
    code, out, _ = dsg("table", *both, "--out", "together")
    assert code == 0
    assert "together/tables: auc_table, time_table" in out
    assert (toy.parent / "together/tables/auc_table.md").exists()
    assert dsg("plot", *both, "--out", "together")[0] == 0
    assert (toy.parent / "together/figures/time_curve.pdf").stat().st_size > 1000
    code, _, err = dsg("plot", *both)
    assert code == 2
    assert "--out" in err


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
    one_error_line(dsg("compare", "results/toy", "nowhere"), "nowhere", "config.yaml")
    dsg(*BARE, "--set", "sweep.unlabeled=[50]", "--out", "sizes", "--name", "toy")
    one_error_line(dsg("compare", "results/toy", "sizes/toy"), "no fit is in both")
    one_error_line(dsg("compare", "results/toy", "other/toy", "--out", "toy.csv/diff"), "toy.csv")


def test_only_what_is_named_is_made(dsg, toy):
    dsg(*BARE)
    folder = toy.parent / "results" / "toy"
    assert not (folder / "figures").exists()
    code, out, _ = dsg("plot", folder, "--only", "time_curve")
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["time_curve.pdf", "time_curve.png"]
    look = ("--format", "svg", "--width", "page")
    code, out, _ = dsg("plot", folder, "--only", "time_curve", *look)
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["time_curve.svg"]
    code, _, err = dsg("plot", folder, "--format", "jpg")
    assert code == 2
    assert "known: pdf, png, svg" in err
    code, out, _ = dsg("table", folder, "--only", "time_table,params_table")
    assert dsg("table", folder, "--only", "time_table", "--only", "params_table")[1] == out
    assert code == 0
    assert "AUC on" not in out
    assert "Peak memory" in out
    assert "Chosen hyper-parameters" in out
    assert " ".join(out.split()).endswith("/tables: time_table, params_table (csv, md, tex)")


def test_names_that_cannot_be_made(dsg, toy, finished):
    folder = toy.parent / "results" / "toy"
    one_error_line(dsg("plot", folder, "--only", "time_curv"), "did you mean 'time_curve'")
    one_error_line(
        dsg("plot", folder, "--only", "pie"), "no figure 'pie'; nearest of 12: ", "auc_curve"
    )
    one_error_line(dsg("table", folder, "--only", "auc_tabel"), "did you mean 'auc_table'")
    for command, name in (("plot", "auc_test_boxplot"), ("table", "auc_test_table")):
        outcome = dsg(command, folder, "--only", name)
        one_error_line(outcome, str(folder), f"no finished fit has a value for {name}")


@pytest.mark.slow
def test_a_page_on_one_and_on_several_results(dsg, toy, finished):
    code, out, err = dsg("report", "results/toy")
    assert (code, out, err) == (0, "results/toy/report.html\n", "")
    page = (toy.parent / "results/toy/report.html").read_text()
    assert "All 24 cells finished." in page
    assert "dsg plot results/toy --only time_curve" in page
    both = ("results/toy", "other/toy")
    assert dsg("report", *both, "--out", "pages/both.html")[:2] == (0, "pages/both.html\n")
    page = (toy.parent / "pages/both.html").read_text()
    assert "dsg plot results/toy other/toy --out pages --only time_curve" in page
    code, _, err = dsg("report", *both)
    assert code == 2
    assert "several results folders need --out, the file to write" in err
    one_error_line(dsg("report", "nowhere"), "nowhere", "not a results folder")
    code, _, err = dsg("report", "results/toy", "--out", "pages")
    assert code == 2
    assert err.count("\n") == 1


@pytest.mark.slow
def test_resume_fresh_and_profiles(dsg, toy):
    toy.write_text(toy.read_text() + "profiles: {short: {protocol: {trials: 1}}}\n")
    assert "24 cells computed, 0 reused" in dsg(*BARE)[1]
    assert "0 cells computed, 24 reused" in dsg(*BARE)[1]
    assert "24 cells computed, 0 reused" in dsg(*BARE, "--fresh")[1]
    out = dsg(*BARE, "--profile", "short")[1]
    assert "0 cells computed, 12 reused" in out
    assert (toy.parent / "results" / "toy-short" / "cells.jsonl").exists()


def test_several_configs_begin_with_what_all_take(dsg, toy):
    (toy.parent / "second.yaml").write_text(toy.read_text())
    code, out, _ = dsg(*BARE, "second.yaml", "--set", "protocol.trials=1")
    assert code == 0
    assert out.splitlines()[2].startswith("2 experiments: about ")
    assert "trial 1 of 1, 40 unlabelled rows:" in out
    assert "12 cells computed" in out and "0 cells computed, 12 reused" in out


def test_a_dry_run_tells_the_cost_and_writes_nothing(dsg, toy):
    code, out, _ = dsg("run", "toy.yaml", "--dry-run")
    assert code == 0
    assert "toy: 24 cells" in out
    assert re.search(r" 2 searches +8 ", out)
    assert "GiB" in out
    assert not (toy.parent / "results").exists()


def test_a_dry_run_without_data_prints_what_is_known_and_fails(dsg, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    code, out, _ = dsg("run", "skin_s3vm", "iris_clustering", "--dry-run")
    assert code == 1
    told = " ".join(out.split())
    assert "is missing; get it from https:" in told and "iris_clustering: " in told
    assert told.endswith("; data missing: skin, iris (`dsg data fetch NAME`)")


def test_sizes_beyond_the_data_are_told_before_and_after_a_run(dsg):
    _, out, _ = dsg(*BARE, "--set", "sweep.unlabeled=[40, 5000]", "--name", "beyond")
    told = "unlabeled: 5,000 left out: the data leave 120 unlabelled rows; `all` takes them"
    lines = " ".join(out.split())
    assert lines.count(told) == 2
    assert lines.index(told) < lines.index("trial 1 of 2")
    assert told in " ".join(dsg("status", "results/beyond")[1].split())


def test_a_run_without_a_result_names_no_tables(dsg, monkeypatch):
    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    monkeypatch.setattr(SAMULT, "fit", explode)
    _, out, _ = dsg(*BARE, "--solvers", "samult")
    assert "tables and figures" not in out
    assert "no fit has a result; `dsg status -v results/toy`" in " ".join(out.split())


@pytest.mark.slow
def test_failures_are_told_at_the_end_and_in_the_exit_code(dsg, monkeypatch):
    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    monkeypatch.setattr(SAMULT, "fit", explode)
    code, out, err = dsg(*BARE, "--set", "outputs=[auc_table]")
    assert code == 1
    cause = "SAMULT fit, trials 1..2, 40..120 unlabelled (4 cells): RuntimeError: boom"
    assert " ".join(err.split()).startswith(f"4 cells failed: {cause}")
    assert "Findings on " in out
    code, _, err = dsg(*BARE, "--keep-failed")
    assert code == 1
    assert "4 cells failed" in err
    monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "interrupted; "), (signal.SIGTERM, "stopped by SIGTERM; ")],
)
def test_an_interrupt_says_how_to_go_on(dsg, monkeypatch, number, words):
    def interrupt(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(10)

    with monkeypatch.context() as patch:
        patch.setattr("dsgkit.experiment.cells.run_job", interrupt)
        code, _, err = dsg("run", "toy.yaml", "--set", "seed=1", "--fresh")
    assert code == 128 + number
    (line,) = err.splitlines()
    assert line.startswith(words)
    assert line.endswith("go on with: dsg run toy.yaml --set seed=1")
    assert dsg(*BARE, "--set", "protocol.trials=1")[0] == 0


def test_an_interrupt_that_python_loses_stops_a_run_as_well(dsg, monkeypatch):
    """As it does with what is raised while an object is deleted."""
    run_job, jobs, lost = cells.run_job, [], []

    class Deleted:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)

    def run_interrupted(job, *arguments, **options):
        jobs.append(job)
        Deleted()
        return run_job(job, *arguments, **options)

    monkeypatch.setattr(cells, "run_job", run_interrupted)
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    code, _, err = dsg(*BARE, "--fresh")
    assert (code, len(jobs), len(lost)) == (128 + signal.SIGTERM, 1, 1)
    assert err.startswith("stopped by SIGTERM; ")


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ("protocol.trails=3", ["--set protocol.trails=3", "did you mean 'trials'"]),
        ("protocol.trials=many", ["--set protocol.trials=many", "trials"]),
        ("protocol.labeled=1000", ["1,000", "150"]),
        ("solvers.samul={}", ["did you mean 'samult'"]),
        ("solvers.samult.params.lamda=1", ["did you mean 'lam'"]),
    ],
)
def test_wrong_settings(dsg, toy, change, texts):
    one_error_line(dsg("run", "toy.yaml", "--set", change), *texts)
    assert not (toy.parent / "results").exists()


def test_a_wrong_config_file(dsg, toy):
    toy.write_text("dataset: {name: digits}\nprotocol: {trials: 1}\nprotocol: {trials: 2}\n")
    one_error_line(dsg("run", "toy.yaml"), "toy.yaml:3", "protocol")
    toy.write_text(
        "dataset: {name: codrnaa}\nprotocol: {kind: semi_supervised_auc}\nsolvers: {samult: {}}\n"
    )
    one_error_line(dsg("run", "toy.yaml"), "toy.yaml:1", "did you mean 'codrna'")
    one_error_line(dsg("run", "nothing.yaml"), "nothing.yaml")
    one_error_line(dsg("run", CONFIGS / "codrna_s2auc.yaml", "--profile", "quik"), "quick")


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("+1 1:0.5\n-1 2:x\n", "rows.txt:2", "x"),
        ("+1 1:0.5\n-1 1:1\n+1 1:nan\n", "rows.txt:3", "nan"),
        ("+1 1:0.5\n-1 1:inf\n", "rows.txt:2", "inf"),
        ("+1 1:0.5\n+1 1:1\n", "rows.txt", "class"),
    ],
)
def test_wrong_data_files(dsg, toy, text, where, what):
    (toy.parent / "rows.txt").write_text(text)
    changes = ["dataset={path: rows.txt, loader: libsvm}"]
    options = [part for change in changes for part in ("--set", change)]
    one_error_line(dsg("run", "toy.yaml", *options), where, what)
    assert not (toy.parent / "results").exists()


def test_a_missing_file_offline(dsg):
    outcome = dsg("run", CONFIGS / "ijcnn1_s2auc.yaml")
    one_error_line(outcome, "ijcnn1", "https://www.csie.ntu.edu.tw", "DSGKIT_DATA")


def test_a_results_folder_that_cannot_be_written(dsg, toy):
    (toy.parent / "results").write_text("a file, not a folder")
    code, _, err = dsg("run", "toy.yaml")
    assert code in (1, 2)
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_one_config_that_cannot_run_does_not_stop_the_others(dsg, toy):
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))
    code, out, err = dsg("run", "gone.yaml", "toy.yaml", "--set", "outputs=[]")
    assert code == 1
    assert "gone.csv" in err
    assert "24 cells computed" in out
    code, _, err = dsg("run", "toy.yaml", "toy.yaml")
    assert code == 2
    assert "same name" in err


def test_fail_fast_is_for_all_configs(dsg, toy):
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))
    code, out, err = dsg("run", "gone.yaml", "toy.yaml", "--fail-fast")
    assert (code, out) == (1, "")
    assert "gone.csv" in err


@pytest.mark.slow
def test_one_page_on_all_that_ran_and_those_that_could_not(dsg, toy):
    (toy.parent / "gone.yaml").write_text(toy.read_text().replace("toy.csv", "gone.csv"))
    both = ("gone.yaml", "toy.yaml", "--set", "outputs=[]")
    code, out, _ = dsg("run", *both, "--report", "all.html")
    assert code == 1
    assert out.endswith("all.html\n")
    assert "All 24 cells finished. 1 experiment not run." in (toy.parent / "all.html").read_text()
    code, out, err = dsg("run", "gone.yaml", "--report", "none.html")
    assert (code, out) == (1, "none.html\n")
    page = html.unescape((toy.parent / "none.html").read_text())
    assert f"not run: {err.removeprefix('Error: ').strip()}" in page


@pytest.mark.slow
def test_status_of_runs(dsg, toy, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit", lambda *_, **__: 1 / 0)
        dsg(*BARE)
    code, out, _ = dsg("status", "results/toy")
    assert code == 0
    assert "results/toy: 20 of 24 cells have a result; not running" in out
    assert "samult     fit         0 of 4 (4 failed)" in out
    assert "ZeroDivisionError" in out
    assert "Traceback" not in out
    assert "Traceback" in dsg("status", "results/toy", "-v")[1]
    dsg(*BARE)
    assert "24 of 24 cells have a result; finished" in dsg("status", "results/toy")[1]
    one_error_line(dsg("status", "nowhere"), "nowhere", "not a results folder")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--memory-limit", "lots"], "'lots' is not a size; write one such as 4GiB"),
        (["--timeout", "0"], "--timeout"),
        (["--jobs", "0"], "--jobs"),
        (["--scheduler", "here"], "'here' is not an address, such as tcp://host:8786"),
    ],
)
def test_wrong_options(toy, options, text, monkeypatch, capsys):
    monkeypatch.chdir(toy.parent)
    monkeypatch.setattr(sys, "argv", ["dsg", "run", "toy.yaml", *options])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    err = capsys.readouterr().err
    assert stop.value.code in (1, 2)
    assert text in err
    assert err.count("\n") == 1


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
    assert f"{24 - len(solvers)} cells of other solvers left, for a run without --solvers" in out
    assert f"{len(solvers)} of 24 cells have a result" in dsg("status", "results/toy")[1]
    assert "samult" not in dsg(*BARE, "--solvers", "pnu_auc", "--dry-run")[1].lower()
    code, out, _ = dsg(*BARE)
    assert f"{24 - len(solvers)} cells computed, {len(solvers)} reused" in out
    assert path.read_text().startswith(first)
    outcome = dsg(*BARE, "--solvers", "samul")
    assert outcome[0] == 2
    assert "no solver is called 'samul' (did you mean 'samult'?)" in outcome[2]


@pytest.mark.slow
def test_settings_that_change_results_have_a_folder_of_their_own(dsg, toy):
    few = ("--solvers", "samult")
    assert dsg(*BARE, *few)[0] == 0
    results = toy.parent / "results"
    kept = {path: path.read_bytes() for path in (results / "toy").rglob("*") if path.is_file()}
    code, out, _ = dsg(*BARE, *few, "--set", "protocol.trials=1")
    assert code == 0
    (other,) = set(results.iterdir()) - {results / "toy"}
    assert out.startswith(f"--set changes results: these go to results/{other.name} (--name ")
    assert "\n0 cells computed, " in out  # the first trial is the same
    assert dsg(*BARE, *few, "--set", "protocol.trials=1", "--timeout", "60")[0] == 0
    assert {path.name for path in results.iterdir()} == {"toy", other.name}
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.slow
def test_a_folder_of_a_chosen_name_is_of_the_same_settings(dsg, toy):
    one = (*BARE, "--solvers", "samult", "--name", "mine")
    assert dsg(*one, "--set", "seed=1")[0] == 0
    code, out, err = dsg(*one, "--set", "seed=1", "--set", "threads=1")
    assert (code, err) == (0, "")
    assert not out.startswith("--set")
    assert [path.name for path in (toy.parent / "results").iterdir()] == ["mine"]
    one_error_line(dsg(*one, "--set", "seed=2"), "results/mine", "(seed differs)", "--name")
    assert dsg(*one, "--set", "seed=2", "--fresh")[0] == 0
    assert dsg(*BARE, "toy.yaml", "--name", "mine")[0] == 2


def test_folders_that_hold_no_results(dsg, toy):
    one_error_line(dsg("table", "nowhere"), "nowhere")
    one_error_line(dsg("plot", toy.parent), "config.yaml")


def test_debug_shows_the_traceback(monkeypatch, toy):
    monkeypatch.chdir(toy.parent)
    monkeypatch.setattr(sys, "argv", ["dsg", "table", "nowhere", "--debug"])
    with pytest.raises(cli.DsgError):
        cli.main()


def test_lists(dsg, toy):
    assert "ijcnn1" in dsg("list", "datasets")[1]
    *registered, _, own = dsg("list", "solvers")[1].splitlines()
    assert [line.split()[0] for line in registered if line[0] != " "] == list(SOLVERS)
    assert "QSG-S2AUC" in registered[0]
    assert 'kind: "my_module:MySolver"' in own
    assert "semi_supervised_svm  Learning a classifier from labelled and" in dsg("list", "tasks")[1]
    assert "exp(-sigma ||x - x'||^2)" in dsg("list", "kernels")[1]
    assert "quickstart" in dsg("list", "configs", CONFIGS)[1]
    assert "quickstart" in dsg("list", "configs")[1]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize(
    "listed",
    [
        ["list", "datasets"],
        ["list", "tasks"],
        ["list", "solvers"],
        ["list", "configs"],
        ["list", "kernels"],
        ["data", "info", "codrna"],
        ["figure"],
    ],
)
def test_lists_fit_the_terminal(dsg, monkeypatch, listed, width):
    texts = []
    for columns in (width, 1000):
        monkeypatch.setenv("COLUMNS", str(columns))
        texts.append(dsg(*listed)[1])
    words = {line: line.removeprefix("homepage:").split() for line in texts[0].splitlines()}
    assert all(len(line) <= width or len(of) == 1 for line, of in words.items())
    assert sorted(texts[0].split()) == sorted(texts[1].split())


def test_data_commands(dsg, toy):
    assert "1,797 rows, 64 features" in dsg("data", "prepare", "digits")[1]
    assert "nothing to fetch" in dsg("data", "fetch", "digits")[1]
    assert "content hash" in dsg("data", "info", "digits")[1]
    code, out, _ = dsg("data", "verify", "digits")
    assert code == 0
    assert "WRONG" not in out
    X = next((toy.parent / "cache").rglob("X.npy"))
    with X.open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\x00\x00\x80\x3f")
    code, out, _ = dsg("data", "verify", "digits")
    assert code == 1
    assert "WRONG" in out
    one_error_line(dsg("data", "info", "digit"), "did you mean 'digits'")


def test_env_is_json_with_the_versions(dsg):
    environment = json.loads(dsg("env")[1])
    assert environment["libraries"].keys() >= {"numpy", "numba", "scikit-learn"}
    assert environment["threads"] >= 1
