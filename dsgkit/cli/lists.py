"""Commands on what there is: list, init."""

from __future__ import annotations

from pathlib import Path

import click

from dsgkit.cli.messages import print_pairs, print_table
from dsgkit.cli.params import PATH, HelpfulGroup

_EXPLAINED = "`dsg explain NAME` says more"


@click.group(name="list", cls=HelpfulGroup)
def list_() -> None:
    """List configs, datasets, tasks, solvers or kernels."""


@list_.command()
def datasets() -> None:
    """List the registered datasets."""
    from dsgkit.data import commands

    print_table(("Dataset", "Rows x features", "State", "Title"), commands.overview())


@list_.command()
def tasks() -> None:
    """List the learning settings."""
    from dsgkit.tasks.base import TASKS, about

    print_pairs([(kind, about(kind)) for kind in TASKS])
    click.echo(f"{_EXPLAINED}, such as the measures of a task")


@list_.command()
def solvers() -> None:
    """List the solvers with their sources."""
    from dsgkit.solvers.catalogue import SOLVERS

    rows = [(info.name, info.label, info.reference) for info in SOLVERS.values()]
    print_table(("Kind", "Solver", "Source"), rows)
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
    from dsgkit.config.shipped import list_configs

    summaries = list_configs(folder or shipped.folder())
    print_pairs([(one.name, one.description or one.dataset) for one in summaries])


@list_.command()
def kernels() -> None:
    """List the kernels."""
    from dsgkit.kernels import FAMILIES

    print_pairs([(family.pattern, family.example.formula) for family in FAMILIES.values()])


@click.command()
@click.argument("name")
@click.argument("file", required=False, type=PATH)
def init(name: str, file: Path | None) -> None:
    """Copy a shipped config to FILE (default: NAME.yaml), ready to edit and run."""
    from dsgkit.config import shipped

    file = file or Path(Path(name).name).with_suffix(shipped.SUFFIX)
    shipped.copy(name, file)
    click.echo(f"{file}: edit it, then: dsg run {file}")
