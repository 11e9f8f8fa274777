"""Command lines that are meant to hurt: each ends in one short line, and nothing is written.

What is tried is derived from the commands themselves: a new option is covered.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from dsgkit import cli
from dsgkit.cli.messages import LONGEST_MESSAGE
from dsgkit.errors import ResultsError

HOSTILE = {
    "empty": "",
    "long": "x" * 300,
    "many folders": "o/" * 3000,
    "digits": "9" * 5000,
    "no number": "nan",
    "endless": "inf",
    "negative": "-1",
    "none": "0",
    "lines": "a\nb",
    "escape": "\x1b[31mred",
    "no text": "\udcff\udcfe",
    "home": "~nobody-of-this-name/x",
    "device": "/dev/null/x",
}


def commands(command, words=()):
    """Every command, with the words that call it."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from commands(one, (*words, name))
    else:
        yield words, command


def hostile_lines():
    """For every parameter of every command, a command line for a value to be put in."""
    for words, command in commands(cli.cli):
        given = {one.name: "nothere" for one in command.params if isinstance(one, click.Argument)}
        for one in command.params:
            if isinstance(one, click.Argument):
                yield " ".join(words), one.name, (*words, *{**given, one.name: "VALUE"}.values())
            elif not one.is_flag:
                yield " ".join(words), one.name, (*words, *given.values(), f"{one.opts[0]}=VALUE")


LINES = {f"{command} {name}": line for command, name, line in hostile_lines()}


@pytest.fixture
def dsg(monkeypatch, capsys, tmp_path):
    """Run ``dsg`` in this process, in an empty folder: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    # as in a process of its own, click calls the program by its file
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
    monkeypatch.setenv("DSGKIT_OFFLINE", "1")
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path.parent / f"cache-{tmp_path.name}"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dsg", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    return run


def one_line(code, out, err):
    """What is told in one line; that, an exit code and nothing else is left."""
    assert code in (1, 2)
    assert out == ""
    (line,) = err.split("\n")[:-1]
    assert line.startswith("Error: ")
    assert line.isprintable()
    assert len(line) <= LONGEST_MESSAGE + len("Error: ")
    return line


@pytest.mark.parametrize("name", LINES)
def test_a_hostile_value_is_one_line_and_writes_nothing(name, dsg, tmp_path):
    for value in HOSTILE.values():
        one_line(*dsg(*(word.replace("VALUE", value) for word in LINES[name])))
        assert list(tmp_path.iterdir()) == []


def test_unknown_words_are_one_line(dsg):
    for value in ("x" * 5000, "a\nb", "\x1b[31m", "\udcff", "-" * 5000):
        for words in ([value], ["list", value], ["run", f"--{value}"], ["data", value]):
            one_line(*dsg(*words))


def test_what_cannot_be_written_at_the_end_is_no_success(dsg, monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli, "cli", SimpleNamespace(main=lambda **_: None))
    monkeypatch.setattr(cli.os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=full))
    assert dsg("env")[0] == 1


def test_what_the_system_refuses_is_one_line(dsg, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device", "some/file")

    monkeypatch.setattr(click.Context, "invoke", fail)
    assert one_line(*dsg("env")) == "Error: some/file: No space left on device"


def test_a_message_of_many_lines_becomes_one(dsg, monkeypatch):
    def fail(*_):
        raise ResultsError("first\nsecond\t" + "x" * 5000)

    monkeypatch.setattr(click.Context, "invoke", fail)
    assert one_line(*dsg("env")).startswith(r"Error: first second\txxx")


def in_shell(line, folder):
    """Run a line of bash in which ``dsg`` is the command."""
    program = f"{sys.executable} -m dsgkit.cli"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line.replace('dsg', program)}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("dsg --help > /dev/full", "Error: No space left on device"),
        ("dsg list configs . > /dev/full", "Error: No space left on device"),
        ("dsg --help >&-", "Error: standard output is closed"),
        ("ulimit -n 10; dsg --help", "Error: this process may open 10 files, and needs 64"),
        ("dsg list configs . | true", ""),
        ("dsg status nothere 2>&-", ""),
        ("dsg status nothere <&-", "Error: nothere: "),
    ],
)
def test_streams_that_cannot_be_written_are_one_line(line, text, tmp_path):
    (tmp_path / "c.yaml").write_text("# A config\n" * 10_000 + "seed: 1\n")
    done = in_shell(line, tmp_path)
    assert done.returncode not in (0, 120)
    assert done.stderr.startswith(text)
    assert done.stderr.count("\n") == (text != "")
    assert done.stdout == ""
