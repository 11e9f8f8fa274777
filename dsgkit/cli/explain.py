"""Commands on what there is: explain, list, init, data."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import dsgkit
from dsgkit.cli.common import PATH, Group, print_pairs, print_wrapped
from dsgkit.errors import ConfigError, DataError, did_you_mean, spelled
from dsgkit.text import paragraph, terminal_width
from dsgkit.user_code import import_path_of

FILE_KEYS = {  # which are resolved before the experiment is read
    "extends": "str\n    Config to start from: a path from this file, or a shipped one.",
    "profiles": "dict\n    Named settings, which ``--profile`` merges over the others.",
}

_PAPERS = ("s2auc", "s3vm", "ordinal", "su", "clustering")  # the bases of the papers' configs
_MARKUP = (
    (r"(?m)^(\w[\w ]*)\n-{3,}$", r"\1:\n"),
    (r"(?s)\n+Examples:\n.*", ""),
    (r"(?s)``(.+?)``", r"\1"),
    (r":[a-z]+:`~?\.?(.+?)`", r"\1"),
    (r"`(?:dsgkit\.(?:\w+\.)*)?([^`]+?)`", r"\1"),
    (r"(?m)^\.\. (\[\d+\] .*)\n {3}(?=\w)", r"\1 "),
    (r"(?m)^\.\. (?=\[\d+\])", ""),
    (r"\[(\d+)\]_", r"[\1]"),
)
# the names, type and text of an entry of a numpydoc section
_AS_IN = re.compile(r"(?m)^(\w[\w, ]*)\n    As in `(\w+)`\.")
_ENTRY = re.compile(r"(?m)^(\w[\w, ]*) : (.+)\n((?:(?: {4}.*)?(?:\n|\Z))+)")


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain a solver, task, dataset or key of a config by NAME.

    A solver may also be named by its class. A user-defined solver or task is FILE.py:NAME, as in a
    config. Keys may be dotted: labeled, protocol.labeled, solvers.qsg_s2auc.lam. If several things
    have the name, all are explained.
    """
    texts = list(explanations(name))
    if not texts:
        known = {word for path, _ in _keys() for word in path.split(".")}
        lists = "`dsg list solvers` (or tasks, datasets, configs) lists names"
        raise ConfigError(f"nothing is called {spelled(name)}{did_you_mean(name, known)}; {lists}")
    click.echo("\n\n".join(map(_flowed, texts)))


def explanations(name: str) -> Iterator[str]:
    """Yield a text on everything with a name: a head line, then its documentation."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.estimators import catalogue as solvers
    from dsgkit.tasks.base import TASKS

    if ":" in name:
        path = import_path_of(name)
        try:
            yield _of_solver(solvers.get(path))
        except ConfigError:
            yield _of_task(path)
    for kind, solver in solvers.SOLVERS.items():
        if name in (kind, f"solvers.{kind}", solver.import_path.partition(":")[2]):
            yield _of_solver(solver)
    if name in TASKS:
        yield _of_task(name)
    if name in DATASETS:
        facts = (f"{heading}: {text}" for heading, text in _facts(DATASETS[name]).items())
        yield "\n\n".join([f"{name}: dataset", *facts])
    for path, text in _keys():
        if path == name or path.endswith(f".{name}"):
            yield f"{path}: key of a config, {text}"


def _of_solver(info: Any) -> str:
    kind = info.load()
    source = "; ".join(filter(None, [info.label, info.reference, f"class {kind.__name__}"]))
    head, texts = f"{info.name}: solver, for {', '.join(info.tasks)}", described(kind)

    def written_out(same: re.Match[str]) -> str:
        names = same[1].split(", ")
        return "\n".join(f"{n} : {texts[n]}" for n in names) if {*names} <= {*texts} else same[0]

    return f"{head}\n\n{source}\n\n{_AS_IN.sub(written_out, inspect.getdoc(kind) or '')}"


def _of_task(kind: str) -> str:
    from dsgkit.estimators.catalogue import SOLVERS
    from dsgkit.tasks import base as tasks

    task = tasks.get(kind)
    parts = [
        f"{kind}: task",
        inspect.getdoc(task) or "",
        f"Solvers: {', '.join(info.name for info in SOLVERS.values() if kind in info.tasks)}",
        "Keys under protocol:",
        *(f"{name} : {text}" for name, text in described(task.Spec).items()),
        "Measures:",
        *(f"{m.name} : {m.better or 'neither'} is better\n    {m.caption}" for m in task.measures),
    ]
    return "\n\n".join(parts)


def _facts(info: Any) -> dict[str, str]:
    facts = {"title": info.title, "rows x features": info.shape, "target": info.target.words}
    facts |= {key: getattr(info, key) for key in ("homepage", "licence", "citation", "note")}
    return {heading: text for heading, text in facts.items() if text}


def _keys() -> Iterator[tuple[str, str]]:
    """Yield the dotted path of every key of a config, with its type and text."""
    from dsgkit.config.schema import Experiment, SolverSpec, Stage
    from dsgkit.data.spec import DatasetSpec, TargetSpec
    from dsgkit.estimators.catalogue import SOLVERS
    from dsgkit.tasks import base as tasks

    yield from FILE_KEYS.items()
    sections: dict[str, Any] = {
        "": Experiment,
        "dataset.": DatasetSpec,
        "dataset.target.": TargetSpec,
        "solvers.NAME.": SolverSpec,
        "solvers.NAME.search.": Stage,
    }
    for above, spec in sections.items():
        yield from ((above + name, text) for name, text in described(spec).items())
    for info in SOLVERS.values():
        texts = described(info.load())
        yield from ((f"solvers.{info.name}.{name}", texts.get(name, "")) for name in info.params)
    found: dict[tuple[str, str], list[str]] = {}
    for kind in tasks.TASKS:
        task = tasks.get(kind)
        for name, text in described(task.Spec).items():
            found.setdefault((f"protocol.{name}", text), []).append(kind)
        for axis in task.axes:
            found.setdefault((f"sweep.{axis.name}", f"sizes\n    {axis.title}."), []).append(kind)
    for (path, text), kinds in found.items():
        yield path, f"for {', '.join(kinds)}: {text}"


def described(kind: Any) -> dict[str, str]:
    """Return the type and text of what the docstrings of a class and its bases describe."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        doc = inspect.cleandoc(vars(base).get("__doc__") or "")
        for names, other in _AS_IN.findall(doc):
            beside = getattr(sys.modules[base.__module__], other, None)
            there = described(beside or getattr(dsgkit, other))
            found |= {name: there[name] for name in names.split(", ") if name in there}
        for names, what, text in _ENTRY.findall(doc):
            found |= {name.strip(): f"{what}\n{text.rstrip()}" for name in names.split(",")}
    fields = getattr(kind, "model_fields", found)
    return {name: found.get(name, "") for name in fields}


def _flowed(text: str) -> str:
    """Wrap a docstring; consecutive lines of one indent are a paragraph."""
    for pattern, replacement in _MARKUP:
        text = re.sub(pattern, replacement, text)
    lines = []
    for indent, group in groupby(text.split("\n"), lambda line: len(line) - len(line.lstrip())):
        for is_text, part in groupby(group, bool):
            words, start = " ".join(line.strip() for line in part), " " * indent
            lines.append(paragraph(words, terminal_width(), start, start) if is_text else "")
    return "\n".join(lines)


@click.group(name="list", cls=Group)
def list_() -> None:
    """List configs, datasets, tasks, solvers or kernels."""


@list_.command()
def datasets() -> None:
    """List the registered datasets."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.data.prepare import state

    print_pairs([(d.name, f"{d.shape}, {state(d)}: {d.title}") for d in DATASETS.values()])


@list_.command()
def tasks() -> None:
    """List the learning settings."""
    from dsgkit.tasks.base import TASKS, get

    print_pairs([(kind, str(inspect.getdoc(get(kind))).partition("\n")[0]) for kind in TASKS])
    click.echo("`dsg explain NAME` says more, such as the measures of a task")


@list_.command()
def solvers() -> None:
    """List the solvers with their sources."""
    from dsgkit.estimators.catalogue import SOLVERS

    print_pairs([(info.name, f"{info.label}: {info.reference}") for info in SOLVERS.values()])
    click.echo("`dsg explain NAME` says more, such as the parameters of a solver")
    click.echo('Your own class: kind: "my_module:MySolver" (see dsgkit/README.md)')


@list_.command()
@click.argument("word", required=False)
def configs(word: str | None) -> None:
    """List the shipped configs by paper: all, or those that match WORD.

    WORD is s2auc, s3vm, ordinal, su or clustering for the configs of a paper, or a part of a name
    or description, such as covtype or claims. `dsg run NAME` runs a config, and `dsg init NAME`
    copies it to edit.
    """
    from dsgkit.config.load import shipped_names

    sought = "" if word is None else word.strip().lower() or "(nothing)"
    about = {key: _title(f"base/{key}") for key in _PAPERS}
    groups: dict[str, list[tuple[str, str]]] = {key: [] for key in ("", *_PAPERS)}
    for name in shipped_names():
        key = next((key for key in _PAPERS if key in re.split("[_/]", name)), "")
        text, heading = _title(name), about.get(key, "")
        hidden = "base/" in name or (name.startswith("claims/") and "claims" not in sought)
        matches = key == sought if sought in _PAPERS else sought in f"{name} {text}".lower()
        if matches and not hidden:
            text = re.sub(f"^{heading.partition(':')[0]} (on |of )?", "", text)
            text = re.sub(r"([\d,]+) rows, ([\d,]+) features", r"\1 x \2", text)
            groups[key].append((f"{'  ' * bool(key)}{name}", text))
    if not any(groups.values()):
        hint = did_you_mean(sought, shipped_names())
        raise ConfigError(f"no shipped config matches {spelled(word)}{hint}")
    for key, rows in groups.items():
        if rows and key:
            print_wrapped("", re.sub(",? and rival methods$", "", about[key]))
        if rows:
            print_pairs(rows)
    more = "small experiments on single claims: `dsg list configs claims`"
    print_wrapped("", f"In parentheses: rows x features. `dsg run NAME` runs a config; {more}")


def _title(name: str) -> str:
    """Return the first comment of a shipped config."""
    from dsgkit.config.load import SHIPPED

    first = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ")


@list_.command()
def kernels() -> None:
    """List the kernels."""
    from dsgkit.kernels import KERNELS

    print_pairs([(name, kernel.formula) for name, kernel in KERNELS.items()])


@click.command()
@click.argument("name")
@click.argument("file", required=False, type=PATH)
@click.option("--full", is_flag=True, help="Write out all settings of the config that it extends.")
def init(name: str, file: Path | None, full: bool) -> None:
    """Copy a shipped config to FILE, by default NAME.yaml, to edit."""
    from dsgkit.config.load import copy_shipped

    file = file or Path(Path(name).name).with_suffix(".yaml")
    copy_shipped(name, file, full=full)
    click.echo(f"{file}: edit it, then: dsg run {file}")


@click.group(cls=Group)
def data() -> None:
    """Fetch, prepare and check datasets."""


@data.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download the files of dataset NAME, if they are not here."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.data.files import obtain

    paths = dict.fromkeys(obtain(DATASETS[name]))
    click.echo("\n".join(map(str, paths)) or f"{name} ships with scikit-learn; nothing to fetch")


@data.command()
@click.argument("name")
def prepare(name: str) -> None:
    """Parse dataset NAME into memory maps, for runs to open."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.data.dataset import load_dataset

    ready = load_dataset(DATASETS[name])
    click.echo(f"{name}: {len(ready.X):,} rows, {ready.n_features} features, ready")


@data.command()
@click.argument("name")
def info(name: str) -> None:
    """Show facts about dataset NAME."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.data.dataset import load_dataset
    from dsgkit.data.files import find, missing
    from dsgkit.data.prepare import state

    known = DATASETS[name]
    facts = {"name": name} | _facts(known)
    for file, path in zip(known.files, find(known), strict=True):
        place = path or missing(known, file)
        facts[f"{file.part.replace('_', ' ')} file {file.name}"] = str(place)
    if state(known) == "prepared":
        described = load_dataset(known).describe()
        facts |= {key.replace("_", " "): str(value) for key, value in described.items()}
    print_pairs([(f"{heading}:", text) for heading, text in facts.items() if text])


@data.command()
@click.argument("name")
def verify(name: str) -> None:
    """Check the files of dataset NAME against their checksums."""
    from dsgkit.data.catalogue import DATASETS
    from dsgkit.data.files import check_sha256, find, missing

    known = DATASETS[name]
    for file, path in zip(known.files, find(known), strict=True):
        if path is None:
            raise DataError(missing(known, file))
        sha256 = check_sha256(file, path)
        click.echo(f"{path}: {'ok' if file.sha256 else 'unchecked'}, sha256 {sha256}")
