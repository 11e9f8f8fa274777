"""Commands on what there is: list, init."""

from __future__ import annotations

from inspect import getdoc
from pathlib import Path

import click

from dsgkit.cli.common import PATH, Group, print_pairs

_EXPLAINED = "`dsg explain NAME` says more"


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

    print_pairs([(kind, str(getdoc(get(kind))).partition("\n")[0]) for kind in TASKS])
    click.echo(f"{_EXPLAINED}, such as the measures of a task")


@list_.command()
def solvers() -> None:
    """List the solvers with their sources."""
    from dsgkit.solvers.catalogue import SOLVERS

    print_pairs([(info.name, f"{info.label}: {info.reference}") for info in SOLVERS.values()])
    click.echo(f"{_EXPLAINED}, such as the parameters of a solver")
    click.echo('Your own class: kind: "my_module:MySolver" (see dsgkit/README.md)')


@list_.command()
@click.argument("folder", required=False, type=click.Path(exists=True, path_type=Path))
def configs(folder: Path | None) -> None:
    """List the config files in FOLDER, by default those of the package.

    `dsg run codrna_s2auc` runs one of the package by its name, and `dsg init codrna_s2auc` copies
    it.
    """
    from dsgkit.config import shipped

    rows = []
    for path in sorted((folder or shipped.folder()).glob("*.yaml")):
        first = path.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        rows.append((path.stem, first.lstrip("# ") if first.startswith("#") else ""))
    print_pairs(rows)


@list_.command()
def kernels() -> None:
    """List the kernels."""
    from dsgkit.kernels import FAMILIES

    print_pairs([(family.pattern, family.example.formula) for family in FAMILIES.values()])


@click.command()
@click.argument("name")
@click.argument("file", required=False, type=PATH)
def init(name: str, file: Path | None) -> None:
    """Copy a shipped config to FILE, by default NAME.yaml, to edit."""
    from dsgkit.config import shipped

    file = file or Path(Path(name).name).with_suffix(".yaml")
    shipped.copy(name, file)
    click.echo(f"{file}: edit it, then: dsg run {file}")
