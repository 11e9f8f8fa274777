"""Keep results in the repository.

    python scripts/keep_results.py results/iris_clustering-reference

A copy of each folder goes to results/reference: everything that reports need, records and plan
compressed. `dsg table`, `plot`, `report`, `compare`, `status` and `claims` read it as it is.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import click
from PIL import Image

from dsgkit.experiment.environment import ENVIRONMENT, ENVIRONMENTS
from dsgkit.experiment.folder import CONFIG, DATASET, PLAN, TASK
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.store import CELLS
from dsgkit.files import packed
from dsgkit.report import draw_figures, write_tables
from dsgkit.tasks.measures import PICTURES

PROFILE = "-reference"
"""The end of a name that a kept folder does not have: it is the profile of most."""

COLORS = 128


@click.command(help=__doc__)
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", default="results/reference", type=click.Path(path_type=Path))
def main(results: tuple[Path, ...], out: Path) -> None:
    """Copy each folder of results."""
    for folder in results:
        target = out / folder.name.removesuffix(PROFILE)
        keep(folder, target)
        click.echo(target)


def keep(folder: Path, target: Path) -> None:
    """Replace what is kept at ``target`` by a copy of a results folder, with its report."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in (CONFIG, TASK, DATASET, ENVIRONMENT):
        shutil.copyfile(folder / name, target / name)
    shutil.copytree(folder / ENVIRONMENTS, target / ENVIRONMENTS)
    for name in (CELLS, PLAN):
        # without a time, equal files are equal archives
        content = gzip.compress((folder / name).read_bytes(), mtime=0)
        packed(target / name).write_bytes(content)
    kept = load_results(target)
    for name in drawn(kept):
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / name, target / name)
    write_tables([kept], target)
    for figure in draw_figures([kept], target):
        if figure.suffix == ".png":
            shrink(figure)
        else:
            figure.unlink()  # `dsg plot` draws it again


def drawn(results: Results) -> set[str]:
    """Return the files that pictures are drawn of: one of each solver, where there are pictures."""
    if PICTURES not in results.experiment.outputs:
        return set()
    fits = [one for one in results.records if one["status"] == "ok" and "artefact" in one]
    first = {one["solver"]: one for one in sorted(fits, key=lambda one: -one["trial"])}
    return {one["artefact"] for one in first.values()}


def shrink(picture: Path) -> None:
    """Replace a picture by one with a palette, a quarter of its size."""
    with Image.open(picture) as opened:
        opened.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLORS).save(
            picture, optimize=True, dpi=opened.info["dpi"]
        )


if __name__ == "__main__":
    main()
