"""Commands on datasets: dsg data."""

from __future__ import annotations

import click

from dsgkit.cli.common import Group, print_pairs
from dsgkit.errors import DataError


@click.group(cls=Group)
def data() -> None:
    """Fetch, prepare and check datasets."""


@data.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download the files of dataset NAME, if they are not here."""
    from dsgkit.data import catalogue, files

    paths = dict.fromkeys(files.obtain(catalogue.get(name)))
    click.echo("\n".join(map(str, paths)) or f"{name} ships with scikit-learn; nothing to fetch")


@data.command()
@click.argument("name")
def prepare(name: str) -> None:
    """Parse dataset NAME into memory maps, for runs to open."""
    from dsgkit.data import catalogue, dataset

    ready = dataset.open_dataset(catalogue.get(name))
    click.echo(f"{name}: {len(ready.X):,} rows, {ready.n_features} features, ready")


@data.command()
@click.argument("name")
def info(name: str) -> None:
    """Show facts about dataset NAME."""
    from dsgkit.data import catalogue, dataset, files, prepare

    known = catalogue.get(name)
    facts = {"name": name, "title": known.title, "rows x features": known.shape}
    facts["target"] = known.target.words
    facts |= {key: getattr(known, key) for key in ("homepage", "licence", "citation", "note")}
    for file in known.files:
        place = files.find(known, file) or files.missing(known, file)
        facts[f"{file.part.replace('_', ' ')} file {file.name}"] = str(place)
    if prepare.state(known) == "prepared":
        described = dataset.open_dataset(known).describe()
        facts |= {key.replace("_", " "): str(value) for key, value in described.items()}
    print_pairs([(f"{heading}:", text) for heading, text in facts.items() if text])


@data.command()
@click.argument("name")
def verify(name: str) -> None:
    """Check the files of dataset NAME against their checksums."""
    from dsgkit.data import catalogue, files

    known = catalogue.get(name)
    for file in known.files:
        if (path := files.find(known, file)) is None:
            raise DataError(files.missing(known, file))
        sha256 = files.check_sha256(file, path)
        click.echo(f"{path}: {'ok' if file.sha256 else 'unchecked'}, sha256 {sha256}")
