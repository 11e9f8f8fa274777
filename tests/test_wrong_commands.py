"""Commands with wrong input: each ends in one line and a nonzero exit code, and writes nothing."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from dsgkit import cli
from dsgkit.config.load import SHIPPED
from dsgkit.errors import ResultsError
from tests.test_wrong_inputs import cases

KINDS = ["", "nan", "-1", "a\nb", "\x1b[31mred", "\udcff", "/dev/null/x"]
KINDS += ["x" * 300, "9" * 5000, "-" * 5000]
GOOD = """\
dataset: {path: rows.csv, loader: delimited, header: true, label_column: kind, positive: ["yes"]}
protocol: {kind: semi_supervised_auc, labeled: 20, trials: 2}
solvers: {samult: {}}
"""
PLACES = [("VALUE",), ("list", "VALUE"), ("run", "--VALUE"), ("data", "VALUE")]


def lines_of_parameters(command, words=()):
    """Yield, for every parameter of every command, a command line with a place for its value."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from lines_of_parameters(one, (*words, name))
        return
    given = {one.name: "nothere" for one in command.params if isinstance(one, click.Argument)}
    for one in command.params:
        if isinstance(one, click.Argument):
            yield (*words, *{**given, one.name: "VALUE"}.values())
        elif not one.is_flag:
            yield (*words, *given.values(), f"{one.opts[0]}=VALUE")


@pytest.fixture
def refused(monkeypatch, capsys, tmp_path):
    """Run ``dsg`` in this process, in an empty folder; return the only line that it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path.parent / f"cache-{tmp_path.name}"))

    def run(*arguments):
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "argv", ["dsg", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        (line,) = err.split("\n")[:-1]
        assert stop.value.code in (1, 2) and out == "" and sorted(tmp_path.rglob("*")) == before
        assert line.startswith("Error: ") and line.isprintable() and len(line) <= 1010
        return line.removeprefix("Error: ")

    return run


@pytest.mark.parametrize("line", [*PLACES, *lines_of_parameters(cli.cli)], ids=" ".join)
def test_a_wrong_value_is_one_line_and_writes_nothing(line, refused):
    for value in KINDS:
        refused(*(word.replace("VALUE", value) for word in line))


@pytest.mark.parametrize(("line", "expected"), cases("commands", "wrong_commands.txt"))
def test_a_wrong_command_line_is_answered(line, expected, refused, tmp_path):
    rows = (f"{i % 7},{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,b,kind\n" + "".join(rows))
    (tmp_path / "good.yaml").write_text(GOOD)
    told, cache = refused(*line.split()), f"{tmp_path.parent}/cache-{tmp_path.name}"
    for path, name in ((cache, "CACHE"), (SHIPPED, "CONFIGS"), (tmp_path, "HERE")):
        told = told.replace(str(path), name)
    assert told == expected


def test_whatever_goes_wrong_is_one_line_and_debug_shows_where(refused, monkeypatch):
    for error, line in (
        (OSError(28, "No space left", "some/file"), "some/file: No space left"),
        (ResultsError("first\nsecond\t" + "x" * 5000), "first second xxx"),
        (KeyError("kind"), "unexpected KeyError: 'kind' ("),
        (RecursionError("too deep"), "unexpected RecursionError: too deep ("),
    ):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(click.Context, "invoke", fail)
        assert refused("env").startswith(line)
        for words in (["env", "--debug"], ["--debug", "env"]):
            with pytest.raises(type(error)):
                refused(*words)


STREAMS = {
    "dsg --help > /dev/full": "Error: No space left on device",
    "dsg list configs > /dev/full": "Error: No space left on device",
    "dsg list configs | true": "",
    "dsg status nothere 2>&-": "",
    "dsg status nothere <&-": "Error: nothere: ",
}


@pytest.mark.parametrize("line", STREAMS)
def test_streams_that_cannot_be_written_are_one_line(line, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    script = f"set -o pipefail; {line.replace('dsg', f'{sys.executable} -m dsgkit')}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode not in (0, 120) and done.stdout == ""
    assert done.stderr.startswith(STREAMS[line])
    assert done.stderr.count("\n") == (STREAMS[line] != "")
