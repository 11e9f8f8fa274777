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
    facts = {"name": name, "title": known.title, "rows x features": known.shape}
    facts["target"] = known.target.words
    facts |= {key: getattr(known, key) for key in ("homepage", "licence", "citation", "note")}
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
