"""Commands on catalogues and datasets: list, init, data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dsgkit.cli.messages import print_columns
from dsgkit.cli.parameters import (
    PATH,
    HelpfulGroup,
    config_names,
    dataset_names,
    debug_option,
)

EXPLAINED = "`dsg explain NAME` says more"


@click.group(name="list", cls=HelpfulGroup)
def list_() -> None:
    """List configs, datasets, tasks, solvers or kernels."""


@list_.command()
def datasets() -> None:
    """List the registered datasets."""
    from dsgkit.data import commands

    print_columns(commands.overview())


@list_.command()
def tasks() -> None:
    """List the learning settings."""
    from dsgkit.tasks.catalogue import TASKS, about

    print_columns([(kind, about(kind)) for kind in TASKS])
    click.echo(f"{EXPLAINED}, such as the measures of a task")


@list_.command()
def solvers() -> None:
    """List the solvers with their sources."""
    from dsgkit.solvers.catalogue import SOLVERS

    print_columns([(s.name, s.label, s.reference) for s in SOLVERS.values()])
    click.echo(f"{EXPLAINED}, such as the parameters of a solver")
    click.echo('Your own class: kind: "my_module:MySolver" (see dsgkit/README.md)')


@list_.command()
@click.argument("folder", required=False, type=PATH)
def configs(folder: Path | None) -> None:
    """List the config files in FOLDER, by default those of the package.

    `dsg run codrna_s2auc` runs one of the package by its name, and `dsg init codrna_s2auc` copies
    it.
    """
    from dsgkit.config import list_configs, shipped

    summaries = list_configs(folder or shipped.folder())
    for number, profiles in enumerate(dict.fromkeys(c.profiles for c in summaries)):
        heading = f"Profiles {', '.join(profiles)}:" if profiles else "Without profiles:"
        click.echo(f"\n{heading}" if number else heading)
        group = [c for c in summaries if c.profiles == profiles]
        print_columns([(f"  {c.name}", c.description or c.dataset) for c in group])


@list_.command()
def kernels() -> None:
    """List the kernels."""
    from dsgkit.kernels import FAMILIES

    print_columns([(family.pattern, family.example.formula) for family in FAMILIES.values()])


@click.command()
@click.argument("name", shell_complete=config_names)
@click.argument("file", required=False, type=PATH)
def init(name: str, file: Path | None) -> None:
    """Copy a shipped config to FILE (default: NAME.yaml), ready to edit and run."""
    from dsgkit.config import shipped

    file = file or Path(Path(name).name).with_suffix(shipped.SUFFIX)
    shipped.copy(name, file)
    click.echo(f"{file}: edit it, then: dsg run {file}")


@click.group(cls=HelpfulGroup)
def data() -> None:
    """Fetch, prepare and check datasets."""


def _dataset_argument(command: Any) -> Any:
    return click.argument("name", shell_complete=dataset_names)(debug_option(command))


@data.command()
@_dataset_argument
def fetch(name: str) -> None:
    """Download the files of dataset NAME, unless they are on this machine."""
    from dsgkit.data import commands

    paths = commands.fetch(name)
    for path in paths:
        click.echo(path)
    if not paths:
        click.echo(f"{name} ships with scikit-learn; there is nothing to fetch")


@data.command()
@_dataset_argument
def prepare(name: str) -> None:
    """Parse dataset NAME into memory maps, which runs open without delay."""
    from dsgkit.data import commands

    dataset = commands.prepare(name)
    click.echo(f"{name}: {len(dataset.X):,} rows, {dataset.n_features} features, ready")


@data.command()
@_dataset_argument
def info(name: str) -> None:
    """Show facts about dataset NAME."""
    from dsgkit.data import commands

    print_columns([(f"{heading}:", text) for heading, text in commands.info(name)])


@data.command()
@_dataset_argument
def verify(name: str) -> None:
    """Check the files of dataset NAME against their checksums and recorded statistics."""
    from dsgkit.data import commands

    checks = commands.verify(name)
    words = {True: "ok", False: "WRONG", None: "unchecked"}
    print_columns([(words[check.ok], check.subject, check.detail) for check in checks])
    if any(check.ok is False for check in checks):
        raise SystemExit(1)
