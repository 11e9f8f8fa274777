"""The command lines in READMEs and guides, in blocks and sentences, are such as commands take."""

import fnmatch
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dsgkit import cli
from dsgkit.cli.explain import explanations
from dsgkit.config.load import read_config
from dsgkit.config.schema import load_experiment
from dsgkit.papers.figures import chosen
from dsgkit.papers.judge import selected
from dsgkit.papers.schema import papers
from tests.test_readme import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("[!.]*/README.md"),
    *ROOT.glob("scripts/site/guides/*.md"),
]
FENCE = re.compile(r"(?ms)^ *```(\w*)\n(.*?)^ *```$")


def lines_of(program):
    """The command lines in blocks, and in sentences those with arguments, up to a comment."""
    lines = set()
    for text in (page.read_text() for page in PAGES):
        blocks = [textwrap.dedent(body) for kind, body in FENCE.findall(text) if not kind]
        found = [line for body in blocks for line in body.splitlines()]
        found += re.findall(rf"`({program} [^`\n]+)`", FENCE.sub("", text))
        for line in found:
            if line.startswith(f"{program} "):
                words = shlex.split(line, comments=True)
                ends = [words.index(sign) for sign in ("|", ">") if sign in words]
                lines.add(shlex.join(words[: min(ends, default=len(words))]))
    return sorted(lines)


def is_placeholder(name):
    return str(name) == "mine" or re.fullmatch(r"(.*/)?[A-Z]+", str(name))


def check_run(configs, profile=None, **_):
    for config in configs:
        paths = sorted(ROOT.glob(str(config)))
        assert paths or is_placeholder(config), config
        for path in paths:
            load_experiment(path, profile=profile)


def check_results(results, **_):
    """Check that a folder is there, or that a run of a shipped config has its name."""
    names = []
    for path in ROOT.glob("configs/*.yaml"):
        profiles = read_config(path).data.get("profiles", {})
        names += [path.stem, *(f"{path.stem}-{profile}" for profile in profiles)]
    for folder in results:
        known = (ROOT / folder).exists() or fnmatch.filter(names, Path(folder).name)
        assert known or is_placeholder(folder), folder


CHECKS = {
    "run": check_run,
    "explain": lambda name, **_: is_placeholder(name) or next(explanations(name)),
    "figure": lambda name, **_: name is None or chosen(name),
    "claims": lambda ids, **_: selected(papers(), ids, ()),
    "compare": lambda a, b, **_: check_results([a, b]),
    **dict.fromkeys(("status", "table", "plot", "report", "export"), check_results),
}
PRINTS = re.compile(r"dsg (list \w+|data info \w+|explain [a-z]\S*|figure)")


@pytest.mark.parametrize("line", lines_of("dsg"))
def test_a_command_is_one_that_there_is(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    command, words = cli.cli, shlex.split(line)[1:]
    while isinstance(command, click.Group) and words:
        command, words = command.commands[words[0]], words[1:]
    try:
        given = command.make_context(command.name, list(words)).params
    except click.MissingParameter as error:  # in a sentence an argument may be missing
        assert isinstance(error.param, click.Argument)
        return
    if check := given and CHECKS.get(command.name):
        check(**given)
    if PRINTS.fullmatch(line):
        done = CliRunner().invoke(cli.cli, shlex.split(line)[1:])
        assert done.exit_code == 0 and done.output


def test_what_make_and_pip_are_asked_for_is_there():
    targets = re.search(r"\.PHONY: (.*)", (ROOT / "Makefile").read_text())[1].split()
    assert {word for line in lines_of("make") for word in line.split()[1:]} <= {*targets}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in lines_of("pip"):
        extra = re.fullmatch(r"pip install '?\.(?:\[(\w+)\]')?", line)[1]
        assert extra is None or extra in project["optional-dependencies"]
