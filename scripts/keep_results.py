"""Keep results in the repository.

    python scripts/keep_results.py results/iris_clustering-reference

Copies each folder to results/reference: everything that reports need, with records, plan and task
compressed. `dsg table`, `plot`, `report`, `compare`, `status` and `claims` read copies directly.

    python scripts/keep_results.py --again results/reference/*/

rewrites the tables and figures of kept folders by the current release.
"""

from __future__ import annotations

import lzma
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from PIL import Image

from dsgkit.experiment.folder import CONFIG, DATASET, ENVIRONMENT, ENVIRONMENTS, PLAN, TASK
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.runs import load
from dsgkit.experiment.store import CELLS
from dsgkit.report import draw_figures
from dsgkit.report.tables import write_tables
from dsgkit.tasks.measures import PICTURES

PROFILE = "-reference"
"""Suffix that is removed from kept folders' names: the most common profile."""

COLORS = 128

NEW, OLD = ".new", ".old"
"""Suffixes of temporary folders next to the kept ones."""


@click.command(help=__doc__)
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", default="results/reference", type=click.Path(path_type=Path))
@click.option("--again", is_flag=True, help="Rewrite tables and figures of kept folders.")
def main(results: tuple[Path, ...], out: Path, again: bool) -> None:
    """Copy each results folder, or rewrite the report of a copy."""
    for folder in results:
        if again:
            if (folder / f"{TASK}.xz").exists():  # raises if it is not a results folder
                shutil.rmtree(folder / "tables", ignore_errors=True)
                shutil.rmtree(folder / "figures", ignore_errors=True)
                draw(folder)
                click.echo(folder)
            continue
        target = out / folder.name.removesuffix(PROFILE)
        keep(folder, target)
        click.echo(target)


def keep(folder: Path, target: Path) -> None:
    """Replace the kept folder ``target`` by a copy of a results folder, with its report.

    The copy is made in a temporary folder next to it, and replaces it as a whole.
    """
    new = target.parent / NEW / target.name
    shutil.rmtree(new, ignore_errors=True)
    copy(folder, new)
    replace(target, new)


def replace(target: Path, new: Path) -> None:
    """Replace a folder by another one, as a whole.

    A folder that an interrupted call moved away is restored first.
    """
    old = target.parent / OLD / target.name
    if old.exists() and not target.exists():
        old.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        old.parent.mkdir(exist_ok=True)
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    for parent in (new.parent, old.parent):
        with suppress(OSError):  # it contains another folder
            parent.rmdir()


def copy(folder: Path, target: Path) -> None:
    """Write the kept part of a results folder, with its report."""
    target.mkdir(parents=True)
    for name in (CONFIG, DATASET, ENVIRONMENT):
        shutil.copyfile(folder / name, target / name)
    shutil.copytree(folder / ENVIRONMENTS, target / ENVIRONMENTS)
    for name in (CELLS, PLAN, TASK):
        content = lzma.compress((folder / name).read_bytes(), preset=9)
        (target / f"{name}.xz").write_bytes(content)
    kept = load_results(target)
    for name in drawn(kept):
        (target / name).parent.mkdir(exist_ok=True)
        pack_arrays(folder / name, target / name)
    draw(target)


def draw(target: Path) -> None:
    """Write the tables and figures of a kept folder.

    `dsg table` and `dsg plot` can write the files that are left out.
    """
    runs = load(target)
    for table in write_tables(runs, target):
        if table.suffix != ".md":
            table.unlink()
    for figure in draw_figures(runs, target):
        if figure.suffix == ".png" and figure.stem != PICTURES:
            shrink(figure)
        else:
            figure.unlink()


def drawn(results: Results) -> set[str]:
    """Return the files needed for pictures, one per solver; empty without pictures."""
    if PICTURES not in results.experiment.outputs:
        return set()
    fits = [one for one in results.records if one["status"] == "ok" and "artefact" in one]
    first = {one["solver"]: one for one in sorted(fits, key=lambda one: -one["trial"])}
    return {one["artefact"] for one in first.values()}


def pack_arrays(arrays: Path, target: Path) -> None:
    """Copy the arrays of a picture, compressed, with the contour of the domain only."""
    with np.load(arrays) as opened, zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        for name, values in opened.items():
            entry = zipfile.ZipInfo(
                f"{name}.npy"
            )  # no time stamps, so that equal arrays give equal files
            entry.compress_type = zipfile.ZIP_LZMA
            with archive.open(entry, "w") as file:
                np.save(file, contour_of(values) if name == "domain" else values)


def contour_of(f: NDArray[np.floating]) -> NDArray[np.float16]:
    """Return a function on a grid, shape (n_y, n_x), reduced to its contour at zero.

    The contour lies in grid squares with corners of both signs. Their values are rounded to three
    digits; all other values become a constant of the same sign.
    """
    inside = np.pad(f >= 0, 1, mode="edge")
    blocks = sliding_window_view(inside, (3, 3))
    crossed = blocks.any(axis=(2, 3)) & ~blocks.all(axis=(2, 3))
    far = np.abs(f).max() if crossed.any() else 1.0
    return np.where(crossed, f, np.where(f >= 0, far, -far)).astype(np.float16)


def shrink(picture: Path) -> None:
    """Convert an image file to a palette, a quarter of its size."""
    with Image.open(picture) as opened:
        opened.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLORS).save(
            picture, optimize=True, dpi=opened.info["dpi"]
        )


if __name__ == "__main__":
    main()
