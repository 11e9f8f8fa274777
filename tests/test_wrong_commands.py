"""Commands with wrong input: each ends in one line and a nonzero exit code, and writes nothing.

`KINDS` of wrong values are tried for every parameter of every command, so a new option is covered;
wrong_commands.txt has command lines with their answers.
"""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dsgkit import cli
from dsgkit.config.load import SHIPPED
from dsgkit.errors import ResultsError

KINDS = ("", "x" * 300, "9" * 5000, "nan", "-1", "a\nb", "\x1b[31mred", "\udcff", "/dev/null/x")
GOOD = """\
dataset: {path: rows.csv, loader: delimited, header: true, label_column: kind, positive: ["yes"]}
protocol: {kind: semi_supervised_auc, labeled: 20, trials: 2}
solvers: {samult: {}}
"""


def answers():
    """The command lines of wrong_commands.txt, with the lines that they print."""
    text = Path(__file__).with_name("wrong_commands.txt").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row and not row.startswith("#")]
    return [pytest.param(*row.split(" => "), id=row.partition(" => ")[0]) for row in rows]


def commands(command, words=()):
    """Yield every command, with the words that call it."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from commands(one, (*words, name))
    else:
        yield words, command


def lines_of_parameters():
    """Yield, for every parameter of every command, a command line with a place for its value."""
    for words, command in commands(cli.cli):
        given = {one.name: "nothere" for one in command.params if isinstance(one, click.Argument)}
        for one in command.params:
            if isinstance(one, click.Argument):
                yield (*words, *{**given, one.name: "VALUE"}.values())
            elif not one.is_flag:
                yield (*words, *given.values(), f"{one.opts[0]}=VALUE")


@pytest.fixture
def dsg(monkeypatch, capsys, tmp_path):
    """Run ``dsg`` in this process, in an empty folder; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.delenv("DSGKIT_DATA", raising=False)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path.parent / f"cache-{tmp_path.name}"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    return run


def one_line(code, out, err):
    """Return the only line that is printed; it is an error, short and printable."""
    assert code in (1, 2) and out == ""
    (line,) = err.split("\n")[:-1]
    assert line.startswith("Error: ") and line.isprintable() and len(line) <= 1010
    return line


@pytest.mark.parametrize("line", [*lines_of_parameters()], ids=" ".join)
def test_a_wrong_value_is_one_line_and_writes_nothing(line, dsg, tmp_path):
    for value in KINDS:
        one_line(*dsg(*(word.replace("VALUE", value) for word in line)))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("line", "expected"), answers())
def test_a_wrong_command_line_is_answered(line, expected, dsg, tmp_path):
    rows = (f"{i % 7},{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,b,kind\n" + "".join(rows))
    (tmp_path / "good.yaml").write_text(GOOD)
    before = sorted(tmp_path.rglob("*"))
    told = one_line(*dsg(*line.split())).removeprefix("Error: ")
    cache = f"{tmp_path.parent}/cache-{tmp_path.name}"
    for path, name in ((cache, "CACHE"), (SHIPPED, "CONFIGS"), (tmp_path, "HERE")):
        told = told.replace(str(path), name)
    assert told == expected
    assert sorted(tmp_path.rglob("*")) == before


def test_unknown_words_are_one_line(dsg):
    for value in ("x" * 5000, "a\nb", "\x1b[31m", "\udcff", "-" * 5000):
        for words in ([value], ["list", value], ["run", f"--{value}"], ["data", value]):
            one_line(*dsg(*words))


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device", "some/file"), "some/file: No space left on device"),
        (ResultsError("first\nsecond\t" + "x" * 5000), "first second xxx"),
        (KeyError("kind"), "unexpected KeyError: 'kind' ("),
        (RecursionError("too deep"), "unexpected RecursionError: too deep ("),
    ],
)
def test_whatever_goes_wrong_is_one_line_and_debug_shows_where(error, line, dsg, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(click.Context, "invoke", fail)
    assert one_line(*dsg("env")).startswith(f"Error: {line}")
    for words in (["env", "--debug"], ["--debug", "env"]):
        monkeypatch.setattr(sys, "argv", ["dsg", *words])
        with pytest.raises(type(error)):
            cli.main()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("dsg --help > /dev/full", "Error: No space left on device"),
        ("dsg list configs > /dev/full", "Error: No space left on device"),
        ("dsg list configs | true", ""),
        ("dsg status nothere 2>&-", ""),
        ("dsg status nothere <&-", "Error: nothere: "),
    ],
)
def test_streams_that_cannot_be_written_are_one_line(line, text, tmp_path):
    line = line.replace("dsg", f"{sys.executable} -m dsgkit")
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode not in (0, 120) and done.stdout == ""
    assert done.stderr.startswith(text) and done.stderr.count("\n") == (text != "")
