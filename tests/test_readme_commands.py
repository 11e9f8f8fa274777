"""The command lines in the READMEs, in blocks and in sentences, are such as the commands take."""

import fnmatch
import re
import shlex
import textwrap
import tomllib
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from dsgkit import cli
from dsgkit.cli.explain import explanations
from dsgkit.cli.params import ResultsPath
from dsgkit.config import shipped
from dsgkit.config.schema import load_experiment
from dsgkit.config.shipped import list_configs
from dsgkit.papers.claims import papers
from dsgkit.papers.figures import all_papers, chosen
from dsgkit.papers.judging import selected
from tests.scripts.conftest import SCRIPTS, script  # noqa: F401  a fixture
from tests.test_readme import CONFIGS, README, ROOT, block
from tests.test_wrong_commands import commands

PAGES = {
    name: (ROOT / name).read_text()
    for name in (
        "README.md",
        *(f"{room}/README.md" for room in ("configs", "results", "dsgkit", "scripts")),
    )
}
FENCE = re.compile(r"(?ms)^ *```(\w*)\n(.*?)^ *```$")
CALLED = ("dsg", "make", "python", "dask", "pip", "openssl", "source")


def blocks(language):
    """Yield every block of a language without its indent."""
    for page in PAGES.values():
        for found, text in FENCE.findall(page):
            if found == language:
                yield textwrap.dedent(text)


def shell_lines():
    """Yield the command lines in blocks, and in sentences those of the commands with arguments."""
    for text in blocks(""):
        if text.split()[0] in CALLED:
            yield from (line for line in text.splitlines() if line.strip())
    for page in PAGES.values():
        yield from re.findall(r"`((?:dsg|make) [^`\n]+)`", FENCE.sub("", page))


def words_of(line):
    """Return the words of a command line, up to a comment, or to where its output goes."""
    words = shlex.split(line, comments=True)
    ends = [words.index(sign) for sign in ("|", ">") if sign in words]
    return words[: min(ends, default=len(words))]


LINES = {shlex.join(words_of(line)) for line in shell_lines()}


def lines_of(program):
    return sorted(line for line in LINES if line.startswith(f"{program} "))


def context_of(command, words):
    """Return how click reads a command line; an argument may be missing, as it is in sentences."""
    while isinstance(command, click.Group) and words:
        command = command.commands[words[0]]
        words = words[1:]
    try:
        return command.make_context(command.name, list(words))
    except click.MissingParameter as error:
        assert isinstance(error.param, click.Argument)
        return SimpleNamespace(command=command, params={})


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
    runs = {c.name: c.profiles for c in list_configs(shipped.folder())}
    names = {*runs, *(f"{name}-{profile}" for name in runs for profile in runs[name])}
    for folder in results:
        known = (ROOT / folder).exists() or fnmatch.filter(names, Path(folder).name)
        assert known or is_placeholder(folder), folder


CHECKS = {
    "run": check_run,
    "explain": lambda name, **_: is_placeholder(name) or next(explanations(name)),
    "figure": lambda name, **_: name is None or chosen(all_papers(), name),
    "claims": lambda ids, **_: selected(papers(), ids, ()),
    "compare": lambda a, b, **_: check_results([a, b]),
    **dict.fromkeys(("status", "table", "plot", "report", "export"), check_results),
}


@pytest.mark.parametrize("line", lines_of("dsg"))
def test_a_command_is_one_that_there_is(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        ResultsPath, "convert", click.Path.convert
    )  # of folders that no run has made
    context = context_of(cli.cli, shlex.split(line)[1:])
    if check := context.params and CHECKS.get(context.command.name):
        check(**context.params)


PRINTS = re.compile(r"dsg (list \w+|data info \w+|explain [a-z]\S*|figure)")


@pytest.mark.parametrize("line", [*filter(PRINTS.fullmatch, lines_of("dsg"))])
def test_a_command_that_only_prints_is_run(line):
    done = CliRunner().invoke(cli.cli, words_of(line)[1:])
    assert done.exit_code == 0, done.output
    assert done.output


def test_what_other_programs_are_asked_for_is_there():
    targets = re.search(r"\.PHONY: (.*)", (ROOT / "Makefile").read_text())[1].split()
    assert {word for line in lines_of("make") for word in line.split()[1:]} <= {*targets}
    (line,) = lines_of("pip")
    extra = re.fullmatch(r"pip install 'dsgkit\[(\w+)\]'", line)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra in project["optional-dependencies"]
    from distributed.cli import dask_scheduler, dask_worker

    mains = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    for line in lines_of("dask"):
        _, name, *words = line.split()
        context_of(mains[name], words)


def test_the_settings_of_dask_are_its_own():
    import dask
    import distributed  # noqa: F401  which declares its settings

    (text,) = (one for one in blocks("yaml") if one.startswith("# ~/.config/dask"))
    settings, missing = yaml.safe_load(text), object()

    def keys(nested, above=()):
        for key, value in nested.items():
            yield from keys(value, (*above, key)) if isinstance(value, dict) else [(*above, key)]

    for key in keys(settings):
        assert dask.config.get(".".join(key), missing) is not missing, key


def test_the_rooms_of_the_package_are_there():
    (text,) = (one for one in blocks("") if one.startswith("dsgkit/"))
    rooms = [line.split()[0] for line in text.splitlines()]
    assert len(rooms) > 10
    for room in rooms:
        assert (ROOT / room).is_dir() or (ROOT / f"{room}.py").is_file(), room


def options_of(command):
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


def test_every_option_in_a_sentence_is_one(script):  # noqa: F811
    """Of a command, or of a script that its page names."""
    known = set().union(*(options_of(one) for _, one in commands(cli.cli))) | {"--help", "--debug"}
    for path in SCRIPTS.glob("*.py"):
        if "@click.command" in path.read_text():
            known |= options_of(script(path.stem)["main"])
    told = {
        option
        for page in PAGES.values()
        for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", page))
        for option in re.findall(r"(?<!\S)--[a-z-]+", code)
    } - {"--host"}  # Dask's
    assert len(told) > 20
    assert told <= known


@pytest.mark.parametrize("page", [README, CONFIGS], ids=["front page", "configs"])
def test_a_config_on_rows_of_ones_own_can_be_planned(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.random((2500, 3)), rng.integers(0, 2, 2500)])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", fmt="%.4f")
    (tmp_path / "mine.yaml").write_text(block("yaml", page))
    done = CliRunner().invoke(cli.cli, ["run", "mine.yaml", "--dry-run"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "mine: " in done.output
