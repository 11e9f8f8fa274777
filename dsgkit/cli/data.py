"""Commands on datasets: dsg data."""

from __future__ import annotations

import click

from dsgkit.cli.common import Group, print_pairs


@click.group(cls=Group)
def data() -> None:
    """Fetch, prepare and check datasets."""


@data.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download the files of dataset NAME, unless they are on this machine."""
    from dsgkit.data.catalogue import get
    from dsgkit.data.files import obtain

    paths = dict.fromkeys(obtain(get(name)))
    for path in paths:
        click.echo(path)
    if not paths:
        click.echo(f"{name} ships with scikit-learn; there is nothing to fetch")


@data.command()
@click.argument("name")
def prepare(name: str) -> None:
    """Parse dataset NAME into memory maps, which runs open without delay."""
    from dsgkit.data.catalogue import get
    from dsgkit.data.dataset import open_dataset

    dataset = open_dataset(get(name))
    click.echo(f"{name}: {len(dataset.X):,} rows, {dataset.n_features} features, ready")


@data.command()
@click.argument("name")
def info(name: str) -> None:
    """Show facts about dataset NAME."""
    from dsgkit.data import commands

    print_pairs([(f"{heading}:", text) for heading, text in commands.info(name)])


@data.command()
@click.argument("name")
def verify(name: str) -> None:
    """Check the files of dataset NAME against their checksums."""
    from dsgkit.data import commands

    checks = commands.verify(name)
    words = {True: "ok", False: "WRONG", None: "unchecked"}
    print_pairs([(words[ok], f"{file}: {detail}") for ok, file, detail in checks])
    if any(ok is False for ok, _, _ in checks):
        raise SystemExit(1)
